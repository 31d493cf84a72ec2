//! What does a trace file hold, and what is it called?
//!
//! The format is the peer's, so that either reads the other's files; what we add stands behind its fields.

use crate::compat::{cut_units, is_space, trim, units, whole_pairs};
use crate::domain::{Brief, Route};
use crate::judge_reply::coerce_route;
use crate::receipt::Receipt;
use crate::redact::{Cut, redact, redact_cut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

/// A trace file larger than this is not read.
pub const TRACE_FILE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// All calls of a trace take at most so many bytes.
const CALLS_BYTES_MAX: usize = 6 * 1024 * 1024;
/// What a call takes besides its arguments and its result.
const CALL_BYTES: usize = 256;
/// A tool's arguments take at most so many bytes of a trace.
const ARGS_BYTES_MAX: usize = 16 * 1024;

/// The record of one run. A file has at least the skill's name and a list of calls; whatever else is missing, or is
/// not what it should be, is taken for nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The skill or agent.
    pub skill_name: String,
    /// When the run ended, in ms since 1970.
    #[serde(default, deserialize_with = "lenient")]
    pub timestamp: f64,
    /// What it ran on.
    #[serde(default, deserialize_with = "lenient")]
    pub model: String,
    /// What it was told.
    #[serde(default, deserialize_with = "lenient")]
    pub brief: Brief,
    /// How demanding the judge thought it was.
    #[serde(default, deserialize_with = "route_as_written")]
    pub route: Route,
    /// The tools it used.
    #[serde(deserialize_with = "numbered_calls")]
    pub tool_calls: Vec<TraceCall>,
    /// Its answer, as delivered.
    #[serde(default, deserialize_with = "lenient")]
    pub final_text: String,
    /// `completed`, `timeout`, `inactivity`, `aborted`, `error`.
    #[serde(default, deserialize_with = "lenient")]
    pub stopped_reason: String,
    /// What only our traces have.
    #[serde(
        rename = "impresario",
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub ours: Option<TraceExtras>,
}

/// One use of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceCall {
    /// From 0; where numbers are missing, calls were left out.
    pub index: f64,
    /// Where the tool lives.
    pub server_name: String,
    /// The tool.
    pub tool_name: String,
    /// What it was called with.
    pub args: Value,
    /// The start of its result.
    pub result_preview: String,
    /// The result was too large and was replaced.
    pub blocked: bool,
    /// When it ended, in ms since 1970.
    pub timestamp: f64,
}

/// What only our traces have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceExtras {
    /// The run.
    pub run_id: String,
    /// When the run was accepted, in ms since 1970.
    pub started_at: f64,
    /// The run's terminal state.
    pub state: String,
    /// How many attempts it took.
    pub attempts: u32,
    /// The attempts, in order.
    pub tries: Vec<TraceTry>,
    /// What else is known of the tool calls, by their index.
    pub calls: Vec<CallDetail>,
    /// What happened on the way, in order.
    pub moments: Vec<TraceMoment>,
    /// Why it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the answer says and what was seen does not bear out, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What was seen of files, commands, tools and models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
}

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallFate {
    /// With a result.
    #[default]
    Finished,
    /// The tool said that it failed.
    Failed,
    /// It had not ended when its attempt did.
    #[serde(rename = "cut off")]
    CutOff,
}

/// Something that happened on the way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceMoment {
    /// When, in ms since 1970.
    pub at: f64,
    /// What, in a few words.
    pub what: String,
}

impl Trace {
    /// Reads a file's text; `None` when it is no trace.
    pub fn read(content: &str) -> Option<Self> {
        if content.len() > TRACE_FILE_BYTES_MAX {
            return None;
        }
        let read = serde_json::from_str(content);
        // The peer cuts texts inside of an emoji, and keeps the half.
        read.or_else(|_| serde_json::from_str(&whole_pairs(content))).ok()
    }

    /// The text of its file.
    pub fn to_file_text(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        write_whole_numbers_plainly(&mut value);
        format!("{value:#}")
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
            ours.reason.iter_mut().chain(&mut ours.flags).for_each(hide);
            ours.tries.iter_mut().for_each(|made| hide(&mut made.detail));
        }
        self
    }

    /// Leaves out calls from the middle until the rest fits; their numbers show that they are missing.
    pub fn fitted(mut self) -> Self {
        let size = |call: &TraceCall| call.result_preview.len() + call.args.to_string().len() + CALL_BYTES;
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
    let looked_at = cut_units(result, units_max.saturating_add(MARGIN_UNITS));
    let cut = if looked_at.len() < result.len() {
        Cut::End
    } else {
        Cut::Nowhere
    };
    let beginning = redact_cut(looked_at, cut);
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
    let read = serde_json::from_str(written).unwrap_or_else(|_| json!(written));
    Some(traced_args(&read).to_string())
}

