//! What does a person see of a run, while it works and afterwards?
//!
//! One picture of it all, made anew from the run's steps and from what is live: whoever draws it keeps nothing. Its size
//! has a limit whatever the run does, and nothing in it is obeyed by a terminal.

use crate::call_words::{error_hint, shortened};
use crate::domain::{Briefing, ModelUsage, RunState};
use crate::fallback::{models_left, reason_of_attempt};
use crate::figures::{cost_words, duration_words, token_words};
use crate::projection::{AttemptProjection, RunProjection, ToolCallProjection, ToolFate};
use crate::receipt::{Receipt, flag_words, receipt_lines};
use crate::terminal_text::shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// So many calls are seen, the newest.
const CALLS_MAX: usize = 30;
/// So many models that were left.
const LEFT_MAX: usize = 5;
/// So many flags, and lines of a receipt.
const FLAGS_MAX: usize = 8;
const FLAG_CHARACTERS_MAX: usize = 400;
const RECEIPT_LINES_MAX: usize = 24;
const NAME_CHARACTERS_MAX: usize = 80;
const LINE_CHARACTERS_MAX: usize = 200;
const WORDS_CHARACTERS_MAX: usize = 2_000;
/// What a call is called with, and why it failed.
const WITH_UNITS_MAX: usize = 80;
const WHY_UNITS_MAX: usize = 60;

/// What a person sees of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunSight {
    /// The skill or the agent.
    pub name: String,
    /// How the task begins, in one line.
    pub task: String,
    /// Where it stands.
    pub standing: Standing,
    /// When it was accepted, in milliseconds since 1970.
    pub begun_ms: u64,
    /// How long it took; none while it is not over.
    pub took: Option<String>,
    /// The model of the last attempt; none before the first.
    pub model: Option<String>,
    /// The number of the last attempt; 0 before the first.
    pub attempt: u32,
    /// What keeps it from working now.
    pub waits: Option<Waits>,
    /// Its last tool calls, in order of their beginning.
    pub calls: Vec<CallSight>,
    /// Tool calls before those.
    pub calls_before: u32,
    /// The models that were left, each with why.
    pub left: Vec<String>,
    /// What the sub-agent said last.
    pub words: Option<String>,
    /// Tokens and money so far, as far as that is known; none while nothing was used.
    pub used: Option<String>,
    /// What the answer says and what was seen does not bear out.
    pub flags: Vec<String>,
    /// What was seen of files and commands, a line each, once it is over.
    pub receipt: Vec<String>,
}

/// Where a run stands, for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It waits for something.
    Waiting,
    /// Its sub-agent works.
    Working,
    /// Ended well.
    Succeeded,
    /// Ended without an answer.
    Failed,
    /// Somebody cancelled.
    Cancelled,
    /// Stopped where a person must decide.
    Parked,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Waits {
    /// In a few words: `waits for room, 2nd in line`, `starting again. …`.
    pub words: String,
    /// Until when, where that is known, in milliseconds since 1970.
    pub until_ms: Option<u64>,
}

/// What a person sees of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CallSight {
    /// The tool.
    pub tool: String,
    /// What it is called with, in one short line.
    pub with: String,
    /// What became of it.
    pub fate: CallFate,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: u64,
    /// How long it took; none while it runs.
    pub took: Option<String>,
    /// Why it failed, in a few words; none where it did not, or said nothing.
    #[serde(default)]
    pub why: Option<String>,
}

/// What became of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallFate {
    /// It runs.
    Running,
    /// It ended well.
    Ok,
    /// It said that it failed.
    Failed,
    /// It was cut off, and nobody knows whether it happened.
    Unknown,
}

/// What is known of a run that works and is not in its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveFacts {
    /// What is done between two steps, for what has no attempt under way: `judging the brief on …`.
    pub doing: Option<String>,
    /// Until when that lasts, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// What the sub-agent waits for by itself: its provider asked it to try again later.
    pub sub_agent_waits: Option<Waits>,
    /// What the sub-agent said last.
    pub words: String,
    /// How many are before it where it waits for room.
    pub before_it: Option<usize>,
}

