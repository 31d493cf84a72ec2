//! The `local` context engine: reads the workspace and ranks its passages. No index file, no network, no model.

mod walk;

pub use walk::{SearchLimits, list_workspace, read_workspace};

use crate::gateways::{ContextEngine, RetrievalError, RetrievalRequest, RetrievalResult, Retrieved};
use async_trait::async_trait;
use impresario_policies::domain::Proof;
use impresario_policies::retrieval::question::read_question;
use impresario_policies::retrieval::ranking::{RankingSettings, SourceFile, rank_passages};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use walk::read_while;

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
#[derive(Debug, Clone)]
pub struct LocalContextEngine {
    limits: SearchLimits,
    heavy_work: HeavyWork,
    answer_within: Duration,
}

impl Default for LocalContextEngine {
    fn default() -> Self {
        Self::new(SearchLimits::default(), HeavyWork::default())
    }
}

impl LocalContextEngine {
    /// An engine with its limits.
    pub fn new(limits: SearchLimits, heavy_work: HeavyWork) -> Self {
        Self {
            answer_within: limits.within * 2,
            limits,
            heavy_work,
        }
    }

    /// One that answers within this time: two thirds of it for reading, what is left for ranking what was read.
    pub fn within(answer_within: Duration) -> Self {
        let limits = SearchLimits {
            within: answer_within * 2 / 3,
            ..SearchLimits::default()
        };
        Self {
            limits,
            heavy_work: HeavyWork::default(),
            answer_within,
        }
    }
}

#[async_trait(?Send)]
impl ContextEngine for LocalContextEngine {
    fn name(&self) -> &str {
        "local"
    }

    async fn retrieve(&self, request: RetrievalRequest) -> Result<Retrieved, RetrievalError> {
        let limits = self.limits.clone();
        // Whoever stops waiting drops this, and the search ends at its next file.
        let waiting = Arc::new(());
        let waited_for = Arc::downgrade(&waiting);
        let found = self.heavy_work.run(move || {
            let RetrievalRequest {
                query,
                workspace,
                passages_max,
            } = request;
            let files = read_while(&workspace, &limits, &|| waited_for.strong_count() > 0)?;
            Ok(rank(&files, &query, passages_max))
        });
        let unavailable = |why| RetrievalError::Unavailable {
            engine: self.name().to_string(),
            why,
        };
        match timeout(self.answer_within, found).await {
            Ok(Ok(results)) => results.map(Retrieved::Passages),
            Ok(Err(why)) => Err(unavailable(why)),
            Err(_) => Err(unavailable(format!(
                "no answer within {} s",
                self.answer_within.as_secs_f64()
            ))),
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
    Ok(rank(&read_workspace(workspace, limits)?, query, passages_max))
}

fn rank(files: &[SourceFile], query: &str, passages_max: usize) -> Vec<RetrievalResult> {
    let question = read_question(query);
    let settings = RankingSettings {
        passages_max,
        ..RankingSettings::default()
    };
    let ranked = rank_passages(files, &question, &settings);
    ranked
        .into_iter()
        .map(|passage| RetrievalResult {
            path: files[passage.file].path.clone(),
            line_start: passage.line_start as u32,
            line_end: passage.line_end as u32,
            text: lines_of(&files[passage.file], passage.line_start, passage.line_end),
            score: passage.score,
        })
        .collect()
}

fn lines_of(file: &SourceFile, first: usize, last: usize) -> String {
    let lines: Vec<&str> = file.text.lines().skip(first - 1).take(last + 1 - first).collect();
    lines.join("\n")
}
