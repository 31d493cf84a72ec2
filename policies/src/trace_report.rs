//! What do the traces of a skill say together?

use crate::domain::{TraceOutcome, TraceVerdict};
use crate::trace_classify::classify_trace;
use crate::trace_file::Trace;
use crate::trace_regression::detect_regression;
use crate::trace_text::{bar_chart, count_signals, duration_or_reason, percent, runs};

/// How much a mini report shows.
const MINI_TRACES: usize = 3;
/// The shortest trend worth a line.
const TREND_MIN: usize = 2;

/// How much a report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportSettings {
    /// So many traces are looked at.
    pub traces_max: usize,
    /// So many are listed.
    pub inline_max: usize,
    /// So many make a trend.
    pub trend_window: usize,
    /// So far back a regression is looked for.
    pub regression_window: usize,
}

/// A report and what it counted.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceReport {
    pub text: String,
    /// One verdict for each trace looked at, newest first.
    pub verdicts: Vec<TraceVerdict>,
}

/// Judges the newest `count` traces, each by itself and by those before it.
pub fn judge_traces(traces: &[Trace], count: usize, window: usize) -> Vec<TraceVerdict> {
    let judge = |(at, trace): (usize, &Trace)| {
        detect_regression(classify_trace(trace), trace, &traces[at + 1..], window)
    };
    traces.iter().enumerate().take(count).map(judge).collect()
}

/// Writes the report of a skill; traces are the newest first, and `files` are called as their files are.
pub fn report_files(
    skill: &str,
    traces: &[Trace],
    files: &[String],
    settings: &ReportSettings,
) -> TraceReport {
    if traces.is_empty() || settings.traces_max == 0 {
        return TraceReport {
            text: none_found(skill),
            verdicts: Vec::new(),
        };
    }
    let verdicts = judge_traces(traces, settings.traces_max, settings.regression_window);
    let traces = &traces[..verdicts.len()];
    let mut lines = vec![
        format!("📊 Trace Report: skill \"{skill}\" (last {})", runs(traces.len())),
        String::new(),
    ];
    push_outcomes(&verdicts, &mut lines);
    push_signals(&verdicts, &mut lines);
    push_trend(&verdicts, settings.trend_window, &mut lines);
    push_recent(traces, files, &verdicts, settings.inline_max, &mut lines);
    TraceReport {
        text: lines.join("\n"),
        verdicts,
    }
}

/// Writes the few lines that may follow a run.
pub fn mini_report(skill: &str, traces: &[Trace], regression_window: usize) -> String {
    if traces.is_empty() {
        return none_found(skill);
    }
    let shown = traces.len().min(MINI_TRACES);
    let mut lines = vec![format!(
        "📊 Mini report: skill \"{skill}\" (last {})",
        runs(shown)
    )];
    for (trace, verdict) in traces.iter().zip(judge_traces(traces, shown, regression_window)) {
        let (emoji, word) = (verdict.outcome.emoji(), verdict.outcome.word());
        let calls = trace.tool_calls.len();
        lines.push(format!(
            "  {emoji} {calls} calls  {}  {word}",
            duration_or_reason(trace)
        ));
    }
    lines.join("\n")
}

fn none_found(skill: &str) -> String {
    format!("📊 No traces found for skill \"{skill}\".")
}

fn push_outcomes(verdicts: &[TraceVerdict], lines: &mut Vec<String>) {
    let total = verdicts.len();
    for outcome in TraceOutcome::ALL {
        let count = verdicts
            .iter()
            .filter(|verdict| verdict.outcome == outcome)
            .count();
        if count == 0 {
            continue;
        }
        let (emoji, bar, share) = (outcome.emoji(), bar_chart(count, total), percent(count, total));
        lines.push(format!(
            "  {emoji} {:<12} {bar}  {count}/{total}  ({share}%)",
            label(outcome)
        ));
    }
    lines.push(String::new());
}

fn label(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::Success => "Success",
        TraceOutcome::LikelyFailure => "Likely fail",
        TraceOutcome::LikelyRegression => "Regression",
        TraceOutcome::Unknown => "Unknown",
    }
}

fn push_signals(verdicts: &[TraceVerdict], lines: &mut Vec<String>) {
    let counts = count_signals(
        verdicts
            .iter()
            .filter(|verdict| verdict.outcome != TraceOutcome::Success),
    );
    if counts.is_empty() {
        return;
    }
    lines.push("  Common failure signals:".to_string());
    lines.extend(
        counts
            .iter()
            .map(|(signal, count)| format!("    • {signal} ({count}x)")),
    );
    lines.push(String::new());
}

fn push_trend(verdicts: &[TraceVerdict], window: usize, lines: &mut Vec<String>) {
    let window = window.min(verdicts.len());
    if window < TREND_MIN || verdicts.len() <= window {
        return;
    }
    let success_rate = |part: &[TraceVerdict]| {
        let successes = part
            .iter()
            .filter(|verdict| verdict.outcome == TraceOutcome::Success)
            .count();
        percent(successes, part.len())
    };
    let recent = success_rate(&verdicts[..window]);
    let older = success_rate(&verdicts[window..verdicts.len().min(window * 2)]);
    let arrow = match recent.cmp(&older) {
        std::cmp::Ordering::Less => "↓",
        std::cmp::Ordering::Equal => "→",
        std::cmp::Ordering::Greater => "↑",
    };
    lines.push(format!(
        "  Trend: success rate {older}% → {recent}% {arrow} over last {window} runs."
    ));
    lines.push(String::new());
}

fn push_recent(
    traces: &[Trace],
    files: &[String],
    verdicts: &[TraceVerdict],
    inline_max: usize,
    lines: &mut Vec<String>,
) {
    let (shown, total) = (inline_max.min(traces.len()), traces.len());
    lines.push(if shown < total {
        format!("  Recent traces (showing {shown} of {total}):")
    } else {
        "  Recent traces:".to_string()
    });
    for ((trace, file), verdict) in traces.iter().zip(files).zip(verdicts).take(shown) {
        let calls = trace.tool_calls.len();
        let emoji = verdict.outcome.emoji();
        lines.push(format!(
            "    {file}  {emoji}  {calls} calls  {}",
            duration_or_reason(trace)
        ));
    }
}
