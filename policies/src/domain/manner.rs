//! How a sub-agent is run, beyond its model and its tools.

use serde::{Deserialize, Serialize};

/// How much a model thinks before it answers, where its provider lets one choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all.
    Off,
    /// As little as there is.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as there is.
    Xhigh,
}

impl ReasoningEffort {
    /// As it stands in files, and as Pi calls it.
    pub const WORDS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

    /// Reads it; capitals make it another word.
    pub fn read(word: &str) -> Option<Self> {
        let all = [
            Self::Off,
            Self::Minimal,
            Self::Low,
            Self::Medium,
            Self::High,
            Self::Xhigh,
        ];
        all.into_iter().find(|effort| effort.word() == word)
    }

    /// As it stands in files, and as Pi calls it.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// Where the instructions of an agent stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptMode {
    /// They are the system prompt.
    #[default]
    Static,
    /// Behind the system prompt of the program that the sub-agent runs in, where that has one.
    Append,
}

impl PromptMode {
    /// As it stands in files.
    pub const WORDS: [&str; 2] = ["static", "append"];

    /// Reads it.
    pub fn read(word: &str) -> Option<Self> {
        [Self::Static, Self::Append]
            .into_iter()
            .find(|mode| mode.word() == word)
    }

    /// As it stands in files.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// Whether calls of one turn that ask an agent run at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// They do.
    #[default]
    Parallel,
    /// One after the other.
    Sequential,
}

impl ExecutionMode {
    /// As it stands in files.
    pub const WORDS: [&str; 2] = ["parallel", "sequential"];

    /// Reads it.
    pub fn read(word: &str) -> Option<Self> {
        [Self::Parallel, Self::Sequential]
            .into_iter()
            .find(|mode| mode.word() == word)
    }

    /// As it stands in files.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}
