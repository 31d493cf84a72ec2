//! A receipt in words: one line for whoever gets the result, more for whoever wants to know.

use super::Receipt;
use crate::agents::name_order;
use crate::domain::{CommandRun, FileState, Flag, NotHashed, ToolUse};
use crate::figures::count_words;
use crate::terminal_text::shown;
use std::cmp::Reverse;

/// So many names stand in one line.
const NAMED_MAX: usize = 5;
/// So many digits of a hash tell two files apart for a person.
const DIGITS: usize = 12;

/// What a flag says.
pub fn flag_words(flag: &Flag) -> String {
    match flag {
        Flag::NothingLookedAt => {
            "No tool call of it succeeded: nothing in this answer was looked up.".to_string()
        }
        Flag::CitedUnread { path, line, missing } => {
            let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
            match missing {
                true => format!(
                    "It cites {place}: there is no such file in the workspace, and it looked at none of that name."
                ),
                false => format!("It cites {place}, which it did not look at."),
            }
        }
        Flag::TestsNotRun { claim } => {
            format!("It says {claim:?}, and no command that it ran is known to run tests.")
        }
        Flag::TestsFailed {
            claim,
            command,
            exit_code,
        } => {
            format!("It says {claim:?}, and its last test command ({command}) exited with code {exit_code}.")
        }
    }
}

/// What was seen, in one line; none while there is nothing to say.
pub fn receipt_line(receipt: &Receipt) -> Option<String> {
    let work = &receipt.work;
    let calls: u32 = work.tools.iter().map(|tool| tool.calls).sum();
    if calls == 0 {
        return (receipt.model_calls > 0).then(|| "Seen by the runtime: no tool calls.".to_string());
    }
    let read = work.read.len() + work.read_besides as usize;
    let changed: Vec<&str> = work.changed.iter().map(|file| file.path.as_str()).collect();
    let commands = work.commands.len() + work.commands_before as usize;
    let mut parts = vec![count_words(calls as usize, "tool call")];
    if read > 0 {
        parts.push(format!("{} read", count_words(read, "file")));
    }
    if let Some(patch) = &receipt.patch {
        parts.push(format!(
            "{} changed in its worktree",
            count_words(patch.files_in_all as usize, "file")
        ));
    } else if !changed.is_empty() {
        parts.push(format!("changed {}", some_of(&changed, work.changed_besides)));
    }
    if commands > 0 {
        parts.push(format!(
            "{}{}",
            count_words(commands, "command"),
            failures(&work.commands)
        ));
    }
    if work.may_have_changed_more {
        parts.push("commands or tools of it may have changed more".to_string());
    }
    let earlier = receipt
        .goes_on_with
        .as_ref()
        .map_or_else(String::new, |run| format!(", run {run} included"));
    Some(format!("Seen by the runtime{earlier}: {}.", parts.join("; ")))
}

fn some_of(names: &[&str], besides: u32) -> String {
    let more = names.len().saturating_sub(NAMED_MAX) as u64 + u64::from(besides);
    let named = names
        .iter()
        .take(NAMED_MAX)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match more {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn failures(commands: &[CommandRun]) -> String {
    let failed = commands
        .iter()
        .filter(|run| run.exit_code.is_some_and(|code| code != 0))
        .count();
    let unknown = commands.iter().filter(|run| run.exit_code.is_none()).count();
    match (failed, unknown) {
        (0, 0) => String::new(),
        (failed, 0) => format!(" ({failed} exited with an error)"),
        (0, unknown) => format!(" ({unknown} with an exit code that nobody knows)"),
        (failed, unknown) => {
            format!(" ({failed} exited with an error, {unknown} with a code that nobody knows)")
        }
    }
}

/// All of it, a line each.
pub fn receipt_lines(receipt: &Receipt) -> Vec<String> {
    let work = &receipt.work;
    let mut lines = Vec::new();
    if let Some(run) = &receipt.goes_on_with {
        lines.push(format!("with what run {run} did"));
    }
    if !work.tools.is_empty() {
        let mut tools = work.tools.iter().collect::<Vec<_>>();
        // The most used first, then by name, small letters before capitals.
        tools.sort_by_cached_key(|of| {
            let name = (name_order(&of.tool), Reverse(of.tool.clone()));
            (Reverse(of.calls), name)
        });
        let tools = tools.into_iter().map(tool_words).collect::<Vec<_>>();
        lines.push(format!("tools    {}", tools.join(" · ")));
    }
    for file in &work.read {
        lines.push(format!("read     {}  {}", file.path, state_words(&file.state)));
    }
    lines.extend(besides(work.read_besides, "read"));
    for file in &work.changed {
        let after = file
            .after
            .as_ref()
            .map_or("nobody knows: it was cut off".to_string(), state_words);
        lines.push(format!(
            "changed  {}  {} → {after}",
            file.path,
            state_words(&file.before)
        ));
    }
    lines.extend(besides(work.changed_besides, "changed"));
    if let Some(patch) = &receipt.patch {
        for file in &patch.files {
            lines.push(format!("patch    {} {}", file.change.letter(), file.path));
        }
        let more = patch
            .files_in_all
            .saturating_sub(u32::try_from(patch.files.len()).unwrap_or(u32::MAX));
        lines.extend(besides(more, "in the patch"));
    }
    if work.commands_before > 0 {
        lines.push(format!("ran      {} earlier commands", work.commands_before));
    }
    lines.extend(work.commands.iter().map(command_words));
    if work.may_have_changed_more {
        lines.push("Commands or tools of it may have changed more than the runtime saw.".to_string());
    }
    if !receipt.models.is_empty() {
        let calls = count_words(receipt.model_calls, "call");
        lines.push(format!("models   {} ({calls})", receipt.models.join(", ")));
    }
    lines.iter().map(|line| shown(line).into_owned()).collect()
}

fn besides(count: u32, how: &str) -> Option<String> {
    (count > 0).then(|| format!("         {} more {how}", count))
}

fn tool_words(tool: &ToolUse) -> String {
    let mut notes = Vec::new();
    if tool.failed > 0 {
        notes.push(format!("{} failed", tool.failed));
    }
    if tool.cut_off > 0 {
        notes.push(format!("{} cut off", tool.cut_off));
    }
    match notes.is_empty() {
        true => format!("{}× {}", tool.calls, tool.tool),
        false => format!("{}× {} ({})", tool.calls, tool.tool, notes.join(", ")),
    }
}

fn command_words(run: &CommandRun) -> String {
    let code = match (run.exit_code, run.cut_off) {
        (Some(code), _) => format!("exit {code}"),
        (None, true) => "cut off".to_string(),
        (None, false) => "exit unknown".to_string(),
    };
    format!("ran      {}  {code}", run.command)
}

fn state_words(state: &FileState) -> String {
    match state {
        FileState::Absent => "absent".to_string(),
        FileState::Hashed { sha256, .. } => {
            let digits = sha256.get(..DIGITS).unwrap_or(sha256);
            format!("sha256 {digits}…")
        }
        FileState::NotHashed { why } => format!("not hashed: {}", not_hashed_words(*why)),
    }
}

fn not_hashed_words(why: NotHashed) -> &'static str {
    match why {
        NotHashed::TooLarge => "too large",
        NotHashed::NoFile => "no plain file",
        NotHashed::Unreadable => "not readable",
        NotHashed::TooSlow => "the disk was too slow",
        NotHashed::TooMany => "too many files",
    }
}
