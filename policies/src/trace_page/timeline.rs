//! A run over time: its attempts, what it did with tools, how much came back.

use super::html::{Area, Html};
use crate::compat::{cut_units, grouped, units};
use crate::trace_file::{CallFate, Trace, TraceCall};
use crate::trace_text::{duration_text, offset_text};
use crate::trace_view::{args_text, cut_total};

/// More calls are drawn from the beginning and from the end only; the table below the drawing has all.
pub(super) const DRAWN_MAX: usize = 60;

const WIDTH: f64 = 1000.0;
const PLOT_LEFT: f64 = 262.0;
const PLOT_RIGHT: f64 = 850.0;
const ROW: f64 = 24.0;
const TOP: f64 = 30.0;
const TICKS: u32 = 5;
const LABEL_UNITS: usize = 36;
/// So much of the argument that says most.
pub(super) const ARGUMENT_UNITS: usize = 80;

/// A call as it is drawn and listed.
pub(super) struct Drawn<'a> {
    pub(super) call: &'a TraceCall,
    /// In ms since 1970; the end, where nobody knows when it began.
    pub(super) started_at: f64,
    pub(super) fate: CallFate,
    /// In words: `1,234 chars`.
    pub(super) size: String,
}

/// The calls of a trace with what else is known of them.
pub(super) fn calls_of(trace: &Trace) -> Vec<Drawn<'_>> {
    let details = trace.ours.as_ref().map_or(&[][..], |ours| &ours.calls);
    let drawn = trace.tool_calls.iter().map(|call| {
        let detail = details.iter().find(|detail| detail.index == call.index);
        Drawn {
            call,
            started_at: detail.map_or(call.timestamp, |detail| detail.started_at),
            fate: detail.map_or(CallFate::Finished, |detail| detail.fate),
            size: size_of(call),
        }
    });
    drawn.collect()
}

fn size_of(call: &TraceCall) -> String {
    let total = cut_total(&call.result_preview);
    let total = total.unwrap_or_else(|| grouped(units(&call.result_preview) as u64));
    format!("{total} chars")
}

/// The time that a trace covers, in ms since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    from: f64,
    to: f64,
}

impl Span {
    /// From the beginning of the run, else from its first call, to its end. Whatever a file says, it lasts a moment.
    pub(super) fn of(trace: &Trace) -> Self {
        let times = trace.tool_calls.iter().map(|call| call.timestamp);
        let times = times.filter(|time| time.is_finite() && *time > 0.0);
        let started = trace
            .ours
            .as_ref()
            .map(|ours| ours.started_at)
            .filter(|at| *at > 0.0);
        let from = started.unwrap_or_else(|| times.clone().fold(f64::INFINITY, f64::min));
        let from = if from.is_finite() { from } else { trace.timestamp };
        let from = if from.is_finite() { from } else { 0.0 };
        let to = times
            .chain([trace.timestamp])
            .filter(|time| time.is_finite())
            .fold(from, f64::max);
        Self {
            from,
            to: to.max(from + 1.0),
        }
    }

    pub(super) fn start(&self) -> f64 {
        self.from
    }

    pub(super) fn length(&self) -> f64 {
        self.to - self.from
    }

    fn x(&self, at: f64) -> f64 {
        let share = ((at - self.from) / self.length()).clamp(0.0, 1.0);
        let share = if share.is_nan() { 0.0 } else { share };
        PLOT_LEFT + share * (PLOT_RIGHT - PLOT_LEFT)
    }
}

