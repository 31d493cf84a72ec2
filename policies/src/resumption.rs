//! Can a person go on with this run, and what has to be done first?

use crate::domain::{Reason, ReasonCode, RunId, RunState, TerminalState};
use crate::projection::{RunProjection, ToolFate};

/// What is seen of a run that somebody wants to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumptionFacts {
    pub run: RunId,
    pub state: RunState,
    pub driver: Driver,
    /// The newest run that goes on with it already, or with one that did, where there is one.
    pub successor: Option<Successor>,
}

/// A run that names another one as the one it goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    pub run: RunId,
    pub state: RunState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// A runtime that lives: its lock is held.
    Alive,
    /// A runtime that is dead: its lock is free.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumptionDecision {
    /// A new run goes on with it.
    GoOn,
    /// It is taken over from its dead runtime and parked; then a new run goes on with it.
    TakeOver,
    /// Nobody can go on with it.
    Refuse(Reason),
}

/// Decides whether a person can go on with a run. One that failed or was cancelled has a nested session too, and who names
/// it knows that what stopped it is over.
pub fn decide_resumption(facts: &ResumptionFacts) -> ResumptionDecision {
    let run = &facts.run;
    match (facts.state, facts.driver) {
        (RunState::Parked | RunState::Failed | RunState::Cancelled, _) => match &facts.successor {
            Some(successor) => after_successor(run, successor),
            None => ResumptionDecision::GoOn,
        },
        (RunState::Succeeded, _) => refuse(format!(
            "Run {run} has succeeded: there is nothing to go on with."
        )),
        (_, Driver::Dead) => ResumptionDecision::TakeOver,
        (_, Driver::Alive) => refuse(format!(
            "Run {run} is {}, and the process that drives it lives. Wait for it, or cancel it first.",
            facts.state.word()
        )),
    }
}

/// Work that goes on in one place must not go on in a second one; what came to nothing there may be tried again here.
fn after_successor(run: &RunId, successor: &Successor) -> ResumptionDecision {
    let Successor { run: next, state } = successor;
    match state {
        RunState::Failed | RunState::Cancelled => ResumptionDecision::GoOn,
        RunState::Succeeded => refuse(format!(
            "Run {next} went on with {run} already and has succeeded."
        )),
        RunState::Parked => refuse(format!(
            "Run {next} went on with {run} already and is parked itself: go on with that one."
        )),
        RunState::Accepted
        | RunState::Briefed
        | RunState::Admitted
        | RunState::Running
        | RunState::Answered => refuse(format!("Run {next} goes on with {run} already and is under way.")),
    }
}

/// Looks at what a run did before a new one begins in its nested session. Without the session what was done would be
/// done again.
pub fn refuse_without_session(run: &RunId, parked: &RunProjection, has_session: bool) -> Option<Reason> {
    let tools = parked.attempts.iter().flat_map(|attempt| &attempt.tools);
    let did_something = tools
        .map(|tool| &tool.fate)
        .any(|fate| !matches!(fate, ToolFate::InFlight));
    let message = format!(
        "The nested session of run {run} is gone, so what its sub-agent did would be done a second time. Look at the \
         workspace and start it anew."
    );
    (did_something && !has_session).then_some(Reason {
        code: ReasonCode::NotResumable,
        message,
    })
}

fn refuse(message: String) -> ResumptionDecision {
    ResumptionDecision::Refuse(Reason {
        code: ReasonCode::NotResumable,
        message,
    })
}

/// Where a person reads what became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    CommandLine,
    Pi,
}

/// Says how to go on with a run that ended; none where there is nothing to go on with. Reasons in the journal are read
/// in several places, so they leave this to the place.
pub fn advise(run: &RunId, state: TerminalState, why: Option<ReasonCode>, reader: Reader) -> Option<String> {
    let is_worth_it = match state {
        TerminalState::Parked => true,
        TerminalState::Failed => why.is_some_and(may_pass),
        TerminalState::Succeeded | TerminalState::Cancelled => false,
    };
    is_worth_it.then(|| match reader {
        Reader::CommandLine => format!("`impresario runs resume {run}` goes on with it."),
        Reader::Pi => format!("/skill:resume {run} goes on with it."),
    })
}

