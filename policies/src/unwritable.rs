//! How long does a run wait for a journal that cannot be written, and as what does it end when that is too long?
//!
//! A full disk is often full for seconds, so a run waits as long as its clocks let it. What cannot pass by itself is not
//! waited for, and neither is anything once somebody wants the run to stop.

use crate::domain::{Reason, ReasonCode, TerminalState};
use crate::next_action::settled_end;
use crate::projection::RunProjection;
use std::time::Duration;

/// The first pause between two tries; the next ones double.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// No pause is longer, so that a run goes on soon after there is room again.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// So long is waited when the run has nothing to lose by ending here: somebody stops it, or its end is on disk already.
const PATIENCE: Duration = Duration::from_secs(2);
/// What rarely passes by itself may be a file that somebody puts back at once.
const LASTING_PATIENCE: Duration = Duration::from_secs(5);

/// What stands in the way of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteFailure {
    /// It may pass: no room, read-only, locked by another process.
    Passing,
    /// It hardly passes by itself: the file is gone, or damaged.
    Lasting,
    /// The run is driven by another runtime now.
    NotOurs,
    /// This step cannot be kept; others can.
    StepRefused,
    /// What stands in the journal is not what the run takes to stand there.
    OutOfStep,
}

/// What is seen of a write that does not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnwritableFacts {
    /// What stands in its way.
    pub failure: WriteFailure,
    /// How often it has failed, this time included.
    pub failures: u32,
    /// Since when, the first time included.
    pub failed_for: Duration,
    /// How long the run may take in all.
    pub total: Duration,
    /// A clock of the run has run out.
    pub clock_over: bool,
    /// Somebody cancelled the run, or it has to be parked.
    pub has_to_stop: bool,
    /// The terminal state is on disk; only what became of the result is not.
    pub has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnwritableDecision {
    /// The same write again after this pause.
    TryAgain { after: Duration },
    /// The run ends here without a terminal state on disk.
    GiveUp,
    /// Another runtime drives the run: not one more word of it here.
    LetGo,
    /// Whoever sent the step hears that it is refused, and the run goes on without it.
    Refuse,
    /// Read what stands in the journal and begin again from there.
    StartOver,
}

/// Decides what becomes of a write that does not succeed.
pub fn decide_unwritable(facts: &UnwritableFacts) -> UnwritableDecision {
    let patience = match facts.failure {
        WriteFailure::NotOurs => return UnwritableDecision::LetGo,
        WriteFailure::StepRefused => return UnwritableDecision::Refuse,
        WriteFailure::OutOfStep => return UnwritableDecision::StartOver,
        WriteFailure::Lasting => LASTING_PATIENCE,
        WriteFailure::Passing if facts.has_ended || facts.has_to_stop => PATIENCE,
        WriteFailure::Passing => facts.total,
    };
    if facts.clock_over || facts.failed_for >= patience {
        return UnwritableDecision::GiveUp;
    }
    UnwritableDecision::TryAgain {
        after: pause_after(facts.failures),
    }
}

fn pause_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    PAUSE_FIRST.saturating_mul(1 << doublings).min(PAUSE_MAX)
}

/// An ending that was told and does not stand in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldEnding {
    pub state: TerminalState,
    /// Why, when it did not succeed.
    pub reason: Option<Reason>,
}

/// Says as what a run ends whose journal could not be written, from what stands in it: whoever settles it later comes to
/// the same.
pub fn told_ending(run: &RunProjection, reason: Reason) -> ToldEnding {
    let (state, reason) = settled_end(run).unwrap_or((TerminalState::Parked, Some(reason)));
    ToldEnding { state, reason }
}

