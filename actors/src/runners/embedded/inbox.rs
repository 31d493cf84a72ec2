//! What an embedded sub-agent is told, until its conversation has it.

use super::session_file;
use crate::gateways::ModelMessage;
use impresario_policies::domain::{MessageId, MessageKind, RunMessage};
use impresario_policies::run_messages::{MessageStanding, find_message};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Shared between the loop and whoever tells it something.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Rc<RefCell<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    waiting: VecDeque<RunMessage>,
    /// Questions that the sub-agent has and has said nothing after.
    unanswered: Vec<MessageId>,
}

/// What a conversation that goes on shows of a message.
pub(super) enum Found {
    /// It stands there.
    Told(MessageId),
    /// And this was said next.
    Replied(MessageId, String),
}

impl Inbox {
    pub(super) fn put(&self, message: RunMessage) {
        self.0.borrow_mut().waiting.push_back(message);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().waiting.is_empty()
    }

    pub(super) fn next(&self) -> Option<RunMessage> {
        self.0.borrow_mut().waiting.pop_front()
    }

    /// The conversation has it now.
    pub(super) fn told(&self, message: &RunMessage) {
        if message.kind == MessageKind::Ask {
            self.0.borrow_mut().unanswered.push(message.id.clone());
        }
    }

    /// The questions that what is said now answers.
    pub(super) fn answered(&self) -> Vec<MessageId> {
        std::mem::take(&mut self.0.borrow_mut().unanswered)
    }

    /// Takes what the run was told before: what the conversation lacks is told, and what it has is said.
    pub(super) fn sort(&self, told_before: &[RunMessage], conversation: &[ModelMessage]) -> Vec<Found> {
        let mut found = Vec::new();
        for message in told_before {
            match find_message(session_file::said(conversation), &message.id) {
                MessageStanding::Missing => self.put(message.clone()),
                MessageStanding::Told { said_next } => {
                    found.push(Found::Told(message.id.clone()));
                    match said_next {
                        Some(text) if message.kind == MessageKind::Ask => {
                            found.push(Found::Replied(message.id.clone(), text));
                        }
                        Some(_) => {}
                        None => self.told(message),
                    }
                }
            }
        }
        found
    }
}
