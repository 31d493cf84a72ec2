//! A message on its way: who waits for it, whether it was in_flight, and what became of it.

use super::actor::Handles;
use super::answer::Form;
use super::boundary::{self, Verdict, When};
use super::incarnation::Incarnation;
use super::{Actor, Context, Exit, Message, Name};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// How a message was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SendMode {
    /// Somebody waits for the reply.
    Ask,
    /// The same, and they would rather stand in a long line than be refused.
    AskPatiently,
    Tell,
    /// The actor said it to itself; it dies with the incarnation.
    Note,
}

pub(super) struct Envelope<M: Message> {
    message: Cell<Option<M>>,
    state: RefCell<ReplyState<M::Reply>>,
    mode: SendMode,
}

/// What became of an envelope.
pub(super) enum ReplyState<R> {
    Waiting(Option<Waker>),
    Answered(R),
    Died { incarnation: u64, cause: Exit },
    Down(Exit),
    Busy,
    Told,
}

/// An envelope as the mailbox of `A` sees it.
pub(super) trait Deliver<A: Actor> {
    fn deliver(self: Rc<Self>, actor: &mut A, context: &mut Context<A>);
    fn name(&self) -> &'static str;
    fn mode(&self) -> SendMode;
    /// It will never be handled. Gives back whether somebody was there to be told.
    fn go_down(&self, cause: &Exit) -> bool;
    fn address(&self) -> *const ();
}

/// An envelope that was in_flight and not answered.
pub(super) trait Unanswered {
    fn name(&self) -> &'static str;
    /// Gives back whether somebody was there to be told.
    fn died(&self, incarnation: u64, cause: &Exit) -> bool;
}

impl SendMode {
    fn is_awaited(self) -> bool {
        match self {
            Self::Ask | Self::AskPatiently => true,
            Self::Tell | Self::Note => false,
        }
    }
}

impl<M: Message> Envelope<M> {
    pub(super) fn new(message: M, mode: SendMode) -> Rc<Self> {
        Rc::new(Self {
            message: Cell::new(Some(message)),
            state: RefCell::new(ReplyState::Waiting(None)),
            mode,
        })
    }

    pub(super) fn mode(&self) -> SendMode {
        self.mode
    }

    /// The message, if its handling never began.
    pub(super) fn take_message(&self) -> Option<M> {
        self.message.take()
    }

    pub(super) fn settle(&self, state: ReplyState<M::Reply>) {
        if let ReplyState::Waiting(Some(waker)) = self.state.replace(state) {
            waker.wake();
        }
    }

    pub(super) fn poll_reply(&self, waker: &Waker) -> Poll<ReplyState<M::Reply>> {
        let mut state = self.state.borrow_mut();
        match &mut *state {
            ReplyState::Waiting(Some(known)) if known.will_wake(waker) => Poll::Pending,
            ReplyState::Waiting(cell) => {
                *cell = Some(waker.clone());
                Poll::Pending
            }
            settled => Poll::Ready(std::mem::replace(settled, ReplyState::Told)),
        }
    }
}

impl<A: Handles<M>, M: Message> Deliver<A> for Envelope<M> {
    fn deliver(self: Rc<Self>, actor: &mut A, context: &mut Context<A>) {
        if boundary::is_watched()
            && !pass(
                context.cell.name(),
                A::KIND,
                &context.incarnation,
                M::NAME,
                When::Before,
            )
        {
            return; // killed before it was in_flight: it stays in the mailbox for the next incarnation
        }
        context.cell.remove_front();
        let Some(message) = self.message.take() else {
            return;
        };
        let in_flight = InFlight::new(self, context);
        let answer = {
            let _span = tracing::trace_span!(
                "message",
                actor.kind = A::KIND,
                actor.name = &*in_flight.actor,
                message = M::NAME
            )
            .entered();
            actor.handle(message, context)
        };
        match answer.0 {
            Form::Now(reply) => in_flight.answer(reply, A::KIND),
            Form::Later(task) => context.link_answer(task, in_flight),
        }
    }

    fn name(&self) -> &'static str {
        M::NAME
    }

    fn mode(&self) -> SendMode {
        self.mode
    }

    fn go_down(&self, cause: &Exit) -> bool {
        self.settle(ReplyState::Down(cause.clone()));
        self.mode.is_awaited()
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

impl<M: Message> Unanswered for Envelope<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn died(&self, incarnation: u64, cause: &Exit) -> bool {
        self.settle(ReplyState::Died {
            incarnation,
            cause: cause.clone(),
        });
        self.mode.is_awaited()
    }
}

/// An envelope in the hands of its handler. Dropped without an answer, its asker learns that the handler died.
pub(super) struct InFlight<M: Message> {
    envelope: Option<Rc<Envelope<M>>>,
    actor: Name,
    incarnation: Rc<Incarnation>,
}

impl<M: Message> InFlight<M> {
    fn new<A: Actor>(envelope: Rc<Envelope<M>>, context: &Context<A>) -> Self {
        let incarnation = context.incarnation.clone();
        incarnation.envelope_opened();
        Self {
            envelope: Some(envelope),
            actor: context.cell.name().clone(),
            incarnation,
        }
    }

    /// The handler is done: the boundary after it, and then the reply.
    pub(super) fn answer(mut self, reply: M::Reply, kind: &'static str) {
        if boundary::is_watched() && !pass(&self.actor, kind, &self.incarnation, M::NAME, When::After) {
            return;
        }
        if let Some(envelope) = self.envelope.take() {
            envelope.settle(ReplyState::Answered(reply));
        }
    }
}

impl<M: Message> Drop for InFlight<M> {
    fn drop(&mut self) {
        self.incarnation.envelope_closed();
        if let Some(envelope) = self.envelope.take() {
            self.incarnation.envelope_cut_off(envelope);
        }
    }
}

/// Asks the hook of the chaos tests whether the actor may go on.
#[cold]
fn pass(
    name: &Name,
    kind: &'static str,
    incarnation: &Incarnation,
    message: &'static str,
    when: When,
) -> bool {
    match boundary::judge(kind, name, incarnation.number, message, when) {
        Verdict::Pass => true,
        Verdict::Panic => boundary::panic_there(message, when),
        Verdict::Stop => {
            incarnation.end(Exit::Killed);
            false
        }
    }
}