/// Makes the picture of a run.
pub fn see_run(run: &RunProjection, live: &LiveFacts) -> RunSight {
    let request = run.accepted.as_ref().map(|accepted| &accepted.request);
    let waits = waits_of(run, live);
    let standing = standing_of(run, waits.is_some());
    let is_over = run.ended.is_some();
    let calls = run.attempts.iter().flat_map(|attempt| {
        attempt
            .tools
            .iter()
            .map(move |call| (call, attempt.ended.is_some()))
    });
    let count = run
        .attempts
        .iter()
        .map(|attempt| attempt.tools.len())
        .sum::<usize>();
    let before = count.saturating_sub(CALLS_MAX);
    let left = models_left(run);
    RunSight {
        name: request.map_or_else(String::new, |request| {
            line(request.what.name(), NAME_CHARACTERS_MAX)
        }),
        task: request.map_or_else(String::new, |request| line(&request.task, LINE_CHARACTERS_MAX)),
        standing,
        begun_ms: run.accepted.as_ref().map_or(0, |accepted| accepted.at_ms),
        took: run.took_ms().map(|ms| duration_words(ms as f64)),
        model: run
            .latest_attempt()
            .map(|last| line(&last.model, NAME_CHARACTERS_MAX)),
        attempt: run.latest_attempt().map_or(0, |last| last.number.0),
        waits: waits.map(|waits| Waits {
            words: line(&waits.words, LINE_CHARACTERS_MAX),
            ..waits
        }),
        calls: calls
            .skip(before)
            .map(|(call, is_over)| call_seen(call, is_over))
            .collect(),
        calls_before: u32::try_from(before).unwrap_or(u32::MAX),
        left: left
            .iter()
            .skip(left.len().saturating_sub(LEFT_MAX))
            .map(|why| line(why, LINE_CHARACTERS_MAX))
            .collect(),
        words: (!is_over)
            .then(|| last_of(&live.words))
            .filter(|words| !words.is_empty()),
        used: used_of(run),
        flags: run
            .flags
            .iter()
            .take(FLAGS_MAX)
            .map(|flag| line(&flag_words(flag), FLAG_CHARACTERS_MAX))
            .collect(),
        receipt: if is_over { receipt_of(run) } else { Vec::new() },
    }
}

fn standing_of(run: &RunProjection, waits: bool) -> Standing {
    match run.state() {
        RunState::Succeeded => Standing::Succeeded,
        RunState::Failed => Standing::Failed,
        RunState::Cancelled => Standing::Cancelled,
        RunState::Parked => Standing::Parked,
        RunState::Accepted
        | RunState::Briefed
        | RunState::Admitted
        | RunState::Running
        | RunState::Answered => match waits {
            true => Standing::Waiting,
            false => Standing::Working,
        },
    }
}

/// What a run waits for that has not ended; none while its sub-agent works.
fn waits_of(run: &RunProjection, live: &LiveFacts) -> Option<Waits> {
    if run.ended.is_some() || run.answer.is_some() {
        return None;
    }
    let for_now = |what_for: String| Waits {
        words: waits_for(&what_for),
        until_ms: None,
    };
    if run.cancel_requested.is_some() {
        return Some(for_now("its end: it is being cancelled".into()));
    }
    if let Some(question) = run.open_question() {
        return Some(for_now(format!("your answer: {question}")));
    }
    if run.brief.is_none() {
        return Some(Waits {
            words: live.doing.clone().unwrap_or_else(|| waits_for(before_brief(run))),
            until_ms: live.until_ms,
        });
    }
    if run.admitted_in != Some(run.generation) && run.attempt_under_way().is_none() {
        return Some(for_now(room_words(live.before_it)));
    }
    match run.attempt_under_way() {
        Some(_) if live.sub_agent_waits.is_some() => live.sub_agent_waits.clone(),
        Some(attempt) if !attempt.active => Some(for_now(format!("the first word of {}", attempt.model))),
        Some(_) => None,
        None => Some(Waits {
            words: live
                .doing
                .clone()
                .or_else(|| next_attempt_words(run.latest_attempt()?))
                .unwrap_or_else(|| waits_for("its first attempt")),
            until_ms: live.until_ms,
        }),
    }
}

fn before_brief(run: &RunProjection) -> &'static str {
    let briefing = run.accepted.as_ref().map(|accepted| &accepted.request.briefing);
    match briefing {
        Some(Briefing::Judged { .. }) => "the judge",
        Some(Briefing::Direct) | None => "its brief",
    }
}