/// What stopped the run was not the task, so it may be gone when a person tries again.
fn may_pass(why: ReasonCode) -> bool {
    matches!(
        why,
        ReasonCode::Unavailable
            | ReasonCode::RateLimited
            | ReasonCode::Authentication
            | ReasonCode::StartUpTimeout
            | ReasonCode::InactivityTimeout
            | ReasonCode::TotalTimeout
            | ReasonCode::ProtocolError
            | ReasonCode::Crashed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Replay, Step};
    use crate::projection::RecordedStep;

    const STATES: [RunState; 9] = [
        RunState::Accepted,
        RunState::Briefed,
        RunState::Admitted,
        RunState::Running,
        RunState::Answered,
        RunState::Succeeded,
        RunState::Failed,
        RunState::Cancelled,
        RunState::Parked,
    ];

    fn id(chance: u64) -> RunId {
        RunId::new(1_700_000_000_000, chance)
    }

    fn decide(state: RunState, driver: Driver, successor: Option<RunState>) -> ResumptionDecision {
        let successor = successor.map(|state| Successor { run: id(2), state });
        decide_resumption(&ResumptionFacts {
            run: id(1),
            state,
            driver,
            successor,
        })
    }

    fn is_refused(decision: &ResumptionDecision) -> bool {
        matches!(decision, ResumptionDecision::Refuse(_))
    }

    #[test]
    fn what_ended_without_success_can_be_gone_on_with_whoever_drove_it() {
        for driver in [Driver::Alive, Driver::Dead] {
            for ended in [RunState::Parked, RunState::Failed, RunState::Cancelled] {
                assert_eq!(decide(ended, driver, None), ResumptionDecision::GoOn, "{ended:?}");
            }
            assert!(is_refused(&decide(RunState::Succeeded, driver, None)));
        }
    }

    #[test]
    fn what_is_under_way_is_taken_from_the_dead_only() {
        for state in STATES.into_iter().filter(|state| *state < RunState::Succeeded) {
            assert_eq!(decide(state, Driver::Dead, None), ResumptionDecision::TakeOver);
            assert!(is_refused(&decide(state, Driver::Alive, None)));
        }
    }

    #[test]
    fn one_run_goes_on_with_another_at_a_time_and_a_failed_one_does_not_count() {
        for successor in STATES {
            let again = matches!(successor, RunState::Failed | RunState::Cancelled);
            let decision = decide(RunState::Parked, Driver::Alive, Some(successor));
            assert_eq!(decision == ResumptionDecision::GoOn, again, "{successor:?}");
        }
    }

    #[test]
    fn every_refusal_and_every_advice_names_a_run() {
        let ResumptionDecision::Refuse(reason) =
            decide(RunState::Parked, Driver::Alive, Some(RunState::Parked))
        else {
            panic!("not refused")
        };
        assert!(reason.message.contains(id(2).as_str()), "{}", reason.message);
        for reader in [Reader::CommandLine, Reader::Pi] {
            let advice = advise(&id(1), TerminalState::Parked, None, reader).expect("an advice");
            assert!(advice.contains(id(1).as_str()), "{advice}");
            let failed = |why| advise(&id(1), TerminalState::Failed, Some(why), reader);
            assert_eq!(failed(ReasonCode::Unavailable), Some(advice));
            assert_eq!(failed(ReasonCode::Refused), None);
        }
    }

    #[test]
    fn what_was_done_is_not_done_again_without_its_session() {
        let attempt = AttemptNumber(1);
        let steps = [
            Step::AttemptStarted {
                attempt,
                model: "a/one".into(),
                runner: "pi".into(),
                session_file: None,
                resumes_session: false,
            },
            Step::ToolStarted {
                attempt,
                call: "c1".into(),
                tool: "edit".into(),
                summary: "src/lock.rs".into(),
                arguments: None,
                replay: Replay::Unsafe,
                target: None,
            },
            Step::ToolEnded {
                attempt,
                call: "c1".into(),
                is_error: false,
                bytes: 0,
                preview: String::new(),
                overflow: None,
                evidence: None,
            },
        ];
        let recorded = steps.into_iter().zip(1..).map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step,
        });
        let worked = RunProjection::of(&recorded.collect::<Vec<_>>());
        assert!(refuse_without_session(&id(1), &worked, false).is_some());
        assert_eq!(refuse_without_session(&id(1), &worked, true), None);
        assert_eq!(
            refuse_without_session(&id(1), &RunProjection::default(), false),
            None
        );
    }
}
