//! What does a trace file hold, and what is it called?
//!
//! The format is the peer's, so that either reads the other's files; what we add stands behind its fields.

use crate::compat::{Json, cut_units, is_space, trim, units};
use crate::domain::{Brief, Route};
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::judge_reply::coerce_route;
use crate::redact::redact;

/// A trace file larger than this is not read.
pub const TRACE_FILE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// All calls of a trace take at most so many bytes.
const CALLS_BYTES_MAX: usize = 6 * 1024 * 1024;
/// What a call takes besides its arguments and its result.
const CALL_BYTES: usize = 256;
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
    /// The attempts, in order.
    pub tries: Vec<TraceTry>,
    /// What else is known of the tool calls, by their index.
    pub calls: Vec<CallDetail>,
    /// What happened on the way, in order.
    pub moments: Vec<TraceMoment>,
}

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceTry {
    /// The model.
    pub model: String,
    /// When it began, in ms since 1970.
    pub started_at: f64,
    /// When it ended.
    pub ended_at: f64,
    /// How: `answered`, `deadline`.
    pub ending: String,
    /// What the provider or the process said.
    pub detail: String,
}

/// What else is known of a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallDetail {
    /// Which call.
    pub index: f64,
    /// When it began, in ms since 1970.
    pub started_at: f64,
    /// How large its result was, in bytes.
    pub bytes: f64,
    /// How it ended.
    pub fate: CallFate,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallFate {
    /// With a result.
    #[default]
    Finished,
    /// The tool said that it failed.
    Failed,
    /// It had not ended when its attempt did.
    CutOff,
}

impl CallFate {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::CutOff => "cut off",
        }
    }
}

/// Something that happened on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceMoment {
    /// When, in ms since 1970.
    pub at: f64,
    /// What, in a few words.
    pub what: String,
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

    /// Without what looks like a secret in what people and models wrote; arguments and results are kept without already.
    pub fn redacted(mut self) -> Self {
        let hide = |text: &mut String| {
            if let std::borrow::Cow::Owned(hidden) = redact(text) {
                *text = hidden;
            }
        };
        let brief = &mut self.brief;
        [
            &mut brief.user_goal,
            &mut brief.known_context,
            &mut self.final_text,
            &mut self.route.reason,
        ]
        .into_iter()
        .chain(&mut brief.constraints)
        .chain(&mut brief.user_clarifications)
        .for_each(hide);
        if let Some(ours) = &mut self.ours {
            ours.reason.iter_mut().for_each(hide);
            ours.tries.iter_mut().for_each(|made| hide(&mut made.detail));
        }
        self
    }

    /// Leaves out calls from the middle until the rest fits; their numbers show that they are missing.
    pub fn fitted(mut self) -> Self {
        let size = |call: &TraceCall| call.result_preview.len() + call.args.to_text().len() + CALL_BYTES;
        let sizes = self.tool_calls.iter().map(size).collect::<Vec<_>>();
        let mut left = sizes.iter().sum::<usize>();
        let (mut first, mut last) = (sizes.len() / 2, sizes.len() / 2);
        while left > CALLS_BYTES_MAX {
            let from_front = first > 0 && (first >= sizes.len() - last || last == sizes.len());
            if from_front {
                first -= 1;
                left -= sizes[first];
            } else if last < sizes.len() {
                left -= sizes[last];
                last += 1;
            } else {
                break;
            }
        }
        self.tool_calls.drain(first..last);
        self
    }
}

/// What a run's trace is called.
pub fn trace_file_name(skill: &str, timestamp_ms: u64) -> String {
    format!("{skill}_{timestamp_ms}.json")
}

/// The same, told apart from traces of the same millisecond; from 1.
pub fn numbered_trace_file_name(skill: &str, timestamp_ms: u64, number: u32) -> String {
    match number {
        0 | 1 => trace_file_name(skill, timestamp_ms),
        _ => format!("{skill}_{timestamp_ms}-{number}.json"),
    }
}

