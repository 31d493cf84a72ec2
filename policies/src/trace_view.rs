//! What does one trace look like?

use crate::compat::{
    Json, cut_units, grouped, grouped_digits, is_space, number_text, string_of, to_fixed, trim, trim_start,
    units,
};
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::trace_classify::TraceVerdict;
use crate::trace_file::{Trace, TraceCall};
use crate::trace_text::{offset_text, signal_prefix, trace_duration};
use memchr::memmem;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewSettings {
    /// Of the answer.
    pub final_text_units: usize,
    /// Of a call's arguments.
    pub args_units: usize,
    /// How many calls.
    pub timeline_entries: usize,
}

impl Default for ViewSettings {
    fn default() -> Self {
        Self {
            final_text_units: 200,
            args_units: 80,
            timeline_entries: 30,
        }
    }
}

/// Writes one trace for reading.
pub fn view_trace(file: &str, trace: &Trace, verdict: &TraceVerdict, settings: &ViewSettings) -> String {
    let route = &trace.route;
    let (tier, complexity) = (tier_word(route.tier), complexity_word(route.complexity));
    let mut lines = vec![
        format!("🔍 Trace: {file}"),
        format!(
            "   Model: {}  |  Route: {tier}, {complexity} complexity",
            trace.model
        ),
        format!(
            "   Outcome: {} {}{}",
            verdict.outcome.emoji(),
            verdict.outcome.word(),
            prefixes(verdict)
        ),
        format!(
            "   Duration: {}  |  Tool calls: {}",
            trace_duration(trace),
            trace.tool_calls.len()
        ),
        format!(
            "   Confidence: {}%  |  Risk: {}",
            to_fixed(route.confidence * 100.0, 0),
            risk_word(route.risk)
        ),
    ];
    if !verdict.signals.is_empty() {
        lines.push("   Signals:".to_string());
        lines.extend(verdict.signals.iter().map(|signal| format!("     • {signal}")));
    }
    lines.push(String::new());
    push_timeline(trace, settings, &mut lines);
    lines.push(String::new());
    push_final_text(&trace.final_text, settings.final_text_units, &mut lines);
    lines.join("\n")
}

fn prefixes(verdict: &TraceVerdict) -> String {
    if verdict.signals.is_empty() {
        return String::new();
    }
    let prefixes: Vec<&str> = verdict
        .signals
        .iter()
        .map(|signal| signal_prefix(signal))
        .collect();
    format!(" ({})", prefixes.join(", "))
}

fn push_timeline(trace: &Trace, settings: &ViewSettings, lines: &mut Vec<String>) {
    let calls = &trace.tool_calls;
    let Some(first) = calls.first() else {
        lines.push("   Timeline: (no tool calls)".to_string());
        return;
    };
    lines.push("   Timeline:".to_string());
    let mut previous: Option<f64> = None;
    for call in shown_calls(calls, settings.timeline_entries) {
        let left_out = previous.map_or(0.0, |previous| call.index - previous - 1.0);
        if left_out > 0.0 {
            lines.push(format!("   ... ({} calls omitted) ...", number_text(left_out)));
        }
        previous = Some(call.index);
        let offset = offset_text(call.timestamp - first.timestamp);
        let args = args_text(&call.args, settings.args_units);
        let (server, tool, size) = (&call.server_name, &call.tool_name, size_text(call));
        lines.push(
            [
                "   [", &offset, "]  ", server, " / ", tool, "  ", &args, "  → ", &size,
            ]
            .concat(),
        );
    }
    match trace.stopped_reason.as_str() {
        "timeout" => lines.push("   ⏰ timeout".to_string()),
        "inactivity" => lines.push("   💤 inactivity".to_string()),
        "aborted" => lines.push("   🛑 aborted".to_string()),
        _ => {}
    }
}

/// All, or the first and the last ones.
fn shown_calls(calls: &[TraceCall], limit: usize) -> impl Iterator<Item = &TraceCall> {
    let (head, tail) = if calls.len() > limit {
        (limit.div_ceil(2), limit / 2)
    } else {
        (calls.len(), 0)
    };
    calls[..head].iter().chain(&calls[calls.len() - tail..])
}

fn size_text(call: &TraceCall) -> String {
    if call.blocked {
        return "⛔ blocked".to_string();
    }
    match cut_total(&call.result_preview) {
        Some(total) => [&total, " chars  (preview)"].concat(),
        None => [&grouped(units(&call.result_preview) as u64), " chars"].concat(),
    }
}

/// The full length the first mark of a cut speaks of, as it is shown.
pub(crate) fn cut_total(preview: &str) -> Option<String> {
    const MARK: &str = "[...truncated,";
    memmem::find_iter(preview.as_bytes(), MARK).find_map(|at| {
        let rest = trim_start(&preview[at + MARK.len()..]);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = rest.split_at(digits);
        let ends = rest.starts_with(is_space) && trim_start(rest).starts_with("total chars]");
        (ends && !digits.is_empty()).then(|| grouped_digits(digits))
    })
}

/// The argument that says most, as `key="value"`.
pub(crate) fn args_text(args: &Json, limit: usize) -> String {
    const TELLING: [(&str, &str); 7] = [
        ("query", "query"),
        ("q", "query"),
        ("path", "path"),
        ("command", "command"),
        ("message", "message"),
        ("prompt", "prompt"),
        ("instruction", "instruction"),
    ];
    let Some(entries) = args.as_object() else {
        return String::new();
    };
    for (key, shown) in TELLING {
        if let Some(value) = args.get(key).and_then(Json::as_str) {
            let value = cut_with_dots(value, limit, limit.saturating_sub(3));
            return [shown, "=\"", &value, "\""].concat();
        }
    }
    let Some((key, value)) = entries.first() else {
        return String::new();
    };
    let room = limit.saturating_sub(units(key));
    let value = string_of(value);
    format!(
        "{key}=\"{}\"",
        cut_with_dots(&value, room.saturating_sub(4), room.saturating_sub(7).max(10))
    )
}

fn cut_with_dots(text: &str, limit: usize, kept: usize) -> String {
    if units(text) > limit {
        format!("{}...", cut_units(text, kept))
    } else {
        text.to_string()
    }
}

fn push_final_text(text: &str, limit: usize, lines: &mut Vec<String>) {
    if trim(text).is_empty() {
        lines.push("   Final text: (empty)".to_string());
        return;
    }
    let length = units(text);
    if length > limit {
        let shown = cut_units(text, limit);
        lines.push(format!("   Final text: {shown}... ({length} chars total)"));
        return;
    }
    lines.push("   Final text:".to_string());
    lines.extend(text.split('\n').map(|line| format!("     {line}")));
}
