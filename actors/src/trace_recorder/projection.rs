//! From the steps of a run to its trace.

use crate::messages::run::WriteTrace;
use impresario_policies::compat::Json;
use impresario_policies::domain::{AttemptEnding, RunId, Step, TerminalState, WhatToRun};
use impresario_policies::projection::{RecordedStep, RunProjection};
use impresario_policies::trace_file::{Trace, TraceCall, TraceExtras};

/// The trace of a run that ends like this.
pub(super) fn trace_of(
    run: &RunId,
    steps: &[RecordedStep],
    so_far: &RunProjection,
    end: &WriteTrace,
) -> Trace {
    let accepted = so_far.accepted.as_ref();
    let what = accepted.map(|accepted| match &accepted.request.what {
        WhatToRun::Agent(name) | WhatToRun::Skill(name) => name.clone(),
    });
    let started_at = accepted.map_or(0, |accepted| accepted.at_ms) as f64;
    let last = so_far.latest_attempt();
    let last_words = || last?.ended.as_ref()?.partial.clone();
    Trace {
        skill_name: what.unwrap_or_default(),
        timestamp: started_at,
        model: last.map(|attempt| attempt.model.clone()).unwrap_or_default(),
        brief: so_far.brief.clone().unwrap_or_default(),
        route: so_far
            .verdict
            .as_ref()
            .map(|verdict| verdict.execution_route.clone())
            .unwrap_or_default(),
        tool_calls: calls_of(steps),
        final_text: so_far.answer.clone().or_else(last_words).unwrap_or_default(),
        stopped_reason: stopped_reason(so_far, end).to_string(),
        ours: Some(TraceExtras {
            run_id: run.to_string(),
            started_at,
            state: state_in_words(end.state).to_string(),
            reason: end.reason.as_ref().map(|reason| reason.message.clone()),
            attempts: so_far.attempts.len() as u32,
        }),
    }
}

/// The words of the format: `completed`, `timeout`, `inactivity`, `aborted`, `error`.
fn stopped_reason(so_far: &RunProjection, end: &WriteTrace) -> &'static str {
    let last = so_far.latest_attempt().and_then(|attempt| attempt.ended.as_ref());
    match (end.state, last.map(|last| last.ending)) {
        (TerminalState::Succeeded, _) => "completed",
        (TerminalState::Cancelled, _) => "aborted",
        (_, Some(AttemptEnding::Deadline | AttemptEnding::StartUpSilence)) => "timeout",
        (_, Some(AttemptEnding::Inactivity)) => "inactivity",
        (TerminalState::Failed | TerminalState::Parked, _) => "error",
    }
}

fn state_in_words(state: TerminalState) -> &'static str {
    match state {
        TerminalState::Succeeded => "succeeded",
        TerminalState::Failed => "failed",
        TerminalState::Cancelled => "cancelled",
        TerminalState::Parked => "parked",
    }
}

/// The tool calls that ended, in the order in which they did.
fn calls_of(steps: &[RecordedStep]) -> Vec<TraceCall> {
    let mut begun = std::collections::BTreeMap::new();
    let mut calls = Vec::new();
    for recorded in steps {
        match &recorded.step {
            Step::ToolStarted {
                attempt,
                call,
                tool,
                summary,
                ..
            } => {
                begun.insert((*attempt, call.as_str()), (tool, summary));
            }
            Step::ToolEnded {
                attempt,
                call,
                preview,
                overflow,
                ..
            } => {
                let Some((tool, summary)) = begun.get(&(*attempt, call.as_str())) else {
                    continue;
                };
                calls.push(TraceCall {
                    index: calls.len() as f64,
                    server_name: "impresario".to_string(),
                    tool_name: (*tool).clone(),
                    args: Json::Object(vec![("summary".to_string(), Json::String((*summary).clone()))]),
                    result_preview: preview.clone(),
                    blocked: overflow.is_some(),
                    timestamp: recorded.at_ms as f64,
                });
            }
            _ => {}
        }
    }
    calls
}
