//! `capabilities`: what can be used here, and what of it fits a request.

use super::arguments::{CapabilitiesAction, CapabilitiesArguments, CapabilitiesOf};
use super::exit::Failure;
use super::output::{print, print_json, say};
use super::run::existing_workspace;
use super::trust::was_trusted;
use crate::capabilities::wire::{capability_line, hit_line};
use crate::capabilities::{gather, read_capabilities};
use crate::settings::{Settings, SettingsPlaces};
use crate::skill_files::skills_of_pi;
use crate::skills::SpawnSettings;
use impresario_actors::capability_index::{CapabilityRequest, CapabilityStore};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::capability::Capability;
use impresario_policies::capability::answer::{Line, describe_found};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where a workspace has skills and agents of its own.
const OF_WORKSPACE: [&str; 4] = [".pi/skills", ".agents/skills", ".pi/sub-agents", ".pi/agents"];
/// A longer list is not read.
const LIST_BYTES_MAX: u64 = 64 << 20;

pub(super) fn execute(arguments: CapabilitiesArguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        CapabilitiesAction::Search { query, max, what } => search(query, max as usize, &what),
        CapabilitiesAction::List { what } => list(&what),
    }
}

fn search(query: String, hits_max: usize, what: &CapabilitiesOf) -> Result<ExitCode, Failure> {
    if query.trim().is_empty() {
        return Err(Failure::usage("say what is wanted, in words"));
    }
    let (scope, all) = known(what)?;
    // The index of the workspace is the host's, which has more in it.
    let store = CapabilityStore::new(None);
    let failed = |why| Failure::failed(format!("failed to search what can be used: {why}"));
    store.index(&scope, &all).map_err(failed)?;
    let request = CapabilityRequest {
        query,
        kind: what.kind,
        hits_max,
    };
    let found = store.search(&scope, &request).map_err(failed)?;
    if what.json {
        for hit in &found.hits {
            if print_json(&hit_line(hit)).is_err() {
                break;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<Line<'_>> = found
        .hits
        .iter()
        .map(|hit| Line {
            id: &hit.capability.id,
            summary: &hit.capability.summary,
            score: hit.score,
        })
        .collect();
    // A reader that went away is no failure.
    let _ = print(&describe_found(&lines, found.confidence));
    Ok(ExitCode::SUCCESS)
}

fn list(what: &CapabilitiesOf) -> Result<ExitCode, Failure> {
    let (_, all) = known(what)?;
    for capability in all
        .iter()
        .filter(|each| what.kind.is_none_or(|kind| kind == each.kind))
    {
        let printed = match what.json {
            true => print_json(&capability_line(capability)),
            false => print(&format!("{} — {}", capability.id, capability.summary)),
        };
        if printed.is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where, and what there is.
fn known(what: &CapabilitiesOf) -> Result<(PathBuf, Vec<Capability>), Failure> {
    let workspace = existing_workspace(what.workspace.as_deref())?;
    if let Some(file) = &what.from {
        let unusable = |why: String| Failure::usage(format!("{} cannot be used: {why}", file.display()));
        let size = std::fs::metadata(file)
            .map_err(|error| unusable(error.to_string()))?
            .len();
        if size > LIST_BYTES_MAX {
            return Err(unusable(format!(
                "it has {size} bytes; {LIST_BYTES_MAX} are read at most"
            )));
        }
        let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
        return Ok((workspace, read_capabilities(&text).map_err(unusable)?));
    }
    let trusted = was_trusted(&workspace, what.trust, &what.state)?;
    let mut spawn = SpawnSettings::default();
    spawn.set(Settings::read(&SettingsPlaces::of(&workspace, trusted)).configured());
    if !trusted && OF_WORKSPACE.iter().any(|place| workspace.join(place).is_dir()) {
        say(&format!(
            "{} is not trusted, so its skills and agents are left out; `--trust` takes them this once, `impresario trust add` for good",
            workspace.display()
        ));
    }
    let order = SkillOrder {
        listed: skills_of_pi(&spawn, &workspace, trusted),
        workspace: workspace.clone(),
        workspace_trusted: trusted,
        ..SkillOrder::default()
    };
    Ok((workspace, gather(&spawn, &order)))
}
