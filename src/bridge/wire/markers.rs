//! Prompt-cache markers: the outline of a provider request goes out, edits come back. Bodies stay in the host.

use impresario_policies::domain::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How long a marked prefix is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub enum MarkerTtl {
    /// Five minutes, the provider's default.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour, at a higher price.
    #[serde(rename = "1h")]
    OneHour,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum MarkerBlockKind {
    /// A block of the system prompt.
    System,
    /// A tool definition.
    Tool,
    /// Text of a message.
    Text,
    /// A picture.
    Image,
    /// Thinking, which cannot carry a marker.
    Thinking,
    /// A tool call.
    ToolUse,
    /// A tool result.
    ToolResult,
    /// Something newer than this extension.
    Other,
}

/// One block of a provider request, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerBlock {
    /// Where it stands: `system/0`, `tools/3`, `messages/5/content/1`.
    pub path: String,
    /// What it is.
    pub kind: MarkerBlockKind,
    /// Length of its JSON in UTF-16 units.
    pub size: u32,
    /// The marker it carries now.
    #[serde(default)]
    pub marker: Option<MarkerTtl>,
}

/// The outline of a request to a provider that takes markers, in the order in which the provider hashes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerSkeleton {
    /// Whose request.
    pub session: SessionId,
    /// The model as the provider is called with it.
    #[serde(default)]
    pub model: Option<String>,
    /// Tools, then system, then messages.
    pub blocks: Vec<MarkerBlock>,
}

/// One change to one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerEdit {
    /// Which block.
    pub path: String,
    /// The marker it shall carry; none removes it.
    pub marker: Option<MarkerTtl>,
}

/// The answer to [`MarkerSkeleton`]. No edits leave the request as it is, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerPlan {
    /// The changes.
    pub edits: Vec<MarkerEdit>,
}
