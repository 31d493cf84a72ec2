//! What does a trace file hold, and what is it called?
//!
//! The format is the peer's, so that either reads the other's files; what we add stands behind its fields.

use crate::compat::{Json, cut_units, units};
use crate::domain::{Brief, Route};
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::judge_reply::coerce_route;
use crate::redact::redact;
use crate::skill_lookup::is_skill_name;

/// A trace file larger than this is not read.
pub const TRACE_FILE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A tool's arguments take at most so many bytes of a trace.
const ARGS_BYTES_MAX: usize = 16 * 1024;

/// The record of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The skill or agent.
    pub skill_name: String,
    /// When the run ended, in ms since 1970.
    pub timestamp: f64,
    /// What it ran on.
    pub model: String,
    /// What it was told.
    pub brief: Brief,
    /// How demanding the judge thought it was.
    pub route: Route,
    /// The tools it used.
    pub tool_calls: Vec<TraceCall>,
    /// Its answer, as delivered.
    pub final_text: String,
    /// `completed`, `timeout`, `inactivity`, `aborted`, `error`.
    pub stopped_reason: String,
    /// What only our traces have.
    pub ours: Option<TraceExtras>,
}

/// One use of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceCall {
    /// From 0; where numbers are missing, calls were left out.
    pub index: f64,
    /// Where the tool lives.
    pub server_name: String,
    /// The tool.
    pub tool_name: String,
    /// What it was called with.
    pub args: Json,
    /// The start of its result.
    pub result_preview: String,
    /// The result was too large and was replaced.
    pub blocked: bool,
    /// When it ended, in ms since 1970.
    pub timestamp: f64,
}

/// What only our traces have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceExtras {
    /// The run.
    pub run_id: String,
    /// When the run was accepted, in ms since 1970.
    pub started_at: f64,
    /// The run's terminal state.
    pub state: String,
    /// Why it did not succeed.
    pub reason: Option<String>,
    /// How many attempts it took.
    pub attempts: u32,
}

impl Trace {
    /// As JSON, keys in the order of the format.
    pub fn to_json(&self) -> Json {
        let mut entries = vec![
            entry("skillName", text(&self.skill_name)),
            entry("timestamp", Json::Number(self.timestamp)),
            entry("model", text(&self.model)),
            entry("brief", brief_json(&self.brief)),
            entry("route", route_json(&self.route)),
            entry(
                "toolCalls",
                Json::Array(self.tool_calls.iter().map(call_json).collect()),
            ),
            entry("finalText", text(&self.final_text)),
            entry("stoppedReason", text(&self.stopped_reason)),
        ];
        if let Some(ours) = &self.ours {
            entries.push(entry("impresario", extras_json(ours)));
        }
        Json::Object(entries)
    }

    /// Reads what has at least a skill's name and a list of calls; everything else may be missing.
    pub fn from_json(value: &Json) -> Option<Self> {
        let skill_name = value.get("skillName")?.as_str()?.to_string();
        let calls = value.get("toolCalls")?.as_array()?;
        Some(Self {
            skill_name,
            timestamp: number(value, "timestamp"),
            model: string(value, "model"),
            brief: brief_from(value.get("brief")),
            route: route_from(value.get("route")),
            tool_calls: calls
                .iter()
                .enumerate()
                .map(|(at, call)| call_from(at, call))
                .collect(),
            final_text: string(value, "finalText"),
            stopped_reason: string(value, "stoppedReason"),
            ours: value.get("impresario").map(extras_from),
        })
    }

    /// Reads a file's text; `None` when it is no trace.
    pub fn read(content: &str) -> Option<Self> {
        if content.len() > TRACE_FILE_BYTES_MAX {
            return None;
        }
        Self::from_json(&Json::parse(content).ok()?)
    }

    /// The text of its file.
    pub fn to_file_text(&self) -> String {
        self.to_json().to_pretty()
    }
}

/// What a run's trace is called.
pub fn trace_file_name(skill: &str, timestamp_ms: u64) -> String {
    format!("{skill}_{timestamp_ms}.json")
}

/// The same, told apart from a trace of the same millisecond.
pub fn free_trace_file_name(skill: &str, timestamp_ms: u64, taken: impl Fn(&str) -> bool) -> String {
    let first = trace_file_name(skill, timestamp_ms);
    if !taken(&first) {
        return first;
    }
    let numbered = (2u32..).map(|number| format!("{skill}_{timestamp_ms}-{number}.json"));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or(first)
}

