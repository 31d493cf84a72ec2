//! Did a skill that used to work stop working?

use crate::domain::{TraceOutcome, TraceVerdict};
use crate::trace_classify::looks_complete;
use crate::trace_file::Trace;

/// So many runs in a row must have gone wrong.
const FAILURES_MIN: usize = 3;

/// Raises a likely failure to a likely regression where the history shows one, newest first.
pub fn detect_regression(
    verdict: TraceVerdict,
    current: &Trace,
    history: &[Trace],
    window: usize,
) -> TraceVerdict {
    if verdict.outcome != TraceOutcome::LikelyFailure {
        return verdict;
    }
    let seen = &history[..window.min(history.len())];
    let worked_before = seen.iter().any(looks_complete);
    let failures = std::iter::once(current)
        .chain(seen)
        .take_while(|trace| !looks_complete(trace))
        .count();
    if !worked_before || failures < FAILURES_MIN {
        return verdict;
    }
    let mut signals = verdict.signals;
    signals.push(format!(
        "regression — {failures} consecutive failures after previous success"
    ));
    TraceVerdict {
        outcome: TraceOutcome::LikelyRegression,
        signals,
        confidence: (verdict.confidence + 0.1).min(1.0),
    }
}
