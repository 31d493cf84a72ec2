//! Messages to a run, and what became of each.

use super::{Impossible, RunProjection};
use crate::domain::{AttemptNumber, MessageId, RunMessage};

/// A message and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageProjection {
    /// What was said, and by whom.
    pub message: RunMessage,
    /// When it was accepted, in milliseconds since 1970.
    pub at_ms: u64,
    /// The attempt in whose conversation it stands, the last one, and since when.
    pub delivered: Option<(AttemptNumber, u64)>,
    /// What the sub-agent said next, and when, where that was asked for.
    pub answered: Option<(String, u64)>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFate {
    /// It stands in line.
    Queued,
    /// The sub-agent has it.
    Delivered,
    /// The sub-agent has it, and said something since.
    Answered,
    /// The run ended before the sub-agent had it.
    Expired,
}

impl MessageFate {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Answered => "answered",
            Self::Expired => "expired",
        }
    }
}

impl RunProjection {
    /// What became of this message so far.
    pub fn fate_of(&self, message: &MessageProjection) -> MessageFate {
        match (&message.answered, &message.delivered, &self.ended) {
            (Some(_), _, _) => MessageFate::Answered,
            (None, Some(_), _) => MessageFate::Delivered,
            (None, None, None) => MessageFate::Queued,
            (None, None, Some(_)) => MessageFate::Expired,
        }
    }

    /// The message of this id.
    pub fn message(&self, id: &MessageId) -> Option<&MessageProjection> {
        self.messages.iter().find(|known| known.message.id == *id)
    }

    pub(super) fn take_message(&mut self, message: &RunMessage, at_ms: u64) {
        if self.message(&message.id).is_some() {
            return self.object(Impossible::MessageTwice);
        }
        self.messages.push(MessageProjection {
            message: message.clone(),
            at_ms,
            delivered: None,
            answered: None,
        });
    }

    pub(super) fn deliver_message(&mut self, id: &MessageId, attempt: AttemptNumber, at_ms: u64) {
        let under_way = self.attempt_under_way().map(|attempt| attempt.number);
        self.check(
            under_way == Some(attempt),
            Impossible::AttemptNotUnderWay { attempt },
        );
        let Some(known) = self.known_message(id) else {
            return self.object(Impossible::MessageUnknown);
        };
        let before = known.delivered.replace((attempt, at_ms));
        let twice = before.is_some_and(|(before, _)| before == attempt);
        self.check(!twice, Impossible::MessageDeliveredTwice);
    }

    pub(super) fn answer_message(&mut self, id: &MessageId, answer: &str, at_ms: u64) {
        let Some(known) = self.known_message(id) else {
            return self.object(Impossible::MessageUnknown);
        };
        if known.answered.is_some() || known.delivered.is_none() {
            return self.object(Impossible::MessageNotToBeAnswered);
        }
        known.answered = Some((answer.to_string(), at_ms));
    }

    fn known_message(&mut self, id: &MessageId) -> Option<&mut MessageProjection> {
        self.messages.iter_mut().find(|known| known.message.id == *id)
    }
}
