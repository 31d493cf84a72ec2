//! Files of traces, and what is said of them.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::degradation::{DegradationFacts, decide_alert};
use impresario_policies::domain::{
    Brief, Complexity, DegradationSettings, Risk, Route, Tier, TraceOutcome, TraceVerdict,
};
use impresario_policies::trace_classify::{Denials, classify_trace, classify_trace_with};
use impresario_policies::trace_file::{
    Trace, TraceCall, files_of_skill, is_safe_trace_name, parse_trace_file_name, result_preview,
    trace_file_name, trace_path,
};
use impresario_policies::trace_regression::detect_regression;
use impresario_policies::trace_report::{ReportSettings, judge_traces, mini_report, report_files};
use impresario_policies::trace_retention::{RetentionSettings, TraceEntry, choose_deletions};
use impresario_policies::trace_text::{bar_chart as bar, duration_text, signal_prefix as prefix};
use impresario_policies::trace_view::{ViewSettings, view_trace};
use serde_json::{Value, json};

/// The age of the newest trace of a report, as the records were made.
const REPORT_TIMESTAMP: f64 = 1_746_960_622_000.0;
const FIRST_CALL: f64 = 1_746_960_000_000.0;
const DEFAULT_WINDOW: usize = 10;
const DEFAULT_KEPT: f64 = 20.0;

fn trace_of(value: &Json) -> Trace {
    serde_json::from_value(Value::from(value)).expect("a trace")
}

/// A trace of which only how it stopped and what it said matters.
fn short_trace(value: &Json, timestamp: f64) -> Trace {
    let at = |index: usize| value.as_array().and_then(|parts| parts.get(index));
    let text = |index: usize| at(index).and_then(Json::as_str).unwrap_or("").to_string();
    let number = |index: usize| at(index).and_then(Json::as_number);
    let (calls, span) = (number(2).unwrap_or(0.0) as usize, number(3).unwrap_or(0.0));
    let spread = |call: usize| {
        if calls < 2 {
            0.0
        } else {
            (call as f64 * span / (calls - 1) as f64).round()
        }
    };
    Trace {
        skill_name: "refactor".into(),
        timestamp,
        model: "m".into(),
        brief: Brief::default(),
        route: Route {
            tier: Tier::Balanced,
            complexity: Complexity::Medium,
            risk: Risk::SmallEdit,
            confidence: number(4).unwrap_or(0.82),
            reason: "r".into(),
        },
        tool_calls: (0..calls)
            .map(|call| short_call(call, FIRST_CALL + spread(call)))
            .collect(),
        final_text: text(1),
        stopped_reason: text(0),
        ours: None,
    }
}

fn short_call(index: usize, timestamp: f64) -> TraceCall {
    TraceCall {
        index: index as f64,
        server_name: "s".into(),
        tool_name: "t".into(),
        timestamp,
        ..TraceCall::default()
    }
}

pub fn verdict_value(verdict: &TraceVerdict) -> Value {
    json!({
        "outcome": verdict.outcome.word(), "signals": verdict.signals, "confidence": verdict.confidence,
    })
}

fn verdict_of(value: &Json) -> TraceVerdict {
    let signals = value.get("signals").and_then(Json::as_array).unwrap_or_default();
    TraceVerdict {
        outcome: outcome_named(value.get("outcome").and_then(Json::as_str).unwrap_or("")),
        signals: signals
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect(),
        confidence: value.get("confidence").and_then(Json::as_number).unwrap_or(0.0),
    }
}

/// `[outcome, signals]`.
fn short_verdict(value: &Json) -> TraceVerdict {
    let parts = value.as_array().unwrap_or_default();
    let signals = parts.get(1).and_then(Json::as_array).unwrap_or_default();
    TraceVerdict {
        outcome: outcome_named(parts.first().and_then(Json::as_str).unwrap_or("")),
        signals: signals
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect(),
        confidence: 0.0,
    }
}

fn outcome_named(word: &str) -> TraceOutcome {
    TraceOutcome::ALL
        .into_iter()
        .find(|outcome| outcome.word() == word)
        .unwrap_or(TraceOutcome::Unknown)
}

pub fn trace_classify(case: &Case) -> Answer {
    Answer::value(verdict_value(&classify_trace(&trace_of(case.get("trace")))))
}

