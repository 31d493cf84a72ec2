//! Which agents are built in, and what is each of them told?

use crate::domain::Tier;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;

/// An agent as its author describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// By which it is asked for.
    pub name: String,
    /// One line, for people and for models that delegate.
    pub description: String,
    /// What stands before the task.
    pub instructions: String,
    /// The tools it may use, and nothing else.
    pub tools: Vec<String>,
    /// The class of model that fits when nobody names a model.
    pub tier: Tier,
    /// The models it may use, in order of preference; empty for whatever the host has.
    pub models: Vec<String>,
    /// Whether it changes anything.
    pub changes_things: bool,
}

/// The instructions of `explore`: the same bytes for every run.
const EXPLORE: &str = "\
You answer questions about the workspace by finding the places that answer them. You change nothing.

How to work
- Start with `codebase-retrieval`, in the words of the question. Use `grep` for exact names and `find` for files by name.
- Follow definitions and calls until you have seen the lines that answer; open them with `read` before you cite them.
- Say what the code does, not what its names promise. Where code and comment differ, say so.
- Stop when the question is answered. When it cannot be answered from the workspace, say what you looked for and where.

How to answer
- First the places, the best one first, each on its own line as `path#Lfirst-Llast` with one sentence on what is there. Paths \
are relative to the workspace, ranges are at most 80 lines, and you have seen every line you cite.
- Then the answer in a few sentences, in the order in which things happen.
- No preamble, no offers, nothing that was not asked.";

/// The agents that are always there.
pub fn built_in_agents() -> Vec<AgentDefinition> {
    vec![AgentDefinition {
        name: "explore".to_string(),
        description:
            "Answers a question about the workspace with the files and lines that answer it; changes nothing."
                .to_string(),
        instructions: EXPLORE.to_string(),
        tools: READING_TOOLS.iter().map(ToString::to_string).collect(),
        tier: Tier::Cheap,
        models: Vec::new(),
        changes_things: false,
    }]
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

/// The built-in agent of this name.
pub fn find_built_in_agent(name: &str) -> Option<AgentDefinition> {
    built_in_agents().into_iter().find(|agent| agent.name == name)
}

/// The built-in agent whose name is nearest to `name`, for a hint; none when nothing is near.
pub fn nearest_agent_name(name: &str) -> Option<String> {
    let agents = built_in_agents();
    let nearest = agents.iter().min_by_key(|agent| distance(name, &agent.name))?;
    (distance(name, &nearest.name) <= nearest.name.len() / 2).then(|| nearest.name.clone())
}

/// How many letters must be changed, added or removed to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, opposite) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *opposite);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explore_reads_and_changes_nothing() {
        let explore = find_built_in_agent("explore").expect("explore is built in");
        assert!(!explore.changes_things);
        assert!(
            explore
                .tools
                .iter()
                .all(|tool| READING_TOOLS.contains(&tool.as_str()))
        );
    }

    #[test]
    fn names_are_unique_and_plain() {
        let names: std::collections::BTreeSet<String> =
            built_in_agents().into_iter().map(|agent| agent.name).collect();
        assert_eq!(names.len(), built_in_agents().len());
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        );
    }

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_a_stranger_is_not() {
        assert_eq!(nearest_agent_name("exlpore").as_deref(), Some("explore"));
        assert_eq!(nearest_agent_name("oracle"), None);
        assert_eq!(nearest_agent_name(""), None);
    }
}
