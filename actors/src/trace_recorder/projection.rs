//! From the steps of a run to its trace.

use crate::gateways::UnixMillis;
use crate::messages::run::WriteTrace;
use impresario_policies::cool_down::describe_passed_over;
use impresario_policies::domain::{RunId, Step};
use impresario_policies::progress::describe_step;
use impresario_policies::projection::{RecordedStep, RunProjection};
use impresario_policies::receipt::{Receipt, flag_words};
use impresario_policies::stopped::StoppedReason;
use impresario_policies::trace_file::{
    CallDetail, CallFate, Trace, TraceCall, TraceExtras, TraceMoment, TraceTry, kept_receipt, shown_arguments,
};
use std::collections::BTreeMap;

/// So many moments of a run stand in its trace.
const MOMENTS_MAX: usize = 200;

/// The trace of a run that ends like this, at this time.
pub(super) fn trace_of(
    run: &RunId,
    steps: &[RecordedStep],
    so_far: &RunProjection,
    end: &WriteTrace,
    ended_at: UnixMillis,
) -> Trace {
    let accepted = so_far.accepted.as_ref();
    let what = accepted.map(|accepted| accepted.request.what.name().to_string());
    let started_at = accepted.map_or(0, |accepted| accepted.at_ms) as f64;
    let last = so_far.latest_attempt();
    let last_words = || last?.ended.as_ref()?.partial.clone();
    let calls = calls_of(steps, ended_at);
    let (tool_calls, details) = calls.into_iter().unzip();
    let trace = Trace {
        skill_name: what.unwrap_or_default(),
        timestamp: ended_at.0 as f64,
        model: last.map(|attempt| attempt.model.clone()).unwrap_or_default(),
        brief: so_far.brief.clone().unwrap_or_default(),
        route: so_far
            .verdict
            .as_ref()
            .map(|verdict| verdict.execution_route.clone())
            .unwrap_or_default(),
        tool_calls,
        final_text: so_far.answer.clone().or_else(last_words).unwrap_or_default(),
        stopped_reason: StoppedReason::of(end.state, end.reason.as_ref())
            .word()
            .to_string(),
        ours: Some(TraceExtras {
            run_id: run.to_string(),
            started_at,
            state: end.state.word().to_string(),
            reason: end.reason.as_ref().map(|reason| reason.message.clone()),
            attempts: so_far.attempts.len() as u32,
            tries: tries_of(so_far, ended_at),
            calls: details,
            moments: moments_of(steps),
            flags: so_far.flags.iter().map(flag_words).collect(),
            receipt: kept_receipt(&Receipt::of(so_far)),
        }),
    };
    trace.redacted().fitted()
}

fn tries_of(so_far: &RunProjection, ended_at: UnixMillis) -> Vec<TraceTry> {
    let tries = so_far.attempts.iter().map(|attempt| {
        let end = attempt.ended.as_ref();
        TraceTry {
            model: attempt.model.clone(),
            started_at: attempt.started_at_ms as f64,
            ended_at: end.map_or(ended_at.0, |end| end.at_ms) as f64,
            ending: end.map_or_else(String::new, |end| end.ending.words().to_string()),
            detail: end.map_or_else(String::new, |end| end.detail.clone()),
        }
    });
    tries.collect()
}

fn moments_of(steps: &[RecordedStep]) -> Vec<TraceMoment> {
    let moments = steps.iter().filter_map(|recorded| {
        let what = match &recorded.step {
            Step::Judged { pass, verdict, .. } if verdict.passed() => format!("brief passed (pass {pass})"),
            Step::Judged { pass, .. } => format!("brief not passed (pass {pass})"),
            Step::PassFailed { .. } => describe_step(&recorded.step)?,
            Step::ModelsConsidered { passed_over, .. } if !passed_over.is_empty() => {
                let passed = passed_over.iter().map(describe_passed_over);
                passed.collect::<Vec<_>>().join(" ")
            }
            Step::QuestionAsked { .. } => "asked the user".to_string(),
            Step::QuestionAnswered { .. } => "the user answered".to_string(),
            Step::Admitted => "admitted".to_string(),
            Step::Answered { .. } => "answered".to_string(),
            Step::ParkRequested { .. } => "parking".to_string(),
            Step::CancelRequested { .. } => "cancelling".to_string(),
            _ => return None,
        };
        Some(TraceMoment {
            at: recorded.at_ms as f64,
            what,
        })
    });
    moments.take(MOMENTS_MAX).collect()
}