/// Where a trace lies below its workspace, as it is shown: `./traces//x.json` is `traces/x.json`.
pub fn trace_path(directory: &str, name: &str) -> String {
    let steps = directory
        .split('/')
        .filter(|step| !matches!(*step, "" | "."))
        .chain([name]);
    steps.collect::<Vec<_>>().join("/")
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

/// The start of a result as it may be kept: no secrets, and bounded.
pub fn kept_preview(result: &str, units_max: usize) -> String {
    // A secret that the cut would go through is seen as a whole first.
    const MARGIN_UNITS: usize = 4 * 1024;
    let beginning = redact(cut_units(result, units_max.saturating_add(MARGIN_UNITS)));
    let total = units(result);
    if total <= units_max {
        return beginning.into_owned();
    }
    let shown = cut_units(&beginning, units_max);
    format!("{shown}\n[...truncated, {total} total chars]")
}

/// Arguments as the model wrote them, as they may be kept; none without any.
pub fn kept_arguments(written: &str) -> Option<String> {
    if trim(written).is_empty() || written.len() > TRACE_FILE_BYTES_MAX {
        return None;
    }
    let read = Json::parse(written).unwrap_or_else(|_| text(written));
    Some(traced_args(&read).to_text())
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

/// The skill and time of a file that is surely a trace: `<skill>_<digits>.json`, perhaps with a number that
/// tells apart those of one millisecond.
pub fn parse_trace_file_name(name: &str) -> Option<(&str, u64)> {
    parse_numbered_name(name).map(|(skill, time, _)| (skill, time))
}

fn parse_numbered_name(name: &str) -> Option<(&str, u64, u64)> {
    let (skill, moment) = name.strip_suffix(".json")?.rsplit_once('_')?;
    let (time, number) = moment_of(moment)?;
    is_plain(skill).then_some((skill, time, number))
}

/// `<digits>`, or `<digits>-<digits>`.
fn moment_of(text: &str) -> Option<(u64, u64)> {
    let (time, number) = text.split_once('-').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match digits(time) && digits(number) {
        true => Some((time.parse().ok()?, number.parse().ok()?)),
        false => None,
    }
}

/// A name in any script, and surely no file that a system or a tool named: those have dots or blanks.
fn is_plain(name: &str) -> bool {
    let foreign = |c: char| c.is_control() || is_space(c) || matches!(c, '.' | '/' | '\\');
    !name.is_empty() && !name.contains(foreign)
}

/// Whether a name may be opened in the trace directory.
pub fn is_safe_trace_name(name: &str) -> bool {
    name.ends_with(".json") && !name.contains(['/', '\\']) && !name.contains("..")
}

/// The files of exactly one skill, the newest first.
pub fn files_of_skill<'a>(skill: &str, names: &[&'a str]) -> Vec<&'a str> {
    let of_skill = |name: &&'a str| {
        let moment = name
            .strip_suffix(".json")?
            .strip_prefix(skill)?
            .strip_prefix('_')?;
        moment_of(moment).map(|(time, number)| (time, number, *name))
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
        entry("tries", Json::Array(extras.tries.iter().map(try_json).collect())),
        entry(
            "calls",
            Json::Array(extras.calls.iter().map(detail_json).collect()),
        ),
        entry(
            "moments",
            Json::Array(extras.moments.iter().map(moment_json).collect()),
        ),
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
        tries: list(value, "tries", |value| TraceTry {
            model: string(value, "model"),
            started_at: number(value, "startedAt"),
            ended_at: number(value, "endedAt"),
            ending: string(value, "ending"),
            detail: string(value, "detail"),
        }),
        calls: list(value, "calls", |value| CallDetail {
            index: number(value, "index"),
            started_at: number(value, "startedAt"),
            bytes: number(value, "bytes"),
            fate: match string(value, "fate").as_str() {
                "failed" => CallFate::Failed,
                "cut off" => CallFate::CutOff,
                _ => CallFate::Finished,
            },
        }),
        moments: list(value, "moments", |value| TraceMoment {
            at: number(value, "at"),
            what: string(value, "what"),
        }),
    }
}

