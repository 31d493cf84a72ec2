//! The handshake, and what a person sees.

use impresario_policies::domain::{RunId, SessionId};
use impresario_policies::sight::RunSight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The first message of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Hello {
    /// The oldest protocol version the host speaks.
    pub protocol_oldest: u32,
    /// The newest protocol version the host speaks.
    pub protocol_newest: u32,
    /// `pi`.
    pub host: String,
    /// Its version, where it says.
    #[serde(default)]
    pub host_version: Option<String>,
    /// The version of the extension.
    pub extension_version: String,
    /// What this host can do beyond the protocol version, by name.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

/// The answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Welcome {
    /// The version spoken from now on.
    pub protocol: u32,
    /// The version of the runtime.
    pub runtime_version: String,
    /// What this runtime can do beyond the protocol version, by name.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The longest line it reads, in bytes.
    pub line_bytes_max: u32,
}

/// Asks for the same thing back. Both sides answer it; the doctor and the benches use it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, TS)]
pub struct Ping {
    /// Anything.
    #[schemars(with = "serde_json::Value")]
    #[ts(type = "unknown")]
    pub payload: Box<serde_json::value::RawValue>,
}

/// The answer to [`Ping`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, TS)]
pub struct Pong {
    /// What was sent.
    #[schemars(with = "serde_json::Value")]
    #[ts(type = "unknown")]
    pub payload: Box<serde_json::value::RawValue>,
}

/// Nobody waits for this request any more; no answer is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RequestCancel {
    /// The id of the request, as its sender chose it.
    pub id: u64,
}

/// What a run is doing now. Lossy: the next one replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UiProgress {
    /// Which run.
    pub run: RunId,
    /// Of which session; none means whichever is open.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// One short line.
    pub doing: String,
    /// Tool calls begun so far.
    pub tool_calls: u32,
    /// When this was true, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What a person sees of a run. Lossy: the next one replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UiSight {
    /// Which run.
    pub run: RunId,
    /// Of which session; none means whichever is open.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// All of it.
    pub sight: RunSight,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// Something a person should read that is no result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UiNotice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// What to read.
    pub text: String,
}
