//! The host's session: its start and end, what is typed in it, what happens in it.

use impresario_actors::gateways::ChatMessage;
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::{MessageKind, RunId, SessionId};
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
    pub session: SessionId,
    /// `quit`, `reload`, `new`, `resume`, `fork`.
    pub reason: String,
}

/// A line was typed that may be ours: it begins with `/skill`. Read once, here; nobody reads it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TypedInput {
    /// Where.
    pub session: SessionId,
    /// What, before the host expands anything.
    pub text: String,
}

/// What a typed line asks for. Nothing has happened yet: the host's side carries it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum InputReading {
    /// Nothing of ours; the host goes on as if we were not there.
    Pass,
    /// Run a skill.
    Skill {
        /// Its name.
        name: String,
        /// What is wanted; may be empty.
        task: String,
        /// It was written in the host's own form, `/skill:<name>`.
        hosts_form: bool,
    },
    /// The first word cannot name a skill of ours.
    NoName {
        /// The word.
        typed: String,
    },
    /// Let the person pick a skill.
    PickSkill,
    /// Cancel what works.
    Cancel,
    /// Go on with a run that is parked or was cut off.
    Resume {
        /// How its id begins; empty to let the person pick one.
        run: String,
    },
    /// Show what the traces of a skill say.
    TraceReport {
        /// The skill.
        skill: String,
    },
    /// Show one trace.
    TraceView {
        /// The file.
        file: String,
    },
    /// Show the conversation of a run.
    Transcript {
        /// How its id begins; empty for the newest of the session.
        run: String,
    },
    /// Tell a run that is under way something.
    Tell {
        /// What is wanted with it.
        kind: MessageKind,
        /// Which run, and what: both as typed.
        what: String,
    },
    /// Show how things stand.
    Status {
        /// One section by its name; empty for all.
        section: String,
    },
    /// One of our commands with an argument that is missing or cannot be meant.
    Usage {
        /// How it is written.
        usage: String,
    },
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
    pub session: SessionId,
    /// The skills that the host lists itself.
    #[serde(default)]
    pub listed: Vec<ListedSkill>,
}

/// One skill a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    #[serde(default)]
    pub description: String,
    /// Why it cannot be run.
    #[serde(default)]
    pub problem: Option<String>,
    /// In the host's own form the host runs it.
    #[serde(default)]
    pub of_host: bool,
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

/// The answer to [`SessionHistory`], oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHistoryMessages {
    /// The messages.
    pub messages: Vec<ChatMessage>,
}

/// Does the result of this run stand in the session branch for good, or was it read there?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionHasRun {
    /// Which run.
    pub run: RunId,
    /// The session meant; none means whichever is open.
    #[serde(default)]
    pub session: Option<SessionId>,
}

/// The answer to [`SessionHasRun`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HasRun {
    /// It does.
    pub has: bool,
}
