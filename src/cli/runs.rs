//! `runs`: what is in the journal, and what can still be done about it.

use super::arguments::{RunsAction, RunsArguments, StateArguments};
use super::exit::Failure;
use super::run::watch;
use super::terminal::TerminalHost;
use super::wire::RunLine;
use crate::runtime::Runtime;
use impresario_actors::gateways::{SystemWallClock, UnixMillis, WallClock};
use impresario_actors::journal::{Retention, RunFilter, RunProgress, RunSummary};
use impresario_policies::domain::{RunId, RunState, WhatToRun};
use impresario_policies::projection::RunProjection;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Parking takes a few writes, and stopping what a killed command left.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
/// Another process looks for the wish, gives the sub-agent its grace and kills what is left.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);
/// How often the journal is asked whether it did.
const LOOKED_EVERY: Duration = Duration::from_millis(100);

pub(super) async fn execute(arguments: RunsArguments) -> Result<ExitCode, Failure> {
    let runtime = open(&arguments.state, arguments.json).await?;
    let done = match arguments.action {
        None => list(&runtime, arguments.newest, arguments.json).await,
        Some(RunsAction::Show { run }) => show(&runtime, &run, arguments.json).await,
        Some(RunsAction::Cancel { run }) => cancel(&runtime, &run).await,
        Some(RunsAction::Resume { run }) => return resume(runtime, &run, arguments.json).await,
        Some(RunsAction::Prune { older_than, keep }) => prune(&runtime, older_than, keep).await,
    };
    runtime.shutdown().await?;
    done
}

/// Opening it parks what a killed command left behind, so that a list is never older than the truth.
pub(super) async fn open(state: &StateArguments, json: bool) -> Result<Runtime, Failure> {
    let builder = state.builder().host("cli", TerminalHost::new(json));
    let runtime = builder.start().await?;
    runtime.adopt().await?;
    settle(&runtime).await?;
    Ok(runtime)
}

/// Waits until what was just adopted is parked. A run that another process drives is not waited for.
pub(super) async fn settle(runtime: &Runtime) -> Result<(), Failure> {
    let unfinished = RunFilter {
        progress: RunProgress::Unfinished,
        ..RunFilter::default()
    };
    let runs = runtime.runs(unfinished).await?;
    let settled = async {
        for run in runs {
            let _ = runtime.run(run.run).outcome().await;
        }
    };
    // A run that does not settle is shown as it stands.
    let _ = tokio::time::timeout(SETTLED_WITHIN, settled).await;
    Ok(())
}

/// The one run whose id begins so.
pub(super) async fn find(runtime: &Runtime, prefix: &str) -> Result<RunSummary, Failure> {
    let mut found = runtime.runs(RunFilter::id_prefix(prefix)).await?;
    match (found.pop(), found.is_empty()) {
        (Some(run), true) if !prefix.is_empty() => Ok(run),
        (None, _) => Err(Failure::usage(format!(
            "no run begins with {prefix:?}; `impresario runs` lists them"
        ))),
        (Some(_), _) => Err(Failure::usage(format!(
            "more than one run begins with {prefix:?}; say more of its id"
        ))),
    }
}

