//! Must the user be told that a skill has stopped working?

use crate::domain::{DegradationSettings, TraceOutcome, TraceVerdict};
use crate::trace_classify::looks_complete;
use crate::trace_file::Trace;
use crate::trace_text::count_signals;
use crate::utc_date::utc_text;

const HOUR_MS: f64 = 3_600_000.0;

/// What is known of a skill, the run that just ended left out of the history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DegradationFacts<'a> {
    /// The run that just ended.
    pub current: &'a TraceVerdict,
    /// The runs before it, newest first.
    pub history: &'a [Trace],
    /// What was said of them, where somebody did.
    pub verdicts: Option<&'a [TraceVerdict]>,
    /// When the user was last told, in ms since 1970; kept through restarts.
    pub last_alert_ms: Option<f64>,
    pub now_ms: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DegradationAlert {
    /// How many runs in a row went wrong.
    pub failures: usize,
    /// By what, the most frequent first.
    pub signals: Vec<(String, usize)>,
    /// When a run last ended by itself with an answer, in ms since 1970.
    pub last_success_ms: Option<f64>,
}

/// Decides whether to warn. Who warns keeps the time and gives it back as `last_alert_ms`.
pub fn decide_alert(
    facts: &DegradationFacts<'_>,
    settings: &DegradationSettings,
) -> Option<DegradationAlert> {
    if !settings.enabled || facts.current.outcome == TraceOutcome::Success {
        return None;
    }
    let first_success = match facts.verdicts {
        Some(verdicts) => verdicts
            .iter()
            .position(|verdict| verdict.outcome == TraceOutcome::Success)?,
        None => facts.history.iter().position(looks_complete)?,
    };
    let failures = first_success + 1;
    if failures < settings.consecutive_failures {
        return None;
    }
    let cooling = |last: f64| facts.now_ms - last < settings.cooldown_hours * HOUR_MS;
    if facts.last_alert_ms.is_some_and(cooling) {
        return None;
    }
    let known = facts.verdicts.unwrap_or_default().iter().take(first_success);
    let signals = count_signals(std::iter::once(facts.current).chain(known));
    Some(DegradationAlert {
        failures,
        signals: signals
            .into_iter()
            .map(|(signal, count)| (signal.to_string(), count))
            .collect(),
        last_success_ms: facts
            .history
            .iter()
            .find(|trace| looks_complete(trace))
            .map(|trace| trace.timestamp),
    })
}

impl DegradationAlert {
    /// The lines the user sees.
    pub fn lines(&self, skill: &str) -> Vec<String> {
        let failures = self.failures;
        let mut lines = vec![format!(
            "⚠️ Degradation detected: skill \"{skill}\" has failed {failures} consecutive times."
        )];
        if !self.signals.is_empty() {
            let shown: Vec<String> = self
                .signals
                .iter()
                .map(|(signal, count)| format!("{signal} ({count}x)"))
                .collect();
            lines.push(format!("   Signals: {}.", shown.join(", ")));
        }
        if let Some(when) = self.last_success_ms {
            lines.push(format!("   Last successful run: {}.", utc_text(when)));
        }
        lines
    }
}