/// Why a run ends without a journal; `why` is the journal's word, `stopped_by` who wanted it to stop.
pub fn unwritable_reason(why: &str, failed_for: Duration, stopped_by: Option<&str>) -> Reason {
    let seconds = failed_for.as_secs().max(1);
    let stopped = stopped_by
        .map(|by| format!(" It was asked to stop by {by}."))
        .unwrap_or_default();
    Reason {
        code: ReasonCode::JournalUnwritable,
        message: format!(
            "The journal could not be written for {seconds} s ({why}), so the run was stopped where it was.{stopped} \
             It is parked, and can be resumed once the journal can be written."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Step};
    use crate::projection::RecordedStep;

    const FIRST: UnwritableFacts = UnwritableFacts {
        failure: WriteFailure::Passing,
        failures: 1,
        failed_for: Duration::ZERO,
        total: Duration::from_secs(300),
        clock_over: false,
        has_to_stop: false,
        has_ended: false,
    };

    fn after(milliseconds: u64) -> UnwritableDecision {
        UnwritableDecision::TryAgain {
            after: Duration::from_millis(milliseconds),
        }
    }

    fn check(facts: UnwritableFacts, expected: UnwritableDecision) {
        assert_eq!(decide_unwritable(&facts), expected, "{facts:?}");
    }

    #[test]
    fn a_disk_that_is_full_for_seconds_is_waited_for() {
        let times = [(1, 50), (2, 100), (3, 200), (5, 800), (6, 1000), (1_000, 1000)];
        for (failures, milliseconds) in times {
            let failed_for = Duration::from_secs(12);
            check(
                UnwritableFacts {
                    failures,
                    failed_for,
                    ..FIRST
                },
                after(milliseconds),
            );
        }
    }

    #[test]
    fn no_run_waits_longer_than_its_clocks() {
        check(
            UnwritableFacts {
                clock_over: true,
                ..FIRST
            },
            UnwritableDecision::GiveUp,
        );
        check(
            UnwritableFacts {
                failed_for: FIRST.total,
                ..FIRST
            },
            UnwritableDecision::GiveUp,
        );
    }

    #[test]
    fn whoever_stops_a_run_waits_two_seconds_at_most() {
        for (has_to_stop, has_ended) in [(true, false), (false, true)] {
            let stopped = UnwritableFacts {
                has_to_stop,
                has_ended,
                ..FIRST
            };
            check(stopped, after(50));
            let failed_for = Duration::from_secs(2);
            check(
                UnwritableFacts {
                    failed_for,
                    ..stopped
                },
                UnwritableDecision::GiveUp,
            );
        }
    }

    #[test]
    fn a_file_that_is_gone_is_not_waited_for() {
        let gone = UnwritableFacts {
            failure: WriteFailure::Lasting,
            ..FIRST
        };
        check(gone, after(50));
        let failed_for = Duration::from_secs(5);
        check(UnwritableFacts { failed_for, ..gone }, UnwritableDecision::GiveUp);
    }

    #[test]
    fn what_is_refused_is_not_tried_again() {
        for (failure, decision) in [
            (WriteFailure::NotOurs, UnwritableDecision::LetGo),
            (WriteFailure::StepRefused, UnwritableDecision::Refuse),
            (WriteFailure::OutOfStep, UnwritableDecision::StartOver),
        ] {
            check(UnwritableFacts { failure, ..FIRST }, decision);
        }
    }

    #[test]
    fn what_is_told_is_what_is_settled_later() {
        let reason = unwritable_reason("the disk is full", Duration::from_secs(3), None);
        let told = |steps: Vec<Step>| {
            let recorded = (1..).zip(steps).map(|(sequence, step)| RecordedStep {
                sequence,
                generation: 1,
                at_ms: 0,
                step,
            });
            told_ending(&RunProjection::of(&recorded.collect::<Vec<_>>()), reason.clone()).state
        };
        let cancelled = Step::CancelRequested { by: "me".into() };
        let answered = Step::Answered {
            answer: "42".into(),
            flags: Vec::new(),
        };
        let active = Step::AttemptActive {
            attempt: AttemptNumber(1),
        };
        assert_eq!(told(vec![active]), TerminalState::Parked);
        assert_eq!(told(vec![cancelled.clone()]), TerminalState::Cancelled);
        assert_eq!(told(vec![cancelled, answered]), TerminalState::Succeeded);
    }

    #[test]
    fn the_reason_names_the_cause_and_who_did_not_wait() {
        let reason = unwritable_reason("the disk is full", Duration::from_millis(200), Some("the user"));
        assert_eq!(reason.code, ReasonCode::JournalUnwritable);
        assert!(reason.message.contains("for 1 s (the disk is full)"));
        assert!(reason.message.contains("asked to stop by the user"));
    }
}
