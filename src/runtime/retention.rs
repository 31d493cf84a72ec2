//! What a runtime forgets by itself when it starts.

use crate::wiring::Ports;
use impresario_actors::gateways::{SystemWallClock, UnixMillis, WallClock};
use impresario_actors::journal::Retention;
use impresario_actors::messages::journal::{Prune, ReadRun};
use impresario_actors::worktrees::{GitWorktrees, RunStands};
use impresario_policies::domain::RunState;
use impresario_policies::projection::RunProjection;
use std::path::Path;
use std::time::Duration;

/// Runs that ended longer ago than this are forgotten, with their nested sessions.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// So many of the newest runs stay, whatever their age.
pub(super) const NEWEST_KEPT: usize = 200;
const ASK: Duration = Duration::from_secs(60);

/// Forgets old runs. What cannot be done now is done at another start.
pub(super) async fn forget_old_runs(ports: Ports) {
    let now = SystemWallClock.now().0;
    let before = UnixMillis(now.saturating_sub(FORGOTTEN_AFTER.as_millis() as u64));
    let retention = Retention {
        acknowledged_before: before,
        abandoned_before: before,
        keep_newest: NEWEST_KEPT,
    };
    match ports.prune.ask_again(Prune { retention }, ASK).await {
        Ok(Ok(pruned)) if pruned.runs > 0 => tracing::info!(pruned.runs, "old runs forgotten"),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "old runs not forgotten"),
        Err(error) => tracing::debug!(%error, "old runs not forgotten"),
    }
}

/// Brings the worktrees in order that dead runtimes left. Nothing is removed that is not kept as a patch.
pub(super) async fn settle_worktrees(ports: Ports, worktrees: GitWorktrees) {
    let listing = worktrees.clone();
    let listed = tokio::task::spawn_blocking(move || listing.list()).await;
    for entry in listed.unwrap_or_default().into_iter().flatten() {
        let asked = ReadRun {
            run: entry.run.clone(),
            after: 0,
        };
        let Ok(Ok(steps)) = ports.read_run.ask_again(asked, ASK).await else {
            continue;
        };
        let stands = match RunProjection::of(&steps).state() {
            // The newest steps of a run that is forgotten are none.
            _ if steps.is_empty() => RunStands::Over,
            RunState::Parked => RunStands::Parked,
            RunState::Succeeded | RunState::Failed | RunState::Cancelled => RunStands::Over,
            RunState::Accepted
            | RunState::Briefed
            | RunState::Admitted
            | RunState::Running
            | RunState::Answered => RunStands::UnderWay,
        };
        let settling = worktrees.clone();
        let settled = tokio::task::spawn_blocking(move || settling.settle(&entry.run, stands)).await;
        if let Ok(Err(error)) = settled {
            tracing::warn!(%error, "a worktree stays");
        }
    }
}

/// Removes what nobody has touched for so long from a directory of nested sessions or scratch.
pub(super) fn forget_old_files(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_none_or(|age| age < FORGOTTEN_AFTER) {
            continue;
        }
        let path = entry.path();
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => std::fs::remove_dir_all(&path),
            _ => std::fs::remove_file(&path),
        };
        if let Err(error) = removed {
            tracing::debug!(%error, "an old file stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_what_is_old_goes() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = |name: &str| std::fs::File::create(directory.path().join(name)).unwrap();
        file("new.jsonl");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        file("old.jsonl").set_modified(long_ago).unwrap();
        std::fs::create_dir(directory.path().join("new")).unwrap();
        forget_old_files(directory.path());
        let mut left = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        left.sort();
        assert_eq!(left, ["new", "new.jsonl"]);
    }
}
