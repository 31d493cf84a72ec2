//! `steer` and `ask`: tells a sub-agent something while it works, wherever its run is driven.

use super::arguments::{AskArguments, SteerArguments};
use super::exit::Failure;
use super::output::{print, say};
use super::runs::{find, open};
use crate::runtime::{MessageFate, MessageKind, RunId, Runtime, SentMessage};
use std::process::ExitCode;

pub(super) async fn steer(arguments: SteerArguments) -> Result<ExitCode, Failure> {
    let runtime = open(&arguments.state, false).await?;
    let told = steer_in(&runtime, &arguments).await;
    runtime.shutdown().await?;
    told
}

async fn steer_in(runtime: &Runtime, arguments: &SteerArguments) -> Result<ExitCode, Failure> {
    let (run, message) = tell(runtime, &arguments.run, MessageKind::Steer, &arguments.text).await?;
    let fate = match arguments.wait {
        true => message.delivered().await?,
        false => message.fate().await?,
    };
    let _ = print(&format!("{} {} for run {run}", fate.word(), message.id()));
    match fate {
        MessageFate::Expired => Err(Failure::failed(ended_before(&run))),
        MessageFate::Queued | MessageFate::Delivered | MessageFate::Answered => Ok(ExitCode::SUCCESS),
    }
}

pub(super) async fn ask(arguments: AskArguments) -> Result<ExitCode, Failure> {
    let runtime = open(&arguments.state, false).await?;
    let answered = ask_in(&runtime, &arguments).await;
    runtime.shutdown().await?;
    answered
}

async fn ask_in(runtime: &Runtime, arguments: &AskArguments) -> Result<ExitCode, Failure> {
    let (run, message) = tell(runtime, &arguments.run, MessageKind::Ask, &arguments.question).await?;
    say(&format!("asked run {run} ({})", message.id()));
    let Ok(answer) = tokio::time::timeout(arguments.timeout, message.answer()).await else {
        return Err(Failure::failed(format!(
            "no answer within {} s; the question stays ({}), and `impresario runs show {run}` shows what comes",
            arguments.timeout.as_secs(),
            message.fate().await?.word()
        )));
    };
    match (answer?, message.fate().await?) {
        (Some(answer), _) => {
            let _ = print(&answer);
            Ok(ExitCode::SUCCESS)
        }
        (None, MessageFate::Expired) => Err(Failure::failed(ended_before(&run))),
        (None, _) => Err(Failure::failed(format!(
            "run {run} ended without a word after the question"
        ))),
    }
}

async fn tell(
    runtime: &Runtime,
    prefix: &str,
    kind: MessageKind,
    text: &str,
) -> Result<(RunId, SentMessage), Failure> {
    let run = find(runtime, prefix).await?.run;
    let by = format!("`impresario {}`", kind.word());
    let message = runtime.run(run.clone()).tell(kind, text.to_string(), by).await?;
    Ok((run, message))
}

fn ended_before(run: &RunId) -> String {
    format!("run {run} ended before its sub-agent had it")
}