pub fn trace_regression(case: &Case) -> Answer {
    let mut current = short_trace(case.get("current"), REPORT_TIMESTAMP);
    if let Some(confidence) = case.get("confidence").as_number() {
        current.route.confidence = confidence;
    }
    let history: Vec<Trace> = case
        .list("history")
        .iter()
        .map(|trace| short_trace(trace, REPORT_TIMESTAMP))
        .collect();
    let verdict = match case.get("verdict") {
        Json::Null => classify_trace(&current),
        given => verdict_of(given),
    };
    let window = case
        .get("window")
        .as_number()
        .map_or(DEFAULT_WINDOW, |window| window as usize);
    Answer::value(verdict_value(&detect_regression(
        verdict, &current, &history, window,
    )))
}

pub fn signal_prefix(case: &Case) -> Answer {
    Answer::value(json!({"prefix": prefix(case.text("signal"))}))
}

pub fn trace_duration(case: &Case) -> Answer {
    let times: Vec<f64> = case
        .list("call_timestamps")
        .iter()
        .filter_map(Json::as_number)
        .collect();
    let span = times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0);
    Answer::value(json!({"text": duration_text(span)}))
}

pub fn bar_chart(case: &Case) -> Answer {
    Answer::value(json!({"text": bar(case.count("filled"), case.count("total"))}))
}

fn report_input(case: &Case) -> Vec<Trace> {
    let skill = case.get("trace_skill").as_str().unwrap_or("refactor");
    let traces = case.list("traces").iter().enumerate();
    traces
        .map(|(age, trace)| Trace {
            skill_name: skill.into(),
            ..short_trace(trace, REPORT_TIMESTAMP - age as f64 * 60_000.0)
        })
        .collect()
}

pub fn trace_report(case: &Case) -> Answer {
    let settings = ReportSettings {
        traces_max: case.count("max_traces"),
        inline_max: case.count("max_inline"),
        trend_window: case.count("trend_window"),
        regression_window: case.count("regression_window"),
    };
    let traces = report_input(case);
    let name = |trace: &Trace| trace_file_name(&trace.skill_name, trace.timestamp as u64);
    let files: Vec<String> = traces.iter().map(name).collect();
    let report = report_files(case.text("skill"), &traces, &files, &settings);
    let verdicts = judge_traces(&traces, traces.len(), settings.regression_window);
    let outcomes: Vec<&str> = verdicts.iter().map(|verdict| verdict.outcome.word()).collect();
    Answer::value(json!({"text": report.text, "outcomes": outcomes}))
}

pub fn trace_mini_report(case: &Case) -> Answer {
    let text = mini_report(case.text("skill"), &report_input(case), DEFAULT_WINDOW);
    Answer::value(json!({"text": text}))
}

pub fn trace_view(case: &Case) -> Answer {
    let trace = trace_of(case.get("trace"));
    let verdict = match case.get("verdict") {
        // What the view shows is given to it; the records were made with the peer's own classification.
        Json::Null => classify_trace_with(&trace, Denials::Ignored),
        given => verdict_of(given),
    };
    let default = ViewSettings::default();
    let setting = |key: &str, default: usize| {
        case.get("config")
            .get(key)
            .and_then(Json::as_number)
            .map_or(default, |number| number as usize)
    };
    let settings = ViewSettings {
        final_text_units: setting("max_final_text_chars", default.final_text_units),
        args_units: setting("max_args_preview_chars", default.args_units),
        timeline_entries: setting("max_timeline_entries", default.timeline_entries),
    };
    Answer::value(json!({"text": view_trace(case.text("filename"), &trace, &verdict, &settings)}))
}

pub fn trace_file(case: &Case) -> Answer {
    let trace = trace_of(case.get("trace"));
    let name = trace_file_name(&trace.skill_name, trace.timestamp as u64);
    let path = trace_path(case.text("trace_directory"), &name);
    Answer::value(json!({"relative_path": path, "content": trace.to_file_text()}))
}

pub fn trace_record(case: &Case) -> Answer {
    let enabled = case.flag("enabled");
    let units_max = case.count("max_result_preview_chars");
    let results = case.texts("results");
    let previews: Vec<Value> = results
        .iter()
        .enumerate()
        .filter(|_| enabled)
        .map(|(at, result)| json!({"index": at, "preview": result_preview(result, units_max), "blocked": false}))
        .collect();
    Answer::value(json!({
        "recorded": vec![enabled; results.len()], "previews": previews,
        // Ours cannot be finalized twice: a trace is written from the journal when its run ends, which it does once.
        "second_finalize_error": "ExecutionTraceStore already finalized",
    }))
}

