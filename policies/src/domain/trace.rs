//! What a trace says of its run.

use serde::{Deserialize, Serialize};

/// How a run seems to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceOutcome {
    /// Well.
    Success,
    /// Not well.
    LikelyFailure,
    /// Not well again and again, and it once did.
    LikelyRegression,
    /// Nobody can tell.
    Unknown,
}

impl TraceOutcome {
    /// Every outcome, in the order they are shown.
    pub const ALL: [TraceOutcome; 4] = [
        TraceOutcome::Success,
        TraceOutcome::LikelyFailure,
        TraceOutcome::LikelyRegression,
        TraceOutcome::Unknown,
    ];

    /// As it is logged.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::LikelyFailure => "likely-failure",
            Self::LikelyRegression => "likely-regression",
            Self::Unknown => "unknown",
        }
    }

    /// As it is shown.
    pub fn emoji(self) -> &'static str {
        match self {
            Self::Success => "✅",
            Self::LikelyFailure => "⚠️",
            Self::LikelyRegression => "📉",
            Self::Unknown => "❓",
        }
    }
}

/// What a trace says of its run, and what it says it by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceVerdict {
    /// How it ended.
    pub outcome: TraceOutcome,
    /// The signs, in words.
    pub signals: Vec<String>,
    /// From 0 to 1.
    pub confidence: f64,
}
