//! What a receipt says of tools.

use super::texts;
use crate::vectors::{Answer, Case};
use impresario_policies::domain::{AttemptNumber, Replay, Step};
use impresario_policies::projection::{RecordedStep, RunProjection};
use impresario_policies::receipt::{Receipt, receipt_lines};
use serde_json::json;

/// How often each tool was called, as the receipt of such a run has it.
pub fn timeline_footer(case: &Case) -> Answer {
    let attempt = AttemptNumber(1);
    let began = Step::AttemptStarted {
        attempt,
        model: "house/a".into(),
        runner: "pi".into(),
        session_file: None,
        resumes_session: false,
    };
    let calls = texts(&case.input, "history").into_iter().zip(1..);
    let calls = calls.flat_map(|(tool, number)| call_of(attempt, tool, number));
    let steps = [began].into_iter().chain(calls).zip(1..);
    let steps = steps.map(|(step, sequence)| RecordedStep {
        sequence,
        generation: 1,
        at_ms: sequence,
        step,
    });
    let lines = receipt_lines(&Receipt::of(&RunProjection::of(&steps.collect::<Vec<_>>())));
    let tools = lines.iter().find_map(|line| line.strip_prefix("tools    "));
    Answer::value(json!(tools.unwrap_or_default()))
}

fn call_of(attempt: AttemptNumber, tool: String, number: u32) -> [Step; 2] {
    let call = format!("1.{number}:x");
    [
        Step::ToolStarted {
            attempt,
            call: call.clone(),
            tool,
            summary: String::new(),
            arguments: None,
            replay: Replay::Safe,
            target: None,
        },
        Step::ToolEnded {
            attempt,
            call,
            is_error: false,
            bytes: 0,
            preview: String::new(),
            overflow: None,
            evidence: None,
        },
    ]
}
