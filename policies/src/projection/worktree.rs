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
    /// Why it could not be removed; none where nobody tried, and where it is gone.
    pub stays: Option<String>,
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
            stays: None,
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

    /// It is gone, or it stays for this reason.
    pub(super) fn clear_worktree(&mut self, why_not: Option<&str>) {
        match &mut self.worktree {
            Some(WorktreeProjection {
                kept: Some(KeptChanges { patch: Ok(_), .. }),
                cleared: cleared @ false,
                stays: stays @ None,
                ..
            }) => {
                *cleared = why_not.is_none();
                *stays = why_not.map(str::to_string);
            }
            Some(_) | None => self.object(Impossible::ClearedWithoutPatch),
        }
    }
}
