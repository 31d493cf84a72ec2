//! `trace`: the story of a run, step by step, from the journal; reports and views of trace files.

use super::arguments::{TraceAction, TraceArguments};
use super::exit::Failure;
use super::output::{print, print_json};
use super::runs::{find, open};
use super::traces;
use super::wire::{EventLine, json_line};
use impresario_policies::cool_down::describe_passed_over;
use impresario_policies::domain::{PassedOver, Step};
use impresario_policies::progress::describe_step;
use impresario_policies::projection::RecordedStep;
use std::process::ExitCode;

pub(super) async fn execute(arguments: TraceArguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        Some(TraceAction::Report(arguments)) => traces::report(arguments),
        Some(TraceAction::View(arguments)) => traces::view(arguments),
        None => show(arguments).await,
    }
}

async fn show(arguments: TraceArguments) -> Result<ExitCode, Failure> {
    let prefix = arguments.run.unwrap_or_default();
    let runtime = open(&arguments.state, arguments.json).await?;
    let told = async {
        let run = find(&runtime, &prefix).await?;
        let steps = runtime.steps(&run.run, 0).await?;
        let began = steps.first().map_or(0, |first| first.at_ms);
        for step in &steps {
            let printed = match (arguments.json, in_words(step, began)) {
                (true, _) => print_json(&json_line(&EventLine::of(&run.run, step))),
                (false, Some(line)) => print(&line),
                (false, None) => Ok(()),
            };
            if printed.is_err() {
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    };
    let told = told.await;
    runtime.shutdown().await?;
    told
}

fn in_words(recorded: &RecordedStep, began: u64) -> Option<String> {
    let elapsed = recorded.at_ms.saturating_sub(began) as f64 / 1000.0;
    let what = match &recorded.step {
        Step::Accepted { request } => format!("accepted: {}", first_line(&request.task)),
        Step::ToolEnded {
            is_error: true,
            preview,
            ..
        } => format!("  the tool failed: {}", first_line(preview)),
        Step::ToolEnded {
            bytes,
            overflow: Some(handle),
            ..
        } => {
            format!("  {bytes} bytes, kept aside as {handle}")
        }
        Step::ToolEnded { bytes, .. } => format!("  {bytes} bytes"),
        Step::ModelsConsidered {
            passed_over,
            is_probe,
            ..
        } => considered(passed_over, *is_probe)?,
        Step::AttemptActive { attempt } => format!("attempt {attempt} said its first word"),
        Step::AttemptEnded {
            attempt,
            ending,
            detail,
            used,
            proof,
            ..
        } => {
            let detail = if detail.is_empty() {
                String::new()
            } else {
                format!(": {}", first_line(detail))
            };
            let left = proof.processes_left;
            let used = used.map_or_else(|| "what it used is not known".to_string(), |used| used.words());
            format!("attempt {attempt} ended: {ending:?}{detail} ({left} processes left; {used})")
        }
        Step::QuestionAnswered { answer } => format!("the user answered: {}", first_line(answer)),
        Step::Ended {
            reason: Some(reason), ..
        } => {
            format!(
                "{}: {}",
                describe_step(&recorded.step).unwrap_or_default(),
                reason.message
            )
        }
        Step::Observed {
            verdict: Some(verdict),
            ..
        } => match verdict.signals.as_slice() {
            [] => format!("looks like {}", verdict.outcome.word()),
            signals => format!("looks like {}: {}", verdict.outcome.word(), signals.join(", ")),
        },
        Step::Routed { choice } => format!("goes on {}", choice.chain.join(", then ")),
        Step::Observed { verdict: None, .. } => "the trace is written".to_string(),
        Step::PatchNotTaken { why, .. } => format!("no patch could be made: {}", first_line(why)),
        Step::WorktreeCleared => "the worktree is gone".to_string(),
        Step::WorktreeStays { why } => format!("the worktree stays: {}", first_line(why)),
        Step::Delivered => "delivered".to_string(),
        Step::DeliveryAcknowledged => "the host has it".to_string(),
        step => describe_step(step)?,
    };
    Some(format!("{elapsed:8.2}s  {what}"))
}

fn considered(passed_over: &[PassedOver], is_probe: bool) -> Option<String> {
    let passed = passed_over.iter().map(describe_passed_over);
    let probe = is_probe.then(|| "the next attempt tries whether its model is back".to_string());
    let said = passed.chain(probe).collect::<Vec<_>>();
    (!said.is_empty()).then(|| first_line(&said.join(" ")))
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(160)
        .collect()
}
