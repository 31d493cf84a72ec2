//! Git worktrees of single runs: made before a run works, kept as a patch when it has.

use async_trait::async_trait;
use impresario_policies::domain::{Patch, RunId, Worktree};
use std::path::PathBuf;

/// For whom a worktree is wanted, and of what.
#[derive(Debug, Clone, PartialEq)]
pub struct WorktreeAsk {
    pub run: RunId,
    /// Where the person works.
    pub workspace: PathBuf,
    /// The worktree of the run that this one goes on with.
    pub goes_on_in: Option<Worktree>,
}

/// Why something was not done with a worktree, in a sentence for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorktreeError(pub String);

/// What a run may ask of worktrees. Each may be asked again, by another life of the run too: what was done already is
/// found done.
#[async_trait(?Send)]
pub trait Worktrees {
    /// Makes the worktree, or finds the one that was made for this run.
    async fn prepare(&self, ask: WorktreeAsk) -> Result<Worktree, WorktreeError>;
    /// Makes a patch of what was changed, and verifies that it holds everything. Nobody works there any more.
    async fn take_patch(&self, run: &RunId, worktree: &Worktree) -> Result<Patch, WorktreeError>;
    /// Removes the worktree after its patch was verified once more.
    async fn clear(&self, run: &RunId) -> Result<(), WorktreeError>;
}
