//! What a person, or whoever asked for a run, tells it while it is under way.

use super::{MessageId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is wanted with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The sub-agent takes it into account and goes on.
    Steer,
    /// The sub-agent answers with what it says next, and goes on.
    Ask,
}

impl MessageKind {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Ask => "ask",
        }
    }
}

/// A message to a run that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMessage {
    /// Chosen by the sender, so that sending again is harmless.
    pub id: MessageId,
    /// What is wanted with it.
    pub kind: MessageKind,
    /// As it was typed.
    pub text: String,
    /// Who sent it, for people: `impresario steer`, `/impresario ask`.
    pub by: String,
    /// The run whose sub-agent sent it; none where a person or a program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RunId>,
}
