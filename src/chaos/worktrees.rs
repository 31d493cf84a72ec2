//! Worktrees: every run that had one has kept what it changed there before it ended, and nothing stands that nobody
//! knows of.

use super::auditor::{OfRun, kind, of_kind, text};
use super::evidence::{Evidence, JournalRow, OrderedCall};
use impresario_policies::worktree_commands::refuse_command;

/// In the journal: what was changed is kept once, after the work and before the end, and goes only when it is kept.
pub(super) fn check_worktree(run: &mut OfRun<'_>, rows: &[&JournalRow]) {
    let place = |wanted| of_kind(rows, wanted).map(|row| row.sequence).max();
    let isolated = of_kind(rows, "accepted").any(is_isolated);
    let prepared = place("worktree_prepared");
    let kept = place("patch_taken").max(place("patch_not_taken"));
    let attempt = place("attempt_started");
    if isolated && attempt.is_some() && prepared.is_none_or(|prepared| Some(prepared) > attempt) {
        run.breach(
            "P3",
            "an attempt worked in the person's own files, not in a worktree",
        );
    }
    if prepared.is_some() && place("ended").is_some() && kept.is_none() {
        run.breach("P2", "it ended, and what it changed in its worktree is not kept");
    }
    if kept.is_some_and(|kept| attempt.is_some_and(|attempt| attempt > kept)) {
        run.breach(
            "P2",
            "an attempt worked in the worktree after its patch was taken",
        );
    }
    if place("worktree_cleared").is_some() && place("patch_taken").is_none() {
        run.breach("P2", "its worktree was removed without a patch");
    }
    for once in [
        "worktree_prepared",
        "patch_taken",
        "worktree_cleared",
        "worktree_stays",
    ] {
        if of_kind(rows, once).count() > 1 {
            run.breach("P1", &format!("{once} more than once"));
        }
    }
}

/// On disk: what stands has an entry, and what is kept is there.
pub(super) fn left_wrong(evidence: &Evidence) -> Vec<(String, &'static str)> {
    let mut wrong = Vec::new();
    for seen in &evidence.worktrees {
        let ended = evidence
            .rows
            .iter()
            .any(|row| row.run == seen.run && kind(row) == "worktree_cleared");
        if seen.stands && !seen.has_entry {
            wrong.push((seen.run.clone(), "its worktree stands, and no entry knows of it"));
        }
        if seen.stands && ended {
            wrong.push((
                seen.run.clone(),
                "its worktree stands, and the journal says that it is gone",
            ));
        }
        if seen.is_taken && !seen.has_patch {
            wrong.push((seen.run.clone(), "its patch is taken and is not there"));
        }
    }
    wrong
}

/// What is refused in a worktree never begins, and its model is told so all the same.
pub(super) fn is_refused(evidence: &Evidence, order: &OrderedCall) -> bool {
    let command = text(&order.arguments, "command");
    evidence
        .rows
        .iter()
        .any(|row| kind(row) == "accepted" && is_isolated(row))
        && refuse_command(command).is_some()
}

fn is_isolated(accepted: &JournalRow) -> bool {
    accepted.step["request"]["terms"]["isolation"] == "worktree"
}
