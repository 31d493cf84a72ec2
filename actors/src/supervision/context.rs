//! What an actor can do besides answering.

use super::actor_cell::ActorCell;
use super::answer::AnswerTask;
use super::envelope::{Envelope, InFlight, SendMode};
use super::incarnation::Incarnation;
use super::linked::{LinkedTask, Then};
use super::mailbox::Full;
use super::shell::Shell;
use super::tree::TreeContext;
use super::{Actor, Exit, Handles, Message, Port, actor};
use actix::ActorContext;
use futures_util::FutureExt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The tree of one incarnation. What is spawned, set or noted here dies with it.
pub struct Context<A: Actor> {
    pub(super) cell: Rc<ActorCell<A>>,
    pub(super) incarnation: Rc<Incarnation>,
    pub(super) tree: Rc<TreeContext>,
    /// Linked work that nobody has polled yet.
    pub(super) begun: Vec<LinkedTask<A>>,
}

/// Names a timer, so that it can be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerKey {
    pub(super) due: Instant,
    pub(super) number: u64,
}

impl<A: Actor> Context<A> {
    pub(super) fn new(cell: Rc<ActorCell<A>>, incarnation: Rc<Incarnation>, tree: Rc<TreeContext>) -> Self {
        Self {
            cell,
            incarnation,
            tree,
            begun: Vec::new(),
        }
    }

    /// What this actor is called in its tree.
    pub fn name(&self) -> &str {
        self.cell.name()
    }

    /// Which life this is, from 1.
    pub fn incarnation(&self) -> u64 {
        self.incarnation.number
    }

    /// A port to this actor, to give to others.
    pub fn port<M: Message>(&self) -> Port<M>
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        Port::new(self.cell.clone())
    }

    /// Writes a note to self; it is handled after what is in the mailbox already.
    pub fn notify<M: Message>(&mut self, message: M)
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        let note = Envelope::new(message, SendMode::Note);
        if let Err(Full) = self.cell.admit(note, SendMode::Note) {
            self.fail(format!("it floods itself with {}", M::NAME));
        }
    }

    /// Writes a note to self that comes due later.
    pub fn notify_after<M: Message>(&mut self, delay: Duration, message: M) -> TimerKey
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        let now = Instant::now();
        let due = now.checked_add(delay).unwrap_or(now + FAR_FUTURE);
        self.cell
            .timers
            .borrow_mut()
            .set(due, Envelope::new(message, SendMode::Note))
    }

    /// Takes back a note that has not come due. Says whether there was one.
    pub fn cancel_timer(&mut self, key: TimerKey) -> bool {
        self.cell.timers.borrow_mut().cancel(key)
    }

    /// Runs a task linked to this incarnation: it is dropped with it, and a panic in it is this actor's exit.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.spawn_then(task, |_, (), _| {});
    }

    /// The same, and `then` sees the actor and the output.
    pub fn spawn_then<T: 'static>(
        &mut self,
        task: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut A, T, &mut Context<A>) + 'static,
    ) {
        let shutdown_guard = self.shutting_down().then(|| self.incarnation.shutdown_guard());
        let task = async move {
            let output = task.await;
            let then: Then<A, ()> = Box::new(move |actor, ctx| {
                then(actor, output, ctx);
                drop(shutdown_guard);
            });
            then
        };
        self.begun.push(task.boxed_local());
    }

    /// Ends this actor normally, when the handler returns.
    pub fn stop(&mut self) {
        self.end(Exit::Normal);
    }

    /// Ends this actor as failed, when the handler returns.
    pub fn fail(&mut self, why: impl Into<Arc<str>>) {
        self.end(Exit::Failed(why.into()));
    }

    /// A step was committed: the restarts so far count no more.
    pub fn progress(&mut self) {
        self.incarnation.progressed.set(true);
    }

    /// It was told to go.
    pub fn shutting_down(&self) -> bool {
        self.incarnation.order.get().is_some()
    }

    pub(super) fn end(&mut self, exit: Exit) {
        self.incarnation.end(exit);
    }

    pub(super) fn link_answer<M: Message>(&mut self, task: AnswerTask<A, M::Reply>, in_flight: InFlight<M>) {
        let task = async move {
            let reply = task.await;
            let then: Then<A, ()> = Box::new(move |actor, ctx| {
                let reply = reply(actor, ctx);
                in_flight.answer(reply, A::KIND);
            });
            then
        };
        self.begun.push(task.boxed_local());
    }

    /// Tells actix when this is over.
    pub(super) fn leave_if_ending(&self, actix: &mut actix::Context<Shell<A>>) {
        if self.incarnation.is_ending() {
            actix.terminate();
        }
    }
}

/// As good as never.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365);
