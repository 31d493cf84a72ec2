//! Where does a session's router stand, and what may come next?

use serde::{Deserialize, Serialize};

/// The phases of one skill in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouterPhase {
    /// Nothing in flight.
    #[default]
    Idle,
    /// Actor and judge are at work.
    Evaluating,
    /// The user was asked.
    WaitingForUser,
    /// The user answered.
    Resuming,
    /// The sub-agent runs.
    Executing,
}

impl RouterPhase {
    /// A skill is in flight.
    pub fn is_busy(self) -> bool {
        self != Self::Idle
    }

    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Evaluating => "evaluating",
            Self::WaitingForUser => "waitingForUser",
            Self::Resuming => "resuming",
            Self::Executing => "executing",
        }
    }
}

/// What happens to a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterEvent {
    /// A skill begins.
    BeginEvaluation,
    /// The user is asked.
    BeginWaitForUser,
    /// The user answered.
    ConsumeUserAnswer,
    /// The sub-agent starts.
    BeginExecution,
    /// The question is withdrawn.
    RejectPending,
    /// Whatever was in flight is over.
    Reset,
}

/// Why an event does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// One skill at a time.
    #[error("Router busy (phase={})", .0.word())]
    Busy(RouterPhase),
    /// Nobody is evaluating.
    #[error("Cannot wait for user from phase={}", .0.word())]
    CannotWait(RouterPhase),
    /// Nobody asked.
    #[error("No pending Q&A to consume")]
    NoQuestion,
    /// Nothing to execute.
    #[error("Cannot execute from phase={}", .0.word())]
    CannotExecute(RouterPhase),
}

/// Decides the next phase. A question is pending exactly while the router waits for the user.
pub fn decide_phase(phase: RouterPhase, event: RouterEvent) -> Result<RouterPhase, PhaseError> {
    use RouterPhase::{Evaluating, Executing, Idle, Resuming, WaitingForUser};
    match (event, phase) {
        (RouterEvent::BeginEvaluation, Idle) => Ok(Evaluating),
        (RouterEvent::BeginEvaluation, busy) => Err(PhaseError::Busy(busy)),
        (RouterEvent::BeginWaitForUser, Evaluating) => Ok(WaitingForUser),
        (RouterEvent::BeginWaitForUser, other) => Err(PhaseError::CannotWait(other)),
        (RouterEvent::ConsumeUserAnswer, WaitingForUser) => Ok(Resuming),
        (RouterEvent::ConsumeUserAnswer, Idle | Evaluating | Resuming | Executing) => {
            Err(PhaseError::NoQuestion)
        }
        (RouterEvent::BeginExecution, Evaluating | WaitingForUser | Resuming) => Ok(Executing),
        (RouterEvent::BeginExecution, other @ (Idle | Executing)) => Err(PhaseError::CannotExecute(other)),
        (RouterEvent::RejectPending, WaitingForUser) => Ok(Idle),
        (RouterEvent::RejectPending, other) => Ok(other),
        (RouterEvent::Reset, _) => Ok(Idle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_again_only_by_a_new_evaluation() {
        let waiting = RouterPhase::WaitingForUser;
        assert_eq!(
            decide_phase(waiting, RouterEvent::ConsumeUserAnswer),
            Ok(RouterPhase::Resuming)
        );
        assert_eq!(
            decide_phase(RouterPhase::Resuming, RouterEvent::BeginEvaluation),
            Err(PhaseError::Busy(RouterPhase::Resuming))
        );
    }
}
