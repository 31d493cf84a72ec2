//! `parallel`: several sub-agents side by side, and what they say together.

mod wire;

use super::arguments::{HowArguments, ParallelArguments};
use super::exit::{Failure, code_of};
use super::output::{print, print_json, say};
use super::run::{Workspace, cancel_on_interrupt, names_a_model, needs_model};
use super::runs::settle;
use crate::runtime::{Group, GroupId, GroupOutcome, Runtime, SubAgent, SubAgentGroup, Subtask};
use crate::settings::Settings;
use crate::skills::{SpawnSettings, resolve};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::domain::TerminalState;
use impresario_policies::parallel::ParallelRefusal;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use wire::{ended_line, event_line, read_subtasks, started_line};

/// A file of sub-tasks has at most so many bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
const ENABLED: &str = "parallelSubagents.enabled";

pub(super) async fn execute(arguments: ParallelArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how();
    let workspace = how.workspace()?;
    let begun = match &arguments.resume {
        Some(group) => resume(group, &how, &workspace).await?,
        None => begin(&arguments, &how, &workspace).await?,
    };
    finish(begun, arguments.json, "parallel").await
}

/// A group under way, and the runtime that drives it.
pub(super) struct Begun {
    pub(super) runtime: Runtime,
    pub(super) group: Group,
}

/// Follows a group to its end and says what it says. `command` is what goes on with it.
pub(super) async fn finish(begun: Begun, json: bool, command: &str) -> Result<ExitCode, Failure> {
    let Begun { runtime, group } = begun;
    let outcome = watch(&group, json).await;
    runtime.shutdown().await?;
    let outcome = outcome?;
    match json {
        // A reader that went away is no failure.
        true => drop(print_json(&ended_line(&outcome))),
        false => {
            let _ = print(&outcome.text);
            say_how_it_ended(&outcome, command);
        }
    }
    Ok(code_of(outcome.state))
}

async fn begin(
    arguments: &ParallelArguments,
    how: &HowArguments,
    workspace: &Workspace,
) -> Result<Begun, Failure> {
    let subtasks = subtasks_of(arguments.file.as_deref())?;
    let settings = how.settings(workspace)?;
    let group = group_of(arguments, &settings, workspace)?.subtasks(subtasks);
    let runtime = how.start(&workspace.directory, &settings).await?;
    match runtime.parallel(group).await {
        Ok(group) => Ok(Begun { runtime, group }),
        Err(error) => {
            let _ = runtime.shutdown().await;
            Err(error.into())
        }
    }
}

pub(super) async fn resume(group: &str, how: &HowArguments, workspace: &Workspace) -> Result<Begun, Failure> {
    let id = GroupId::try_from(group.to_string()).map_err(|_| unknown_group(group))?;
    let settings = how.settings(workspace)?;
    let runtime = how.start(&workspace.directory, &settings).await?;
    let resumed = async {
        runtime.adopt().await?;
        settle(&runtime).await?;
        let resumed = runtime.resume_group(id).await?;
        match resumed.runs().is_empty() {
            true => Err(unknown_group(group)),
            false => Ok(resumed),
        }
    };
    match resumed.await {
        Ok(group) => Ok(Begun { runtime, group }),
        Err(failure) => {
            let _ = runtime.shutdown().await;
            Err(failure)
        }
    }
}

fn unknown_group(group: &str) -> Failure {
    let group = group.chars().take(40).collect::<String>();
    Failure::usage(format!(
        "there is no group called {group:?}; `impresario parallel` and `impresario chain` say its name when it begins"
    ))
}

