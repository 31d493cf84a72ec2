//! The git worktree of a run, and what became of it.

use super::{Impossible, RunProjection};
use crate::domain::{Patch, Reason, TerminalState, Worktree};

/// A worktree that was made for a run, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorktreeProjection {
    /// What it was made of, and where it is or was.
    pub worktree: Worktree,
    /// What was made of the changes in it; none while somebody may work there.
    pub kept: Option<KeptChanges>,
    /// It is gone.
    pub cleared: bool,
}

/// What was made of the changes in a worktree, and how its run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptChanges {
    /// The patch, or why there is none and the worktree stays.
    pub patch: Result<Patch, String>,
    /// How the run ends.
    pub state: TerminalState,
    /// Why, when it does not succeed.
    pub reason: Option<Reason>,
}

impl RunProjection {
    pub(super) fn prepare_worktree(&mut self, worktree: &Worktree) {
        if self.worktree.is_some() {
            return self.object(Impossible::WorktreeTwice);
        }
        self.check(self.attempts.is_empty(), Impossible::WorktreeAfterAttempt);
        self.worktree = Some(WorktreeProjection {
            worktree: worktree.clone(),
            kept: None,
            cleared: false,
        });
    }

    pub(super) fn keep_changes(&mut self, changes: KeptChanges) {
        self.check(self.attempt_under_way().is_none(), Impossible::PatchDuringAttempt);
        match &mut self.worktree {
            Some(WorktreeProjection {
                kept: kept @ None, ..
            }) => *kept = Some(changes),
            Some(_) => self.object(Impossible::PatchTwice),
            None => self.object(Impossible::PatchWithoutWorktree),
        }
    }

    pub(super) fn clear_worktree(&mut self) {
        match &mut self.worktree {
            Some(WorktreeProjection {
                kept: Some(KeptChanges { patch: Ok(_), .. }),
                cleared: cleared @ false,
                ..
            }) => *cleared = true,
            Some(_) | None => self.object(Impossible::ClearedWithoutPatch),
        }
    }
}