/// A tool call that began.
struct Begun<'a> {
    at_ms: u64,
    tool: &'a str,
    summary: &'a str,
    arguments: Option<&'a str>,
}

/// The tool calls, in the order in which they ended; those that never did come last.
fn calls_of(steps: &[RecordedStep], ended_at: UnixMillis) -> Vec<(TraceCall, CallDetail)> {
    let mut begun = BTreeMap::new();
    let mut calls = Vec::new();
    for recorded in steps {
        match &recorded.step {
            Step::ToolStarted {
                attempt,
                call,
                tool,
                summary,
                arguments,
                ..
            } => {
                let started = Begun {
                    at_ms: recorded.at_ms,
                    tool,
                    summary,
                    arguments: arguments.as_deref(),
                };
                begun.insert((*attempt, call.as_str()), started);
            }
            Step::ToolEnded {
                attempt,
                call,
                is_error,
                bytes,
                preview,
                overflow,
                evidence: _,
            } => {
                let Some(started) = begun.remove(&(*attempt, call.as_str())) else {
                    continue;
                };
                let detail = CallDetail {
                    index: calls.len() as f64,
                    started_at: started.at_ms as f64,
                    bytes: *bytes as f64,
                    fate: if *is_error {
                        CallFate::Failed
                    } else {
                        CallFate::Finished
                    },
                };
                let result = Ended {
                    at_ms: recorded.at_ms,
                    preview: preview_of(preview, *bytes),
                    kept_aside: overflow.is_some(),
                };
                calls.push((call_of(&started, result, detail.index), detail));
            }
            _ => {}
        }
    }
    let mut cut_off = begun.into_values().collect::<Vec<_>>();
    cut_off.sort_by_key(|started| started.at_ms);
    for started in cut_off {
        let detail = CallDetail {
            index: calls.len() as f64,
            started_at: started.at_ms as f64,
            bytes: 0.0,
            fate: CallFate::CutOff,
        };
        let result = Ended {
            at_ms: ended_at.0,
            preview: String::new(),
            kept_aside: false,
        };
        calls.push((call_of(&started, result, detail.index), detail));
    }
    calls
}

/// The end of a tool call.
struct Ended {
    at_ms: u64,
    preview: String,
    kept_aside: bool,
}

fn call_of(started: &Begun<'_>, ended: Ended, index: f64) -> TraceCall {
    TraceCall {
        index,
        server_name: "impresario".to_string(),
        tool_name: started.tool.to_string(),
        args: shown_arguments(started.arguments, started.summary),
        result_preview: ended.preview,
        blocked: ended.kept_aside,
        timestamp: ended.at_ms as f64,
    }
}

/// A runner that shows its results to nobody else keeps their beginning without saying how much is missing.
fn preview_of(preview: &str, bytes: u64) -> String {
    if preview.contains("[...truncated, ") || bytes <= preview.len() as u64 {
        return preview.to_string();
    }
    format!("{preview}\n[...truncated, {bytes} total chars]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::domain::{
        AttemptEnding, AttemptNumber, Proof, Reason, ReasonCode, TerminalState,
    };

    /// What its last attempt ended of is not what the run ended of.
    #[test]
    fn a_run_whose_time_is_over_between_two_attempts_stopped_for_want_of_time() {
        let attempt = AttemptNumber(1);
        let steps = [
            Step::AttemptStarted {
                attempt,
                model: "a/one".into(),
                runner: "pi".into(),
                session_file: None,
                resumes_session: false,
            },
            Step::AttemptEnded {
                attempt,
                ending: AttemptEnding::Unavailable,
                detail: String::new(),
                partial: None,
                whole: None,
                used: None,
                proof: Proof::NOTHING_STARTED,
            },
        ];
        let steps = (1..).zip(steps).map(|(sequence, step)| RecordedStep {
            sequence,
            generation: 1,
            at_ms: sequence,
            step,
        });
        let steps = steps.collect::<Vec<_>>();
        let end = WriteTrace {
            state: TerminalState::Failed,
            reason: Some(Reason {
                code: ReasonCode::TotalTimeout,
                message: "The run's total time is over.".into(),
            }),
        };
        let so_far = RunProjection::of(&steps);
        let trace = trace_of(&RunId::new(1, 1), &steps, &so_far, &end, UnixMillis(9));
        assert_eq!(trace.stopped_reason, "timeout");
    }
}
