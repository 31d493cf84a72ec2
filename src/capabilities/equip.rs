//! A sub-agent is given what its loadout says: from the file of loadouts and the files of its skills to a definition.

use super::loadouts::{loadouts_file, loadouts_in};
use crate::skill_files::{find_skill, skills_of_pi};
use crate::skills::SpawnSettings;
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::agents::AgentDefinition;
use impresario_policies::capability::equip::{
    GivenSkill, SKILLS_BYTES_MAX, instructions_with, skills_of, tools_with,
};
use impresario_policies::domain::{Reason, ReasonCode};
use std::path::Path;

/// The agent with the skills of its loadout, and without the tools that the loadout leaves out. As it is where it names none.
/// A skill that is not in this workspace is left out, as it is in a prompt. Waits for files.
pub(crate) fn equip(
    mut agent: AgentDefinition,
    settings: &SpawnSettings,
    workspace: &Path,
    trusted: bool,
) -> Result<AgentDefinition, Reason> {
    let Some(name) = agent.loadout.clone() else {
        return Ok(agent);
    };
    let refused = |why: String| Reason {
        code: ReasonCode::BrokenSkill,
        message: format!(
            "The agent {} has the loadout {name:?}, which cannot be used: {why}.",
            agent.name()
        ),
    };
    let loadouts = loadouts_in(loadouts_file(settings.home.as_deref()).as_deref());
    let loadouts = loadouts.map_err(|error| refused(error.to_string()))?;
    let ids = loadouts
        .ids_of(&name)
        .ok_or_else(|| refused("there is none of this name; `/loadout` in Pi lists them".to_string()))?;
    let order = SkillOrder {
        workspace: workspace.to_path_buf(),
        workspace_trusted: trusted,
        listed: skills_of_pi(settings, workspace, trusted),
        ..SkillOrder::default()
    };
    let skills: Vec<GivenSkill> = skills_of(&ids)
        .filter_map(|skill| given(settings, &order, skill))
        .collect();
    let instructions = instructions_with(&agent.instructions, &skills).map_err(|bytes| {
        refused(format!(
            "its skills have {bytes} bytes; a sub-agent is given {SKILLS_BYTES_MAX} at most"
        ))
    })?;
    agent.instructions = instructions;
    agent.tools = agent.tools.map(|tools| tools_with(tools, &ids));
    Ok(agent)
}

fn given(settings: &SpawnSettings, order: &SkillOrder, name: &str) -> Option<GivenSkill> {
    let order = SkillOrder {
        name: name.to_string(),
        ..order.clone()
    };
    match find_skill(settings, &order) {
        Ok(found) => Some(GivenSkill {
            name: name.to_string(),
            description: found.skill.description.unwrap_or_default(),
            instructions: found.skill.instructions,
            directory: found.directory.display().to_string(),
        }),
        Err(why) => {
            tracing::warn!(
                skill = name,
                why = why.message,
                "a skill of a loadout is left out"
            );
            None
        }
    }
}
