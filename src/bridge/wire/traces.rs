//! Looking at traces.

use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What do the traces of a skill say together?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceReport {
    /// From which session; its workspace holds the traces.
    pub session: SessionId,
    /// The skill.
    pub skill: String,
}

/// What happened in one run?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceView {
    /// From which session; its workspace holds the traces.
    pub session: SessionId,
    /// The trace's file, as the report lists it.
    pub file: String,
}

/// The answer to [`TraceReport`] and [`TraceView`]. What there is to complain about stands in the text too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceText {
    /// For the person, several lines.
    pub text: String,
}

/// Which traces are there?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceList {
    /// From which session; its workspace holds the traces.
    pub session: SessionId,
}

/// One trace a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceName {
    /// Its file.
    pub file: String,
    /// The skill.
    pub skill: String,
    /// When the run ended, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The answer to [`TraceList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TraceNames {
    /// The newest first, at most 100.
    pub traces: Vec<TraceName>,
}
