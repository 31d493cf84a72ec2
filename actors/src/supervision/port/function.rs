//! Where no actor is needed.

use super::{Accept, Posted};
use crate::supervision::envelope::{Envelope, ReplyState};
use crate::supervision::{Message, Name};
use std::cell::RefCell;
use std::rc::Rc;

/// A place where a function stands instead of an actor.
pub(super) struct FunctionPort<M: Message> {
    name: Name,
    answer: RefCell<AnswerFunction<M>>,
}

type AnswerFunction<M> = Box<dyn FnMut(M) -> <M as Message>::Reply>;

impl<M: Message> FunctionPort<M> {
    pub(super) fn new(name: &str, answer: impl FnMut(M) -> M::Reply + 'static) -> Self {
        Self {
            name: name.into(),
            answer: RefCell::new(Box::new(answer)),
        }
    }
}

impl<M: Message> Accept<M> for FunctionPort<M> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn post(&self, envelope: &Rc<Envelope<M>>) -> Posted {
        let Ok(mut answer) = self.answer.try_borrow_mut() else {
            return Posted::Busy;
        };
        if let Some(message) = envelope.take_message() {
            envelope.settle(ReplyState::Answered(answer(message)));
        }
        Posted::Queued
    }

    fn post_always(&self, envelope: &Rc<Envelope<M>>) {
        self.post(envelope);
    }

    fn forget(&self, _: &Envelope<M>) {}
}
