//! Did a run go well, as far as its trace shows?

use crate::compat::{cut_units, hundredths, trim};
use crate::domain::{ROUTE_UNAVAILABLE, TraceOutcome, TraceVerdict};
use crate::trace_file::Trace;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// More calls than this are suspicious.
const TOOL_CALLS_MAX: usize = 20;
/// A route less sure than this is suspicious.
const CONFIDENCE_MIN: f64 = 0.5;
const CONFIDENCE_MIN_SHOWN: &str = "0.5";
/// So much of an answer's start is searched for signs of failure.
const SEARCHED_UNITS: usize = 200;
const ERROR_MARKERS: [&str; 3] = ["error", "failed", "exception"];
/// They are looked for in every trace of a report.
static MARKER_FINDERS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| ERROR_MARKERS.map(Finder::new));

/// It ended by itself and said something.
pub fn looks_complete(trace: &Trace) -> bool {
    trace.stopped_reason == "completed" && !trim(&trace.final_text).is_empty()
}

/// What a denied marker counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denials {
    /// "No errors found" is no error.
    Heeded,
    /// It is one. Only to replay records of the peer.
    Ignored,
}

/// Classifies a trace by itself.
pub fn classify_trace(trace: &Trace) -> TraceVerdict {
    classify_trace_with(trace, Denials::Heeded)
}

/// Classifies a trace by itself, with a choice about denials.
pub fn classify_trace_with(trace: &Trace, denials: Denials) -> TraceVerdict {
    let signals = signals_of(trace, denials);
    let (outcome, confidence) = match signals.len() {
        0 if looks_complete(trace) => (TraceOutcome::Success, 0.9),
        0 => (TraceOutcome::Unknown, 0.3),
        1 => (TraceOutcome::LikelyFailure, 0.6),
        2 => (TraceOutcome::LikelyFailure, 0.75),
        _ => (TraceOutcome::LikelyFailure, 0.9),
    };
    TraceVerdict {
        outcome,
        signals,
        confidence,
    }
}

fn signals_of(trace: &Trace, denials: Denials) -> Vec<String> {
    let mut signals = Vec::new();
    match trace.stopped_reason.as_str() {
        "timeout" => signals.push("timeout — sub-agent hit wall clock limit".to_string()),
        "inactivity" => signals.push("inactivity — model stopped making tool calls".to_string()),
        "aborted" => signals.push("aborted — execution was cancelled externally".to_string()),
        _ => {}
    }
    if trace.ours.as_ref().is_some_and(|ours| ours.state == "failed") {
        signals.push("failed — the sub-agent could not finish".to_string());
    }
    if trim(&trace.final_text).is_empty() {
        signals.push("empty output — no text produced".to_string());
    }
    let start = cut_units(&trace.final_text, SEARCHED_UNITS).to_lowercase();
    signals.extend(error_markers(&start, denials));
    let calls = trace.tool_calls.len();
    if calls > TOOL_CALLS_MAX {
        signals.push(format!(
            "high tool-call count ({calls} calls, threshold {TOOL_CALLS_MAX})"
        ));
    }
    let confidence = trace.route.confidence;
    // A route nobody gave is no sign of anything.
    let unjudged = confidence == 0.0 && trace.route.reason == ROUTE_UNAVAILABLE;
    if confidence < CONFIDENCE_MIN && !unjudged {
        signals.push(format!(
            "low route confidence ({}, threshold {CONFIDENCE_MIN_SHOWN})",
            hundredths(confidence)
        ));
    }
    signals
}

/// Names the markers that stand in the text and are not denied.
fn error_markers(text: &str, denials: Denials) -> Option<String> {
    let mut signal = String::new();
    for (marker, finder) in ERROR_MARKERS.iter().zip(&*MARKER_FINDERS) {
        let mut places = finder.find_iter(text.as_bytes());
        if places.any(|at| denials == Denials::Ignored || !is_denied(&text[..at])) {
            let before = if signal.is_empty() {
                "error markers in output ("
            } else {
                ", "
            };
            signal.push_str(before);
            signal.push_str(marker);
        }
    }
    (!signal.is_empty()).then(|| signal + ")")
}

/// `no`, `0`, `without` and the like just before.
fn is_denied(before: &str) -> bool {
    let Some(before) = before.strip_suffix(' ') else {
        return false;
    };
    let word = before
        .rsplit(|c: char| !c.is_alphanumeric() && c != '\'')
        .next()
        .unwrap_or("");
    matches!(
        word,
        "no" | "0" | "zero" | "without" | "any" | "not" | "never" | "nothing" | "none"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: bool) {
        assert_eq!(error_markers(text, Denials::Heeded).is_some(), expected, "{text}");
    }

    #[test]
    fn denied_errors_are_no_errors() {
        check("no errors found", false);
        check("all tests pass, 0 failed", false);
        check("it failed", true);
        check("error: x", true);
        check("3 errors", true);
    }
}
