//! What does an answer say that what the runtime saw does not bear out?
//!
//! A flag is a statement of fact about the run, never a judgement of the answer. Where the runtime cannot know (a list
//! of names was cut, a command took a pattern, an unknown tool ran) nothing is said.

use super::claims::{RunsTests, runs_tests, tests_claimed_to_pass};
use super::names::{NamedFile, files_cited, may_be_same};
use crate::compat::cut_units;
use crate::domain::{CommandRun, Flag, RunRequest, ToolUse, Work};
use std::collections::BTreeSet;

/// So many files that nobody looked at are named one by one.
const FLAGGED_FILES_MAX: usize = 8;
/// So many files of an answer are looked for.
const CITED_FILES_MAX: usize = 64;
/// A longer path is not shown whole.
const PATH_UNITS_MAX: usize = 160;

/// So much of an answer is compared.
const COMPARED_BYTES_MAX: usize = 128 * 1024;

fn compared(answer: &str) -> &str {
    &answer[..answer.floor_char_boundary(COMPARED_BYTES_MAX)]
}

/// The files that an answer names and that are worth looking for.
pub fn files_to_look_for(answer: &str) -> Vec<String> {
    let answer = compared(answer);
    let cited: BTreeSet<String> = files_cited(answer).into_iter().map(|file| file.path).collect();
    cited.into_iter().take(CITED_FILES_MAX).collect()
}

/// What is known when an answer is there.
#[derive(Debug, Clone)]
pub struct AnswerFacts<'a> {
    /// What was asked for.
    pub request: &'a RunRequest,
    /// What was seen.
    pub work: &'a Work,
    /// What the brief says besides the task.
    pub told: &'a str,
    /// Of the files that it names, those that are there; none where nobody looked.
    pub present: Option<&'a BTreeSet<String>>,
}

/// Compares an answer with what was seen.
pub fn flag_answer(answer: &str, facts: &AnswerFacts<'_>) -> Vec<Flag> {
    let answer = compared(answer);
    let looked = facts.work.tools.iter().any(succeeded);
    let has_tools = !facts.request.tools.is_empty();
    let nothing = facts.request.terms.must_look && has_tools && !looked && !brings_material(facts);
    let mut flags = Vec::new();
    if nothing {
        flags.push(Flag::NothingLookedAt);
    }
    flags.extend(flag_citations(answer, facts));
    flags.extend(flag_tests(answer, facts));
    flags
}

fn succeeded(tool: &ToolUse) -> bool {
    tool.calls > tool.failed + tool.cut_off
}

/// What was asked brings the text itself along: a diff, a log, a listing.
fn brings_material(facts: &AnswerFacts<'_>) -> bool {
    let marks = ["```", "\ndiff --git ", "\n+++ ", "\n@@ ", "\n> "];
    let is_material = |text: &str| {
        marks
            .iter()
            .any(|mark| text.contains(mark) || text.starts_with(mark.trim_start()))
    };
    [facts.request.task.as_str(), facts.told]
        .into_iter()
        .any(is_material)
}

fn flag_citations(answer: &str, facts: &AnswerFacts<'_>) -> Vec<Flag> {
    let work = facts.work;
    // Somebody may have read it in a way that leaves no name.
    if work.named_more || work.commands_before > 0 || work.commands.iter().any(takes_a_pattern) {
        return Vec::new();
    }
    let cited = files_cited(answer).into_iter();
    let unread = cited.filter(|file| !was_seen(file, facts));
    let mut flagged = BTreeSet::new();
    unread
        .filter(|file| flagged.insert(file.path.clone()))
        .take(FLAGGED_FILES_MAX)
        .map(|file| Flag::CitedUnread {
            missing: facts.present.is_some_and(|present| !present.contains(&file.path)),
            path: cut_units(&file.path, PATH_UNITS_MAX).to_string(),
            line: file.line,
        })
        .collect()
}

