//! Choosing models for the agents.

use impresario_policies::domain::SessionId;
use impresario_policies::setup_models::{ListedModel, SetupAnswer, SetupQuestion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is asked next, after these answers? The host keeps nothing but them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SetupAsk {
    /// From which session.
    pub session: SessionId,
    /// The models that the host can call.
    pub models: Vec<ListedModel>,
    /// The one of the session.
    pub current: Option<ListedModel>,
    /// What the person did so far.
    pub answers: Vec<SetupAnswer>,
}

/// The answer to [`SetupAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SetupNext {
    /// What is asked; none at the end.
    pub question: Option<SetupQuestion>,
    /// What the person should know, each a sentence.
    pub warnings: Vec<String>,
    /// At the end: what became of it.
    pub told: Option<String>,
}
