//! Would a sub-agent that waits for a run wait for itself?
//!
//! A sub-agent waits in a tool: for a run that it started, or for what it asked one. The journal has both, so whoever wants
//! to wait looks who waits for it already. The question is written before that look, so of two that ask each other at the
//! same time at least one sees the other.

#![warn(missing_docs)]

use crate::domain::{MessageId, MessageKind, Reason, ReasonCode, RunId};
use crate::projection::{MessageFate, RunProjection};

/// So many runs are looked at; who stands behind more of them is not found.
pub const RUNS_LOOKED_AT_MAX: usize = 256;

/// A run that may wait for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// Which.
    pub run: RunId,
    /// For what.
    pub wait: Wait,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Its sub-agent started the other one.
    Started,
    /// Its sub-agent told or asked the other one something.
    Told {
        /// What.
        message: MessageId,
        /// When it was taken, in milliseconds since 1970.
        at_ms: u64,
    },
    /// It is a later step of the same chain.
    StepBefore,
}

/// Who may wait for this run, as its own steps say.
pub fn waiters_of(run: &RunProjection) -> Vec<Waiter> {
    let told = run.messages.iter().filter_map(|known| {
        let is_open = match (known.message.kind, run.fate_of(known)) {
            (_, MessageFate::Queued) | (MessageKind::Ask, MessageFate::Delivered) => true,
            (_, MessageFate::Delivered | MessageFate::Answered | MessageFate::Expired) => false,
        };
        let from = known.message.from.clone().filter(|_| is_open)?;
        let wait = Wait::Told {
            message: known.message.id.clone(),
            at_ms: known.at_ms,
        };
        Some(Waiter { run: from, wait })
    });
    let parent = parent_of(run).map(|run| Waiter {
        run,
        wait: Wait::Started,
    });
    parent.into_iter().chain(told).collect()
}

/// The run whose sub-agent started this one.
pub fn parent_of(run: &RunProjection) -> Option<RunId> {
    let place = run.accepted.as_ref()?.request.terms.tree.as_ref()?;
    Some(place.parent.clone().unwrap_or_else(|| place.root.clone()))
}

/// Whether it waits now. A sub-agent waits in a tool, which began before it asked.
pub fn waits_now(waiter: &RunProjection, waited_for: &RunProjection, wait: &Wait) -> bool {
    let mut tools = waiter
        .attempt_under_way()
        .into_iter()
        .flat_map(|attempt| attempt.tools_in_flight());
    waiter.ended.is_none()
        && match wait {
            Wait::Started => tools.next().is_some(),
            Wait::Told { at_ms, .. } => tools.any(|tool| tool.begun_at_ms <= *at_ms),
            Wait::StepBefore => is_later_step(waiter, waited_for),
        }
}

fn is_later_step(one: &RunProjection, other: &RunProjection) -> bool {
    match (step_of(one), step_of(other)) {
        (Some(one), Some(other)) => one > other,
        (None, _) | (_, None) => false,
    }
}

/// Its place in a chain.
fn step_of(run: &RunProjection) -> Option<u32> {
    let member = run.accepted.as_ref()?.request.group.as_ref()?;
    Some(member.chain.as_ref()?.step)
}

/// What a sub-agent is told that would wait for itself: `path` leads from the run that it would wait for to its own run.
pub fn wait_cycle(within: &RunId, path: &[Waiter]) -> Reason {
    let Some(target) = path.first() else {
        return refused(format!(
            "Run {within} would wait for itself: it goes on only after this command."
        ));
    };
    let waited_for = path.iter().skip(1).map(|waiter| &waiter.run).chain([within]);
    let links = path.iter().zip(waited_for).map(|(waiter, waited_for)| {
        let run = &waiter.run;
        match &waiter.wait {
            Wait::Started => format!("run {run} started run {waited_for} and waits for it"),
            Wait::Told { message, .. } => {
                format!("run {run} waits for what run {waited_for} says to {message}")
            }
            Wait::StepBefore => format!("run {run} is a later step of the chain of run {waited_for}"),
        }
    });
    let links = links.collect::<Vec<_>>().join(", and ");
    refused(format!(
        "Run {within} would wait for run {} for ever: {links}.",
        target.run
    ))
}

/// What a sub-agent is told that waits in a way that nobody else sees.
pub fn unseen_wait(within: &RunId, run: &RunId) -> Reason {
    refused(format!(
        "The sub-agent of run {within} may wait for runs that it started, and run {run} is none of them: each could wait for the other and nobody would see it."
    ))
}

/// What a sub-agent is told that speaks to its own run, or to one that waits for its answer.
pub fn speaks_upwards(within: &RunId, run: &RunId) -> Reason {
    let whose = match within == run {
        true => "its own run".to_string(),
        false => format!("run {run}, which its own was started by"),
    };
    refused(format!(
        "The sub-agent of run {within} tells something to {whose}."
    ))
}

