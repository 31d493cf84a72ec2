//! Who can be asked, and what is each of them told?

#![warn(missing_docs)]

mod built_in;
mod file;
mod routing;

pub use built_in::built_in_agents;
pub(crate) use file::is_agent_name;
pub use file::{AGENT_FILE_BYTES_MAX, AgentFile, FileNote, read_agent_markdown, read_agent_yaml};
pub use routing::{Category, RelativeCost, Routing, name_order, routing_matrix, routing_summary};

use crate::added_tools::AddedTool;
use crate::domain::{
    ExecutionMode, Isolation, ModelFamily, PromptMode, Reason, ReasonCode, ReasoningEffort, WhatToRun,
};
use crate::nearest::nearest_name;
use crate::skill_file::SkillFile;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use crate::tool_policy::{Mutability, changes_something};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Who can be run, as its author describes it: built in, from a skill's file, or of a program that embeds us.
///
/// ```
/// use impresario_policies::agents::AgentDefinition;
///
/// let reviewer = AgentDefinition::new("reviewer", "Find mistakes in what the task names. Change nothing.")
///     .tools(["read", "grep"])
///     .models(["house/large", "house/small"]);
/// assert_eq!(reviewer.models[0], "house/large");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    /// Agent or skill, and the name by which it is asked for.
    pub what: WhatToRun,
    /// One line, for people and for models that delegate.
    pub description: String,
    /// What stands before the task.
    pub instructions: String,
    /// The tools it may use, and nothing else; none for what its runner has for skills.
    pub tools: Option<Vec<String>>,
    /// What it may do to the workspace: from one that only reads, the tools that change something are taken.
    pub mutability: Mutability,
    /// What is added to the instructions for models of one family.
    pub styles: BTreeMap<ModelFamily, String>,
    /// When it is worth asking.
    pub routing: Option<Routing>,
    /// The models it asks for, in order of preference; empty for whatever is set.
    pub models: Vec<String>,
    /// The models to go on with behind whichever runs first, instead of those that are set for all; none for these.
    pub fallback_models: Option<Vec<String>>,
    /// How much the model thinks; none for what its provider does.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Sampling temperature; none for what is set for all.
    pub temperature: Option<f64>,
    /// Where the instructions stand.
    pub prompt_mode: PromptMode,
    /// Whether calls of one turn that ask it run at the same time.
    pub execution_mode: ExecutionMode,
    /// From admission to the end, at most, where nobody set a time.
    pub total_timeout: Option<Duration>,
    /// Somebody set that time for this agent: it holds over what is set for all.
    pub total_set: bool,
    /// Between two events, at most; none for what is set for all.
    pub inactivity_timeout: Option<Duration>,
    /// Where it works: in the person's own files, or in a git worktree of its own.
    pub isolation: Isolation,
    /// What its instructions name relative to themselves is found there.
    pub directory: Option<PathBuf>,
    /// The loadout whose skills it is given and whose tools it keeps; none for no skills and all of its tools.
    pub loadout: Option<String>,
}

impl AgentDefinition {
    /// An agent with these instructions, the reading tools, and everything else as it is set.
    pub fn new(name: impl Into<String>, instructions: impl Into<String>) -> Self {
        Self {
            what: WhatToRun::Agent(name.into()),
            description: String::new(),
            instructions: instructions.into(),
            tools: Some(READING_TOOLS.map(str::to_string).to_vec()),
            mutability: Mutability::FullAccess,
            styles: BTreeMap::new(),
            routing: None,
            models: Vec::new(),
            fallback_models: None,
            reasoning_effort: None,
            temperature: None,
            prompt_mode: PromptMode::default(),
            execution_mode: ExecutionMode::default(),
            total_timeout: None,
            total_set: false,
            inactivity_timeout: None,
            isolation: Isolation::None,
            directory: None,
            loadout: None,
        }
    }

    /// What a skill's file describes. It lies in `directory`.
    pub fn of_skill(name: impl Into<String>, skill: SkillFile, directory: PathBuf) -> Self {
        Self {
            what: WhatToRun::Skill(name.into()),
            description: skill.description.unwrap_or_default(),
            tools: None,
            models: skill.model.into_iter().collect(),
            directory: Some(directory),
            ..Self::new("", skill.instructions)
        }
    }

    /// What it is for, in one line.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The tools it may use, and nothing else.
    pub fn tools<Name: Into<String>>(mut self, tools: impl IntoIterator<Item = Name>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// What it may do to the workspace.
    pub fn mutability(mut self, mutability: Mutability) -> Self {
        self.mutability = mutability;
        self
    }

    /// When it is worth asking.
    pub fn routing(mut self, routing: Routing) -> Self {
        self.routing = Some(routing);
        self
    }

    /// The models it asks for, in order of preference.
    pub fn models<Name: Into<String>>(mut self, models: impl IntoIterator<Item = Name>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// The models to go on with behind whichever runs first, instead of those that are set for all.
    pub fn fallback_models<Name: Into<String>>(mut self, models: impl IntoIterator<Item = Name>) -> Self {
        self.fallback_models = Some(models.into_iter().map(Into::into).collect());
        self
    }

    /// How much its model thinks, where the provider lets one choose.
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// From admission to the end, at most, where nobody set a time.
    pub fn total_timeout(mut self, total: Duration) -> Self {
        self.total_timeout = Some(total);
        self
    }

    /// Where it works. With [`Isolation::Worktree`] what it changes becomes a patch, which somebody applies.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// It can change the workspace.
    pub fn changes_files(&self) -> bool {
        let tools = self.tools.iter().flatten();
        self.mutability == Mutability::FullAccess && tools.map(String::as_str).any(changes_something)
    }

    /// By which it is asked for.
    pub fn name(&self) -> &str {
        self.what.name()
    }
}

/// The tools that change nothing.
pub const READING_TOOLS: [&str; 7] = [
    RETRIEVAL_TOOL,
    "read",
    "grep",
    "find",
    "overflow_list",
    "overflow_read",
    "overflow_search",
];

/// What one looks with who says nothing of tools, built in or of a file: the tools that change nothing, but for those
/// that show pictures or ask servers. The same as pi-blackbytes gives, with ours.
pub fn looking_tools() -> impl Iterator<Item = &'static str> {
    let added = [AddedTool::Glob, AddedTool::AstSearch].map(AddedTool::name);
    READING_TOOLS.into_iter().chain(added)
}

/// Why there is no agent called `name`, with the nearest of those there are.
pub fn unknown_agent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Reason {
    let known: Vec<&str> = known.collect();
    let hint = nearest_name(name, known.iter().copied()).map(|nearest| format!(" Did you mean {nearest:?}?"));
    let name = name.chars().take(60).collect::<String>();
    Reason {
        code: ReasonCode::UnknownAgent,
        message: format!(
            "There is no agent called {name:?}.{} There are: {}.",
            hint.unwrap_or_default(),
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let agents = built_in_agents();
        let names: std::collections::BTreeSet<&str> = agents.iter().map(AgentDefinition::name).collect();
        assert_eq!(names.len(), agents.len());
        let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(names.iter().all(plain));
    }

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_a_stranger_is_not() {
        let hint = |name: &str| unknown_agent(name, ["explore", "reviewer"].into_iter()).message;
        assert!(hint("exlpore").contains("Did you mean \"explore\"? There are: explore, reviewer."));
        assert!(!hint("oracle").contains("Did you mean"));
        assert!(!hint("").contains("Did you mean"));
    }
}
