//! `worktrees`: what runs changed in git worktrees of their own, and what becomes of it.

use super::arguments::{WorktreesAction, WorktreesArguments};
use super::exit::Failure;
use super::output::{print, print_json, say};
use super::wire::{applied_line, worktree_line};
use crate::runtime::{state_directory, worktrees};
use impresario_actors::gateways::WorktreeError;
use impresario_actors::worktrees::{Applied, GitWorktrees, WorktreeEntry, WorktreeStage};
use impresario_policies::figures::count_words;
use impresario_policies::worktree::{file_line, short};
use std::process::ExitCode;

pub(super) fn execute(arguments: &WorktreesArguments) -> Result<ExitCode, Failure> {
    let state = match &arguments.state.state_directory {
        Some(directory) => directory.clone(),
        None => state_directory().map_err(|error| Failure::failed(format!("failed to {error}")))?,
    };
    let found = GitWorktrees::new(worktrees(&state));
    match &arguments.action {
        None | Some(WorktreesAction::List) => Ok(list(&found, arguments.json)),
        Some(WorktreesAction::Show { run, patch }) => {
            let entry = find(&found, run)?;
            match patch {
                true => print_patch(&entry),
                false => Ok(show(&entry, arguments.json)),
            }
        }
        Some(WorktreesAction::Apply { run, check }) => {
            let entry = find(&found, run)?;
            let applied = found.apply(&entry.run, *check).map_err(failed)?;
            Ok(say_applied(&entry, &applied, *check, arguments.json))
        }
        Some(WorktreesAction::Discard { run }) => {
            let entry = find(&found, run)?;
            found.discard(&entry.run).map_err(failed)?;
            let _ = print(&format!("forgotten: {}", entry.run));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn failed(error: WorktreeError) -> Failure {
    Failure::failed(error.0)
}

/// The one whose run begins so.
fn find(found: &GitWorktrees, prefix: &str) -> Result<WorktreeEntry, Failure> {
    let all = found.list().into_iter().flatten();
    let mut fitting = all.filter(|entry| entry.run.as_str().starts_with(prefix));
    let shown = prefix.chars().take(40).collect::<String>();
    let hint = "`impresario worktrees` lists them.";
    match (fitting.next(), fitting.next()) {
        (Some(entry), None) if !prefix.is_empty() => Ok(entry),
        (None, _) => Err(Failure::usage(format!(
            "No run that begins with {shown:?} has a worktree. {hint}"
        ))),
        (Some(_), _) => Err(Failure::usage(format!(
            "More than one run begins with {shown:?}; say more of its id. {hint}"
        ))),
    }
}

fn list(found: &GitWorktrees, json: bool) -> ExitCode {
    let listed = found.list();
    if listed.is_empty() && !json {
        let _ = print("No worktrees. Try: impresario run --isolation worktree general \"…\"");
    }
    for entry in listed {
        let printed = match (entry, json) {
            (Err(error), _) => {
                say(&error.0);
                continue;
            }
            (Ok(entry), true) => print_json(&worktree_line(&entry)),
            (Ok(entry), false) => print(&in_words(&entry)),
        };
        if printed.is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn in_words(entry: &WorktreeEntry) -> String {
    let files = match entry.patch.as_ref().map(|patch| patch.files_in_all) {
        None => "no patch yet".to_string(),
        Some(files) => count_words(files as usize, "file"),
    };
    let more = match &entry.went_on_in {
        Some(run) => format!("  went on in {run}"),
        None => String::new(),
    };
    format!(
        "{}  {:<9}  {files:>12}  {}{more}",
        entry.run,
        entry.stage.word(),
        entry.workspace.display()
    )
}

fn show(entry: &WorktreeEntry, json: bool) -> ExitCode {
    // A reader that went away is no failure.
    let _ = match json {
        true => print_json(&worktree_line(entry)),
        false => print(&story_in_words(entry)),
    };
    ExitCode::SUCCESS
}

fn story_in_words(entry: &WorktreeEntry) -> String {
    let mut lines = vec![in_words(entry)];
    if let Some(patch) = &entry.patch {
        lines.extend(patch.files.iter().map(file_line));
        let more = (patch.files_in_all as usize).saturating_sub(patch.files.len());
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines.push(format!("patch: {}", patch.file.display()));
        lines.push(format!("sha256: {}", patch.sha256));
        lines.extend(patch.notes.iter().cloned());
    }
    if let Some(worktree) = &entry.worktree {
        lines.push(format!(
            "base: {}  ref: {}",
            worktree.base.as_deref().map_or("none", short),
            worktree.reference
        ));
        lines.extend(
            worktree
                .notes
                .iter()
                .map(|note| format!("at the beginning {note}")),
        );
    }
    if entry.directory.is_dir() && entry.went_on_in.is_none() {
        lines.push(format!("worktree: {}", entry.directory.display()));
    }
    match entry.stage {
        WorktreeStage::Taken => lines.push(format!("`impresario worktrees apply {}` applies it", entry.run)),
        WorktreeStage::Applying => lines.push(format!(
            "applying it was cut off; `impresario worktrees apply {}` finishes it",
            entry.run
        )),
        WorktreeStage::Preparing | WorktreeStage::Ready | WorktreeStage::Applied => {}
    }
    lines.join("\n")
}

fn print_patch(entry: &WorktreeEntry) -> Result<ExitCode, Failure> {
    let Some(patch) = &entry.patch else {
        return Err(Failure::failed(format!("Run {} has no patch yet.", entry.run)));
    };
    let text = std::fs::read(&patch.file)
        .map_err(|error| Failure::failed(format!("failed to read {}: {error}", patch.file.display())))?;
    // A reader that went away is no failure.
    let _ = print(String::from_utf8_lossy(&text).trim_end_matches('\n'));
    Ok(ExitCode::SUCCESS)
}

fn say_applied(entry: &WorktreeEntry, applied: &Applied, only_looked: bool, json: bool) -> ExitCode {
    let text = match applied {
        _ if json => applied_line(&entry.run, applied, only_looked),
        Applied::Files(files) if only_looked => {
            format!("it can be applied: {} would change", count_words(*files, "file"))
        }
        Applied::Files(files) => format!(
            "applied: {} changed in {}",
            count_words(*files, "file"),
            entry.workspace.display()
        ),
        Applied::Already => "nothing to do: every file is as the patch wants it".to_string(),
        Applied::Conflicts(conflicts) => {
            format!(
                "nothing was changed; these stand in the way:\n  {}",
                conflicts.join("\n  ")
            )
        }
    };
    let is_bad = matches!(applied, Applied::Conflicts(_));
    // A reader that went away is no failure.
    let _ = match (json, is_bad) {
        (true, _) => print_json(&text),
        (false, true) => {
            say(&text);
            Ok(())
        }
        (false, false) => print(&text),
    };
    match is_bad {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