/// The start of a result, with its length where it was cut.
pub fn result_preview(result: &str, units_max: usize) -> String {
    let total = units(result);
    if total <= units_max {
        return result.to_string();
    }
    format!(
        "{}\n[...truncated, {total} total chars]",
        cut_units(result, units_max)
    )
}

/// Arguments as they may be kept: no secrets, and bounded.
pub fn traced_args(args: &Json) -> Json {
    let redacted = redacted_json(args);
    let written = redacted.to_text();
    if written.len() <= ARGS_BYTES_MAX {
        return redacted;
    }
    let shown = cut_units(&written, ARGS_BYTES_MAX / 3);
    Json::Object(vec![
        entry("truncated", text(shown)),
        entry("bytes", Json::Number(written.len() as f64)),
    ])
}

fn redacted_json(value: &Json) -> Json {
    match value {
        Json::String(plain) => text(&redact(plain)),
        Json::Array(items) => Json::Array(items.iter().map(redacted_json).collect()),
        Json::Object(entries) => Json::Object(
            entries
                .iter()
                .map(|(key, item)| (key.clone(), redacted_member(key, item)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// A member whose key says that its value is a secret loses it, whatever it looks like.
fn redacted_member(key: &str, value: &Json) -> Json {
    let Json::String(plain) = value else {
        return redacted_json(value);
    };
    let line = format!("\"{key}\":\"x\"");
    if redact(&line) != line {
        text(crate::redact::REDACTED)
    } else {
        text(&redact(plain))
    }
}

/// The skill a file name speaks of, as the peer reads it: everything before the last underscore.
pub fn skill_of_file_name(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".json")?;
    stem.rfind('_').map(|at| &stem[..at])
}

/// The skill and time of a file that is surely a trace: `<skill>_<digits>.json`, perhaps with a number that
/// tells apart those of one millisecond.
pub fn parse_trace_file_name(name: &str) -> Option<(&str, u64)> {
    parse_numbered_name(name).map(|(skill, time, _)| (skill, time))
}

fn parse_numbered_name(name: &str) -> Option<(&str, u64, u64)> {
    let stem = name.strip_suffix(".json")?;
    let (skill, time) = stem.rsplit_once('_')?;
    let (time, number) = time.split_once('-').unwrap_or((time, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_skill_name(skill) || !digits(time) || !digits(number) {
        return None;
    }
    Some((skill, time.parse().ok()?, number.parse().ok()?))
}

/// Whether a name may be opened in the trace directory.
pub fn is_safe_trace_name(name: &str) -> bool {
    name.ends_with(".json") && !name.contains(['/', '\\']) && !name.contains("..")
}

/// The files of exactly one skill, the newest first.
pub fn files_of_skill<'a>(skill: &str, names: &[&'a str]) -> Vec<&'a str> {
    let of_skill = |name: &&'a str| {
        let (of, time, number) = parse_numbered_name(name)?;
        (of == skill).then_some((time, number, *name))
    };
    let mut mine: Vec<(u64, u64, &'a str)> = names.iter().filter_map(of_skill).collect();
    mine.sort_by(|a, b| b.cmp(a));
    mine.into_iter().map(|(_, _, name)| name).collect()
}

fn entry(key: &str, value: Json) -> (String, Json) {
    (key.to_string(), value)
}

fn text(value: &str) -> Json {
    Json::String(value.to_string())
}

fn texts(values: &[String]) -> Json {
    Json::Array(values.iter().map(|value| text(value)).collect())
}

fn string(value: &Json, key: &str) -> String {
    value.get(key).and_then(Json::as_str).unwrap_or("").to_string()
}

fn number(value: &Json, key: &str) -> f64 {
    value.get(key).and_then(Json::as_number).unwrap_or(0.0)
}

fn brief_json(brief: &Brief) -> Json {
    Json::Object(vec![
        entry("userGoal", text(&brief.user_goal)),
        entry("constraints", texts(&brief.constraints)),
        entry("knownContext", text(&brief.known_context)),
        entry("userClarifications", texts(&brief.user_clarifications)),
    ])
}

fn brief_from(value: Option<&Json>) -> Brief {
    let value = value.unwrap_or(&Json::Null);
    let list = |key: &str| {
        let items = value.get(key).and_then(Json::as_array).unwrap_or_default();
        items
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect()
    };
    Brief {
        user_goal: string(value, "userGoal"),
        constraints: list("constraints"),
        known_context: string(value, "knownContext"),
        user_clarifications: list("userClarifications"),
    }
}

fn route_json(route: &Route) -> Json {
    Json::Object(vec![
        entry("tier", text(tier_word(route.tier))),
        entry("complexity", text(complexity_word(route.complexity))),
        entry("risk", text(risk_word(route.risk))),
        entry("confidence", Json::Number(route.confidence)),
        entry("reason", text(&route.reason)),
    ])
}

/// A route as written, the confidence not clamped and the reason not cut: the file may be somebody else's.
pub fn route_from(value: Option<&Json>) -> Route {
    let value = value.unwrap_or(&Json::Null);
    let route = coerce_route(value);
    let confidence = value
        .get("confidence")
        .and_then(Json::as_number)
        .filter(|number| number.is_finite());
    let reason = value.get("reason").and_then(Json::as_str);
    Route {
        confidence: confidence.unwrap_or(route.confidence),
        reason: reason.map_or(route.reason, str::to_string),
        ..route
    }
}

fn call_json(call: &TraceCall) -> Json {
    Json::Object(vec![
        entry("index", Json::Number(call.index)),
        entry("serverName", text(&call.server_name)),
        entry("toolName", text(&call.tool_name)),
        entry("args", call.args.clone()),
        entry("resultPreview", text(&call.result_preview)),
        entry("blocked", Json::Bool(call.blocked)),
        entry("timestamp", Json::Number(call.timestamp)),
    ])
}

fn call_from(at: usize, value: &Json) -> TraceCall {
    TraceCall {
        index: value.get("index").and_then(Json::as_number).unwrap_or(at as f64),
        server_name: string(value, "serverName"),
        tool_name: string(value, "toolName"),
        args: value.get("args").cloned().unwrap_or(Json::Null),
        result_preview: string(value, "resultPreview"),
        blocked: value.get("blocked") == Some(&Json::Bool(true)),
        timestamp: number(value, "timestamp"),
    }
}

fn extras_json(extras: &TraceExtras) -> Json {
    let mut entries = vec![
        entry("runId", text(&extras.run_id)),
        entry("startedAt", Json::Number(extras.started_at)),
        entry("state", text(&extras.state)),
        entry("attempts", Json::Number(f64::from(extras.attempts))),
    ];
    if let Some(reason) = &extras.reason {
        entries.push(entry("reason", text(reason)));
    }
    Json::Object(entries)
}

fn extras_from(value: &Json) -> TraceExtras {
    TraceExtras {
        run_id: string(value, "runId"),
        started_at: number(value, "startedAt"),
        state: string(value, "state"),
        reason: value.get("reason").and_then(Json::as_str).map(str::to_string),
        attempts: number(value, "attempts") as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        Trace {
            skill_name: "demo".into(),
            timestamp: 1_746_960_622_000.0,
            model: "m".into(),
            brief: Brief {
                user_goal: "g".into(),
                ..Brief::default()
            },
            route: Route::default(),
            tool_calls: vec![],
            final_text: "done".into(),
            stopped_reason: "completed".into(),
            ours: Some(TraceExtras {
                run_id: "r".into(),
                attempts: 2,
                ..TraceExtras::default()
            }),
        }
    }

    #[test]
    fn a_trace_survives_its_file() {
        assert_eq!(Trace::read(&trace().to_file_text()), Some(trace()));
    }

    #[test]
    fn a_skill_owns_only_its_own_files_newest_first() {
        let names = [
            "demo_999.json",
            "demo_1000.json",
            "demo_extra_5.json",
            "demo_x.json",
            "demo_1000-2.json",
        ];
        assert_eq!(
            files_of_skill("demo", &names),
            ["demo_1000-2.json", "demo_1000.json", "demo_999.json"]
        );
    }

    #[test]
    fn arguments_keep_no_secret() {
        let args =
            Json::parse(r#"{"password":"hunter2","q":"find token=abc","n":[{"apiKey":"k"}]}"#).unwrap();
        let kept = traced_args(&args).to_text();
        assert_eq!(
            kept,
            r#"{"password":"[REDACTED]","q":"find [REDACTED]","n":[{"apiKey":"[REDACTED]"}]}"#
        );
    }

    #[test]
    fn large_arguments_are_cut() {
        let args = Json::String("x".repeat(100_000));
        assert!(traced_args(&args).to_text().len() < ARGS_BYTES_MAX);
    }

    proptest::proptest! {
        #[test]
        fn any_file_is_read_or_refused(content in r#"(\{|\}|"skillName":|"toolCalls":|\[|\]|"x"|,|1){0,30}"#) {
            let _ = Trace::read(&content);
        }
    }
}
