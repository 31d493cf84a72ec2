//! What an agent can use in a workspace: gathered from the files of skills and agents and from what a host says, for the
//! index that finds it.

pub(crate) mod equip;
pub(crate) mod loadouts;
pub(crate) mod servers;
pub(crate) mod wire;

pub use wire::read_capabilities;

use crate::agents::AgentFiles;
use crate::skill_files::usable_skills;
use crate::skills::SpawnSettings;
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::capability::{Capability, CapabilityKind};

/// The skills that a model may use, and the agents that can be asked: what the files of the workspace and of the user say.
pub fn gather(spawn: &SpawnSettings, order: &SkillOrder) -> Vec<Capability> {
    let skills = usable_skills(spawn, order).into_iter().map(|skill| Capability {
        id: format!("skill:{}", skill.name),
        kind: CapabilityKind::Skill,
        source: skill.directory.display().to_string(),
        activation: skill.file.display().to_string(),
        name: skill.name,
        summary: skill.description,
        params: String::new(),
    });
    let files = AgentFiles::where_trusted(order.workspace_trusted);
    let found = spawn.agent_places(&order.workspace, files).find();
    let agents = found.agents.into_iter().map(|known| {
        let definition = known.definition;
        let routing = definition.routing.as_ref();
        Capability {
            id: format!("agent:{}", definition.name()),
            kind: CapabilityKind::Agent,
            source: known
                .source
                .file()
                .map(|file| file.display().to_string())
                .unwrap_or_default(),
            activation: definition.name().to_string(),
            name: definition.name().to_string(),
            summary: definition.description.clone(),
            params: routing
                .map(|routing| routing.use_when.join(" "))
                .unwrap_or_default(),
        }
    });
    skills.chain(agents).collect()
}
