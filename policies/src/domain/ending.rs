//! How an attempt can end.

use serde::{Deserialize, Serialize};

/// What ended an attempt, as its events say it, never as an exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnding {
    /// The sub-agent gave its answer.
    Answered,
    /// No first event within the start-up clock.
    StartUpSilence,
    /// No event within the inactivity clock.
    Inactivity,
    /// The total clock ran out.
    Deadline,
    /// The provider or the model could not be had: 5xx, overloaded, unknown model, connection refused.
    Unavailable,
    /// The provider asked to slow down: 429, quota.
    RateLimited,
    /// The credentials were refused: 401, 403.
    Authentication,
    /// The conversation no longer fits the model.
    ContextOverflow,
    /// The model declined, or a filter did.
    Refused,
    /// The sub-agent could not be started.
    SpawnFailed,
    /// What the sub-agent printed was not the protocol.
    ProtocolError,
    /// The sub-agent's process ended without a terminal event.
    Crashed,
    /// A process of ours died, or somebody killed the sub-agent's: it is not to blame, and no step of a fallback chain is
    /// used.
    Lost,
    /// One reply called more tools than it may.
    TooManyCalls,
    /// It had more processes than a run may have.
    TooManyProcesses,
    /// Its next call of the model did not fit into what may be spent.
    OverBudget,
    /// Somebody cancelled.
    Cancelled,
    /// It ended well and said nothing.
    EmptyAnswer,
    /// It answered, and not in the form that was asked for.
    MalformedAnswer,
}

impl AttemptEnding {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::StartUpSilence => "no first sign of life in time",
            Self::Inactivity => "no sign of life for too long",
            Self::Deadline => "out of time",
            Self::Unavailable => "provider unavailable",
            Self::RateLimited => "asked to slow down",
            Self::Authentication => "credentials refused",
            Self::ContextOverflow => "conversation too long for the model",
            Self::Refused => "declined",
            Self::SpawnFailed => "not started",
            Self::ProtocolError => "not understood",
            Self::Crashed => "crashed",
            Self::Lost => "lost",
            Self::TooManyCalls => "too many tool calls in a reply",
            Self::TooManyProcesses => "too many processes",
            Self::OverBudget => "budget spent",
            Self::Cancelled => "cancelled",
            Self::EmptyAnswer => "empty answer",
            Self::MalformedAnswer => "answer not in the form asked for",
        }
    }
}

/// What kept a model that was called directly from answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// 5xx, overloaded, connection refused.
    Unavailable,
    /// 429, quota.
    RateLimited,
    /// 401, 403, or nobody is logged in.
    Authentication,
    /// The conversation does not fit.
    ContextOverflow,
    /// The provider, or the host, has no such model.
    UnknownModel,
    /// The model declined.
    Refused,
    /// The call does not fit into what may be spent.
    OverBudget,
    /// No answer within the time of one call.
    TimedOut,
}

/// What was seen when an attempt ended; a policy reads the ending from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndFacts {
    /// A terminal event was seen.
    pub terminal_event: bool,
    /// `stopReason` of the last assistant message: stop, length, toolUse, error, aborted.
    pub stop_reason: Option<String>,
    /// What the provider itself gave as the reason, where the sub-agent passes it on: `refusal`, `SAFETY`.
    pub raw_stop_reason: Option<String>,
    /// `errorMessage` of the last assistant message, or of the spawn.
    pub error_message: Option<String>,
    /// The text of the last assistant message.
    pub answer: String,
    /// We asked it to stop.
    pub stop_ordered: bool,
    /// Exit code, where there was a process and it had one. Never decides alone.
    pub exit_code: Option<i32>,
    /// Signal, where it died of one.
    pub exit_signal: Option<i32>,
    /// The last of what it wrote on stderr, redacted, at most 2 000 characters.
    pub stderr_tail: String,
    /// Lines that were not the protocol.
    pub unread_lines: u64,
    /// Lines that were.
    pub read_lines: u64,
    /// We stopped it before its exit was seen, so that a signal it died of is ours.
    #[serde(default)]
    pub killed_by_us: bool,
    /// What held its processes died: ours, and no fault of the sub-agent.
    #[serde(default)]
    pub keeper_died: bool,
    /// It took more than a run may have, and was stopped.
    #[serde(default)]
    pub overrun: Option<Overrun>,
    /// Why its next call of the model was not let through.
    #[serde(default)]
    pub over_budget: Option<String>,
    /// What is wrong with the form of its last answer.
    #[serde(default)]
    pub malformed: Option<String>,
}

/// What a sub-agent took too much of, and how many that were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    /// Tool calls in one reply.
    Calls(u64),
    /// Processes at a time.
    Processes(u64),
}
