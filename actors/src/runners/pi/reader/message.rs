//! The model's messages, as far as an ending is read from them.

use crate::gateways::{EndFacts, ModelUsage};
use crate::runners::pi::summary::up_to;
use crate::runners::pi::wire::{self, Message, State, Usage};
use impresario_policies::domain::MessageId;
use impresario_policies::redact::redact_beginning;
use impresario_policies::run_messages::marked;
use serde_json::value::RawValue;

/// More of one message than this is not kept.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const ERROR_BYTES_MAX: usize = 8 * 1024;
const REASON_BYTES_MAX: usize = 100;
const MODEL_BYTES_MAX: usize = 200;

/// What the model said last.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The message that is being streamed.
    streaming: Option<String>,
    last: LastMessage,
}

#[derive(Debug, Default)]
struct LastMessage {
    known: bool,
    text: String,
    stop_reason: Option<String>,
    raw_stop_reason: Option<String>,
    error_message: Option<String>,
}

/// What a finished message brings.
#[derive(Debug)]
pub(super) struct EndedMessage {
    /// The part of its text that no delta had brought.
    pub text_not_streamed: String,
    /// The model that answered.
    pub served: Option<String>,
    /// What the call used; none where it was cut off and nobody counted.
    pub used: Option<ModelUsage>,
    /// How many tools it calls.
    pub calls: usize,
}

impl Conversation {
    pub(super) fn begin_message(&mut self) {
        self.streaming = Some(String::new());
    }

    /// Adds a delta; false when the message is full.
    pub(super) fn grow(&mut self, delta: &str) -> bool {
        let streaming = self.streaming.get_or_insert_default();
        if streaming.len() + delta.len() > ANSWER_BYTES_MAX {
            return false;
        }
        streaming.push_str(delta);
        true
    }

    /// Takes a finished message, if it is the model's.
    pub(super) fn end_message(&mut self, raw: Option<&RawValue>) -> Option<EndedMessage> {
        let message = assistant_message(raw?)?;
        let streamed = self.streaming.take().unwrap_or_default();
        self.remember(&message);
        let rest = self.last.text.strip_prefix(streamed.as_str());
        Some(EndedMessage {
            text_not_streamed: rest.unwrap_or_default().to_string(),
            served: wire::text(message.response_model)
                .map(|model| up_to(&model, MODEL_BYTES_MAX).to_string()),
            used: usage_of(&message).or_else(|| (!self.was_cut_off()).then(ModelUsage::default)),
            calls: wire::count_blocks(message.content, "toolCall"),
        })
    }

    /// Something of the last message had come when it ended, or may have.
    fn was_cut_off(&self) -> bool {
        match self.last.stop_reason.as_deref() {
            Some("aborted") => true,
            Some("error") => !self.last.text.is_empty(),
            Some(_) | None => false,
        }
    }

    /// What the last message says, where it says anything.
    pub(super) fn last_text(&self) -> Option<&str> {
        let text = self.last.text.as_str();
        (!text.trim().is_empty()).then_some(text)
    }

    /// The run ended and brought all its messages once more. They are needed only when the last one was missed.
    pub(super) fn end_run(&mut self, messages: Option<&RawValue>) {
        if self.last.known && self.streaming.is_none() {
            return;
        }
        let mut last = None;
        wire::each_element(messages, |raw| {
            if is_of_assistant(Some(raw)) {
                last = Some(raw);
            }
        });
        if let Some(message) = last.and_then(assistant_message) {
            self.streaming = None;
            self.remember(&message);
        }
        if let Some(partial) = self.streaming.take() {
            self.last = LastMessage {
                known: true,
                text: partial,
                stop_reason: Some("pending".to_string()),
                ..LastMessage::default()
            };
        }
    }

    /// Pi would not take the prompt.
    pub(super) fn refuse(&mut self, why: &str) {
        self.last = LastMessage {
            stop_reason: Some("error".to_string()),
            error_message: Some(why.to_string()),
            ..LastMessage::default()
        };
    }

    /// What an ending is read from. A message that was cut off counts with what there was of it.
    pub(super) fn facts(&self) -> EndFacts {
        match &self.streaming {
            Some(partial) if !partial.is_empty() => EndFacts {
                answer: partial.clone(),
                ..EndFacts::default()
            },
            Some(_) | None => EndFacts {
                answer: self.last.text.clone(),
                stop_reason: self.last.stop_reason.clone(),
                raw_stop_reason: self.last.raw_stop_reason.clone(),
                error_message: self.last.error_message.clone(),
                ..EndFacts::default()
            },
        }
    }

    fn remember(&mut self, message: &Message<'_>) {
        let mut text = String::new();
        wire::each_text(message.content, |part| {
            text.push_str(up_to(part, ANSWER_BYTES_MAX.saturating_sub(text.len())));
        });
        let short = |raw, bytes_max| {
            let said = wire::text(raw)?;
            Some(redact_beginning(&said, bytes_max).into_owned())
        };
        self.last = LastMessage {
            known: true,
            text,
            stop_reason: short(message.stop_reason, REASON_BYTES_MAX),
            raw_stop_reason: short(message.raw_stop_reason, REASON_BYTES_MAX),
            error_message: short(message.error_message, ERROR_BYTES_MAX),
        };
    }
}

/// Whether a message is the model's.
pub(super) fn is_of_assistant(raw: Option<&RawValue>) -> bool {
    raw.and_then(assistant_message).is_some()
}

/// The messages to the run that stand in what the model was told.
pub(super) fn told_in(raw: Option<&RawValue>) -> Vec<MessageId> {
    let message = raw.and_then(|raw| serde_json::from_str::<Message<'_>>(raw.get()).ok());
    let mut told = Vec::new();
    if let Some(message) = message.filter(|message| message.role == "user") {
        wire::each_text(message.content, |text| told.extend(marked(text)));
    }
    told
}

fn assistant_message(raw: &RawValue) -> Option<Message<'_>> {
    let message: Message<'_> = serde_json::from_str(raw.get()).ok()?;
    (message.role == "assistant").then_some(message)
}

fn usage_of(message: &Message<'_>) -> Option<ModelUsage> {
    let usage: Usage = serde_json::from_str(message.usage?.get()).ok()?;
    let tokens = |count: f64| {
        if count.is_finite() && count > 0.0 {
            count as u64
        } else {
            0
        }
    };
    let counted = ModelUsage {
        input: tokens(usage.input),
        output: tokens(usage.output),
        cache_read: tokens(usage.cache_read),
        cache_write: tokens(usage.cache_write),
        cost_usd: (usage.cost.total.is_finite() && usage.cost.total > 0.0).then_some(usage.cost.total),
    };
    (counted != ModelUsage::default()).then_some(counted)
}

/// Whether the answer to `get_state` says that nothing is under way; none when it is no such answer.
pub(super) fn is_idle(data: Option<&RawValue>) -> Option<bool> {
    let state: State = serde_json::from_str(data?.get()).ok()?;
    Some(!state.is_streaming && !state.is_compacting)
}
