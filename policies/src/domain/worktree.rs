//! A git worktree of a run's own, and the patch that is made of what was changed there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

/// Where a run works that may change files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the person's own files.
    #[default]
    None,
    /// In a git worktree of its own; what it changes becomes a patch.
    Worktree,
}

/// A worktree that is ready: what it was made of, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Where the person's files begin: the top of their own worktree.
    pub repository: PathBuf,
    /// What all worktrees of the repository share.
    pub git_directory: PathBuf,
    /// The top of the worktree.
    pub directory: PathBuf,
    /// The directory in it that the run works in: where the person's workspace lies in their own.
    pub workspace: PathBuf,
    /// The commit that was checked out; none before the first one.
    pub base: Option<String>,
    /// A commit of what the person's files were, with everything that was not committed.
    pub snapshot: String,
    /// Keeps the snapshot, and later the result, from being forgotten by git.
    pub reference: String,
    /// What of the person's files is not there, and why.
    pub notes: Vec<String>,
}

/// What a run changed, as it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// Where it lies.
    pub file: PathBuf,
    /// Of the file.
    pub sha256: String,
    /// Of the file.
    pub bytes: u64,
    /// A commit of what the run left, on the snapshot. [`Worktree::reference`] names it.
    pub result: String,
    /// How many files it changes.
    pub files_in_all: u32,
    /// The first of them.
    pub files: Vec<PatchedFile>,
    /// What of the worktree is not in it, and why.
    pub notes: Vec<String>,
    /// Nothing that git does not ignore is left out, so the worktree may go.
    pub complete: bool,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// Below the top of the worktree; quoted as git quotes it where it is no plain text.
    pub path: String,
    /// What it was called before, where it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What was done to it.
    pub change: FileChange,
    /// Lines; none where it is no text.
    pub added: Option<u64>,
    /// Lines; none where it is no text.
    pub removed: Option<u64>,
    /// Git's hash of it before.
    pub before: Option<String>,
    /// Git's hash of it now.
    pub after: Option<String>,
    /// Its mode is another one than before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mode_changed: bool,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was not there.
    Added,
    /// Its content or its mode.
    Modified,
    /// It is not there any more.
    Deleted,
    /// Moved, changed or not.
    Renamed,
    /// A link became a file, or a file a link.
    Retyped,
}

impl Isolation {
    /// It works in the person's own files.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl FileChange {
    /// As git says it.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Retyped => 'T',
        }
    }
}
