//! How one actor is built, and what its place in the tree asks for.

use super::driver::{self, Report};
use super::slot::Slot;
use super::surroundings::Surroundings;
use super::{Actor, Context, Exit, Handles, Message, Name, Port, Restart, actor};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

const MAILBOX: usize = 64;
const GRACE: Duration = Duration::from_secs(5);

/// A place in a tree, before anyone knows who will stand there. Two actors that hold ports to each other
/// begin with their places.
pub struct Place<A: Actor>(Rc<Slot<A>>);

impl<A: Actor> Place<A> {
    /// A place with a name.
    pub fn new(name: &str) -> Self {
        Self(Slot::new(name.into(), MAILBOX))
    }

    /// A port to whoever will stand here.
    pub fn port<M: Message>(&self) -> Port<M>
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        Port::new(self.0.clone())
    }

    /// The child that stands here; `build` makes each incarnation of it.
    pub fn child(self, build: impl Fn(&mut Context<A>) -> A + 'static) -> Child<A> {
        Child {
            slot: self.0,
            build: Rc::new(build),
            restart: Restart::Permanent,
            grace: Some(GRACE),
            below: Rc::from([]),
        }
    }
}

/// A child of a supervisor, in the making.
pub struct Child<A: Actor> {
    slot: Rc<Slot<A>>,
    build: Rc<Build<A>>,
    restart: Restart,
    grace: Option<Duration>,
    below: Rc<[Spec]>,
}

type Build<A> = dyn Fn(&mut Context<A>) -> A;

impl<A: Actor> Child<A> {
    /// A permanent child with a mailbox of 64 and a grace of five seconds; `build` makes each incarnation.
    pub fn new(name: &str, build: impl Fn(&mut Context<A>) -> A + 'static) -> Self {
        Place::new(name).child(build)
    }

    /// How many letters wait in its mailbox at most.
    pub fn mailbox(self, size: usize) -> Self {
        self.slot.resize_mailbox(size);
        self
    }

    /// Which exits are followed by a restart.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// How long it may take to go before it is killed.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// A port to it; it works before, between and after its lives.
    pub fn port<M: Message>(&self) -> Port<M>
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        Port::new(self.slot.clone())
    }

    /// What a supervisor takes.
    pub fn spec(self) -> Spec {
        Spec(Rc::new(self))
    }

    /// For those whose children have graces of their own.
    pub(super) fn above(mut self, below: Rc<[Spec]>) -> Self {
        self.below = below;
        self.grace = None;
        self
    }
}

/// A child whose actor's type is forgotten, ready for a supervisor.
pub struct Spec(Rc<dyn Startable>);

trait Startable {
    fn name(&self) -> &Name;
    fn kind(&self) -> &'static str;
    fn handles(&self) -> &'static [&'static str];
    fn restart(&self) -> Restart;
    fn lives(&self) -> u64;
    fn below(&self) -> &[Spec];
    fn start(&self, surroundings: &Rc<Surroundings>, report: Report) -> Result<(), Exit>;
    fn order_stop(&self, drain: bool, within: Option<Duration>) -> bool;
    fn kill(&self, exit: Exit);
    fn go_down(&self, cause: &Exit);
}

impl<A: Actor> Startable for Child<A> {
    fn name(&self) -> &Name {
        self.slot.name()
    }

    fn kind(&self) -> &'static str {
        A::KIND
    }

    fn handles(&self) -> &'static [&'static str] {
        A::HANDLES
    }

    fn restart(&self) -> Restart {
        self.restart
    }

    fn lives(&self) -> u64 {
        self.slot.lives()
    }

    fn below(&self) -> &[Spec] {
        &self.below
    }

    fn start(&self, surroundings: &Rc<Surroundings>, report: Report) -> Result<(), Exit> {
        driver::start(&self.slot, &*self.build, surroundings, report)
    }

    fn order_stop(&self, drain: bool, within: Option<Duration>) -> bool {
        let grace = self.grace.into_iter().chain(within).min();
        let deadline = grace.and_then(|grace| Instant::now().checked_add(grace));
        driver::order_stop(&self.slot, drain, deadline)
    }

    fn kill(&self, exit: Exit) {
        driver::kill(&self.slot, exit);
    }

    fn go_down(&self, cause: &Exit) {
        self.slot.go_down(cause);
    }
}

impl Spec {
    /// What the child is called.
    pub fn name(&self) -> &Name {
        self.0.name()
    }

    pub(super) fn restart(&self) -> Restart {
        self.0.restart()
    }

    /// The number of its current or last life; 0 before the first.
    pub(super) fn lives(&self) -> u64 {
        self.0.lives()
    }

    /// Makes its boundaries, and those of everything below it, known.
    pub(super) fn register(&self, surroundings: &Surroundings) {
        surroundings.registry.add(self.0.kind(), self.0.handles());
        for spec in self.0.below() {
            spec.register(surroundings);
        }
    }

    pub(super) fn start(&self, surroundings: &Rc<Surroundings>, report: Report) -> Result<(), Exit> {
        self.0.start(surroundings, report)
    }

    /// Tells it to go, within its own grace and at most `within`. Says whether there was anyone to tell.
    pub(super) fn order_stop(&self, drain: bool, within: Option<Duration>) -> bool {
        self.0.order_stop(drain, within)
    }

    /// Removes it at once; nobody is told but those who wait for its answers.
    pub(super) fn kill(&self) {
        self.0.kill(Exit::Killed);
    }

    /// It does not come back, and nothing below it does.
    pub(super) fn go_down(&self, cause: &Exit) {
        for spec in self.0.below() {
            spec.go_down(cause);
        }
        self.0.go_down(cause);
    }
}