pub fn trace_skill_name(case: &Case) -> Answer {
    Answer::value(json!({"skill": parse_trace_file_name(case.text("filename")).map(|(skill, _)| skill)}))
}

pub fn trace_cleanup(case: &Case) -> Answer {
    let entries: Vec<(String, f64)> = case
        .list("files")
        .iter()
        .filter_map(|file| match file.as_array() {
            Some([Json::String(name), Json::Number(age)]) => Some((name.clone(), *age)),
            _ => None,
        })
        .collect();
    let entries: Vec<TraceEntry<'_>> = entries
        .iter()
        .map(|(name, age_ms)| TraceEntry {
            name: name.trim_end_matches('/'),
            age_ms: *age_ms,
            is_file: !name.ends_with('/'),
        })
        .collect();
    let kept = case
        .get("max_traces_per_skill")
        .as_number()
        .unwrap_or(DEFAULT_KEPT);
    let settings = RetentionSettings {
        traces_per_skill_max: kept.max(0.0) as usize,
        age_ms_max: case.get("max_age_ms").as_number().filter(|limit| *limit > 0.0),
    };
    let deleted = choose_deletions(&entries, &settings);
    Answer::value(json!({"deleted_count": deleted.len(), "deleted": deleted}))
}

pub fn trace_load(case: &Case) -> Answer {
    let files: Vec<(&str, Option<&str>)> = case
        .list("files")
        .iter()
        .filter_map(|file| match file.as_array() {
            Some([Json::String(name), content]) => Some((name.as_str(), content.as_str())),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let order: Vec<String> = files_of_skill(case.text("skill"), &names)
        .into_iter()
        .filter_map(|name| {
            let content = files
                .iter()
                .find(|(file, _)| *file == name)
                .and_then(|(_, content)| *content);
            match content.map(Json::parse) {
                None => Some(name.to_string()),
                Some(Ok(value)) => Some(match value.get("id").and_then(Json::as_str) {
                    Some(id) => id.to_string(),
                    None => format!("<json:{}>", value.to_text()),
                }),
                Some(Err(_)) => None,
            }
        })
        .collect();
    Answer::value(json!({"order": order}))
}

pub fn trace_load_single(case: &Case) -> Answer {
    let readable = case
        .get("content")
        .as_str()
        .is_some_and(|content| Trace::read(content).is_some());
    Answer::value(json!({"loaded": is_safe_trace_name(case.text("file")) && readable}))
}

pub fn degradation_alert(case: &Case) -> Answer {
    let mut last_alerts: Vec<(String, f64)> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for step in case.list("steps") {
        let number = |key: &str| step.get(key).and_then(Json::as_number).unwrap_or(0.0);
        let list = |key: &str| step.get(key).and_then(Json::as_array);
        let (skill, now_ms) = (
            step.get("skill").and_then(Json::as_str).unwrap_or(""),
            number("now_ms"),
        );
        let recent = list("recent").unwrap_or_default().iter().enumerate();
        let history: Vec<Trace> = recent
            .map(|(age, trace)| short_trace(trace, now_ms - (age as f64 + 1.0) * 60_000.0))
            .collect();
        let verdicts: Option<Vec<TraceVerdict>> =
            list("recent_verdicts").map(|verdicts| verdicts.iter().map(short_verdict).collect());
        let current = short_verdict(step.get("verdict").unwrap_or(&Json::Null));
        let facts = DegradationFacts {
            current: &current,
            history: &history,
            verdicts: verdicts.as_deref(),
            last_alert_ms: last_alerts
                .iter()
                .rev()
                .find(|(of, _)| of == skill)
                .map(|(_, when)| *when),
            now_ms,
        };
        let settings = DegradationSettings {
            enabled: step.get("enabled") != Some(&Json::Bool(false)),
            consecutive_failures: number("threshold") as usize,
            cooldown_hours: number("cooldown_hours"),
        };
        let Some(alert) = decide_alert(&facts, &settings) else {
            results.push(json!({"fired": false}));
            continue;
        };
        last_alerts.push((skill.to_string(), now_ms));
        let dated = |line: &String| !line.contains("Last successful run");
        let lines: Vec<String> = alert.lines(skill).into_iter().filter(dated).collect();
        results.push(json!({"fired": true, "lines": lines, "last_success_timestamp": alert.last_success_ms}));
    }
    Answer::value(Value::Array(results))
}
