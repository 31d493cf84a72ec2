//! Retrieval over a workspace.

use async_trait::async_trait;
use impresario_policies::domain::Proof;
use impresario_policies::retrieval::citation::{Citation, render_citations};
use std::path::PathBuf;
use std::time::Duration;

/// Passages are shown within so many bytes: below the ceiling above which results are kept aside.
const PASSAGES_BYTES_MAX: usize = 20_000;

/// More passages are not shown, whatever is asked for.
pub const PASSAGES_MAX: usize = 20;

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalRequest {
    /// In the words of whoever asks; a question or a handful of terms.
    pub query: String,
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
    pub text: String,
    /// Higher is better; comparable within one answer only.
    pub score: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Retrieved {
    /// Passages, best first.
    Passages {
        passages: Vec<RetrievalResult>,
        /// What has to be said about them: what was left out, and why. A sentence each.
        remarks: Vec<String>,
    },
    /// What it says, in its own form.
    Words(String),
}

impl Retrieved {
    /// As a model reads it.
    pub fn into_text(self) -> String {
        match self {
            Self::Passages { passages, remarks } => {
                let citations: Vec<Citation> = passages.into_iter().map(Citation::from).collect();
                let mut text = match citations.is_empty() {
                    true => "No passage shares a telling word with the query.\n".to_string(),
                    false => render_citations(&citations, PASSAGES_BYTES_MAX),
                };
                for remark in remarks {
                    text.push_str(&remark);
                    text.push('\n');
                }
                text.trim_end_matches('\n').to_string()
            }
            Self::Words(words) if words.trim().is_empty() => "The engine found nothing.".to_string(),
            Self::Words(words) => words,
        }
    }
}

impl From<RetrievalResult> for Citation {
    fn from(passage: RetrievalResult) -> Self {
        Self {
            path: passage.path,
            line_start: passage.line_start,
            line_end: passage.line_end,
            text: passage.text,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetrievalError {
    #[error("read the workspace {path}: {why}")]
    Workspace { path: String, why: String },
    /// The engine is not there or not logged in.
    #[error("reach the context engine {engine}: {why}")]
    Unavailable { engine: String, why: String },
}

/// Finds what in a workspace answers a question, as long as one attempt lasts.
#[async_trait(?Send)]
pub trait ContextEngine {
    /// `local`, `auggie`, …
    fn name(&self) -> &str;
    /// Answers, or says within a time why not. Several may be asked for at once.
    async fn retrieve(&self, request: RetrievalRequest) -> Result<Retrieved, RetrievalError>;
    /// Ends what it started; nothing is retrieved from now on. Returns what was observed of its processes, none when
    /// it started none.
    async fn close(&self, grace: Duration) -> Option<Proof>;
}
