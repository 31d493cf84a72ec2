//! The words that report, view and alert share.

use crate::compat::is_space;
use crate::domain::TraceVerdict;
use crate::trace_file::Trace;

/// What a signal is called in a list: its text up to the explanation.
pub fn signal_prefix(signal: &str) -> &str {
    let end = signal.char_indices().find(|(at, c)| {
        let after = &signal[at + c.len_utf8()..];
        (*c == ' ' && after.starts_with('—')) || (is_space(*c) && after.starts_with('('))
    });
    match end {
        None | Some((0, _)) => signal,
        Some((end, _)) => &signal[..end],
    }
}

/// How often each signal occurs, the most frequent first, ties in order of appearance.
pub fn count_signals<'a>(verdicts: impl IntoIterator<Item = &'a TraceVerdict>) -> Vec<(&'a str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for signal in verdicts.into_iter().flat_map(|verdict| &verdict.signals) {
        let prefix = signal_prefix(signal);
        match counts.iter_mut().find(|(known, _)| *known == prefix) {
            Some((_, count)) => *count += 1,
            None => counts.push((prefix, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// How long a run took: as measured where the trace says so, else from its first to its last tool call.
pub fn trace_duration(trace: &Trace) -> String {
    duration_text(duration_ms(trace))
}

/// The same in milliseconds.
pub fn duration_ms(trace: &Trace) -> f64 {
    if let Some(ours) = &trace.ours {
        return trace.timestamp - ours.started_at;
    }
    let (Some(first), Some(last)) = (trace.tool_calls.first(), trace.tool_calls.last()) else {
        return 0.0;
    };
    last.timestamp - first.timestamp
}

/// `<1s`, `45s`, `2m5s`.
pub fn duration_text(ms: f64) -> String {
    let seconds = whole_seconds(ms);
    match seconds {
        _ if ms < 1_000.0 => "<1s".to_string(),
        0..60 => format!("{seconds}s"),
        _ => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

/// `0s`, `45s`, `2m05s`.
pub fn offset_text(ms: f64) -> String {
    let seconds = whole_seconds(ms);
    match seconds {
        _ if ms < 1_000.0 => "0s".to_string(),
        0..60 => seconds.to_string() + "s",
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

fn whole_seconds(ms: f64) -> u64 {
    (ms / 1_000.0).round() as u64
}

/// Duration, or why it stopped when it did not end by itself.
pub fn duration_or_reason(trace: &Trace) -> String {
    if trace.stopped_reason == "completed" {
        trace_duration(trace)
    } else {
        trace.stopped_reason.clone()
    }
}

/// Ten boxes, some of them filled.
pub fn bar_chart(filled: usize, total: usize) -> String {
    const WIDTH: usize = 10;
    let share = if total == 0 {
        0.0
    } else {
        filled as f64 / total as f64
    };
    let boxes = ((share * WIDTH as f64).round() as usize).min(WIDTH);
    format!("{}{}", "█".repeat(boxes), "░".repeat(WIDTH - boxes))
}

/// In whole percent.
pub fn percent(part: usize, total: usize) -> u64 {
    if total == 0 {
        0
    } else {
        (part as f64 / total as f64 * 100.0).round() as u64
    }
}

/// `run` or `runs`.
pub fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}
