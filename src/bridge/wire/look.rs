//! What a person looks at: the conversation of a run, and how things stand.

use impresario_policies::domain::{RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What did the sub-agent of a run and its model say to each other?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TranscriptAsk {
    /// From which session.
    pub session: SessionId,
    /// The run's id, or as much of the beginning as makes it the only one; empty for the session's newest, one that works
    /// before one that is over.
    pub run: String,
    /// The mark of the page that is there already.
    #[serde(default)]
    pub seen: Option<String>,
}

/// The answer to [`TranscriptAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TranscriptPage {
    /// Which run.
    pub run: RunId,
    /// What it is about, in one line.
    pub title: String,
    /// All of it; none where it is as it was seen.
    pub lines: Option<Vec<String>>,
    /// Nothing more comes.
    pub is_over: bool,
    /// Changes with the lines.
    pub mark: String,
}

/// The newest runs of a session, please.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunsRecent {
    /// Which session.
    pub session: SessionId,
}

/// How do things stand?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct StatusAsk {
    /// From which session.
    pub session: SessionId,
    /// One section by its name; empty for all.
    pub section: String,
}

/// The answer to [`StatusAsk`]. What there is to complain about stands in the text too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct StatusText {
    /// For the person, several lines.
    pub text: String,
}
