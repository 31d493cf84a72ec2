//! Looking for the rules of directories (`AGENTS.md` and the like). Nothing is changed.

use async_trait::async_trait;
use impresario_policies::domain::GuidanceTerms;
use impresario_policies::guidance::{RuleFile, RuleMark, Touched};
use std::path::{Path, PathBuf};

/// Whose rules are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesAsk {
    /// The places that a call touches.
    pub touched: Vec<Touched>,
    /// Where the agent works: what holds there it has read.
    pub workspace: PathBuf,
    /// What the files are called.
    pub file_names: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulesFound {
    /// What holds in the workspace, which whoever works there has read.
    pub of_workspace: Vec<RuleMark>,
    /// What holds where the call was, the outermost first.
    pub files: Vec<RuleFile>,
    pub not_read: Vec<RulesNotRead>,
}

/// A file that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesNotRead {
    pub path: PathBuf,
    /// The name of the error, or `outside` for a link that leads out.
    pub why: String,
}

#[async_trait(?Send)]
pub trait RuleFiles {
    /// What is configured for a workspace; nothing is given where it is not trusted.
    async fn terms(&self, workspace: &Path, is_trusted: bool) -> GuidanceTerms;
    async fn find(&self, ask: RulesAsk) -> RulesFound;
    /// What a nested session says, as it is written; nothing where it cannot be read.
    async fn conversation(&self, session_file: &Path) -> String;
}
