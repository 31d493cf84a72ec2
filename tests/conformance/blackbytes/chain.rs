//! Chains: what a step is told, and how much time it has.

use super::{optional, text};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::chain::{
    EarlierEnd, EarlierMember, StepDecision, StepFacts, decide_step, share_of_time,
};
use impresario_policies::domain::{
    ChainPlace, GroupId, GroupMember, OnFailure, RunState, Subtask, TerminalState,
};
use impresario_policies::parallel::WorkerResult;
use serde_json::json;
use std::time::Duration;

/// Nothing on record is cut short by the chain's own clock.
const LONG: Duration = Duration::from_secs(3_600);

pub fn chain_budget(case: &Case) -> Answer {
    // Less than nothing is nothing, of time and of steps.
    let left = Duration::from_secs_f64(case.number("remaining_ms").max(0.0) / 1_000.0);
    let steps = case.number("remaining_steps").max(0.0) as u32;
    Answer::value(json!(share_of_time(left, steps).as_millis() as u64))
}

pub fn chain_prompt(case: &Case) -> Answer {
    let (step, prior) = (case.get("step"), case.get("prior"));
    let earlier = match prior {
        Json::Null => Vec::new(),
        prior => vec![earlier(prior)],
    };
    let place = ChainPlace {
        step: earlier.len() as u32,
        steps: 2,
        on_failure: OnFailure::Collect,
        own_time: false,
        context: optional(step, "context"),
    };
    let member = GroupMember {
        group: GroupId::new(1, 1),
        place: place.step,
        members: 2,
        concurrency: 1,
        total: LONG,
        subtask: Subtask::new("this", text(step, "question")),
        answer_units_max: None,
        chain: Some(place.clone()),
    };
    match decide_step(&member, &place, &StepFacts { earlier, left: LONG }) {
        StepDecision::Begin { prompt } => Answer::value(json!(prompt)),
        other => Answer::value(json!(format!("{other:?}"))),
    }
}

fn earlier(prior: &Json) -> EarlierMember {
    let succeeded = prior.get("success") == Some(&Json::Bool(true));
    let state = match succeeded {
        true => TerminalState::Succeeded,
        false => TerminalState::Failed,
    };
    let kind = optional(prior, "failureKind").unwrap_or_else(|| "failed".into());
    EarlierMember {
        step: 0,
        id: text(prior, "agent"),
        state: RunState::from(state),
        ended: Some(EarlierEnd {
            state,
            reason: None,
            worker: WorkerResult {
                id: text(prior, "agent"),
                goal: String::new(),
                text: text(prior, "content"),
                truncated: false,
                stopped_reason: kind,
                error: optional(prior, "details").filter(|_| !succeeded),
            },
        }),
    }
}