fn list<T>(value: &Json, key: &str, read: impl Fn(&Json) -> T) -> Vec<T> {
    let items = value.get(key).and_then(Json::as_array).unwrap_or_default();
    items.iter().map(read).collect()
}

fn try_json(made: &TraceTry) -> Json {
    Json::Object(vec![
        entry("model", text(&made.model)),
        entry("startedAt", Json::Number(made.started_at)),
        entry("endedAt", Json::Number(made.ended_at)),
        entry("ending", text(&made.ending)),
        entry("detail", text(&made.detail)),
    ])
}

fn detail_json(detail: &CallDetail) -> Json {
    Json::Object(vec![
        entry("index", Json::Number(detail.index)),
        entry("startedAt", Json::Number(detail.started_at)),
        entry("bytes", Json::Number(detail.bytes)),
        entry("fate", text(detail.fate.word())),
    ])
}

fn moment_json(moment: &TraceMoment) -> Json {
    Json::Object(vec![
        entry("at", Json::Number(moment.at)),
        entry("what", text(&moment.what)),
    ])
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
    fn a_name_in_any_script_has_its_traces() {
        for skill in ["é", "e\u{301}", "über_suche", "検索", "поиск", "🚀"] {
            let of_other = format!("{skill}{skill}_7.json");
            let (older, newer) = (trace_file_name(skill, 9), trace_file_name(skill, 10));
            let names = [older.as_str(), &newer, &of_other, "e_8.json"];
            assert_eq!(files_of_skill(skill, &names), [newer.as_str(), &older], "{skill}");
            assert_eq!(parse_trace_file_name(&newer), Some((skill, 10)));
        }
        for foreign in [".hidden_1.json", "my notes_1.json", "a.b_1.json", "_1.json"] {
            assert_eq!(parse_trace_file_name(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_path_is_shown_without_detours() {
        for directory in [".", "./", "", "./.", ".//"] {
            assert_eq!(trace_path(directory, "a_1.json"), "a_1.json", "{directory:?}");
        }
        for directory in ["x/y", "./x/y/", "x//y", "x/./y/."] {
            assert_eq!(trace_path(directory, "a_1.json"), "x/y/a_1.json", "{directory:?}");
        }
        assert_eq!(trace_path(".pi/traces", "a_1.json"), ".pi/traces/a_1.json");
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
    fn what_people_wrote_keeps_no_secret() {
        let secret = "password=hunter2secret";
        let mut trace = trace();
        trace.brief.user_goal = secret.into();
        trace.brief.constraints = vec![secret.into()];
        trace.brief.user_clarifications = vec![secret.into()];
        trace.final_text = secret.into();
        if let Some(ours) = &mut trace.ours {
            ours.reason = Some(secret.into());
        }
        assert!(!trace.redacted().to_file_text().contains("hunter2"));
    }

    #[test]
    fn a_trace_with_too_many_calls_keeps_the_first_and_the_last() {
        let call = |index: usize| TraceCall {
            index: index as f64,
            server_name: "s".into(),
            tool_name: "t".into(),
            args: Json::Null,
            result_preview: "x".repeat(1024 * 1024),
            blocked: false,
            timestamp: 0.0,
        };
        let trace = Trace {
            tool_calls: (0..20).map(call).collect(),
            ..trace()
        };
        let fitted = trace.fitted();
        let indices = fitted.tool_calls.iter().map(|call| call.index);
        assert_eq!(indices.collect::<Vec<_>>(), [0.0, 1.0, 17.0, 18.0, 19.0]);
        assert!(Trace::read(&fitted.to_file_text()).is_some());
    }

    #[test]
    fn a_preview_says_how_much_there_was_and_holds_no_secret() {
        assert_eq!(kept_preview("short", 10), "short");
        assert_eq!(
            kept_preview("0123456789abc", 10),
            "0123456789\n[...truncated, 13 total chars]"
        );
        let result = format!("{}password=hunter2secret", "x".repeat(92));
        let kept = kept_preview(&result, 100);
        assert!(!kept.contains("hunter"), "{kept}");
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