/// A receipt as it may be kept: no secrets.
pub fn kept_receipt(receipt: &Receipt) -> Option<Value> {
    serde_json::to_value(receipt).ok().as_ref().map(redacted_json)
}

/// Arguments that were kept; where nobody did, what a person was shown of the call.
pub fn shown_arguments(kept: Option<&str>, summary: &str) -> Value {
    let kept = kept.and_then(|kept| serde_json::from_str(kept).ok());
    kept.unwrap_or_else(|| json!({"summary": summary}))
}

/// Arguments as they may be kept: no secrets, and bounded.
pub fn traced_args(args: &Value) -> Value {
    let redacted = redacted_json(args);
    let written = redacted.to_string();
    if written.len() <= ARGS_BYTES_MAX {
        return redacted;
    }
    json!({"truncated": cut_units(&written, ARGS_BYTES_MAX / 3), "bytes": written.len()})
}

fn redacted_json(value: &Value) -> Value {
    match value {
        Value::String(plain) => json!(redact(plain)),
        Value::Array(items) => items.iter().map(redacted_json).collect(),
        Value::Object(entries) => {
            let redacted = |(key, item): (&String, &Value)| (key.clone(), redacted_member(key, item));
            Value::Object(entries.iter().map(redacted).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A member whose key says that its value is a secret loses it, whatever it looks like.
fn redacted_member(key: &str, value: &Value) -> Value {
    let line = format!("\"{key}\":\"x\"");
    match value {
        Value::String(_) if redact(&line) != line => json!(crate::redact::REDACTED),
        other => redacted_json(other),
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

/// What is not what it should be is taken for nothing.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(source: D) -> Result<T, D::Error> {
    Ok(T::deserialize(Value::deserialize(source)?).unwrap_or_default())
}

/// A call without a number has that of its place.
fn numbered_calls<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<TraceCall>, D::Error> {
    let calls = Vec::<Value>::deserialize(source)?.into_iter().enumerate();
    let numbered = calls.map(|(at, call)| {
        let index = call["index"].as_f64().unwrap_or(at as f64);
        TraceCall {
            index,
            ..TraceCall::deserialize(call).unwrap_or_default()
        }
    });
    Ok(numbered.collect())
}

/// The confidence not clamped and the reason not cut: the file may be somebody else's.
fn route_as_written<'de, D: Deserializer<'de>>(source: D) -> Result<Route, D::Error> {
    let value = Value::deserialize(source)?;
    let route = coerce_route(&value);
    Ok(Route {
        confidence: value["confidence"].as_f64().unwrap_or(route.confidence),
        reason: value["reason"].as_str().map_or(route.reason, str::to_string),
        ..route
    })
}

/// Every number of the format is a double; a whole one is written without its fraction.
fn write_whole_numbers_plainly(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() <= EXACT) {
                *value = json!(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers_plainly),
        Value::Object(entries) => entries.values_mut().for_each(write_whole_numbers_plainly),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Tier;

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
    fn what_is_not_what_it_should_be_is_taken_for_nothing() {
        let read = |text: &str| Trace::read(text);
        let trace = read(
            r#"{"skillName":"demo","timestamp":"soon","brief":5,"route":{"confidence":null,"tier":"huge"},
                "toolCalls":[{"toolName":"read"},{"index":7},5],"impresario":5}"#,
        )
        .expect("a trace");
        assert_eq!((trace.timestamp, &trace.brief), (0.0, &Brief::default()));
        assert_eq!((trace.route.confidence, trace.route.tier), (0.0, Tier::Balanced));
        let indices: Vec<f64> = trace.tool_calls.iter().map(|call| call.index).collect();
        assert_eq!(indices, [0.0, 7.0, 2.0]);
        assert_eq!(trace.ours, None);
        for none in [
            "{}",
            r#"{"skillName":5,"toolCalls":[]}"#,
            r#"{"skillName":"demo","toolCalls":{}}"#,
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_trace_of_the_peer_with_half_an_emoji_is_read() {
        let text = r#"{"skillName":"demo","toolCalls":[],"finalText":"a \\ud83d \ud83d\ude00 \ud83d"}"#;
        let trace = Trace::read(text).expect("a trace");
        assert_eq!(trace.final_text, "a \\ud83d 😀 \u{FFFD}");
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
        let args = json!({"password": "hunter2", "q": "find token=abc", "n": [{"apiKey": "k"}]});
        let kept = traced_args(&args).to_string();
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
            result_preview: "x".repeat(1024 * 1024),
            ..TraceCall::default()
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
        let args = json!("x".repeat(100_000));
        assert!(traced_args(&args).to_string().len() < ARGS_BYTES_MAX);
    }

    proptest::proptest! {
        #[test]
        fn any_file_is_read_or_refused(content in r#"(\{|\}|"skillName":|"toolCalls":|\[|\]|"x"|,|1){0,30}"#) {
            let _ = Trace::read(&content);
        }
    }
}
