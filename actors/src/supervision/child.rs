//! How one actor is built, and what its place in the tree asks for.

use super::actor_cell::ActorCell;
use super::driver::{self, Report};
use super::tree::TreeContext;
use super::{Actor, Context, Exit, Handles, Message, Name, Port, Restart, actor};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

const MAILBOX: usize = 64;
const GRACE: Duration = Duration::from_secs(5);

/// A place in a tree, before anyone knows who will stand there. Two actors that hold ports to each other
/// begin with their places.
pub struct Registration<A: Actor>(Rc<ActorCell<A>>);

impl<A: Actor> Registration<A> {
    /// A place with a name.
    pub fn new(name: &str) -> Self {
        Self(ActorCell::new(name.into(), MAILBOX))
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
            cell: self.0,
            build: Rc::new(build),
            restart: Restart::Permanent,
            grace: Some(GRACE),
            below: Rc::from([]),
        }
    }
}

/// A child of a supervisor, in the making.
pub struct Child<A: Actor> {
    cell: Rc<ActorCell<A>>,
    build: Rc<Build<A>>,
    restart: Restart,
    grace: Option<Duration>,
    below: Rc<[ChildSpec]>,
}

type Build<A> = dyn Fn(&mut Context<A>) -> A;

impl<A: Actor> Child<A> {
    /// A permanent child with a mailbox of 64 and a grace of five seconds; `build` makes each incarnation.
    pub fn new(name: &str, build: impl Fn(&mut Context<A>) -> A + 'static) -> Self {
        Registration::new(name).child(build)
    }

    /// How many envelopes wait in its mailbox at most.
    pub fn mailbox(self, size: usize) -> Self {
        self.cell.resize_mailbox(size);
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
        Port::new(self.cell.clone())
    }

    pub fn spec(self) -> ChildSpec {
        ChildSpec(Rc::new(self))
    }

    /// For those whose children have graces of their own.
    pub(super) fn above(mut self, below: Rc<[ChildSpec]>) -> Self {
        self.below = below;
        self.grace = None;
        self
    }
}

/// A child whose actor's type is forgotten, ready for a supervisor.
pub struct ChildSpec(Rc<dyn Startable>);

trait Startable {
    fn name(&self) -> &Name;
    fn kind(&self) -> &'static str;
    fn handles(&self) -> &'static [&'static str];
    fn restart(&self) -> Restart;
    fn lives(&self) -> u64;
    fn below(&self) -> &[ChildSpec];
    fn start(&self, tree: &Rc<TreeContext>, report: Report) -> Result<(), Exit>;
    fn order_stop(&self, drain: bool, within: Option<Duration>) -> bool;
    fn kill(&self, exit: Exit);
    fn go_down(&self, cause: &Exit);
}

impl<A: Actor> Startable for Child<A> {
    fn name(&self) -> &Name {
        self.cell.name()
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
        self.cell.lives()
    }

    fn below(&self) -> &[ChildSpec] {
        &self.below
    }

    fn start(&self, tree: &Rc<TreeContext>, report: Report) -> Result<(), Exit> {
        driver::start(&self.cell, &*self.build, tree, report)
    }

    fn order_stop(&self, drain: bool, within: Option<Duration>) -> bool {
        let grace = self.grace.into_iter().chain(within).min();
        let deadline = grace.and_then(|grace| Instant::now().checked_add(grace));
        driver::order_stop(&self.cell, drain, deadline)
    }

    fn kill(&self, exit: Exit) {
        driver::kill(&self.cell, exit);
    }

    fn go_down(&self, cause: &Exit) {
        self.cell.go_down(cause);
    }
}

impl ChildSpec {
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
    pub(super) fn register(&self, tree: &TreeContext) {
        tree.registry.add(self.0.kind(), self.0.handles());
        for spec in self.0.below() {
            spec.register(tree);
        }
    }

    pub(super) fn start(&self, tree: &Rc<TreeContext>, report: Report) -> Result<(), Exit> {
        self.0.start(tree, report)
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
