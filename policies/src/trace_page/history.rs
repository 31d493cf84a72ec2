//! The runs of a skill over time: how each seems to have ended, how long it took, and the share that went well.

use super::document::{fill_of, sign_of, words_of};
use super::html::{Area, Html};
use crate::domain::{TraceOutcome, TraceVerdict};

use crate::trace_file::Trace;
use crate::trace_text::{duration_ms, percent, trace_duration};
use crate::utc_date::utc_text;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 990.0;
const CELL_MAX: f64 = 92.0;
const STRIP_TOP: f64 = 14.0;
const STRIP: f64 = 40.0;
const LENGTH_BASE: f64 = 130.0;
const LENGTH: f64 = 60.0;
const TREND_TOP: f64 = 160.0;
const TREND: f64 = 90.0;

/// Draws runs, the newest first as they are given, the oldest at the left.
pub(super) fn draw(html: &mut Html, traces: &[Trace], verdicts: &[TraceVerdict], window: usize, words: &str) {
    let runs = traces.iter().zip(verdicts).rev().collect::<Vec<_>>();
    let cell = ((RIGHT - LEFT) / (runs.len().max(1) as f64)).min(CELL_MAX);
    html.markup("<svg role=\"img\" aria-label=\"")
        .text(words)
        .markup("\" viewBox=\"0 0 1000 290\">\n");
    html.label("soft", 0.0, STRIP_TOP + 25.0, "outcome")
        .label("soft", 0.0, LENGTH_BASE - 8.0, "duration");
    let longest = runs
        .iter()
        .map(|(trace, _)| duration_ms(trace))
        .fold(1.0, f64::max);
    for (at, (trace, verdict)) in runs.iter().enumerate() {
        let x = LEFT + cell * at as f64;
        draw_run(
            html,
            trace,
            verdict,
            Column {
                x,
                width: cell,
                longest,
            },
        );
    }
    draw_trend(html, &runs, cell, window);
    if let (Some((first, _)), Some((last, _))) = (runs.first(), runs.last()) {
        html.label("soft", LEFT, 284.0, &utc_text(first.timestamp));
        let end = LEFT + cell * runs.len() as f64;
        if runs.len() > 1 && end > LEFT + 300.0 {
            html.label("soft-end", end.min(WIDTH), 284.0, &utc_text(last.timestamp));
        }
    }
    html.markup("\n</svg>\n");
}

/// Where a run is drawn.
struct Column {
    x: f64,
    width: f64,
    longest: f64,
}

fn draw_run(html: &mut Html, trace: &Trace, verdict: &TraceVerdict, column: Column) {
    let gap = (column.width * 0.12).min(4.0);
    let (x, width) = (column.x + gap / 2.0, column.width - gap);
    let outcome = verdict.outcome;
    let words = format!(
        "{}: {}, {} calls, {}",
        utc_text(trace.timestamp),
        words_of(outcome),
        trace.tool_calls.len(),
        trace_duration(trace)
    );
    let cell = Area {
        x,
        y: STRIP_TOP,
        width,
        height: STRIP,
    };
    html.rectangle(fill_of(outcome), cell, &words);
    if column.width >= 14.0 {
        html.label("mark", x + width / 2.0, STRIP_TOP + 25.0, sign_of(outcome));
    }
    let height = (duration_ms(trace) / column.longest * LENGTH).clamp(1.5, LENGTH);
    let length = Area {
        x,
        y: LENGTH_BASE - height,
        width,
        height,
    };
    html.rectangle("f-soft", length, &words).markup("\n");
}

/// The share of successes among each run and those just before it.
fn draw_trend(html: &mut Html, runs: &[(&Trace, &TraceVerdict)], cell: f64, window: usize) {
    let y = |share: f64| TREND_TOP + TREND * (1.0 - share);
    let end = LEFT + cell * runs.len() as f64;
    for share in [0.0, 0.5, 1.0] {
        html.line("grid", (LEFT, y(share)), (end, y(share)));
        html.label(
            "soft-end",
            LEFT - 8.0,
            y(share) + 4.0,
            &format!("{:.0}%", share * 100.0),
        );
    }
    let window = window.max(1);
    let point = |at: usize| {
        let seen = &runs[(at + 1).saturating_sub(window)..=at];
        let went_well = seen
            .iter()
            .filter(|(_, verdict)| verdict.outcome == TraceOutcome::Success)
            .count();
        let share = went_well as f64 / seen.len() as f64;
        (
            LEFT + cell * (at as f64 + 0.5),
            y(share),
            percent(went_well, seen.len()),
        )
    };
    let points = (0..runs.len()).map(point).collect::<Vec<_>>();
    html.markup("<polyline class=\"trend\" points=\"");
    for (x, y, _) in &points {
        html.number(*x).markup(",").number(*y).markup(" ");
    }
    html.markup("\"/>\n");
    for (x, y, share) in points {
        let dot = Area {
            x: x - 3.5,
            y: y - 3.5,
            width: 7.0,
            height: 7.0,
        };
        html.rectangle("dot", dot, &format!("{share}% of the last {window} went well"));
    }
}

/// How often each sign of failure was seen.
pub(super) fn draw_signals(html: &mut Html, counts: &[(&str, usize)], total: usize) {
    const ROW: f64 = 28.0;
    const BAR_LEFT: f64 = 300.0;
    const BAR_RIGHT: f64 = 920.0;
    let height = ROW * counts.len() as f64 + 4.0;
    html.markup("<svg role=\"img\" aria-label=\"");
    for (signal, count) in counts {
        html.text(&format!("{signal}: {count} of {total} runs. "));
    }
    html.markup("\" viewBox=\"0 0 1000 ")
        .number(height)
        .markup("\">\n");
    for (at, (signal, count)) in counts.iter().enumerate() {
        let y = ROW * at as f64;
        let share = *count as f64 / total.max(1) as f64;
        let width = ((BAR_RIGHT - BAR_LEFT) * share.clamp(0.0, 1.0)).max(3.0);
        html.label("ink", 0.0, y + 19.0, crate::compat::cut_units(signal, 44));
        let bar = Area {
            x: BAR_LEFT,
            y: y + 6.0,
            width,
            height: ROW - 12.0,
        };
        html.rectangle("f-bad", bar, &format!("{count} of {total}"));
        html.label(
            "soft",
            BAR_LEFT + width + 8.0,
            y + 19.0,
            &format!("{count} of {total}"),
        )
        .markup("\n");
    }
    html.markup("</svg>\n");
}
