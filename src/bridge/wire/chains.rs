//! Chains: asked for by the main agent, and what they say together.

use impresario_policies::domain::{RunId, SessionId, TerminalState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Run a chain: one that a file describes, or the steps that are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChainRun {
    /// From which session.
    pub session: SessionId,
    /// Unique; the same request sent twice means one chain.
    pub request: String,
    /// The chain that a file describes.
    #[serde(default)]
    pub name: Option<String>,
    /// Else its steps: the text of a chain without gates.
    #[serde(default)]
    pub steps: Option<String>,
    /// What it is asked for; empty where its steps say everything.
    #[serde(default)]
    pub task: String,
}

/// The chain is accepted: all its runs are in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChainRunAccepted {
    /// Its id.
    pub group: String,
    /// Its runs, in the order of the steps.
    pub members: Vec<ChainMember>,
}

/// One run of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChainMember {
    /// Its name in the chain.
    pub id: String,
    /// What it is asked for, as it is written.
    pub task: String,
    /// The run.
    pub run: RunId,
}

/// What does a chain say?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChainTextAsk {
    /// From which session.
    pub session: SessionId,
    /// The chain's id.
    pub group: String,
}

/// The answer to [`ChainTextAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChainText {
    /// How it ended: as its worst step; none while it works.
    pub state: Option<TerminalState>,
    /// What its last step said, or what each step did.
    pub text: String,
    /// Its runs, in the order of the steps; of one that was resumed, the last.
    pub runs: Vec<RunId>,
}
