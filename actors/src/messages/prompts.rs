//! What the log of system prompts is told.

#![warn(missing_docs)]

use crate::message;
use impresario_policies::domain::SessionId;
use impresario_policies::prompt_log::PromptSource;
use std::path::PathBuf;

/// Logs a system prompt, if anybody wishes for it. Nothing waits for it: an error is for a person to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPrompt {
    /// Where it was seen.
    pub source: PromptSource,
    /// The host's session that it belongs to.
    pub session: Option<SessionId>,
    /// Its file.
    pub session_file: Option<PathBuf>,
    /// Where the agent works that it instructs.
    pub workspace: PathBuf,
    /// The model that is called, as `provider/id`.
    pub model: Option<String>,
    /// 0 for the main agent, 1 for its sub-agents, and so on.
    pub nested_depth: u32,
    /// Where it stands in a request to a provider.
    pub shape: Option<&'static str>,
    /// All of it.
    pub prompt: String,
}
message!(impl LogPrompt -> Result<(), String>);
