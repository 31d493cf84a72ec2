//! The program that shows the conversation and owns the credentials.

#![warn(missing_docs)]

use super::UnixMillis;
use async_trait::async_trait;
use impresario_policies::domain::{
    GroupId, Patch, Reason, RunId, SessionId, TerminalState, WhatToRun, Worktree,
};
use impresario_policies::sight::RunSight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use ts_rs::TS;

/// Who said a line of the host's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The person.
    User,
    /// The main agent.
    Assistant,
    /// The host itself, or an extension.
    System,
}

/// A line of the host's conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChatMessage {
    /// Who.
    pub role: ChatRole,
    /// What, text only.
    pub content: String,
}

/// What a person may want to see while a run works. Lossy: a slow host misses some and reads the journal instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Which run.
    pub run: RunId,
    /// The id of the sub-task, where the run is one of a group.
    #[serde(default)]
    pub subtask: Option<String>,
    /// When.
    pub at: UnixMillis,
    /// One short line: what it is doing.
    pub doing: String,
    /// Tool calls begun so far, over all attempts.
    pub tool_calls: u32,
    /// It is done between two steps of the run, so the journal does not say it.
    #[serde(default)]
    pub between_steps: bool,
    /// Until when it does that, where that is known: a pause.
    #[serde(default)]
    pub until: Option<UnixMillis>,
}

impl Progress {
    /// What is shown: with the sub-task before it, where there are several, and how long it lasts, where that is known.
    pub fn line(&self) -> String {
        let subtask = self.subtask.iter().map(|subtask| format!("{subtask}: "));
        let lasts_ms = self.until.map(|until| until.0.saturating_sub(self.at.0));
        let lasts = lasts_ms.map(|ms| format!("{} s left · ", ms.div_ceil(1_000)));
        subtask.chain(lasts).chain([self.doing.clone()]).collect()
    }
}

/// What a sub-agent says, and waits for by itself, while it works. Lossy: the next one replaces it. Nothing of it is in
/// the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    /// Which run.
    pub run: RunId,
    /// The end of its message so far, or of its last one.
    pub words: String,
    /// Its provider asked it to try again later, and so long it waits.
    pub waits: Option<(String, Duration)>,
}

/// The result of a run on its way to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Lets the receiver drop duplicates.
    pub run: RunId,
    /// How the run ended.
    pub state: TerminalState,
    /// The answer of a run that succeeded, or what there was of one.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// A line for the person: the sub-agent was stopped before it was done.
    #[serde(default)]
    pub stopped_early: Option<String>,
    /// What it is a result of; none where the journal does not say.
    #[serde(default)]
    pub about: Option<DeliveredRun>,
    /// What a person sees of the run now that it is over.
    #[serde(default)]
    pub sight: Option<RunSight>,
    /// What it changed in a git worktree of its own; none where it had none.
    #[serde(default)]
    pub changes: Option<Box<DeliveredChanges>>,
    /// What the runtime saw of the work.
    #[serde(default)]
    pub receipt: Option<DeliveredReceipt>,
    /// Where all of the answer is, where it is cut; in words.
    #[serde(default)]
    pub whole: Option<String>,
    /// The chain that it is a step of.
    #[serde(default)]
    pub chain: Option<GroupId>,
}

/// What the runtime saw of a run's work, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DeliveredReceipt {
    /// What the answer says and what was seen does not bear out.
    pub flags: Vec<String>,
    /// What was seen, in one line; none while there is nothing to say.
    pub seen: Option<String>,
}

/// What a run changed in a git worktree of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredChanges {
    /// In words, with how to apply it.
    pub text: String,
    /// The worktree, and what it was made of.
    pub worktree: Worktree,
    /// The patch; none where it could not be made.
    pub patch: Option<Patch>,
    /// The worktree is gone.
    pub cleared: bool,
}

/// What a result is a result of: whoever reads it may know nothing of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredRun {
    /// What ran.
    pub what: WhatToRun,
    /// The task, in the user's words.
    pub task: String,
    /// What the user was asked, and answered.
    pub answers: Vec<(String, String)>,
    /// The model of the last attempt; none before the first.
    pub model: Option<String>,
    /// The models that were left before it, and why; and those that answered though another one was asked for.
    pub left: Vec<String>,
    /// What it used, in words; none while there is nothing to say.
    pub used: Option<String>,
}

/// What the host says to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryReceipt {
    /// It stands in the session for good (in Pi: the run id is in the session branch).
    Kept,
    /// It will be shown, or was; whether it is kept is said later.
    Shown,
}

/// Why the host did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "error", content = "why")]
pub enum HostError {
    /// Its end of the connection is closed.
    #[error("reach the host: it is gone")]
    Gone,
    /// The person closed the question.
    #[error("ask the user: the question was closed")]
    Dismissed,
    /// It has no person to ask.
    #[error("ask the user: nobody is there to answer")]
    NobodyThere,
    /// It answered that it cannot.
    #[error("have the host do it: {0}")]
    Refused(String),
}

/// What actors may ask of the host.
#[async_trait(?Send)]
pub trait Host {
    /// This run was asked for in that session: only there are its questions asked and its result shown. Said again
    /// with everything that concerns the run, because a host may have been started after it.
    fn belongs(&self, _run: &RunId, _session: &SessionId) {}
    /// Shows progress. Never waits and never fails: what cannot be shown is dropped.
    fn show(&self, progress: Progress);
    /// Shows what a sub-agent says and waits for; as lossy as progress. A host that shows no words leaves it out.
    fn glimpse(&self, _glimpse: Glimpse) {}
    /// Tells the person something that is no result of a run (`[System]: …`).
    fn notice(&self, text: String);
    /// Asks the person one question about a run; asking again while it is open shows it again.
    async fn ask(&self, run: &RunId, question: String) -> Result<String, HostError>;
    /// The newest messages of the session's own branch, oldest first.
    async fn history(&self, messages_max: usize) -> Result<Vec<ChatMessage>, HostError>;
    /// Hands over a result; the same run may be delivered again.
    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError>;
    /// Whether the result of this run already stands in the session.
    async fn has(&self, run: &RunId) -> Result<bool, HostError>;
}
