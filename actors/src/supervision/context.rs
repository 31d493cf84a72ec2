//! What an actor can do besides answering.

use super::answer::AnswerTask;
use super::incarnation::Incarnation;
use super::letter::{Letter, Manner, Opened};
use super::linked::{LinkedTask, Then};
use super::mailbox::Full;
use super::shell::Shell;
use super::slot::Slot;
use super::surroundings::Surroundings;
use super::{Actor, Exit, Handles, Message, Port, actor};
use actix::ActorContext;
use futures_util::FutureExt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The surroundings of one incarnation. What is spawned, set or noted here dies with it.
pub struct Context<A: Actor> {
    pub(super) slot: Rc<Slot<A>>,
    pub(super) incarnation: Rc<Incarnation>,
    pub(super) surroundings: Rc<Surroundings>,
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
    pub(super) fn new(
        slot: Rc<Slot<A>>,
        incarnation: Rc<Incarnation>,
        surroundings: Rc<Surroundings>,
    ) -> Self {
        Self {
            slot,
            incarnation,
            surroundings,
            begun: Vec::new(),
        }
    }

    /// What this actor is called in its tree.
    pub fn name(&self) -> &str {
        self.slot.name()
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
        Port::new(self.slot.clone())
    }

    /// Writes a note to self; it is handled after what is in the mailbox already.
    pub fn notify<M: Message>(&mut self, message: M)
    where
        A: Handles<M>,
    {
        const { actor::assert_listed::<A, M>() };
        let note = Letter::new(message, Manner::Note);
        if let Err(Full) = self.slot.admit(note, Manner::Note) {
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
        self.slot
            .timers
            .borrow_mut()
            .set(due, Letter::new(message, Manner::Note))
    }

    /// Takes back a note that has not come due. Says whether there was one.
    pub fn cancel_timer(&mut self, key: TimerKey) -> bool {
        self.slot.timers.borrow_mut().cancel(key)
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
        let farewell = self.shutting_down().then(|| self.incarnation.farewell());
        let task = async move {
            let output = task.await;
            let then: Then<A, ()> = Box::new(move |actor, ctx| {
                then(actor, output, ctx);
                drop(farewell);
            });
            then
        };
        self.begun.push(task.boxed_local());
    }

    /// Runs `work`, which may compute for long, beside the actors; then `then` sees the actor and the output.
    ///
    /// A panic in it is this actor's exit. It cannot be interrupted: when the incarnation dies, `work` runs to its
    /// end and nobody looks at the output.
    pub fn spawn_blocking_then<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(&mut A, T, &mut Context<A>) + 'static,
    ) {
        let blocking = self.surroundings.blocking;
        self.spawn_then(blocking.run(work), then);
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

    pub(super) fn link_answer<M: Message>(&mut self, task: AnswerTask<A, M::Reply>, opened: Opened<M>) {
        let task = async move {
            let reply = task.await;
            let then: Then<A, ()> = Box::new(move |actor, ctx| {
                let reply = reply(actor, ctx);
                opened.answer(reply, A::KIND);
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