/// Draws the run.
pub(super) fn draw(html: &mut Html, trace: &Trace, calls: &[Drawn<'_>], words: &str) {
    let span = Span::of(trace);
    let tries = trace.ours.as_ref().map_or(&[][..], |ours| &ours.tries);
    let moments = trace.ours.as_ref().map_or(&[][..], |ours| &ours.moments);
    let shown = shown_calls(calls);
    let left_out = calls.len() - shown.iter().flatten().count();
    let rows = tries.len() + shown.len() + usize::from(!moments.is_empty());
    let height = TOP + ROW * (rows.max(1) as f64) + 14.0;
    html.markup("<svg role=\"img\" aria-label=\"").text(words);
    html.markup("\" viewBox=\"0 0 1000 ")
        .number(height)
        .markup("\">\n");
    draw_axis(html, &span, height);
    let mut y = TOP;
    for (at, made) in tries.iter().enumerate() {
        let area = bar(&span, y, made.started_at, made.ended_at);
        html.label("soft", 8.0, y + 16.0, &format!("attempt {}", at + 1));
        let about = format!("attempt {} on {}: {}", at + 1, made.model, made.ending);
        html.rectangle("f-try", area, &about);
        html.label(
            "soft",
            area.x + 6.0,
            y + 16.0,
            cut_units(&made.model, LABEL_UNITS),
        );
        html.label("soft-end", WIDTH - 8.0, y + 16.0, cut_units(&made.ending, 22))
            .markup("\n");
        y += ROW;
    }
    for row in shown {
        match row {
            Some(drawn) => draw_call(html, &span, y, drawn),
            None => {
                let words = format!("… {left_out} calls are in the table only …");
                html.label("soft-mid", WIDTH / 2.0, y + 16.0, &words);
            }
        }
        y += ROW;
    }
    if !moments.is_empty() {
        html.label("soft", 8.0, y + 16.0, "on the way");
        for moment in moments {
            let x = span.x(moment.at);
            let words = format!("{}: {}", offset_text(moment.at - span.from), moment.what);
            html.line("moment", (x, TOP), (x, y + ROW));
            let mark = Area {
                x: x - 4.0,
                y: y + 8.0,
                width: 8.0,
                height: 8.0,
            };
            html.rectangle("dot", mark, &words).markup("\n");
        }
    }
    html.markup("</svg>\n");
}

/// All, or the first and the last ones with a gap between.
fn shown_calls<'a, 'b>(calls: &'b [Drawn<'a>]) -> Vec<Option<&'b Drawn<'a>>> {
    if calls.len() <= DRAWN_MAX {
        return calls.iter().map(Some).collect();
    }
    let half = DRAWN_MAX / 2;
    let first = calls[..half].iter().map(Some);
    let last = calls[calls.len() - half..].iter().map(Some);
    first.chain([None]).chain(last).collect()
}

fn draw_axis(html: &mut Html, span: &Span, height: f64) {
    for tick in 0..=TICKS {
        let at = span.length() * f64::from(tick) / f64::from(TICKS);
        let x = span.x(span.from + at);
        html.line("grid", (x, TOP - 6.0), (x, height - 8.0));
        let label = if span.length() < 10_000.0 {
            format!("{:.1}s", at / 1_000.0)
        } else {
            offset_text(at)
        };
        html.label("soft-mid", x, 14.0, &label);
    }
    html.markup("\n");
}

fn bar(span: &Span, y: f64, from: f64, to: f64) -> Area {
    const SEEN: f64 = 4.0;
    let left = span.x(from).min(PLOT_RIGHT - SEEN);
    let width = (span.x(to) - left).max(SEEN);
    Area {
        x: left,
        y: y + 4.0,
        width,
        height: ROW - 8.0,
    }
}

fn draw_call(html: &mut Html, span: &Span, y: f64, drawn: &Drawn<'_>) {
    let call = drawn.call;
    let argument = args_text(&call.args, ARGUMENT_UNITS);
    let name = format!("{} {argument}", call.tool_name);
    let label = if units(&name) > LABEL_UNITS {
        format!("{}…", cut_units(&name, LABEL_UNITS))
    } else {
        name
    };
    let (fill, ink, fate) = look_of(drawn);
    let length = duration_text(call.timestamp - drawn.started_at);
    let words = format!("{} {argument}: {fate}, {}, {length}", call.tool_name, drawn.size);
    html.label("ink", 8.0, y + 16.0, &label);
    html.rectangle(fill, bar(span, y, drawn.started_at, call.timestamp), &words);
    let aside = if fate == "finished" {
        drawn.size.clone()
    } else {
        fate.to_string()
    };
    html.label(ink, WIDTH - 8.0, y + 16.0, &aside).markup("\n");
}

/// How a call is drawn, written, and called.
pub(super) fn look_of(drawn: &Drawn<'_>) -> (&'static str, &'static str, &'static str) {
    match drawn.fate {
        CallFate::CutOff => ("f-cut", "w-none", "cut off"),
        CallFate::Failed => ("f-bad", "w-bad", "✗ failed"),
        CallFate::Finished if drawn.call.blocked => ("f-warn", "w-warn", "kept aside"),
        CallFate::Finished => ("f-call", "soft-end", "finished"),
    }
}
