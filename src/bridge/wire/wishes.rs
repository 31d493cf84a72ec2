//! What settings wish of a session in the host, and the system prompts that are seen there.

use impresario_policies::display::{AgentDisplay, DisplaySettings, ReadDisplay};
use impresario_policies::domain::SessionId;
use impresario_policies::prompt_log::{PromptLogSettings, PromptSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// A session is about to be used: what is wished of it?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WishesAsk {
    /// Which session.
    pub session: SessionId,
}

/// The answer to [`WishesAsk`]. Silence is no wish.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Wishes {
    /// The system prompt of each turn is told.
    pub turn_prompts: bool,
    /// What stands in requests to the provider as a system prompt is told.
    pub request_prompts: bool,
    /// How the host's `bash` is drawn; null: as the host does.
    #[serde(default)]
    pub bash: Option<BashDrawing>,
    /// How its `read` is drawn; null: as the host does.
    #[serde(default)]
    pub read: Option<ReadDrawing>,
    /// How a sub-agent's run is drawn, folded.
    #[serde(default)]
    pub agents: AgentDisplay,
}

/// How a call of `bash` is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BashDrawing {
    /// So many lines of what it said, folded.
    pub preview_lines: u32,
    /// So many, opened.
    pub expanded_lines: u32,
    /// In a fainter colour.
    pub dim: bool,
}

/// How a call of `read` is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ReadDrawing {
    /// With the first lines of the file, folded too.
    pub preview: bool,
}

impl Wishes {
    /// What the log of prompts and the screen wish for.
    pub fn of(log: &PromptLogSettings, display: DisplaySettings) -> Self {
        Self {
            turn_prompts: log.wants(PromptSource::AgentStart),
            request_prompts: log.wants(PromptSource::Provider),
            bash: display.bash.map(|bash| BashDrawing {
                preview_lines: bash.preview_lines,
                expanded_lines: bash.expanded_lines,
                dim: bash.dim,
            }),
            read: match display.read {
                ReadDisplay::Host => None,
                ReadDisplay::Compact => Some(ReadDrawing { preview: false }),
                ReadDisplay::Preview => Some(ReadDrawing { preview: true }),
            },
            agents: display.agents,
        }
    }
}

/// A system prompt of the main agent, where it was wished for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SystemPromptSeen {
    /// In which session.
    pub session: SessionId,
    /// The model that is called, as `provider/id`.
    #[serde(default)]
    pub model: Option<String>,
    /// What the host made for a turn; null where this is about a request.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The fields of a request that may hold a system prompt, as the provider has them.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub payload: Value,
    /// So many that were too long to be told were left out before.
    #[serde(default)]
    pub left_out: u32,
}