fn refused(what: String) -> Reason {
    Reason {
        code: ReasonCode::WaitCycle,
        message: format!(
            "Wait cycle (wait_cycle). {what} Nothing was waited for. Do not try again: go on without it, and put what others should know into your answer."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptNumber, Replay, RunMessage, Step};
    use crate::projection::RecordedStep;

    const ATTEMPT: AttemptNumber = AttemptNumber(1);

    fn id(number: u64) -> RunId {
        RunId::new(number, 0)
    }

    /// Steps, a millisecond each from 1.
    fn run_of(steps: impl IntoIterator<Item = Step>) -> RunProjection {
        let steps = steps.into_iter().zip(1..);
        let steps = steps.map(|(step, sequence)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: sequence,
            step,
        });
        RunProjection::of(&steps.collect::<Vec<_>>())
    }

    fn began() -> Step {
        Step::AttemptStarted {
            attempt: ATTEMPT,
            model: "a".into(),
            runner: "pi".into(),
            session_file: None,
            resumes_session: false,
        }
    }

    fn tool_began() -> Step {
        Step::ToolStarted {
            attempt: ATTEMPT,
            call: "1".into(),
            tool: "bash".into(),
            summary: String::new(),
            arguments: None,
            replay: Replay::Unsafe,
            target: None,
        }
    }

    fn asked(kind: MessageKind, from: Option<RunId>) -> Step {
        Step::MessageAccepted {
            message: Box::new(RunMessage {
                id: MessageId::new(1),
                kind,
                text: "how far?".into(),
                by: "x".into(),
                from,
            }),
        }
    }

    fn delivered() -> Step {
        Step::MessageDelivered {
            message: MessageId::new(1),
            attempt: ATTEMPT,
        }
    }

    #[track_caller]
    fn check_waiters(steps: impl IntoIterator<Item = Step>, waiters: &[RunId]) {
        let found = waiters_of(&run_of(steps));
        assert_eq!(
            found.into_iter().map(|waiter| waiter.run).collect::<Vec<_>>(),
            waiters
        );
    }

    #[test]
    fn who_asked_waits_until_it_is_answered_and_who_told_until_it_is_delivered() {
        let from = Some(id(7));
        check_waiters([asked(MessageKind::Ask, None)], &[]);
        check_waiters([asked(MessageKind::Ask, from.clone())], &[id(7)]);
        check_waiters([asked(MessageKind::Steer, from.clone())], &[id(7)]);
        let told = |kind| [began(), asked(kind, from.clone()), delivered()];
        check_waiters(told(MessageKind::Ask), &[id(7)]);
        check_waiters(told(MessageKind::Steer), &[]);
        let answered = Step::MessageAnswered {
            message: MessageId::new(1),
            attempt: ATTEMPT,
            answer: "half way".into(),
        };
        check_waiters(told(MessageKind::Ask).into_iter().chain([answered]), &[]);
    }

    #[test]
    fn a_sub_agent_waits_in_a_tool_that_began_before_it_asked() {
        let nobody = RunProjection::default();
        let told = |at_ms| Wait::Told {
            message: MessageId::new(1),
            at_ms,
        };
        let in_a_tool = run_of([began(), tool_began()]);
        assert!(waits_now(&in_a_tool, &nobody, &told(2)));
        assert!(
            !waits_now(&in_a_tool, &nobody, &told(1)),
            "it asked in an earlier one"
        );
        assert!(waits_now(&in_a_tool, &nobody, &Wait::Started));
        assert!(!waits_now(&run_of([began()]), &nobody, &Wait::Started));
        assert!(!waits_now(&in_a_tool, &nobody, &Wait::StepBefore));
    }

    #[test]
    fn what_is_refused_says_who_waits_for_whom() {
        let path = [
            Waiter {
                run: id(2),
                wait: Wait::Started,
            },
            Waiter {
                run: id(3),
                wait: Wait::Told {
                    message: MessageId::new(1),
                    at_ms: 1,
                },
            },
        ];
        let told = wait_cycle(&id(1), &path);
        assert_eq!(told.code, ReasonCode::WaitCycle);
        let links = format!(
            "run {} started run {} and waits for it, and run {1} waits for what run {} says to m00000001",
            id(2),
            id(3),
            id(1)
        );
        assert!(told.message.contains(&links), "{}", told.message);
        assert!(wait_cycle(&id(1), &[]).message.contains("for itself"));
        assert!(speaks_upwards(&id(1), &id(1)).message.contains("its own run"));
        assert!(unseen_wait(&id(1), &id(2)).message.contains("none of them"));
    }
}