/// Everything but the sub-tasks: what is typed wins over the files.
fn group_of(
    arguments: &ParallelArguments,
    settings: &SpawnSettings,
    workspace: &Workspace,
) -> Result<SubAgentGroup, Failure> {
    let files = Settings::read(&workspace.settings_places());
    let values = files.configured();
    let mut limits = values.parallel;
    // Whoever types the command wants it; only a file that says no in so many words is asked for its leave.
    limits.enabled |= !files.is_set(ENABLED);
    if !limits.enabled {
        return Err(Failure::failed(format!(
            "{}; a settings file says so (see `impresario config show`)",
            ParallelRefusal::Disabled
        )));
    }
    limits.workers_max = arguments
        .concurrency
        .map_or(limits.workers_max, |wanted| wanted as usize);
    limits.call_output_units_max = arguments.max_output_chars.map(i64::from);
    let like = match &arguments.skill {
        Some(skill) => SubAgentGroup::like_request(resolve(settings, "cli", order(skill, workspace))?),
        None if settings.means.chain.is_empty() && !names_a_model(settings, workspace, &arguments.agent) => {
            return Err(needs_model(&settings.means.runner));
        }
        None => SubAgentGroup::like(SubAgent::new(&arguments.agent, "").spawned_with(
            settings,
            &workspace.directory,
            workspace.trusted,
        )),
    };
    let total = arguments.timeout.unwrap_or(values.parallel_total_timeout);
    Ok(like.settings(limits).timeout(total))
}

fn order(skill: &str, workspace: &Workspace) -> SkillOrder {
    SkillOrder {
        name: skill.to_string(),
        task: String::new(),
        session: None,
        workspace: workspace.directory.clone(),
        workspace_trusted: workspace.trusted,
        model: None,
        ..SkillOrder::default()
    }
}

fn subtasks_of(file: Option<&Path>) -> Result<Vec<Subtask>, Failure> {
    let (shown, text) = read_file_or_stdin(file, "sub-tasks")?;
    read_subtasks(&text).map_err(|error| Failure::usage(format!("{shown}: {error}")))
}

/// The text of a file, and how it is called.
pub(super) fn read_file_or_stdin(file: Option<&Path>, what: &str) -> Result<(String, String), Failure> {
    let from_stdin = || -> std::io::Result<Box<dyn Read>> { Ok(Box::new(std::io::stdin().lock())) };
    let (shown, opened) = match file {
        None => ("stdin".to_string(), from_stdin()),
        Some(path) if path == Path::new("-") => ("stdin".to_string(), from_stdin()),
        Some(path) => (
            path.display().to_string(),
            std::fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
        ),
    };
    let mut bytes = Vec::new();
    let read = opened.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::usage(format!("failed to read the {what} from {shown}: {error}")))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "{shown}: expected at most {FILE_BYTES_MAX} bytes of {what}"
        )));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{shown}: expected UTF-8 text")))?;
    Ok((shown, text))
}

/// Follows a group to its end. The first Ctrl-C cancels all of it, the second one ends us at once.
async fn watch(group: &Group, json: bool) -> Result<GroupOutcome, Failure> {
    let cancelled = group.clone();
    let ending = cancel_on_interrupt(async move {
        let _ = cancelled.cancel("the user (Ctrl-C)").await;
    });
    match json {
        true => print_events(group).await,
        false => say(&format!("group {}", group.id())),
    }
    let outcome = group.outcome().await;
    ending.abort();
    Ok(outcome?)
}

/// One JSON object a line; a reader that went away ends it quietly, not the group.
async fn print_events(group: &Group) {
    let subtasks = group.subtasks();
    let ids = subtasks
        .iter()
        .map(|subtask| subtask.id.clone())
        .collect::<Vec<_>>();
    let of_run = group.runs().iter().map(|run| run.id().clone()).zip(&ids);
    let of_run = of_run.collect::<BTreeMap<_, _>>();
    if print_json(&started_line(group, &ids)).is_err() {
        return;
    }
    let mut events = group.events();
    while let Some((run, event)) = events.next().await {
        let subtask = of_run.get(&run).map_or("", |id| id.as_str());
        let line = event_line(&run, &event, subtask);
        if print_json(&line).is_err() {
            return;
        }
    }
}

fn say_how_it_ended(outcome: &GroupOutcome, command: &str) {
    for member in &outcome.members {
        let Some(result) = &member.result else { continue };
        if result.state == TerminalState::Succeeded {
            continue;
        }
        let message = result.reason.as_ref().map(|reason| reason.message.as_str());
        say(&format!(
            "{} {}: {} See `impresario trace {}`.",
            member.member.subtask.id,
            result.state.word(),
            message.unwrap_or_default(),
            member.run
        ));
    }
    if outcome.state == TerminalState::Parked {
        say(&format!(
            "`impresario {command} --resume {}` goes on with what is parked",
            outcome.group
        ));
    }
}