fn next_attempt_words(last: &AttemptProjection) -> Option<String> {
    let why = reason_of_attempt(last)?.message;
    Some(waits_for(&format!("the next attempt. {why}")))
}

fn waits_for(what: &str) -> String {
    format!("waits for {what}")
}

fn room_words(before_it: Option<usize>) -> String {
    match before_it {
        Some(0) => "room, first in line".into(),
        Some(before) => format!("room, {} in line", ordinal(before + 1)),
        None => "room".into(),
    }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn call_seen(call: &ToolCallProjection, attempt_is_over: bool) -> CallSight {
    let fate = match &call.fate {
        ToolFate::InFlight if attempt_is_over => CallFate::Unknown,
        ToolFate::InFlight => CallFate::Running,
        ToolFate::Finished { is_error: true, .. } => CallFate::Failed,
        ToolFate::Finished { is_error: false, .. } => CallFate::Ok,
        ToolFate::Indeterminate => CallFate::Unknown,
    };
    CallSight {
        tool: line(&call.tool, NAME_CHARACTERS_MAX),
        with: shortened(&line(&call.summary, LINE_CHARACTERS_MAX), WITH_UNITS_MAX),
        why: why_it_failed(&call.fate),
        fate,
        begun_ms: call.begun_at_ms,
        took: call
            .over_at_ms
            .map(|over| duration_words(over.saturating_sub(call.begun_at_ms) as f64)),
    }
}

fn why_it_failed(fate: &ToolFate) -> Option<String> {
    match fate {
        ToolFate::Finished {
            is_error: true,
            preview,
            ..
        } => error_hint(preview.trim_start(), WHY_UNITS_MAX).map(|why| shown(&why).into_owned()),
        ToolFate::Finished { .. } | ToolFate::InFlight | ToolFate::Indeterminate => None,
    }
}

fn receipt_of(run: &RunProjection) -> Vec<String> {
    let lines = receipt_lines(&Receipt::of(run));
    let besides = lines.len().saturating_sub(RECEIPT_LINES_MAX);
    let kept = lines
        .iter()
        .take(RECEIPT_LINES_MAX)
        .map(|text| line(text, LINE_CHARACTERS_MAX));
    let more = (besides > 0).then(|| format!("{besides} more lines: `impresario runs show`"));
    kept.chain(more).collect()
}

fn used_of(run: &RunProjection) -> Option<String> {
    let used = run.used();
    match (used.counted.is_nothing(), used.is_whole()) {
        (true, true) => None,
        (true, false) => Some("tokens unknown".into()),
        (false, true) => Some(usage_words(used.counted)),
        (false, false) => Some(format!("at least {}", usage_words(used.counted))),
    }
}

/// Tokens and money in a few words: `12.3k in, 450 out · $0.012`.
pub fn usage_words(used: ModelUsage) -> String {
    let into = used
        .input
        .saturating_add(used.cache_read)
        .saturating_add(used.cache_write);
    let cost = used.cost_usd.map_or_else(|| "cost unknown".into(), cost_words);
    format!(
        "{} in, {} out · {cost}",
        token_words(into),
        token_words(used.output)
    )
}

/// One line that a terminal shows as it is, cut where it is long.
pub fn line(text: &str, characters_max: usize) -> String {
    // What is behind the limit need not be looked at, and a space may stand for many.
    let looked_at = text
        .char_indices()
        .nth(characters_max * 4)
        .map_or(text, |(end, _)| &text[..end]);
    let joined = looked_at.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = shown(&joined);
    let is_whole = looked_at.len() == text.len();
    match seen.char_indices().nth(characters_max) {
        None if is_whole => seen.into_owned(),
        None => format!("{seen}…"),
        Some(_) => seen.chars().take(characters_max - 1).chain(['…']).collect(),
    }
}

/// The end of what was said, with its lines.
fn last_of(words: &str) -> String {
    let words = words.trim();
    let count = words.chars().count();
    let last = words.chars().skip(count.saturating_sub(WORDS_CHARACTERS_MAX));
    shown(last.collect::<String>().as_str()).into_owned()
}

#[cfg(test)]
mod tests;
