//! The tools that Impresario adds, lent to the host's own session.

use impresario_actors::gateways::{ToolAnswer, ToolDefinition};
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::domain::{FileChanged, FileState, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// A session is about to be used: which tools are added to those of the host?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolsOffer {
    /// Which session.
    pub session: SessionId,
}

/// The answer to [`ToolsOffer`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolsTaken {
    /// The tools; none unless somebody wished for them.
    pub tools: Vec<ToolDefinition>,
}

/// One of them is called. The host says with `request.cancel` that nobody waits for it any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolAsk {
    /// In which session.
    pub session: SessionId,
    /// Its name.
    pub tool: String,
    /// With what.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub arguments: Value,
}

/// A tool of the host's read something, and the main agent edits by anchors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ReadingShown {
    /// In which session.
    pub session: SessionId,
    /// The tool.
    pub tool: String,
    /// From which line on, from 1, where it was told.
    pub offset: Option<f64>,
    /// What it gave.
    pub text: String,
}

/// The answer to [`ReadingShown`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ReadingAnchored {
    /// The text with an anchor before each line; none where it is to stay as it is.
    pub text: Option<String>,
}

/// A picture beside a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolPicture {
    /// `image/png` and the like.
    pub media_type: String,
    /// Its bytes, in base64.
    pub base64: String,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolChange {
    /// Which.
    pub path: String,
    /// SHA-256 of what was there; none where there was nothing.
    pub before: Option<String>,
    /// SHA-256 of what is there; none where nothing is.
    pub after: Option<String>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolDone {
    /// For the model.
    pub text: String,
    /// It failed, and the text says why.
    pub failed: bool,
    /// Beside the text.
    #[serde(default)]
    pub pictures: Vec<ToolPicture>,
    /// Files that it read and showed.
    #[serde(default)]
    pub read: Vec<String>,
    /// Files that it changed.
    #[serde(default)]
    pub changed: Vec<ToolChange>,
    /// Servers that it asked.
    #[serde(default)]
    pub called: Vec<String>,
}

impl From<Result<ToolAnswer, String>> for ToolDone {
    fn from(answer: Result<ToolAnswer, String>) -> Self {
        let (answer, failed) = match answer {
            Ok(answer) => (answer, false),
            Err(why) => (ToolAnswer::text(why), true),
        };
        let ToolReceipt {
            read,
            changed,
            called,
        } = answer.receipt;
        let hash = |state: &FileState| state.sha256().map(str::to_string);
        let change = |file: FileChanged| ToolChange {
            before: hash(&file.before),
            after: file.after.as_ref().and_then(hash),
            path: file.path,
        };
        let pictures = answer.pictures.into_iter().map(|picture| ToolPicture {
            media_type: picture.media_type,
            base64: picture.base64.to_string(),
        });
        Self {
            text: answer.text,
            failed,
            pictures: pictures.collect(),
            read,
            changed: changed.into_iter().map(change).collect(),
            called,
        }
    }
}
