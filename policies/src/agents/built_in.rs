//! The agents that are always there.

use super::routing::{Category, RelativeCost, Routing};
use super::{AgentDefinition, looking_tools};
use crate::added_tools::{AddedTool, Reaches};
use crate::domain::ModelFamily;
use crate::overflow_memory::MEMORY_TOOLS;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use crate::tool_policy::{Mutability, PI_TOOLS};
use std::time::Duration;

/// What is added for models of one family, after the instructions: the same for every agent.
const STYLES: [(ModelFamily, &str); 3] = [
    (ModelFamily::Gpt, include_str!("personas/gpt.md")),
    (ModelFamily::Gemini, include_str!("personas/gemini.md")),
    (ModelFamily::Kimi, include_str!("personas/kimi.md")),
];

/// The agents that are always there.
pub fn built_in_agents() -> Vec<AgentDefinition> {
    vec![explore(), oracle(), librarian(), general(), reviewer()]
}

fn explore() -> AgentDefinition {
    let about =
        "Answers a question about the workspace with the files and lines that answer it; changes nothing.";
    reading("explore", include_str!("personas/explore.md"), 10)
        .description(about)
        .routing(Routing {
            category: Category::Exploration,
            cost: RelativeCost::Low,
            use_when: words([
                "Where something is decided or done",
                "How something flows through the code",
                "Several places must be found",
            ]),
            avoid_when: words(["The file is known: read it", "One exact name: grep it"]),
            key_trigger: Some("Where is it, how does it flow".to_string()),
        })
}

fn oracle() -> AgentDefinition {
    let about = "Thinks a hard question through and advises: design, a fault nobody can explain, a plan; changes nothing.";
    reading("oracle", include_str!("personas/oracle.md"), 20)
        .description(about)
        .routing(Routing {
            category: Category::Reasoning,
            cost: RelativeCost::High,
            use_when: words([
                "A design must be chosen",
                "A fault resists two attempts",
                "A plan must hold",
            ]),
            avoid_when: words([
                "The answer stands in the code",
                "A first attempt has not been made",
            ]),
            key_trigger: Some("Hard to decide, hard to explain".to_string()),
        })
}

fn librarian() -> AgentDefinition {
    let about =
        "Finds out how a library behaves and what its documentation says, with sources; changes nothing.";
    let network = AddedTool::ALL
        .into_iter()
        .filter(|tool| tool.reaches() == Reaches::Network);
    let tools = looking_tools().chain(network.map(AddedTool::name));
    reading("librarian", include_str!("personas/librarian.md"), 15)
        .tools(tools)
        .description(about)
        .routing(Routing {
            category: Category::Research,
            cost: RelativeCost::High,
            use_when: words([
                "How a library of this version behaves",
                "Several sources must be compared",
            ]),
            avoid_when: words([
                "The workspace itself answers it",
                "One look at one page is enough",
            ]),
            key_trigger: Some("What the workspace does not tell".to_string()),
        })
}

fn general() -> AgentDefinition {
    let about = "Carries out one task from beginning to end: looks, changes, checks, reports.";
    let added = AddedTool::ALL.map(AddedTool::name);
    let tools = [RETRIEVAL_TOOL]
        .into_iter()
        .chain(PI_TOOLS)
        .chain(added)
        .chain(MEMORY_TOOLS);
    built_in("general", include_str!("personas/general.md"), 30)
        .description(about)
        .mutability(Mutability::FullAccess)
        .tools(tools)
        .routing(Routing {
            category: Category::Implementation,
            cost: RelativeCost::High,
            use_when: words([
                "A change that can be said in one task",
                "Work that stands on its own",
                "A tedious change in many places",
            ]),
            avoid_when: words(["It depends on this conversation", "One small edit: do it"]),
            key_trigger: Some("Change it, check it, report".to_string()),
        })
}

fn reviewer() -> AgentDefinition {
    let about = "Reviews a change, or code as it stands, and gives findings with a verdict; changes nothing.";
    reading("reviewer", include_str!("personas/reviewer.md"), 15)
        .description(about)
        .routing(Routing {
            category: Category::Review,
            cost: RelativeCost::Medium,
            use_when: words([
                "A change is ready to be judged",
                "Code must be looked through for faults",
            ]),
            avoid_when: words([
                "The change is still being made",
                "It has been reviewed as it stands",
            ]),
            key_trigger: Some("Is this right".to_string()),
        })
}

fn reading(name: &str, instructions: &str, minutes: u64) -> AgentDefinition {
    built_in(name, instructions, minutes)
        .mutability(Mutability::ReadOnly)
        .tools(looking_tools())
}

fn built_in(name: &str, instructions: &str, minutes: u64) -> AgentDefinition {
    let mut agent =
        AgentDefinition::new(name, instructions.trim_end()).total_timeout(Duration::from_secs(minutes * 60));
    agent.styles = STYLES
        .map(|(family, style)| (family, style.trim_end().to_string()))
        .into();
    agent
}

fn words<const COUNT: usize>(words: [&str; COUNT]) -> Vec<String> {
    words.map(str::to_string).to_vec()
}
