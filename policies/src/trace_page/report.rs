//! The page of a skill: its last runs.

use super::document::{document, ink_of, sign_of, tiles, words_of};
use super::history::{draw, draw_signals};
use super::html::Html;
use crate::domain::{TraceOutcome, TraceVerdict};

use crate::trace_file::Trace;
use crate::trace_report::{ReportSettings, judge_traces};
use crate::trace_text::{count_signals, duration_or_reason, percent, runs, signal_prefix};
use crate::utc_date::utc_text;

/// So many kinds of signals are drawn.
const SIGNALS_MAX: usize = 20;

/// A file that is called like a trace and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub file: String,
    /// Why it was left out.
    pub why: String,
}

/// Writes the page of a skill; traces are the newest first, each with the name of its file.
pub fn report_page(
    skill: &str,
    traces: &[(String, Trace)],
    left_out: &[LeftOut],
    settings: &ReportSettings,
) -> String {
    let (files, traces): (Vec<_>, Vec<_>) = traces.iter().cloned().unzip();
    let verdicts = judge_traces(&traces, settings.traces_max, settings.regression_window);
    let traces = &traces[..verdicts.len()];
    document(&format!("{skill} · last {}", runs(traces.len())), |html| {
        html.element("p", "over", "Trace report").element("h1", "", skill);
        if traces.is_empty() {
            html.element("p", "", "No traces found.").markup("\n");
        } else {
            write_summary(html, traces, &verdicts);
            write_history(html, traces, &verdicts, settings.trend_window);
            write_signals(html, &verdicts);
            write_runs(html, &files, traces, &verdicts);
        }
        write_left_out(html, left_out);
    })
}

fn write_summary(html: &mut Html, traces: &[Trace], verdicts: &[TraceVerdict]) {
    let count = |outcome| {
        verdicts
            .iter()
            .filter(|verdict| verdict.outcome == outcome)
            .count()
    };
    let successes = count(TraceOutcome::Success);
    let failures = count(TraceOutcome::LikelyFailure) + count(TraceOutcome::LikelyRegression);
    let last_success = traces
        .iter()
        .zip(verdicts)
        .find(|(_, verdict)| verdict.outcome == TraceOutcome::Success);
    let last_success = last_success.map_or("never".to_string(), |(trace, _)| utc_text(trace.timestamp));
    let facts = [
        ("Runs", traces.len().to_string()),
        ("Went well", format!("{}%", percent(successes, traces.len()))),
        ("Likely failures", failures.to_string()),
        ("Last success", last_success),
    ];
    tiles(html, &facts);
}

fn write_history(html: &mut Html, traces: &[Trace], verdicts: &[TraceVerdict], window: usize) {
    html.element("h2", "", "History").markup("\n<figure>\n");
    let outcomes = verdicts.iter().rev().map(|verdict| words_of(verdict.outcome));
    let words = format!("Oldest to newest: {}.", outcomes.collect::<Vec<_>>().join(", "));
    draw(html, traces, verdicts, window, &words);
    html.markup("<figcaption>The oldest run is at the left. ");
    for outcome in TraceOutcome::ALL {
        html.markup("<span class=\"")
            .markup(ink_of(outcome))
            .markup("\">");
        html.text(sign_of(outcome))
            .text(" ")
            .text(words_of(outcome))
            .markup("</span> ");
    }
    html.text(&format!(
        "· The line is the share of the last {window} runs that went well, run by run."
    ));
    html.markup("</figcaption>\n</figure>\n");
}

fn write_signals(html: &mut Html, verdicts: &[TraceVerdict]) {
    let failed = verdicts
        .iter()
        .filter(|verdict| verdict.outcome != TraceOutcome::Success);
    let mut counts = count_signals(failed);
    if counts.is_empty() {
        return;
    }
    counts.truncate(SIGNALS_MAX);
    html.element("h2", "", "What spoke against runs")
        .markup("\n<figure>\n");
    draw_signals(html, &counts, verdicts.len());
    html.markup("</figure>\n");
}

fn write_runs(html: &mut Html, files: &[String], traces: &[Trace], verdicts: &[TraceVerdict]) {
    html.element("h2", "", "Runs")
        .markup("\n<div class=\"scroll\"><table>\n<caption>Runs, the newest first</caption>\n");
    html.markup(
        "<thead><tr><th scope=\"col\">When</th><th scope=\"col\">Outcome</th><th scope=\"col\">Signals</th>",
    );
    html.markup("<th scope=\"col\" class=\"num\">Calls</th><th scope=\"col\" class=\"num\">Duration</th>");
    html.markup("<th scope=\"col\">File</th></tr></thead>\n<tbody>\n");
    for ((file, trace), verdict) in files.iter().zip(traces).zip(verdicts) {
        let signals = verdict.signals.iter().map(|signal| signal_prefix(signal));
        html.markup("<tr>")
            .element("td", "tight", &utc_text(trace.timestamp));
        html.markup("<td class=\"tight ")
            .markup(ink_of(verdict.outcome))
            .markup("\">");
        html.text(sign_of(verdict.outcome))
            .text(" ")
            .text(words_of(verdict.outcome))
            .markup("</td>");
        html.element("td", "", &signals.collect::<Vec<_>>().join(", "));
        html.element("td", "num", &trace.tool_calls.len().to_string());
        html.element("td", "num", &duration_or_reason(trace));
        html.markup("<td class=\"tight\">")
            .element("code", "", file)
            .markup("</td></tr>\n");
    }
    html.markup("</tbody>\n</table></div>\n");
}

fn write_left_out(html: &mut Html, left_out: &[LeftOut]) {
    if left_out.is_empty() {
        return;
    }
    html.element("h2", "", "Left out").markup("\n<ul>\n");
    for LeftOut { file, why } in left_out {
        html.markup("<li>")
            .element("code", "", file)
            .text(": ")
            .text(why)
            .markup("</li>\n");
    }
    html.markup("</ul>\n");
}
