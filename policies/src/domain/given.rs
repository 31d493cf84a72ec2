//! What a sub-agent of a program has before its task.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An earlier conversation, and pictures that belong to the task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// What was said before, in order.
    pub history: Vec<EarlierMessage>,
    /// Shown with the task.
    pub pictures: Vec<Picture>,
}

/// A message of an earlier conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierMessage {
    /// Who said it.
    pub by: EarlierSpeaker,
    /// What was said.
    pub text: String,
}

/// Who said something in an earlier conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlierSpeaker {
    /// The person, or whoever stands for them.
    User,
    /// The model.
    Assistant,
}

impl EarlierMessage {
    /// What the person said.
    pub fn user(text: impl Into<String>) -> Self {
        let by = EarlierSpeaker::User;
        Self {
            by,
            text: text.into(),
        }
    }

    /// What the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        let by = EarlierSpeaker::Assistant;
        Self {
            by,
            text: text.into(),
        }
    }
}

/// A picture, as models take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// `image/png` and the like, by what the bytes begin with.
    pub media_type: String,
    /// The bytes, in base64; shared, for each request holds them.
    pub base64: Arc<str>,
}
