//! Git worktrees of single runs: made, kept as patches, applied on order. The one place that calls git.
//!
//! Each worktree, its patch and its entry lie together in a directory of ours, never in the project. The entry says how
//! far a worktree has come, is written whole before anything follows from it, and has one writer at a time, across
//! processes; so whoever comes after a kill finds what was done and goes on from there.

mod apply;
mod capture;
mod git;
mod listing;
mod patch;
mod registry;
mod wire;

#[cfg(test)]
mod tests;

pub use apply::Applied;
pub use wire::{WorktreeEntry, WorktreeStage};

use crate::gateways::{WorktreeAsk, WorktreeError, Worktrees};
use async_trait::async_trait;
use impresario_policies::domain::{Patch, RunId, Worktree};
use registry::Registry;
use std::path::PathBuf;

/// Worktrees made by git, kept in a directory of ours.
#[derive(Debug, Clone)]
pub struct GitWorktrees {
    registry: Registry,
}

/// What the journal says of a run whose worktree is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStands {
    /// It works, or waits.
    UnderWay,
    /// It can be gone on with.
    Parked,
    /// It is over, or forgotten.
    Over,
}

impl GitWorktrees {
    /// Those that are kept in this directory.
    pub fn new(directory: PathBuf) -> Self {
        // Git is called from elsewhere.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Self {
            registry: Registry(directory),
        }
    }

    /// All that is known, the newest first; an entry that cannot be read says why. Waits for files.
    pub fn list(&self) -> Vec<Result<WorktreeEntry, WorktreeError>> {
        let runs = self.registry.runs().into_iter();
        runs.filter_map(|run| self.registry.read(&run).transpose())
            .collect()
    }

    /// Applies the patch of a run to the person's files, or only says what would happen. Waits for git.
    pub fn apply(&self, run: &RunId, only_look: bool) -> Result<Applied, WorktreeError> {
        apply::apply(&self.registry, run, only_look)
    }

    /// Forgets worktree, patch and ref of a run. Waits for git.
    pub fn discard(&self, run: &RunId) -> Result<(), WorktreeError> {
        let place = self.registry.hold(run)?;
        let Some(entry) = place.read()? else {
            return Ok(());
        };
        match (entry.stage, &entry.worktree) {
            (WorktreeStage::Preparing | WorktreeStage::Ready, _) | (_, None) => Err(WorktreeError(format!(
                "Run {run} may still work in its worktree. Cancel it first: `impresario runs cancel {run}`."
            ))),
            (_, Some(worktree)) => {
                if entry.went_on_in.is_none() {
                    patch::remove_worktree(&entry, worktree)?;
                }
                patch::forget(&place, worktree)
            }
        }
    }

    /// Brings in order what a dead runtime left of a run: what is half made goes, what is over is kept as a patch, and
    /// only then goes. Waits for git.
    pub fn settle(&self, run: &RunId, stands: RunStands) -> Result<(), WorktreeError> {
        if stands == RunStands::UnderWay {
            return Ok(());
        }
        let Some(entry) = self.registry.read(run)? else {
            return Ok(());
        };
        let Some(worktree) = &entry.worktree else {
            let place = self.registry.hold(run)?;
            capture::forget_half_made(&place);
            return Ok(());
        };
        if !worktree.directory.is_dir() || entry.went_on_in.is_some() {
            return Ok(());
        }
        patch::take(&self.registry, run, worktree)?;
        match stands {
            RunStands::Over => patch::clear(&self.registry, run),
            RunStands::UnderWay | RunStands::Parked => Ok(()),
        }
    }
}

#[async_trait(?Send)]
impl Worktrees for GitWorktrees {
    async fn prepare(&self, ask: WorktreeAsk) -> Result<Worktree, WorktreeError> {
        let registry = self.registry.clone();
        aside(move || capture::prepare(&registry, &ask)).await
    }

    async fn take_patch(&self, run: &RunId, worktree: &Worktree) -> Result<Patch, WorktreeError> {
        let (registry, run, worktree) = (self.registry.clone(), run.clone(), worktree.clone());
        aside(move || patch::take(&registry, &run, &worktree)).await
    }

    async fn clear(&self, run: &RunId) -> Result<(), WorktreeError> {
        let (registry, run) = (self.registry.clone(), run.clone());
        aside(move || patch::clear(&registry, &run)).await
    }
}

/// Files and git are waited for beside the actors' thread.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(WorktreeError(format!("it broke off: {error}"))))
}
