//! `agents`: who can be asked here, from where each is known, and which files describe nobody.

use super::arguments::AgentsArguments;
use super::exit::Failure;
use super::output::{print, print_json};
use super::run::existing_workspace;
use super::trust::was_trusted;
use super::wire::{AgentLine, SkippedAgentLine};
use crate::agents::{AgentFiles, AgentSource, AgentTrait, FoundAgents};
use crate::settings::{Settings, SettingsPlaces};
use crate::skills::SpawnSettings;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::agents::routing_summary;
use std::process::ExitCode;

pub(super) fn list(arguments: &AgentsArguments) -> Result<ExitCode, Failure> {
    let workspace = existing_workspace(arguments.workspace.as_deref())?;
    let trusted = was_trusted(&workspace, arguments.trust, &arguments.state)?;
    let mut spawn = SpawnSettings::default();
    spawn.set(Settings::read(&SettingsPlaces::of(&workspace, trusted)).configured());
    let found = spawn
        .agent_places(&workspace, AgentFiles::where_trusted(trusted))
        .find();
    // A reader that went away is no failure.
    let _ = match (arguments.json, arguments.when) {
        (true, _) => print_lines(&found),
        (false, true) => print(&routing_summary(
            found.agents.iter().map(|known| &known.definition),
        )),
        (false, false) => print(text_of(&found).trim_end()),
    };
    Ok(ExitCode::SUCCESS)
}

fn print_lines(found: &FoundAgents) -> std::io::Result<()> {
    for agent in &found.agents {
        print_json(&AgentLine::of(agent).to_json())?;
    }
    for skipped in &found.skipped {
        print_json(&SkippedAgentLine::of(skipped).to_json())?;
    }
    Ok(())
}

/// The settings that take tools away.
fn switches_of(without: &[String]) -> &'static str {
    match without.iter().any(|tool| tool == AddedTool::HashlineEdit.name()) {
        true => "agents.disabledTools, tools.anchoredEditing",
        false => "agents.disabledTools",
    }
}

fn text_of(found: &FoundAgents) -> String {
    let mut text = String::new();
    for agent in &found.agents {
        let definition = &agent.definition;
        let from = match &agent.source {
            AgentSource::Program => "of the program".to_string(),
            AgentSource::BuiltIn => "built in".to_string(),
            AgentSource::File(file) => file.display().to_string(),
        };
        text.push_str(&format!("{}  ({from})\n", definition.name()));
        if !definition.description.is_empty() {
            text.push_str(&format!("    {}\n", definition.description));
        }
        for AgentTrait { name, value, from } in agent.traits() {
            text.push_str(&format!("    {name}: {value}  ({from})\n"));
        }
        if !agent.without.is_empty() {
            text.push_str(&format!(
                "    without: {}  ({})\n",
                agent.without.join(", "),
                switches_of(&agent.without)
            ));
        }
        if !agent.lacking.is_empty() {
            let lacking = agent.lacking.join(", ");
            text.push_str(&format!(
                "    without: {lacking}  (this program was built without)\n"
            ));
        }
        for note in &agent.notes {
            text.push_str(&format!("    note: {}\n", note.text().replace('\n', "\n    ")));
        }
    }
    if !found.skipped.is_empty() {
        text.push_str("\nFiles that describe no agent:\n");
        for skipped in &found.skipped {
            text.push_str(&format!("{}\n", skipped.text()));
        }
    }
    if !found.set_for_nobody.is_empty() {
        let nobody = found.set_for_nobody.join(", ");
        text.push_str(&format!("\nSettings name agents that are not there: {nobody}\n"));
    }
    text
}