fn takes_a_pattern(run: &CommandRun) -> bool {
    let signs = [
        "*", "xargs", "-exec", "for ", "while ", "$(", "`", "…", "<<", "git show", "git diff", "git log",
    ];
    signs.iter().any(|sign| run.command.contains(sign))
}

/// A place with a line needs somebody who saw the content. A bare name may come from a list or from who asked; one that
/// is not there may be a proposal.
fn was_seen(file: &NamedFile, facts: &AnswerFacts<'_>) -> bool {
    let work = facts.work;
    let read = work.read.iter().map(|seen| seen.path.as_str());
    let changed = work.changed.iter().map(|changed| changed.path.as_str());
    let named = work.named.iter().map(String::as_str);
    let mut contents = read.chain(changed).chain(named);
    let base = file.path.rsplit('/').next().unwrap_or(&file.path);
    let request = facts.request;
    let texts = [
        request.task.as_str(),
        facts.told,
        request.instructions.as_str(),
        request.terms.surroundings.project_instructions.as_str(),
        request.continues.as_deref().unwrap_or_default(),
    ];
    if contents.any(|seen| may_be_same(&file.path, seen))
        || work.commands.iter().any(|run| run.command.contains(base))
        || work.read_besides + work.changed_besides > 0
    {
        return true;
    }
    match file.line {
        Some(line) => {
            let told = |text: &&str| {
                text.contains(&format!("{base}:{line}")) || text.contains(&format!("{base}#L{line}"))
            };
            texts.iter().any(told) || (brings_material(facts) && texts.iter().any(|text| text.contains(base)))
        }
        None => {
            let is_there = facts.present.is_some_and(|present| present.contains(&file.path));
            let is_place = file.path.contains('/');
            !is_there
                || !is_place
                || work.listed.iter().any(|seen| may_be_same(&file.path, seen))
                || texts.iter().any(|text| text.contains(base))
        }
    }
}

/// What is known of tests.
enum Tests<'a> {
    /// They ran, and nobody can say that they failed; or they may have run.
    Unknown,
    NotRun,
    Failed(&'a CommandRun, i32),
}

fn flag_tests(answer: &str, facts: &AnswerFacts<'_>) -> Option<Flag> {
    let claim = tests_claimed_to_pass(answer)?;
    match tests_of(facts.work) {
        Tests::Unknown => None,
        // Who asked may have said so, or brought the output along.
        Tests::NotRun if brings_material(facts) || tests_claimed_to_pass(&facts.request.task).is_some() => {
            None
        }
        Tests::NotRun => Some(Flag::TestsNotRun { claim }),
        Tests::Failed(run, exit_code) => Some(Flag::TestsFailed {
            claim,
            command: run.command.clone(),
            exit_code,
        }),
    }
}

fn tests_of(work: &Work) -> Tests<'_> {
    let last = work
        .commands
        .iter()
        .rev()
        .find_map(|run| match runs_tests(&run.command) {
            RunsTests::No => None,
            kind => Some((run, kind)),
        });
    match last {
        Some((run, RunsTests::Yes)) => match run.exit_code {
            Some(code) if code != 0 => Tests::Failed(run, code),
            Some(_) | None => Tests::Unknown,
        },
        Some(_) => Tests::Unknown,
        None if work.commands_before > 0 || may_have_run_tests(work) => Tests::Unknown,
        None => Tests::NotRun,
    }
}

/// A command that was cut, a script that may do anything, a tool that nobody here knows.
fn may_have_run_tests(work: &Work) -> bool {
    let hides = |run: &CommandRun| run.command.ends_with('…') || run.command.starts_with("./");
    let known = [
        "read",
        "grep",
        "find",
        "ls",
        "glob",
        "edit",
        "write",
        "bash",
        "hashline_edit",
        "look_at",
    ];
    let stranger = |tool: &ToolUse| {
        let name = tool.tool.as_str();
        !known.contains(&name)
            && !name.starts_with("overflow_")
            && !name.contains("retriev")
            && !name.contains("search")
    };
    work.commands.iter().any(hides) || work.tools.iter().any(stranger)
}
