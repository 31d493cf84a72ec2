//! Was a sub-agent stopped before it was done, and by what?

use crate::domain::{ReasonCode, TerminalState};
use crate::projection::RunProjection;

/// The word of the peer: `timeout`, `inactivity`, `aborted`; none for a run that ended by itself or never began.
pub fn stopped_early(run: &RunProjection) -> Option<&'static str> {
    let end = run.ended.as_ref().filter(|_| !run.attempts.is_empty())?;
    let code = end.reason.as_ref().map(|reason| reason.code);
    match (end.state, code) {
        (TerminalState::Succeeded, _) => None,
        (TerminalState::Cancelled, _) => Some("aborted"),
        (_, Some(ReasonCode::TotalTimeout | ReasonCode::StartUpTimeout)) => Some("timeout"),
        (_, Some(ReasonCode::InactivityTimeout)) => Some("inactivity"),
        (TerminalState::Failed | TerminalState::Parked, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Containment, Proof, Reason, Step};
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
        assert_eq!(stopped_early(&run), expected);
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
