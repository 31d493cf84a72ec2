//! The `local` context engine: reads the workspace and ranks its passages. No index file, no network, no model.

mod walk;

pub use walk::{SearchLimits, list_workspace, read_workspace};

use crate::gateways::{ContextEngine, RetrievalError, RetrievalRequest, RetrievalResult, Retrieved};
use async_trait::async_trait;
use impresario_policies::domain::Proof;
use impresario_policies::retrieval::question::read_question;
use impresario_policies::retrieval::ranking::{RankingSettings, SourceFile, rank_passages};
use std::path::Path;
use std::time::Duration;

/// Whether long computations leave the thread of the actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeavyWork {
    /// On the pool of blocking threads, so that no handler computes for long.
    #[default]
    Aside,
    /// Where it is asked for: a simulation has one thread.
    Inline,
}

impl HeavyWork {
    /// Does the work in the chosen place; an error is the panic of the work.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        match self {
            Self::Inline => Ok(work()),
            Self::Aside => tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| error.to_string()),
        }
    }
}

/// Searches the files of the workspace itself.
#[derive(Debug, Clone, Default)]
pub struct LocalContextEngine {
    limits: SearchLimits,
    heavy_work: HeavyWork,
}

impl LocalContextEngine {
    /// An engine with its limits.
    pub fn new(limits: SearchLimits, heavy_work: HeavyWork) -> Self {
        Self { limits, heavy_work }
    }
}

#[async_trait(?Send)]
impl ContextEngine for LocalContextEngine {
    fn name(&self) -> &str {
        "local"
    }

    async fn retrieve(&self, request: RetrievalRequest) -> Result<Retrieved, RetrievalError> {
        let limits = self.limits.clone();
        let found = self
            .heavy_work
            .run(move || search(&request.workspace, &request.query, request.passages_max, &limits));
        match found.await {
            Ok(results) => results.map(Retrieved::Passages),
            Err(why) => Err(RetrievalError::Unavailable {
                engine: self.name().to_string(),
                why,
            }),
        }
    }

    async fn close(&self, _grace: Duration) -> Option<Proof> {
        None
    }
}

/// Finds the passages under `workspace` that answer `query`, best first.
pub fn search(
    workspace: &Path,
    query: &str,
    passages_max: usize,
    limits: &SearchLimits,
) -> Result<Vec<RetrievalResult>, RetrievalError> {
    let files = read_workspace(workspace, limits)?;
    let question = read_question(query);
    let settings = RankingSettings {
        passages_max,
        ..RankingSettings::default()
    };
    let ranked = rank_passages(&files, &question, &settings);
    Ok(ranked
        .into_iter()
        .map(|passage| RetrievalResult {
            path: files[passage.file].path.clone(),
            line_start: passage.line_start as u32,
            line_end: passage.line_end as u32,
            text: lines_of(&files[passage.file], passage.line_start, passage.line_end),
            score: passage.score,
        })
        .collect())
}

fn lines_of(file: &SourceFile, first: usize, last: usize) -> String {
    let lines: Vec<&str> = file.text.lines().skip(first - 1).take(last + 1 - first).collect();
    lines.join("\n")
}
