//! What did a run do, as its steps say?

use crate::added_tools::AddedTool;
use crate::domain::{CallTarget, CommandRun, FileChanged, FileSeen, FileState, Replay, ToolUse, Work};
use crate::projection::{RunProjection, ToolCallProjection, ToolFate};

/// So many files of each kind are listed.
const FILES_MAX: usize = 200;
/// So many commands, the newest.
const COMMANDS_MAX: usize = 200;
/// So many names of tools.
const TOOLS_MAX: usize = 64;
/// So many names that stood in results.
const NAMES_MAX: usize = 4_000;

/// Tools that show names of files and nothing of what is in them.
const LISTING: [&str; 3] = ["find", "ls", "glob"];

/// Adds up what was seen of every call, of what it inherited first: a run that goes on with the nested session of another
/// one knows what that one read.
pub fn work_of(run: &RunProjection) -> Work {
    let request = run.accepted.as_ref().map(|accepted| &accepted.request);
    let earlier = request
        .filter(|request| request.continues.is_some())
        .and_then(|request| request.terms.inherited.as_ref()?.work.as_deref().cloned());
    let mut work = earlier.unwrap_or_default();
    for attempt in &run.attempts {
        for call in &attempt.tools {
            add(&mut work, call, attempt.ended.is_some());
        }
    }
    work
}

fn add(work: &mut Work, call: &ToolCallProjection, attempt_is_over: bool) {
    let fate = match &call.fate {
        ToolFate::Finished { is_error: false, .. } => Fate::Succeeded,
        ToolFate::Finished { is_error: true, .. } => Fate::Failed,
        ToolFate::InFlight if !attempt_is_over => return,
        ToolFate::InFlight | ToolFate::Indeterminate => Fate::CutOff,
    };
    count(work, &call.tool, fate);
    match &call.target {
        Some(CallTarget::Reads { file }) if fate == Fate::Succeeded => add_read(work, file),
        Some(CallTarget::Reads { .. }) => {}
        Some(CallTarget::Changes { file }) => add_change(work, file, after(call), fate),
        Some(CallTarget::Runs { command }) => {
            work.may_have_changed_more |= call.replay == Replay::Unsafe;
            work.commands.push(CommandRun {
                command: command.clone(),
                exit_code: call.evidence.as_ref().and_then(|evidence| evidence.exit_code),
                cut_off: fate == Fate::CutOff,
            });
            if work.commands.len() > COMMANDS_MAX {
                work.commands.remove(0);
                work.commands_before += 1;
            }
        }
        // A tool of ours that came to its end says all that it changed; one that failed left everything as it was.
        None if fate != Fate::CutOff && AddedTool::named(&call.tool).is_some() => {}
        None => work.may_have_changed_more |= call.replay == Replay::Unsafe,
    }
    let Some(evidence) = &call.evidence else { return };
    let target = match &call.target {
        Some(CallTarget::Changes { file }) => Some(&file.path),
        Some(CallTarget::Reads { .. } | CallTarget::Runs { .. }) | None => None,
    };
    let others = evidence
        .changed
        .iter()
        .filter(|changed| Some(&changed.path) != target);
    for FileChanged { path, before, after } in others {
        let before = FileSeen {
            path: path.clone(),
            state: before.clone(),
        };
        add_change(work, &before, after.clone(), fate);
    }
    work.changed_besides += evidence.changed_besides;
    work.named_more |= evidence.names_more && !LISTING.contains(&call.tool.as_str());
    let names = match LISTING.contains(&call.tool.as_str()) {
        true => &mut work.listed,
        false => &mut work.named,
    };
    for name in &evidence.named {
        if names.len() >= NAMES_MAX {
            work.named_more = true;
            break;
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}

fn after(call: &ToolCallProjection) -> Option<FileState> {
    call.evidence.as_ref()?.after.clone()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Succeeded,
    Failed,
    CutOff,
}

fn count(work: &mut Work, tool: &str, fate: Fate) {
    let known = work.tools.iter().position(|known| known.tool == tool);
    let place = match known {
        Some(place) => place,
        None if work.tools.len() < TOOLS_MAX => {
            work.tools.push(ToolUse {
                tool: tool.to_string(),
                calls: 0,
                failed: 0,
                cut_off: 0,
            });
            work.tools.len() - 1
        }
        None => TOOLS_MAX - 1,
    };
    let Some(of_tool) = work.tools.get_mut(place) else {
        return;
    };
    of_tool.calls += 1;
    of_tool.failed += u32::from(fate == Fate::Failed);
    of_tool.cut_off += u32::from(fate == Fate::CutOff);
}

fn add_read(work: &mut Work, file: &FileSeen) {
    let is_room = work.read.len() < FILES_MAX;
    match work.read.iter_mut().find(|known| known.path == file.path) {
        // The newest look is what the answer is about.
        Some(known) => known.state = file.state.clone(),
        None if is_room => work.read.push(file.clone()),
        None => work.read_besides += 1,
    }
}

/// A call that failed and left the file as it was has changed nothing.
fn add_change(work: &mut Work, before: &FileSeen, after: Option<FileState>, fate: Fate) {
    let known = work.changed.iter_mut().find(|known| known.path == before.path);
    if let Some(known) = known {
        if fate == Fate::CutOff || after.is_some() {
            known.after = after;
        }
        return;
    }
    let is_as_before = matches!(&before.state, FileState::Hashed { .. } | FileState::Absent)
        && after.as_ref() == Some(&before.state);
    if is_as_before || (fate == Fate::Failed && after.is_none()) {
        return;
    }
    if work.changed.len() >= FILES_MAX {
        work.changed_besides += 1;
        return;
    }
    work.changed.push(FileChanged {
        path: before.path.clone(),
        before: before.state.clone(),
        after,
    });
}
