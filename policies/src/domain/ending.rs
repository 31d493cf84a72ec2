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
    /// Our own attempt actor died; the sub-agent is not to blame and no step of a fallback chain is used.
    Lost,
    /// Somebody cancelled.
    Cancelled,
    /// It ended well and said nothing.
    EmptyAnswer,
}

/// The three clocks of an attempt, all on by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Until the first event.
    StartUp,
    /// Between events; paused while a tool or an announced retry runs.
    Inactivity,
    /// From admission to the terminal state.
    Total,
}
