//! Prompt-cache markers: the outline of a provider request goes out, edits come back. Bodies stay in the host.

use impresario_policies::cache_markers::{Block, BlockKind, Lifetime, MarkerRequest, Planned, is_same_call};
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
    /// Text of a user's message.
    Text,
    /// Text of an assistant's message.
    Said,
    /// A message that is plain text instead of blocks.
    Plain,
    /// A text of nothing, which cannot carry a marker.
    Empty,
    /// A picture.
    Image,
    /// A document.
    Document,
    /// Thinking, which cannot carry a marker.
    Thinking,
    /// A tool call.
    ToolUse,
    /// A tool result.
    ToolResult,
    /// A block within a tool result that carries a marker.
    Nested,
    /// The request itself, where it carries a marker: the last of all.
    Request,
    /// Something newer than this extension.
    Other,
}

/// One block of a provider request, without its body. A list rather than an object: there are hundreds of them in a
/// request, the model waits for each byte, and names would be more than half of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerBlock(
    /// What it is.
    pub MarkerBlockKind,
    /// Length of its JSON in UTF-16 units, without markers.
    pub u32,
    /// Stands for its content, without markers: 16 hexadecimal digits.
    pub String,
    /// The marker it carries now.
    pub Option<MarkerTtl>,
    /// The id of the call, of a tool call and its result.
    pub Option<String>,
);

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
    /// The calls that set an anchor, the oldest first.
    #[serde(default)]
    pub anchors: Vec<String>,
    /// Why the plan before could not be applied.
    #[serde(default)]
    pub not_applied: Option<String>,
}

impl MarkerSkeleton {
    /// As the planner takes it.
    pub fn request(&self) -> MarkerRequest {
        let anchor = self.anchor();
        let blocks = self.blocks.iter().enumerate();
        MarkerRequest {
            conversation: self.session.to_string(),
            model: self.model.clone().unwrap_or_default(),
            blocks: blocks
                .map(|(place, block)| block.read(anchor == Some(place)))
                .collect(),
        }
    }

    /// Where the result of the newest anchor stands; an older one stands for it when it is not there any more.
    pub fn anchor(&self) -> Option<usize> {
        self.anchors.iter().rev().find_map(|call| self.result_of(call))
    }

    /// Where the result of a call stands.
    pub fn result_of(&self, call: &str) -> Option<usize> {
        self.blocks.iter().position(|block| {
            let MarkerBlock(kind, .., own) = block;
            *kind == MarkerBlockKind::ToolResult && own.as_ref().is_some_and(|own| is_same_call(own, call))
        })
    }

    /// The plan in the words of the host.
    pub fn answer(&self, planned: &Planned) -> MarkerPlan {
        let edits = planned.edits.iter();
        let edits = edits.filter(|edit| edit.place < self.blocks.len());
        MarkerPlan {
            edits: edits
                .map(|edit| MarkerEdit(edit.place as u32, edit.marker.map(MarkerTtl::from)))
                .collect(),
        }
    }
}

impl MarkerBlock {
    fn read(&self, anchor: bool) -> Block {
        let Self(kind, size, content, marker, _) = self;
        Block {
            anchor,
            ..Block::outlined((*kind).into(), *size, content, marker.map(Lifetime::from))
        }
    }
}

impl From<MarkerTtl> for Lifetime {
    fn from(ttl: MarkerTtl) -> Self {
        match ttl {
            MarkerTtl::FiveMinutes => Self::FiveMinutes,
            MarkerTtl::OneHour => Self::OneHour,
        }
    }
}

impl From<Lifetime> for MarkerTtl {
    fn from(lives: Lifetime) -> Self {
        match lives {
            Lifetime::FiveMinutes => Self::FiveMinutes,
            Lifetime::OneHour => Self::OneHour,
        }
    }
}

impl From<MarkerBlockKind> for BlockKind {
    fn from(kind: MarkerBlockKind) -> Self {
        match kind {
            MarkerBlockKind::System => Self::System,
            MarkerBlockKind::Tool => Self::Tool,
            MarkerBlockKind::Text => Self::Text,
            MarkerBlockKind::Said => Self::Said,
            MarkerBlockKind::Plain => Self::Plain,
            MarkerBlockKind::Empty => Self::Empty,
            MarkerBlockKind::Image => Self::Image,
            MarkerBlockKind::Document => Self::Document,
            MarkerBlockKind::Thinking => Self::Thinking,
            MarkerBlockKind::ToolUse => Self::ToolUse,
            MarkerBlockKind::ToolResult => Self::ToolResult,
            MarkerBlockKind::Nested => Self::Nested,
            MarkerBlockKind::Request => Self::Request,
            MarkerBlockKind::Other => Self::Other,
        }
    }
}

/// One change to one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerEdit(
    /// Which block of the outline, from 0.
    pub u32,
    /// The marker it shall carry; none removes it.
    pub Option<MarkerTtl>,
);

/// The answer to [`MarkerSkeleton`]. No edits leave the request as it is, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct MarkerPlan {
    /// The changes.
    pub edits: Vec<MarkerEdit>,
}
