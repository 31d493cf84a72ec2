//! The entry of a worktree in the registry, as it stands on disk.

use impresario_policies::domain::{Patch, RunId, Worktree};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is known of a run's worktree. It outlives the worktree, and the run's place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorktreeEntry {
    /// Of this form.
    pub version: u32,
    pub run: RunId,
    /// Where the person's workspace is.
    pub workspace: PathBuf,
    pub stage: WorktreeStage,
    /// Where it is, or is being made.
    pub directory: PathBuf,
    /// It is being made there, and may be half made.
    pub half_made: bool,
    /// What it was made of; none before it was ready.
    pub worktree: Option<Worktree>,
    /// Where git keeps what belongs to this worktree alone.
    pub own_directory: Option<PathBuf>,
    /// What was changed; none before it was taken.
    pub patch: Option<Patch>,
    /// The run that went on in this worktree.
    pub went_on_in: Option<RunId>,
}

/// How far a worktree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStage {
    /// Being made: nobody has worked there.
    Preparing,
    /// A run works there.
    Ready,
    /// Its patch is kept.
    Taken,
    /// Its patch is being applied, or that was cut off.
    Applying,
    /// Its patch was applied.
    Applied,
}

impl WorktreeStage {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Ready => "at work",
            Self::Taken => "to apply",
            Self::Applying => "cut off",
            Self::Applied => "applied",
        }
    }
}

pub(super) const VERSION: u32 = 1;

pub(super) fn read_entry(text: &str) -> Result<WorktreeEntry, String> {
    let entry: WorktreeEntry = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match entry.version {
        VERSION => Ok(entry),
        other => Err(format!("its form is {other}, which a newer version wrote")),
    }
}

pub(super) fn write_entry(entry: &WorktreeEntry) -> String {
    serde_json::to_string_pretty(entry).unwrap_or_default()
}
