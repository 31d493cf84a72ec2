//! What a runtime forgets by itself when it starts.

use crate::wiring::Ports;
use impresario_actors::gateways::{SystemWallClock, UnixMillis, WallClock};
use impresario_actors::journal::{Retention, RunFilter, RunSummary};
use impresario_actors::messages::journal::{Prune, ReadRun, ReadRuns};
use impresario_actors::worktrees::{GitWorktrees, RunStands};
use impresario_policies::domain::RunState;
use impresario_policies::projection::RunProjection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Runs that ended longer ago than this are forgotten, with their nested sessions.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// So many of the newest runs stay, whatever their age.
pub(super) const NEWEST_KEPT: usize = 200;
/// Nested sessions together; those that can be gone on with stay whatever they take.
const SESSIONS_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Answers that are kept whole, together: the oldest go first, and their runs keep the beginning and the end.
const ANSWERS_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// A file of a run that nobody knows is left alone so long.
const UNKNOWN_KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
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

/// Removes nested sessions whose run the journal does not know any more, and the oldest of those that nobody can go on with
/// while all of them together are too large.
pub(super) async fn forget_sessions(ports: Ports, directory: PathBuf) {
    let filter = RunFilter::default();
    let Ok(Ok(runs)) = ports.read_runs.ask_again(ReadRuns { filter }, ASK).await else {
        return;
    };
    let resumable = |run: &RunSummary| run.ended_at.is_none() || run.state == RunState::Parked;
    let known = runs.iter().map(|run| (run.run.to_string(), resumable(run)));
    let known = known.collect::<BTreeMap<_, _>>();
    let removed =
        tokio::task::spawn_blocking(move || remove_sessions(&directory, &known, SESSIONS_BYTES_MAX));
    if let Ok(count @ 1..) = removed.await {
        tracing::info!(count, "nested sessions forgotten");
    }
}

/// `known` says of each run whether somebody can go on with it.
fn remove_sessions(directory: &Path, known: &BTreeMap<String, bool>, bytes_max: u64) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut kept = Vec::new();
    let mut removed = 0;
    for entry in entries {
        let (Ok(metadata), name) = (entry.metadata(), entry.file_name()) else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        let run = name.split('.').next().unwrap_or_default();
        // One that is being written may be of a run that was accepted after the list was read.
        let age = metadata
            .modified()
            .ok()
            .and_then(|modified| modified.elapsed().ok());
        let is_old = age.is_some_and(|age| age > UNKNOWN_KEPT_FOR);
        match known.get(run) {
            None if is_old => removed += usize::from(std::fs::remove_file(entry.path()).is_ok()),
            None => {}
            Some(is_resumable) => kept.push((
                metadata.modified().ok(),
                metadata.len(),
                *is_resumable,
                entry.path(),
            )),
        }
    }
    let mut bytes = kept.iter().map(|(_, bytes, _, _)| *bytes).sum::<u64>();
    kept.sort();
    for (_, length, is_resumable, path) in kept {
        if bytes <= bytes_max {
            break;
        }
        if !is_resumable && std::fs::remove_file(path).is_ok() {
            bytes -= length;
            removed += 1;
        }
    }
    removed
}

/// Removes answers whose run the journal does not know any more, and the oldest while all of them together are too large.
pub(super) async fn forget_answers(ports: &Ports, directory: PathBuf) {
    // First the files: whatever lies there now is of a run that was accepted before the journal is asked.
    let looked = tokio::task::spawn_blocking(move || answers_in(&directory)).await;
    let files = looked.unwrap_or_default();
    let filter = RunFilter::default();
    let Ok(Ok(runs)) = ports.read_runs.ask_again(ReadRuns { filter }, ASK).await else {
        return;
    };
    let known = runs.into_iter().map(|run| run.run.to_string());
    let known = known.collect::<BTreeSet<_>>();
    let removed = tokio::task::spawn_blocking(move || remove_answers(files, &known, ANSWERS_BYTES_MAX));
    if let Ok(count @ 1..) = removed.await {
        tracing::info!(count, "answers forgotten");
    }
}

/// A file of an answer, the oldest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AnswerFile {
    modified: Option<SystemTime>,
    bytes: u64,
    /// What stands before the first dot: the run, or nothing where it is not whole yet.
    run: String,
    path: PathBuf,
}

fn answers_in(directory: &Path) -> Vec<AnswerFile> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files = entries
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some(AnswerFile {
                modified: metadata.modified().ok(),
                bytes: metadata.len(),
                run: name.split('.').next().unwrap_or_default().to_string(),
                path: entry.path(),
            })
        })
        .collect::<Vec<_>>();
    files.sort();
    files
}

fn remove_answers(files: Vec<AnswerFile>, known: &BTreeSet<String>, bytes_max: u64) -> usize {
    let mut bytes = files.iter().map(|file| file.bytes).sum::<u64>();
    let mut removed = 0;
    for file in files {
        let is_unfinished = file.run.is_empty();
        let age = file.modified.and_then(|modified| modified.elapsed().ok());
        let goes = match is_unfinished {
            true => age.is_some_and(|age| age > UNKNOWN_KEPT_FOR),
            false => !known.contains(&file.run) || bytes > bytes_max,
        };
        if goes && std::fs::remove_file(&file.path).is_ok() {
            bytes -= file.bytes;
            removed += 1;
        }
    }
    removed
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

    #[test]
    fn sessions_go_with_their_runs_and_the_oldest_when_there_are_too_many() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = |name: &str, seconds: u64| {
            let path = directory.path().join(name);
            std::fs::write(&path, "0123456789").unwrap();
            let written = std::fs::File::options().write(true).open(path).unwrap();
            written
                .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
                .unwrap();
        };
        file("gone.jsonl", 1);
        file("parked.jsonl", 2);
        file("old.before-2.jsonl", 3);
        file("old.jsonl", 4);
        file("new.jsonl", 5);
        std::fs::write(directory.path().join("just-begun.jsonl"), "").unwrap();
        let known = [("parked", true), ("old", false), ("new", false)];
        let known = known.map(|(run, resumable)| (run.to_string(), resumable)).into();
        assert_eq!(remove_sessions(directory.path(), &known, 25), 3);
        let mut left = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        left.sort();
        assert_eq!(left, ["just-begun.jsonl", "new.jsonl", "parked.jsonl"]);
    }

    #[test]
    fn answers_go_with_their_runs_and_the_oldest_when_there_are_too_many() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = |name: &str, seconds: u64| {
            let path = directory.path().join(name);
            std::fs::write(&path, "0123456789").unwrap();
            let written = std::fs::File::options().write(true).open(path).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            written.set_modified(time).unwrap();
        };
        file("gone.1.md", 5);
        file("oldest.1.md", 1);
        file("old.1.md", 2);
        file("old.2.md", 3);
        file("new.1.md", 4);
        file(".answer-cut-off", 1);
        std::fs::write(directory.path().join(".answer-being-written"), "").unwrap();
        let known = ["oldest", "old", "new"].map(str::to_string).into();
        assert_eq!(remove_answers(answers_in(directory.path()), &known, 40), 3);
        let mut left = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        left.sort();
        assert_eq!(
            left,
            [".answer-being-written", "new.1.md", "old.1.md", "old.2.md"]
        );
    }

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
