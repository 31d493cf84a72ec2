//! What does one trace look like?

use crate::compat::{cut_units, grouped, grouped_digits, is_space, trim, trim_start, units};
use crate::domain::TraceVerdict;
use crate::execution_route::{complexity_word, risk_word, tier_word};
use crate::trace_file::{Trace, TraceCall};
use crate::trace_text::{offset_text, signal_prefix, trace_duration};
use memchr::memmem::Finder;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::LazyLock;

/// How the mark of a cut begins.
const CUT_MARK: &str = "[...truncated,";
/// It is looked for in every preview.
static CUT_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(CUT_MARK));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewSettings {
    pub final_text_units: usize,
    /// Of a call's arguments.
    pub args_units: usize,
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
            (route.confidence * 100.0).round(),
            risk_word(route.risk)
        ),
    ];
    if !verdict.signals.is_empty() {
        lines.push("   Signals:".to_string());
        lines.extend(verdict.signals.iter().map(|signal| format!("     • {signal}")));
    }
    if let Some(ours) = trace.ours.as_ref().filter(|ours| !ours.flags.is_empty()) {
        lines.push("   Not borne out by what was seen:".to_string());
        lines.extend(ours.flags.iter().map(|flag| format!("     • {flag}")));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    push_timeline(trace, settings, &mut text);
    text.push('\n');
    push_final_text(&trace.final_text, settings.final_text_units, &mut text);
    text
}

/// A line of so many parts.
fn push_line(text: &mut String, parts: &[&str]) {
    text.push('\n');
    for part in parts {
        text.push_str(part);
    }
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

fn push_timeline(trace: &Trace, settings: &ViewSettings, text: &mut String) {
    let calls = &trace.tool_calls;
    let Some(first) = calls.first() else {
        push_line(text, &["   Timeline: (no tool calls)"]);
        return;
    };
    push_line(text, &["   Timeline:"]);
    let mut previous: Option<f64> = None;
    for call in shown_calls(calls, settings.timeline_entries) {
        let left_out = previous.map_or(0.0, |previous| call.index - previous - 1.0);
        if left_out > 0.0 {
            push_line(text, &["   ... (", &left_out.to_string(), " calls omitted) ..."]);
        }
        previous = Some(call.index);
        let offset = offset_text(call.timestamp - first.timestamp);
        let args = args_text(&call.args, settings.args_units);
        let (server, tool, size) = (&call.server_name, &call.tool_name, size_text(call));
        push_line(
            text,
            &[
                "   [", &offset, "]  ", server, " / ", tool, "  ", &args, "  → ", &size,
            ],
        );
    }
    match trace.stopped_reason.as_str() {
        "timeout" => push_line(text, &["   ⏰ timeout"]),
        "inactivity" => push_line(text, &["   💤 inactivity"]),
        "aborted" => push_line(text, &["   🛑 aborted"]),
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
    CUT_FINDER.find_iter(preview.as_bytes()).find_map(|at| {
        let rest = trim_start(&preview[at + CUT_MARK.len()..]);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = rest.split_at(digits);
        let ends = rest.starts_with(is_space) && trim_start(rest).starts_with("total chars]");
        (ends && !digits.is_empty()).then(|| grouped_digits(digits))
    })
}

/// The argument that says most, as `key="value"`.
pub(crate) fn args_text(args: &Value, limit: usize) -> String {
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
        if let Some(value) = args.get(key).and_then(Value::as_str) {
            let value = cut_with_dots(value, limit, limit.saturating_sub(3));
            return [shown, "=\"", &value, "\""].concat();
        }
    }
    let Some((key, value)) = entries.iter().next() else {
        return String::new();
    };
    let room = limit.saturating_sub(units(key));
    let value = match value.as_str() {
        Some(text) => text.to_string(),
        None => value.to_string(),
    };
    format!(
        "{key}=\"{}\"",
        cut_with_dots(&value, room.saturating_sub(4), room.saturating_sub(7).max(10))
    )
}

fn cut_with_dots(text: &str, limit: usize, kept: usize) -> Cow<'_, str> {
    if units(text) > limit {
        Cow::Owned([cut_units(text, kept), "..."].concat())
    } else {
        Cow::Borrowed(text)
    }
}

fn push_final_text(text: &str, limit: usize, out: &mut String) {
    if trim(text).is_empty() {
        push_line(out, &["   Final text: (empty)"]);
        return;
    }
    let length = units(text);
    if length > limit {
        let shown = cut_units(text, limit);
        push_line(
            out,
            &[
                "   Final text: ",
                shown,
                "... (",
                &length.to_string(),
                " chars total)",
            ],
        );
        return;
    }
    push_line(out, &["   Final text:"]);
    for line in text.split('\n') {
        push_line(out, &["     ", line]);
    }
}
