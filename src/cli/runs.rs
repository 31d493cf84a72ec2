//! `runs`: what is in the journal, and what can still be done about it.

use super::arguments::{RunsAction, RunsArguments, StateArguments};
use super::attach;
use super::exit::Failure;
use super::output::{print, print_json};
use super::run::{existing_workspace, watch};
use super::terminal::TerminalHost;
use super::top::Onlooker;
use super::wire::{RunLine, TranscriptLine, json_line};
use crate::runtime::{Runtime, RuntimeError};
use crate::status::below_home;
use impresario_actors::gateways::{Host, SystemWallClock, UnixMillis, WallClock};
use impresario_actors::journal::{Retention, RunFilter, RunProgress, RunSummary};
use impresario_policies::domain::{Cap, RunId, RunState, WholeAnswer};
use impresario_policies::fallback::models_left;
use impresario_policies::projection::RunProjection;
use impresario_policies::receipt::{Receipt, flag_words, receipt_lines};
use impresario_policies::resumption::{Reader, advise};
use impresario_policies::run_messages::describe_messages;
use impresario_policies::user_lines;
use impresario_policies::whole_answer::describe_whole_answer;
use impresario_policies::worktree::describe_changes;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Parking takes a few writes, and stopping what a killed command left.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
/// Another process looks for the wish, gives the sub-agent its grace and kills what is left.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);
/// How often whoever follows a transcript is told more.
const FOLLOWED_EVERY: Duration = Duration::from_millis(500);
/// How often the journal is asked whether it did.
const LOOKED_EVERY: Duration = Duration::from_millis(100);

pub(super) async fn execute(arguments: RunsArguments) -> Result<ExitCode, Failure> {
    let runtime = match &arguments.action {
        // It tells what the journal says, so nothing else may.
        Some(RunsAction::Attach { .. }) => open_for(&arguments.state, Onlooker).await?,
        _ => open(&arguments.state, arguments.json).await?,
    };
    let done = match &arguments.action {
        None => list(&runtime, &arguments).await,
        Some(RunsAction::Show { run, answer: true }) => show_answer(&runtime, run).await,
        Some(RunsAction::Show { run, answer: false }) => show(&runtime, run, arguments.json).await,
        Some(RunsAction::Transcript { run, follow }) => {
            transcript(&runtime, run, *follow, arguments.json).await
        }
        Some(RunsAction::Attach { run }) => attach::attach(&runtime, run, arguments.json).await,
        Some(RunsAction::Cancel { run }) => cancel(&runtime, run).await,
        Some(RunsAction::Resume { run, budget }) => {
            return resume(runtime, run, budget.over(Cap::NONE), arguments.json).await;
        }
        Some(RunsAction::Prune { older_than, keep }) => prune(&runtime, *older_than, *keep).await,
    };
    runtime.shutdown().await?;
    done
}

/// Opening it parks what a killed command left behind, so that a list is never older than the truth.
pub(super) async fn open(state: &StateArguments, json: bool) -> Result<Runtime, Failure> {
    open_for(state, TerminalHost::new(json)).await
}

/// As [`open`], for a host that shows things in its own way.
pub(super) async fn open_for(
    state: &StateArguments,
    host: impl Host + Send + Sync + 'static,
) -> Result<Runtime, Failure> {
    let runtime = state.builder().host("cli", host).start().await?;
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
    let found = runtime.find_run(prefix).await;
    found.map_err(|error| match error {
        RuntimeError::Refused(reason) => {
            Failure::usage(format!("{} `impresario runs` lists them.", reason.message))
        }
        other => other.into(),
    })
}

