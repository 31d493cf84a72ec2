//! `chain`: sub-agents one after the other, as a file says.

use super::arguments::{ChainArguments, HowArguments};
use super::exit::Failure;
use super::parallel::{Begun, finish, read_file_or_stdin, resume};
use super::run::{Workspace, names_a_model, needs_model};
use crate::chain_files::{chain_of, read_text};
use crate::runtime::{Chain, ChainStep, SubAgent};
use crate::skills::SpawnSettings;
use impresario_policies::chain_file::{ChainFile, ChainFileStep};
use std::path::Path;
use std::process::ExitCode;

pub(super) async fn execute(arguments: ChainArguments) -> Result<ExitCode, Failure> {
    let how = arguments.how();
    let workspace = how.workspace()?;
    let begun = match &arguments.resume {
        Some(group) => resume(group, &how, &workspace).await?,
        None => begin(&arguments, &how, &workspace).await?,
    };
    finish(begun, arguments.json, "chain").await
}

async fn begin(
    arguments: &ChainArguments,
    how: &HowArguments,
    workspace: &Workspace,
) -> Result<Begun, Failure> {
    let settings = how.settings(workspace)?;
    let file = file_of(arguments, &settings, workspace)?;
    let chain = chain(arguments, file, &settings, workspace)?;
    let runtime = how.start(&workspace.directory, &settings).await?;
    match runtime.chain(chain).await {
        Ok(group) => Ok(Begun { runtime, group }),
        Err(error) => {
            let _ = runtime.shutdown().await;
            Err(error.into())
        }
    }
}

/// A file where a path was typed, else the chain of that name.
fn file_of(
    arguments: &ChainArguments,
    settings: &SpawnSettings,
    workspace: &Workspace,
) -> Result<ChainFile, Failure> {
    let typed = arguments.file.as_deref().unwrap_or("-");
    let is_path = typed == "-" || typed.contains('/') || typed.contains('.');
    if !is_path {
        let places = settings.chain_places(&workspace.directory, workspace.trusted);
        return Ok(places.find(typed)?);
    }
    let (shown, text) = read_file_or_stdin(Some(Path::new(typed)), "chain")?;
    Ok(read_text(&shown, &text)?)
}

fn chain(
    arguments: &ChainArguments,
    file: ChainFile,
    settings: &SpawnSettings,
    workspace: &Workspace,
) -> Result<Chain, Failure> {
    let step = |step: &ChainFileStep, task: String| {
        if settings.means.chain.is_empty() && !names_a_model(settings, workspace, &step.agent) {
            return Err(needs_model(&settings.means.runner));
        }
        let mut sub_agent =
            SubAgent::new(&step.agent, "").spawned_with(settings, &workspace.directory, workspace.trusted);
        if let Some(timeout) = step.timeout {
            sub_agent = sub_agent.timeout(timeout);
        }
        if let Some(isolation) = step.isolation {
            sub_agent = sub_agent.isolation(isolation);
        }
        Ok(ChainStep::of(&step.subtask.id, sub_agent, task))
    };
    let mut chain = chain_of(file, arguments.task.as_deref(), step)?;
    if let Some(total) = arguments.timeout {
        chain = chain.timeout(total);
    }
    if let Some(concurrency) = arguments.concurrency {
        chain = chain.concurrency(concurrency as usize);
    }
    Ok(chain)
}
