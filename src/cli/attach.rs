//! `runs attach`: follows a run that some process drives, to its end. Who leaves changes nothing.

use super::exit::{Failure, code_of};
use super::output::{person_is_there, print, print_json, say};
use super::run::say_how_it_ended;
use super::runs::find;
use super::terminal::{TerminalHost, typed_line};
use super::wire::{EventLine, json_line};
use crate::runtime::{Outcome, Run, RunId, Runtime, TerminalState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use impresario_policies::domain::Step;
use impresario_policies::progress::describe_step;
use impresario_policies::projection::RunProjection;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// What a shell says of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// A step is written a moment before nothing more happens to its run.
const AT_REST_WITHIN: Duration = Duration::from_secs(10);

pub(super) async fn attach(runtime: &Runtime, prefix: &str, json: bool) -> Result<ExitCode, Failure> {
    let interrupts = signal(SignalKind::interrupt());
    let found = find(runtime, prefix).await?;
    let run = runtime.run(found.run);
    runtime.refuse_unseen_wait(run.id()).await?;
    let left = async {
        match interrupts {
            Ok(mut interrupts) => interrupts.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        followed = follow(runtime, &run, found.ended_at.is_some(), json) => followed,
        _ = left => {
            say(&left_words(run.id()));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

fn left_words(run: &RunId) -> String {
    format!(
        "left run {run}; it goes on. `impresario runs attach {run}` follows it again, `impresario runs cancel {run}` ends it"
    )
}

/// As `run` tells it: progress, the answer, how it ended.
async fn follow(runtime: &Runtime, run: &Run, is_over: bool, json: bool) -> Result<ExitCode, Failure> {
    let mut events = run.events();
    let shown = TerminalHost::new(json);
    let mut calls = 0;
    let mut typing = None;
    loop {
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            line = typed(&mut typing) => {
                answer(runtime, run.id(), line);
                continue;
            }
        };
        let Some(event) = event else { break };
        match &event.step {
            Step::QuestionAsked { question } if is_asked_here(runtime, run, json).await? => {
                shown.put(question);
                typing = Some((question.clone(), typed_line().boxed()));
            }
            // Somebody else was faster, or nobody waits any more.
            Step::QuestionAnswered { .. } | Step::Ended { .. } => typing = None,
            _ => {}
        }
        calls += u32::from(matches!(event.step, Step::ToolStarted { .. }));
        if json {
            // A reader that went away ends it, not the run.
            if print_json(&json_line(&EventLine::of(run.id(), &event))).is_err() {
                return Ok(ExitCode::SUCCESS);
            }
        } else if let (false, Some(doing)) = (is_over, describe_step(&event.step)) {
            shown.show_doing(&doing, calls);
        }
    }
    drop(shown);
    let outcome = tokio::time::timeout(AT_REST_WITHIN, run.outcome()).await;
    let outcome = outcome.map_err(|_| {
        Failure::failed(format!(
            "run {0} does not come to rest; `impresario runs show {0}` shows how it stands",
            run.id()
        ))
    })??;
    if !json {
        print_answer(&outcome);
        say_how_it_ended(&outcome);
    }
    Ok(code_of(outcome.state))
}

/// A question, and what is typed as its answer.
type Typing = Option<(String, BoxFuture<'static, Option<String>>)>;

/// The question that was answered, and how; never where nothing is asked.
async fn typed(typing: &mut Typing) -> (String, Option<String>) {
    let Some((question, line)) = typing else {
        return std::future::pending().await;
    };
    let line = line.await;
    let question = std::mem::take(question);
    *typing = None;
    (question, line)
}

/// The question is open, its process has nobody to ask, and somebody sits here.
async fn is_asked_here(runtime: &Runtime, run: &Run, json: bool) -> Result<bool, Failure> {
    if json || !person_is_there() || !runtime.is_left_to_itself(run.id()) {
        return Ok(false);
    }
    let run = RunProjection::of(&runtime.steps(run.id(), 0).await?);
    let last = run.questions.last();
    Ok(run.ended.is_none() && last.is_some_and(|last| last.answer.is_none()))
}

fn answer(runtime: &Runtime, run: &RunId, (question, line): (String, Option<String>)) {
    let Some(line) = line else { return };
    if let Err(error) = runtime.leave_answer(run, &question, &line) {
        say(&format!("the answer did not reach run {run}: {error}"));
    }
}

fn print_answer(outcome: &Outcome) {
    let Some(answer) = &outcome.answer else { return };
    if outcome.state != TerminalState::Succeeded {
        say("what there was of an answer:");
    }
    // A reader that went away is no failure.
    let _ = print(answer.trim_end());
}
