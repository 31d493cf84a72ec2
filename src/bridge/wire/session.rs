//! The host's session: its start and end, what is typed in it, what happens in it.

use impresario_policies::domain::{RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How the host is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    /// On a terminal.
    Tui,
    /// Driven by another program.
    Rpc,
    /// One prompt, text out.
    Print,
    /// One prompt, events out.
    Json,
}

/// A session began, or the extension reconnected to a new runtime. Sent again with the same id it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionStart {
    /// The session, as the host names it.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub session: SessionId,
    /// Its file; none when the host keeps it in memory only.
    #[serde(default)]
    pub file: Option<String>,
    /// The directory it works in.
    pub cwd: String,
    /// How the host is used.
    pub mode: SessionMode,
    /// Whether a person can be asked.
    pub has_ui: bool,
    /// Whether the person trusts the workspace; none where the host has no such notion.
    #[serde(default)]
    pub trusted: Option<bool>,
    /// The session's own model, as `provider/id`.
    #[serde(default)]
    pub model: Option<String>,
    /// The host's version, where it says.
    #[serde(default)]
    pub host_version: Option<String>,
    /// Why the session starts: `startup`, `reload`, `new`, `resume`, `fork`, `reconnect`.
    pub reason: String,
}

/// A session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionEnd {
    /// Which.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub session: SessionId,
    /// `quit`, `reload`, `new`, `resume`, `fork`.
    pub reason: String,
}

/// Something was typed that is no command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TypedInput {
    /// Where.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub session: SessionId,
    /// What, before the host expands anything.
    pub text: String,
    /// `interactive`, `rpc`, `extension`.
    pub source: String,
    /// How many pictures came with it.
    #[serde(default)]
    pub images: u32,
}

/// Who deals with what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum InputDecisionKind {
    /// The host, as if we were not there.
    Continue,
    /// The runtime; the host's model does not see it.
    Handled,
}

/// The answer to [`TypedInput`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct InputDecision {
    /// Who deals with it.
    pub decision: InputDecisionKind,
}

/// The events the extension forwards today. Others may come from a newer extension; they are kept and counted.
pub const KNOWN_EVENTS: &[&str] = &[
    "agent_end",
    "agent_settled",
    "agent_start",
    "message_end",
    "model_select",
    "session_compact",
    "session_compact_failed",
    "session_tree",
    "thinking_level_select",
    "tool_execution_end",
    "tool_execution_start",
    "turn_end",
    "turn_start",
];

/// Something happened in the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ObservedEvent {
    /// The host's name for it.
    pub name: String,
    /// When, in milliseconds since 1970.
    #[ts(type = "number")]
    pub at_ms: u64,
    /// Roles, names, sizes and ids; no bodies.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub data: serde_json::Value,
}

/// Events since the last batch, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ObservedEvents {
    /// Where.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub session: SessionId,
    /// What happened.
    pub events: Vec<ObservedEvent>,
    /// How many the extension dropped because the runtime was behind.
    #[serde(default)]
    pub dropped: u32,
}

/// Which skills are there?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Completions {
    /// For which session.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub session: SessionId,
}

/// One skill a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    #[serde(default)]
    pub description: String,
}

/// The answer to [`Completions`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillNames {
    /// By name.
    pub skills: Vec<SkillSummary>,
}

/// The newest messages of the session's own branch, please.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHistory {
    /// At most so many.
    pub messages_max: u32,
}

/// Who said a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum HistoryRole {
    /// The person.
    User,
    /// The main agent.
    Assistant,
    /// The host itself, or an extension.
    System,
}

/// One line of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HistoryMessage {
    /// Who.
    pub role: HistoryRole,
    /// What, text only.
    pub content: String,
}

/// The answer to [`SessionHistory`], oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHistoryMessages {
    /// The messages.
    pub messages: Vec<HistoryMessage>,
}

/// Does the result of this run already stand in the session branch?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHasRun {
    /// Which run.
    #[schemars(with = "String")]
    #[ts(type = "string")]
    pub run: RunId,
    /// The session meant; none means whichever is open.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    #[ts(type = "string | null")]
    pub session: Option<SessionId>,
}

/// The answer to [`SessionHasRun`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HasRun {
    /// It does.
    pub has: bool,
}