async fn list(runtime: &Runtime, arguments: &RunsArguments) -> Result<ExitCode, Failure> {
    let workspace = wanted_workspace(arguments)?;
    let cut_off = runtime.cut_off_runs().await?;
    let wanted = |run: &RunSummary| match &workspace {
        Some(workspace) => run.workspace.as_ref() == Some(workspace),
        None => true,
    };
    let runs = runtime.runs(RunFilter::default()).await?;
    let runs = runs.into_iter().filter(wanted).take(arguments.newest);
    let runs = runs.collect::<Vec<_>>();
    if runs.is_empty() && !arguments.json {
        let _ = print("No runs yet. Try: impresario run explore \"How does it work?\"");
    }
    for run in &runs {
        let is_cut_off = cut_off.contains(&run.run);
        let printed = match arguments.json {
            true => print_json(&json_line(&RunLine::of(run, is_cut_off, None))),
            false => print(&in_words(run, is_cut_off)),
        };
        if printed.is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace whose runs are wanted; none for all of them.
fn wanted_workspace(arguments: &RunsArguments) -> Result<Option<PathBuf>, Failure> {
    match (&arguments.workspace, arguments.here) {
        (Some(workspace), _) => existing_workspace(Some(workspace)).map(Some),
        (None, true) => existing_workspace(None).map(Some),
        (None, false) => Ok(None),
    }
}

fn in_words(run: &RunSummary, cut_off: bool) -> String {
    let name = run.what.name();
    let ago = ago(SystemWallClock.now(), run.accepted_at);
    let task = run.task.lines().next().unwrap_or_default();
    let place = run
        .workspace
        .as_deref()
        .map_or_else(|| "?".to_string(), below_home);
    let state = if cut_off { "cut off" } else { run.state.word() };
    let line = format!("{}  {state:<9}  {ago:>8}  {place}  {name}  {task}", run.run);
    match cut_off {
        true => format!("{line}\n  {}", what_it_waits_for(run)),
        false => line,
    }
}

/// Its host is gone and its runtime with it, so nobody drives it.
fn what_it_waits_for(run: &RunSummary) -> String {
    let session = run.session.as_ref().map_or("?", |session| session.0.as_str());
    format!(
        "its runtime is gone and its {} session {session} is closed: it goes on when that session is opened again, or \
         here with `impresario runs resume {}`",
        run.host, run.run
    )
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
    let cut_off = runtime.cut_off_runs().await?.contains(&run.run);
    let projection = RunProjection::of(&runtime.steps(&run.run, 0).await?);
    let printed = match json {
        true => print_json(&json_line(&RunLine::of(&run, cut_off, Some(&projection)))),
        false => print(&story_in_words(&run, cut_off, &projection)),
    };
    // A reader that went away is no failure.
    let _ = printed;
    Ok(ExitCode::SUCCESS)
}

async fn show_answer(runtime: &Runtime, prefix: &str) -> Result<ExitCode, Failure> {
    let run = find(runtime, prefix).await?.run;
    let projection = RunProjection::of(&runtime.steps(&run, 0).await?);
    let answer = match (projection.whole_answer(), projection.answer_or_partial()) {
        (Some(WholeAnswer::Kept { file, .. }), _) => {
            std::fs::read_to_string(file).map_err(|error| gone(&run, file, &error))?
        }
        (Some(lost), _) => return Err(Failure::failed(describe_whole_answer(&run, lost))),
        (None, Some(answer)) => answer.to_string(),
        (None, None) => {
            let state = projection.state().word();
            return Err(Failure::failed(format!(
                "run {run} has no answer: it is {state}. `impresario runs show {run}` tells more."
            )));
        }
    };
    // A reader that went away is no failure.
    let _ = print(answer.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn gone(run: &RunId, file: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!(
        "failed to read all of the answer of run {run} in {}: {error}. When answers that are kept whole take too much \
         room, the oldest go. `impresario runs show {run}` has what is in the journal, `impresario runs transcript {run}` \
         what is left of the conversation.",
        file.display()
    ))
}

fn story_in_words(run: &RunSummary, cut_off: bool, projection: &RunProjection) -> String {
    let mut lines = vec![in_words(run, cut_off)];
    if let Some(resumes) = &run.resumes {
        lines.push(format!("goes on with {resumes}"));
    }
    lines.extend(run.reason.as_ref().map(|reason| reason.message.clone()));
    lines.extend(projection.used().in_words().map(|used| format!("used: {used}")));
    lines.extend(models_left(projection));
    let others = projection.other_models_served().into_iter();
    lines.extend(others.map(|(requested, served)| user_lines::other_model_served(requested, served)));
    lines.extend(describe_messages(projection));
    let own = projection.worktree.as_ref();
    lines.extend(own.and_then(|own| describe_changes(&run.run, own)));
    let receipt = Receipt::of(projection);
    lines.extend(receipt.flags.iter().map(|flag| format!("! {}", flag_words(flag))));
    let seen = receipt_lines(&receipt);
    if !seen.is_empty() {
        lines.push("seen by the runtime:".to_string());
        lines.extend(seen.iter().map(|line| format!("  {line}")));
    }
    let ended = projection.ended.as_ref();
    lines.extend(ended.and_then(|ended| {
        let why = run.reason.as_ref().map(|reason| reason.code);
        advise(&run.run, ended.state, why, Reader::CommandLine)
    }));
    if let Some(answer) = projection.answer_or_partial() {
        lines.push(format!("\n{}", answer.trim_end()));
    }
    let whole = projection.whole_answer();
    lines.extend(whole.map(|whole| format!("\n{}", describe_whole_answer(&run.run, whole))));
    lines.join("\n")
}

/// What comes later is printed behind what was printed already.
async fn transcript(runtime: &Runtime, prefix: &str, follow: bool, json: bool) -> Result<ExitCode, Failure> {
    let run = find(runtime, prefix).await?.run;
    if follow {
        runtime.refuse_unseen_wait(&run).await?;
    }
    let mut printed = Vec::new();
    loop {
        let written = runtime.transcript(&run, String::new()).await?;
        if json {
            let _ = print_json(&json_line(&TranscriptLine::of(&run, &written)));
            return Ok(ExitCode::SUCCESS);
        }
        let head = [written.title.clone(), String::new()];
        let lines = head.into_iter().filter(|_| printed.is_empty());
        let seen = printed
            .iter()
            .zip(&written.lines)
            .take_while(|(one, other)| one == other)
            .count();
        let lines = lines.chain(written.lines.iter().skip(seen).cloned());
        let gone = print_each(lines).is_err();
        if gone || written.is_over || !follow {
            return Ok(ExitCode::SUCCESS);
        }
        printed = written.lines;
        tokio::time::sleep(FOLLOWED_EVERY).await;
    }
}

/// An empty line is one too.
fn print_each(lines: impl Iterator<Item = String>) -> std::io::Result<()> {
    let text = lines.fold(String::new(), |text, line| text + &line + "\n");
    match text.is_empty() {
        true => Ok(()),
        false => print(&text),
    }
}

async fn cancel(runtime: &Runtime, prefix: &str) -> Result<ExitCode, Failure> {
    let run = find(runtime, prefix).await?;
    if run.ended_at.is_some() {
        let state = run.state.word();
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
    let _ = print(&format!("{} {}", state?.word(), run.run));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn until_ended(runtime: &Runtime, run: &RunId) -> Result<RunState, Failure> {
    loop {
        let found = find(runtime, run.as_str()).await?;
        if found.ended_at.is_some() {
            return Ok(found.state);
        }
        tokio::time::sleep(LOOKED_EVERY).await;
    }
}

async fn resume(runtime: Runtime, prefix: &str, cap: Cap, json: bool) -> Result<ExitCode, Failure> {
    match find(&runtime, prefix).await {
        Ok(found) => {
            let spawned = runtime.resume_under(&found.run, cap).await;
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
    let _ = print(&format!("forgot {} runs ({} steps)", pruned.runs, pruned.steps));
    Ok(ExitCode::SUCCESS)
}
