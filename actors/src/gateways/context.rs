//! Retrieval over a workspace.

use async_trait::async_trait;
use std::path::PathBuf;

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalRequest {
    /// In the words of whoever asks; a question or a handful of terms.
    pub query: String,
    /// The directory searched.
    pub workspace: PathBuf,
    /// At most so many passages, best first.
    pub passages_max: usize,
}

/// One passage that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalResult {
    /// Relative to the workspace, `/` between the parts.
    pub path: String,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// The lines themselves.
    pub text: String,
    /// Higher is better; comparable within one answer only.
    pub score: f64,
}

/// Why a retrieval failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetrievalError {
    /// The workspace cannot be read.
    #[error("read the workspace {path}: {why}")]
    Workspace {
        /// As configured.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The engine is not there or not logged in.
    #[error("reach the context engine {engine}: {why}")]
    Unavailable {
        /// Its name.
        engine: String,
        /// Its words, redacted.
        why: String,
    },
}

/// Finds the passages of a workspace that answer a question.
#[async_trait(?Send)]
pub trait ContextEngine {
    /// `local`, `auggie`, …
    fn name(&self) -> &str;
    /// Best passages first.
    async fn retrieve(&self, request: RetrievalRequest) -> Result<Vec<RetrievalResult>, RetrievalError>;
}
