//! Why did a sub-agent stop, in the words of the peer's format?
//!
//! Read from how the run ended, and from nothing else: a trace, the result of a group and the line under an answer say the
//! same of one run.

use crate::domain::{Reason, ReasonCode, TerminalState};
use crate::projection::RunProjection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedReason {
    Completed,
    Timeout,
    Inactivity,
    Aborted,
    Error,
}

impl StoppedReason {
    /// Of a run that ended in `state` because of `reason`.
    pub fn of(state: TerminalState, reason: Option<&Reason>) -> Self {
        match (state, reason.map(|reason| reason.code)) {
            (TerminalState::Succeeded, _) => Self::Completed,
            (TerminalState::Cancelled, _) => Self::Aborted,
            (_, Some(ReasonCode::TotalTimeout | ReasonCode::StartUpTimeout)) => Self::Timeout,
            (_, Some(ReasonCode::InactivityTimeout)) => Self::Inactivity,
            (TerminalState::Failed | TerminalState::Parked, _) => Self::Error,
        }
    }

    /// As the format writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Inactivity => "inactivity",
            Self::Aborted => "aborted",
            Self::Error => "error",
        }
    }

    /// A clock or a person stopped it before it was done.
    pub fn is_early(self) -> bool {
        match self {
            Self::Timeout | Self::Inactivity | Self::Aborted => true,
            Self::Completed | Self::Error => false,
        }
    }
}

/// Why a sub-agent that had begun was stopped before it was done.
pub fn stopped_early(run: &RunProjection) -> Option<StoppedReason> {
    let end = run.ended.as_ref().filter(|_| !run.attempts.is_empty())?;
    Some(StoppedReason::of(end.state, end.reason.as_ref())).filter(|reason| reason.is_early())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Containment, Proof, Step};
    use crate::projection::RecordedStep;

    fn check(begun: bool, state: TerminalState, code: Option<ReasonCode>, expected: Option<&str>) {
        let started = Step::AttemptStarted {
            attempt: AttemptNumber(1),
            model: "a/one".into(),
            runner: "pi".into(),
            session_file: None,
            resumes_session: false,
        };
        let reason = code.map(|code| Reason {
            code,
            message: String::new(),
        });
        let proof = Proof {
            method: Containment::InProcess,
            no_children: true,
            processes_left: 0,
        };
        let ended = Step::Ended { state, reason, proof };
        let steps = begun.then_some(started).into_iter().chain([ended]);
        let mut run = RunProjection::default();
        for (step, sequence) in steps.zip(1..) {
            run.add(&RecordedStep {
                sequence,
                generation: 1,
                at_ms: 0,
                step,
            });
        }
        assert_eq!(stopped_early(&run).map(StoppedReason::word), expected);
    }

    #[test]
    fn a_clock_and_a_person_stop_early() {
        use ReasonCode::{Cancelled, InactivityTimeout, StartUpTimeout, TotalTimeout};
        check(true, TerminalState::Failed, Some(TotalTimeout), Some("timeout"));
        check(true, TerminalState::Failed, Some(StartUpTimeout), Some("timeout"));
        check(
            true,
            TerminalState::Failed,
            Some(InactivityTimeout),
            Some("inactivity"),
        );
        check(true, TerminalState::Cancelled, Some(Cancelled), Some("aborted"));
    }

    #[test]
    fn what_ended_by_itself_or_never_began_was_not_stopped() {
        check(true, TerminalState::Succeeded, None, None);
        check(true, TerminalState::Failed, Some(ReasonCode::Refused), None);
        check(true, TerminalState::Parked, Some(ReasonCode::HostGone), None);
        check(false, TerminalState::Cancelled, Some(ReasonCode::Cancelled), None);
    }
}
