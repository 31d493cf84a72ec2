//! The tools that Impresario adds, as whoever offers them sees them.

use crate::gateways::ToolDefinition;
use async_trait::async_trait;
use impresario_policies::added_tools::{AddedTool, ToolReceipt};
use impresario_policies::domain::Picture;
use serde_json::Value;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// How far the paths of a call reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The workspace: what lies outside is refused, also by way of a link.
    Workspace,
    /// Wherever the person's own tools reach.
    Anywhere,
}

/// Where a call works.
#[derive(Debug, Clone)]
pub struct ToolPlace {
    /// What relative paths are relative to.
    pub workspace: PathBuf,
    /// How far paths reach.
    pub reach: Reach,
    /// Directories beside the workspace that may be read in.
    pub readable: Vec<PathBuf>,
    /// Cancelled when nobody waits for the result any more.
    pub cancelled: CancellationToken,
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolAnswer {
    /// For the model.
    pub text: String,
    /// Beside the text.
    pub pictures: Vec<Picture>,
    /// What was read, changed and called.
    pub receipt: ToolReceipt,
}

impl ToolAnswer {
    /// Text, and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// The tools that Impresario adds.
#[async_trait]
pub trait Tools: Send + Sync {
    /// What models are told of a tool; none of one that this runtime was built or set up without.
    fn definition(&self, tool: AddedTool) -> Option<ToolDefinition>;
    /// Makes a call; an error is a result that the model reads.
    async fn call(&self, tool: AddedTool, arguments: &Value, place: &ToolPlace)
    -> Result<ToolAnswer, String>;
}