async fn list(runtime: &Runtime, newest: usize, json: bool) -> Result<ExitCode, Failure> {
    let runs = runtime.runs(RunFilter::newest(newest)).await?;
    let mut stdout = std::io::stdout().lock();
    if runs.is_empty() && !json {
        let _ = writeln!(
            stdout,
            "No runs yet. Try: impresario run explore \"How does it work?\""
        );
    }
    for run in &runs {
        let line = match json {
            true => RunLine::of(run, None).to_json(),
            false => in_words(run),
        };
        if writeln!(stdout, "{line}").is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(run: &RunSummary) -> String {
    let (WhatToRun::Agent(name) | WhatToRun::Skill(name)) = &run.what;
    let ago = ago(SystemWallClock.now(), run.accepted_at);
    let task = run.task.lines().next().unwrap_or_default();
    format!(
        "{}  {:<9}  {ago:>8}  {name}  {task}",
        run.run,
        state_in_words(run.state)
    )
}

fn state_in_words(state: RunState) -> &'static str {
    match state {
        RunState::Accepted => "accepted",
        RunState::Briefed => "briefed",
        RunState::Admitted => "admitted",
        RunState::Running => "running",
        RunState::Answered => "answered",
        RunState::Succeeded => "succeeded",
        RunState::Failed => "failed",
        RunState::Cancelled => "cancelled",
        RunState::Parked => "parked",
    }
}

fn ago(now: UnixMillis, then: UnixMillis) -> String {
    let seconds = now.0.saturating_sub(then.0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

async fn show(runtime: &Runtime, prefix: &str, json: bool) -> Result<ExitCode, Failure> {
    let run = find(runtime, prefix).await?;
    let projection = RunProjection::of(&runtime.steps(&run.run, 0).await?);
    let last_words = || projection.latest_attempt()?.ended.as_ref()?.partial.clone();
    let answer = projection.answer.clone().or_else(last_words);
    let mut stdout = std::io::stdout().lock();
    if json {
        let _ = writeln!(stdout, "{}", RunLine::of(&run, answer).to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let _ = writeln!(stdout, "{}", in_words(&run));
    if let Some(resumes) = &run.resumes {
        let _ = writeln!(stdout, "goes on with {resumes}");
    }
    if let Some(reason) = &run.reason {
        let _ = writeln!(stdout, "{}", reason.message);
    }
    if let Some(answer) = answer {
        let _ = writeln!(stdout, "\n{}", answer.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(runtime: &Runtime, prefix: &str) -> Result<ExitCode, Failure> {
    let run = find(runtime, prefix).await?;
    if run.ended_at.is_some() {
        let state = state_in_words(run.state);
        return Err(Failure::usage(format!(
            "run {} has ended already: {state}",
            run.run
        )));
    }
    let here = runtime.run(run.run.clone());
    if !here.cancel("`impresario runs cancel`").await? {
        let wished = runtime.wish_cancelled(&run.run);
        wished.map_err(|error| {
            Failure::failed(format!("failed to tell the process that drives the run: {error}"))
        })?;
    }
    let ended = tokio::time::timeout(CANCELLED_WITHIN, until_ended(runtime, &run.run)).await;
    runtime.unwish(&run.run);
    let Ok(state) = ended else {
        return Err(Failure::failed(format!(
            "the process that drives run {} did not cancel it; stop it there",
            run.run
        )));
    };
    let _ = writeln!(std::io::stdout(), "{} {}", state_in_words(state?), run.run);
    Ok(ExitCode::SUCCESS)
}

async fn until_ended(runtime: &Runtime, run: &RunId) -> Result<RunState, Failure> {
    loop {
        let found = find(runtime, run.as_str()).await?;
        if found.ended_at.is_some() {
            return Ok(found.state);
        }
        tokio::time::sleep(LOOKED_EVERY).await;
    }
}

async fn resume(runtime: Runtime, prefix: &str, json: bool) -> Result<ExitCode, Failure> {
    let resumed = async {
        let run = find(&runtime, prefix).await?;
        match run.state {
            RunState::Parked => Ok(run),
            state => Err(Failure::usage(format!(
                "only a parked run can be resumed; {} is {}",
                run.run,
                state_in_words(state)
            ))),
        }
    };
    match resumed.await {
        Ok(parked) => {
            let spawned = runtime.resume(&parked.run).await;
            watch(&runtime, spawned, json).await
        }
        Err(failure) => {
            runtime.shutdown().await?;
            Err(failure)
        }
    }
}

async fn prune(runtime: &Runtime, older_than: Duration, keep: usize) -> Result<ExitCode, Failure> {
    let age = u64::try_from(older_than.as_millis()).unwrap_or(u64::MAX);
    let before = UnixMillis(SystemWallClock.now().0.saturating_sub(age));
    let retention = Retention {
        acknowledged_before: before,
        abandoned_before: before,
        keep_newest: keep,
    };
    let pruned = runtime.prune(retention).await?;
    let _ = writeln!(
        std::io::stdout(),
        "forgot {} runs ({} steps)",
        pruned.runs,
        pruned.steps
    );
    Ok(ExitCode::SUCCESS)
}
