//! What may be spent on calls of models, and what each of them was.

use super::{AttemptNumber, ModelUsage};
use serde::{Deserialize, Serialize};

/// How much may be spent; none is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cap {
    /// In US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// In tokens of every kind together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Cap {
    /// Nothing is limited.
    pub const NONE: Self = Self {
        usd: None,
        tokens: None,
    };

    /// Nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// What a run may spend, alone and together with others. A request of a journal without it has no limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// One call of a model.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub call: Cap,
    /// The run itself.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub run: Cap,
    /// Everything that was asked for together: the run, or all members of its group.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub tree: Cap,
    /// Everything that the session of the host asked for.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub session: Cap,
    /// Everything of this user since midnight UTC, in all sessions.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub day: Cap,
    /// So many dollars stand for a million tokens of a call whose price nobody knows, so that caps in money hold it too.
    pub assumed_usd_per_million: f64,
}

/// One call of a model, after it is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Who called.
    pub by: Caller,
    /// The model that was asked for.
    pub requested: String,
    /// The model that answered, where the provider says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// As the provider counted; none where the call was cut off and nobody counted.
    pub used: Option<ModelUsage>,
    /// What was set aside for it before it began. It counts where nobody counted.
    pub reserved: ModelUsage,
    /// What was known of its prompt when it was made; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Box<PromptSeen>>,
}

/// The prompt of a call beside the one before it. Tokens are a guess: four characters each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSeen {
    /// Its blocks: tools, system prompt, parts of messages.
    pub blocks: u64,
    /// All of it.
    pub tokens: u64,
    /// The first block that is not as in the call before, where that one had one there too: its number, from 1, and what
    /// it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke_at: Option<(u64, String)>,
    /// Since the call before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// So much of it was taken to be in the provider's cache.
    pub expected_read: u64,
    /// A shorter prompt of this model is not cached.
    pub tokens_min: u64,
    /// It waited so long for another sub-agent with the same beginning.
    #[serde(default)]
    pub waited_ms: u64,
}

impl ModelCall {
    /// What it counts as: what was used, else what was set aside.
    pub fn counted(&self) -> ModelUsage {
        self.used.unwrap_or(self.reserved)
    }
}

/// Which part of a run called a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Caller {
    /// What writes briefs.
    Actor {
        /// In which pass, from 1.
        pass: u32,
    },
    /// What judges them.
    Judge {
        /// In which pass, from 1.
        pass: u32,
    },
    /// The sub-agent.
    SubAgent {
        /// In which attempt.
        attempt: AttemptNumber,
    },
}
