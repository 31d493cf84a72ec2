//! `stats`: how each agent and skill did so far, from the journal.

use super::arguments::StatsArguments;
use super::exit::Failure;
use super::output::{print, print_json};
use super::run::existing_workspace;
use super::runs::open;
use super::wire::{AgentTallyLine, FailureTallyLine, json_line};
use crate::runtime::Runtime;
use impresario_actors::journal::RunSummary;
use impresario_policies::statistics::{Statistics, failure_words, statistics_words};
use std::process::ExitCode;

pub(super) async fn execute(arguments: StatsArguments) -> Result<ExitCode, Failure> {
    let runtime = open(&arguments.state, arguments.json).await?;
    let told = tell(&runtime, &arguments).await;
    runtime.shutdown().await?;
    told
}

async fn tell(runtime: &Runtime, arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let workspace = match arguments.here {
        true => Some(existing_workspace(None)?),
        false => None,
    };
    let wanted = |run: &RunSummary| workspace.is_none() || run.workspace == workspace;
    let statistics = runtime.statistics(arguments.newest, wanted).await?;
    // A reader that went away is no failure.
    let _ = match arguments.json {
        true => print_lines(&statistics),
        false => print(&text_of(&statistics, arguments.here)),
    };
    Ok(ExitCode::SUCCESS)
}

fn print_lines(statistics: &Statistics) -> std::io::Result<()> {
    for agent in &statistics.agents {
        print_json(&json_line(&AgentTallyLine::of(agent)))?;
    }
    for failure in &statistics.failures {
        print_json(&json_line(&FailureTallyLine::of(failure)))?;
    }
    Ok(())
}

fn text_of(statistics: &Statistics, here: bool) -> String {
    let mut text = statistics_words(statistics, if here { "here" } else { "in all workspaces" });
    let failures = failure_words(statistics);
    if !failures.is_empty() {
        text.push_str(&format!("\nWhat failed:\n{}", failures.trim_end()));
    }
    text
}
