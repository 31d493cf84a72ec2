//! What is made of a run once it is over?

use crate::degradation::{DegradationAlert, DegradationFacts, decide_alert};
use crate::domain::{ObservationSettings, TraceVerdict};
use crate::trace_classify::classify_trace;
use crate::trace_file::Trace;
use crate::trace_regression::detect_regression;
use crate::trace_report::{judge_traces, mini_report};

/// The run that is over, and what there was before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservationFacts<'a> {
    pub current: &'a Trace,
    /// All traces of the skill that were found, newest first; the run's own may be among them.
    pub found: &'a [Trace],
    /// Somebody is there to read a warning.
    pub person_is_there: bool,
    /// When the person was last told, in ms since 1970; kept through restarts.
    pub last_alert_ms: Option<f64>,
    pub now_ms: f64,
}

/// What is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// How the run seems to have ended.
    pub verdict: TraceVerdict,
    /// What the person is told when the skill has stopped working.
    pub alert: Option<DegradationAlert>,
    /// The short report, where it is wanted.
    pub report: Option<String>,
}

/// Classifies a run that is over, and decides what the person is told. None when observability is off.
pub fn observe_run(facts: &ObservationFacts<'_>, settings: &ObservationSettings) -> Option<Observation> {
    if !settings.enabled {
        return None;
    }
    let current = facts.current;
    let history = facts.found.iter().filter(|trace| is_before(trace, current));
    let history = history.cloned().collect::<Vec<_>>();
    let window = settings.regression_window;
    let verdict = detect_regression(classify_trace(current), current, &history, window);
    let of_the_skill = history.iter().filter(|trace| !was_cancelled(trace));
    let of_the_skill = of_the_skill.cloned().collect::<Vec<_>>();
    let verdicts = judge_traces(&of_the_skill, of_the_skill.len(), window);
    let degradation = DegradationFacts {
        current: &verdict,
        history: &of_the_skill,
        verdicts: Some(&verdicts),
        last_alert_ms: facts.last_alert_ms,
        now_ms: facts.now_ms,
    };
    let alert = decide_alert(&degradation, &settings.degradation)
        .filter(|_| facts.person_is_there && !was_cancelled(current));
    let report = settings.report_after_run.then(|| {
        let newest = std::iter::once(current.clone()).chain(history.iter().cloned());
        mini_report(&current.skill_name, &newest.collect::<Vec<_>>(), window)
    });
    Some(Observation {
        verdict,
        alert,
        report,
    })
}

/// Somebody stopped it, which says nothing of how the skill works.
fn was_cancelled(trace: &Trace) -> bool {
    trace.stopped_reason == "aborted"
}

/// The run itself counts once, and what came after it is none of its history.
fn is_before(trace: &Trace, current: &Trace) -> bool {
    let run = |trace: &Trace| trace.ours.as_ref().map(|ours| ours.run_id.clone());
    let is_itself = match (run(trace), run(current)) {
        (Some(of_trace), Some(of_current)) => of_trace == of_current,
        (None, _) | (_, None) => trace == current,
    };
    !is_itself && trace.timestamp <= current.timestamp
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DegradationSettings, TraceOutcome};
    use crate::trace_file::TraceExtras;

    const SETTINGS: ObservationSettings = ObservationSettings {
        enabled: true,
        report_after_run: true,
        degradation: DegradationSettings {
            enabled: true,
            consecutive_failures: 3,
            cooldown_hours: 24.0,
        },
        regression_window: 10,
        traces_max: 20,
    };

    /// The runs of a skill, the oldest first: `+` went well, `-` did not, `x` was cancelled.
    fn history(runs: &str) -> Vec<Trace> {
        let trace = |(at, run): (usize, char)| Trace {
            skill_name: "demo".into(),
            timestamp: at as f64,
            model: "m".into(),
            brief: Default::default(),
            route: Default::default(),
            tool_calls: Vec::new(),
            final_text: if run == '+' { "done".into() } else { String::new() },
            stopped_reason: match run {
                '+' => "completed".into(),
                'x' => "aborted".into(),
                _ => "timeout".into(),
            },
            ours: Some(TraceExtras {
                run_id: format!("r{at}"),
                ..TraceExtras::default()
            }),
        };
        runs.chars().enumerate().map(trace).collect()
    }

    /// Observes the run at `at`, with all of them on disk.
    fn observed(runs: &str, at: usize, settings: &ObservationSettings) -> Option<Observation> {
        let mut found = history(runs);
        let current = found[at].clone();
        found.reverse();
        let facts = ObservationFacts {
            current: &current,
            found: &found,
            person_is_there: true,
            last_alert_ms: None,
            now_ms: 1e9,
        };
        observe_run(&facts, settings)
    }

    fn check_alert(runs: &str, expected: Option<usize>) {
        let seen = observed(runs, runs.len() - 1, &SETTINGS);
        let failures = seen.and_then(|seen| seen.alert).map(|alert| alert.failures);
        assert_eq!(failures, expected, "{runs}");
    }

    #[test]
    fn the_run_that_just_ended_counts_once() {
        check_alert("+--", None);
        check_alert("+---", Some(3));
        check_alert("+----", Some(4));
    }

    #[test]
    fn what_a_person_cancelled_says_nothing_of_the_skill() {
        check_alert("+xxx", None);
        check_alert("+--x", None);
        check_alert("+-x-", None);
        check_alert("+-x--", Some(3));
    }

    #[test]
    fn a_skill_that_never_worked_has_not_stopped_working() {
        check_alert("-----", None);
    }

    #[test]
    fn what_came_later_is_no_history() {
        let seen = observed("+-+", 1, &SETTINGS).expect("an observation");
        assert_eq!(seen.verdict.outcome, TraceOutcome::LikelyFailure);
        assert_eq!(seen.report.map(|report| report.lines().count()), Some(3));
    }

    #[test]
    fn a_failure_after_failures_after_a_success_is_a_regression() {
        let seen = observed("+---", 3, &SETTINGS).expect("an observation");
        assert_eq!(seen.verdict.outcome, TraceOutcome::LikelyRegression);
    }

    #[test]
    fn nobody_is_warned_where_nobody_is() {
        let found = history("+---");
        let facts = ObservationFacts {
            current: &found[3],
            found: &found,
            person_is_there: false,
            last_alert_ms: None,
            now_ms: 1e9,
        };
        assert_eq!(observe_run(&facts, &SETTINGS).and_then(|seen| seen.alert), None);
    }

    #[test]
    fn where_observability_is_off_nothing_is_said() {
        let off = ObservationSettings {
            enabled: false,
            ..SETTINGS
        };
        assert_eq!(observed("+---", 3, &off), None);
    }
}
