//! How each agent did so far, from the journal.

use super::{Runtime, RuntimeError};
use futures_util::stream::{self, StreamExt};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_policies::domain::RunId;
use impresario_policies::projection::RunProjection;
use impresario_policies::statistics::{RunOver, Statistics, add_up};

/// So many runs are read at a time.
const READ_AT_ONCE: usize = 16;

impl Runtime {
    /// Adds up the newest runs that are over, at most so many; `wanted` says which count.
    pub async fn statistics(
        &self,
        newest: usize,
        wanted: impl Fn(&RunSummary) -> bool,
    ) -> Result<Statistics, RuntimeError> {
        let runs = self.runs(RunFilter::default()).await?;
        let over = runs
            .into_iter()
            .filter(|run| run.ended_at.is_some() && wanted(run));
        let mut over = over.take(newest).map(|run| run.run).collect::<Vec<_>>();
        over.reverse();
        let read = stream::iter(over)
            .map(|run| self.clone().read_over(run))
            .buffered(READ_AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut counted = Vec::with_capacity(read.len());
        for run in read {
            counted.extend(run?);
        }
        Ok(add_up(&counted))
    }

    async fn read_over(self, run: RunId) -> Result<Option<RunOver>, RuntimeError> {
        let steps = self.steps(&run, 0).await?;
        Ok(RunOver::of(&RunProjection::of(&steps)))
    }
}
