//! A message on its way: who waits for it, whether it was opened, and what became of it.

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
pub(super) enum Manner {
    /// Somebody waits for the reply.
    Ask,
    /// The same, and they would rather stand in a long line than be refused.
    AskPatiently,
    /// Nobody waits.
    Tell,
    /// The actor said it to itself; it dies with the incarnation.
    Note,
}

pub(super) struct Letter<M: Message> {
    message: Cell<Option<M>>,
    fate: RefCell<Fate<M::Reply>>,
    manner: Manner,
}

/// What became of a letter.
pub(super) enum Fate<R> {
    Waiting(Option<Waker>),
    Answered(R),
    Died {
        incarnation: u64,
        cause: Exit,
    },
    Down(Exit),
    Busy,
    /// Read already.
    Told,
}

/// A letter as the mailbox of `A` sees it.
pub(super) trait Deliver<A: Actor> {
    fn deliver(self: Rc<Self>, actor: &mut A, context: &mut Context<A>);
    fn name(&self) -> &'static str;
    fn manner(&self) -> Manner;
    /// It will never be handled. Gives back whether somebody was there to be told.
    fn go_down(&self, cause: &Exit) -> bool;
    fn address(&self) -> *const ();
}

/// A letter that was opened and not answered.
pub(super) trait Orphan {
    fn name(&self) -> &'static str;
    /// Gives back whether somebody was there to be told.
    fn died(&self, incarnation: u64, cause: &Exit) -> bool;
}

impl Manner {
    fn is_awaited(self) -> bool {
        match self {
            Self::Ask | Self::AskPatiently => true,
            Self::Tell | Self::Note => false,
        }
    }
}

impl<M: Message> Letter<M> {
    pub(super) fn new(message: M, manner: Manner) -> Rc<Self> {
        Rc::new(Self {
            message: Cell::new(Some(message)),
            fate: RefCell::new(Fate::Waiting(None)),
            manner,
        })
    }

    pub(super) fn manner(&self) -> Manner {
        self.manner
    }

    /// The message, if its handling never began.
    pub(super) fn take_message(&self) -> Option<M> {
        self.message.take()
    }

    pub(super) fn settle(&self, fate: Fate<M::Reply>) {
        if let Fate::Waiting(Some(waker)) = self.fate.replace(fate) {
            waker.wake();
        }
    }

    pub(super) fn poll_fate(&self, waker: &Waker) -> Poll<Fate<M::Reply>> {
        let mut fate = self.fate.borrow_mut();
        match &mut *fate {
            Fate::Waiting(Some(known)) if known.will_wake(waker) => Poll::Pending,
            Fate::Waiting(slot) => {
                *slot = Some(waker.clone());
                Poll::Pending
            }
            settled => Poll::Ready(std::mem::replace(settled, Fate::Told)),
        }
    }
}

impl<A: Handles<M>, M: Message> Deliver<A> for Letter<M> {
    fn deliver(self: Rc<Self>, actor: &mut A, context: &mut Context<A>) {
        if boundary::is_watched()
            && !pass(
                context.slot.name(),
                A::KIND,
                &context.incarnation,
                M::NAME,
                When::Before,
            )
        {
            return; // killed before it was opened: it stays in the mailbox for the next incarnation
        }
        context.slot.remove_front();
        let Some(message) = self.message.take() else {
            return;
        };
        let opened = Opened::new(self, context);
        let answer = {
            let _span = tracing::trace_span!(
                "message",
                actor.kind = A::KIND,
                actor.name = &*opened.actor,
                message = M::NAME
            )
            .entered();
            actor.handle(message, context)
        };
        match answer.0 {
            Form::Now(reply) => opened.answer(reply, A::KIND),
            Form::Later(task) => context.link_answer(task, opened),
        }
    }

    fn name(&self) -> &'static str {
        M::NAME
    }

    fn manner(&self) -> Manner {
        self.manner
    }

    fn go_down(&self, cause: &Exit) -> bool {
        self.settle(Fate::Down(cause.clone()));
        self.manner.is_awaited()
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

impl<M: Message> Orphan for Letter<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn died(&self, incarnation: u64, cause: &Exit) -> bool {
        self.settle(Fate::Died {
            incarnation,
            cause: cause.clone(),
        });
        self.manner.is_awaited()
    }
}

/// A letter in the hands of its handler. Dropped without an answer, its asker learns that the handler died.
pub(super) struct Opened<M: Message> {
    letter: Option<Rc<Letter<M>>>,
    actor: Name,
    incarnation: Rc<Incarnation>,
}

impl<M: Message> Opened<M> {
    fn new<A: Actor>(letter: Rc<Letter<M>>, context: &Context<A>) -> Self {
        let incarnation = context.incarnation.clone();
        incarnation.letter_opened();
        Self {
            letter: Some(letter),
            actor: context.slot.name().clone(),
            incarnation,
        }
    }

    /// The handler is done: the boundary after it, and then the reply.
    pub(super) fn answer(mut self, reply: M::Reply, kind: &'static str) {
        if boundary::is_watched() && !pass(&self.actor, kind, &self.incarnation, M::NAME, When::After) {
            return;
        }
        if let Some(letter) = self.letter.take() {
            letter.settle(Fate::Answered(reply));
        }
    }
}

impl<M: Message> Drop for Opened<M> {
    fn drop(&mut self) {
        self.incarnation.letter_closed();
        if let Some(letter) = self.letter.take() {
            self.incarnation.letter_cut_off(letter);
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
