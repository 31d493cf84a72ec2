//! Which tools can a sub-agent have, and which of them change something? No sub-agent delegates.

use crate::added_tools::AddedTool;
use crate::overflow_memory::MEMORY_TOOLS;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;
use serde::{Deserialize, Serialize};

/// What an agent may do to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mutability {
    /// Look.
    ReadOnly,
    /// Whatever its tools can.
    FullAccess,
}

/// The tools of Pi itself.
pub const PI_TOOLS: [&str; 7] = ["read", "bash", "edit", "write", "grep", "find", "ls"];

/// The tools of Pi that change something.
const CHANGING_PI_TOOLS: [&str; 3] = ["bash", "edit", "write"];

/// What begins so delegates.
pub const DELEGATE_PREFIX: &str = "delegate";

/// A sub-agent can have it.
pub fn is_known(tool: &str) -> bool {
    let ours = [RETRIEVAL_TOOL].into_iter().chain(MEMORY_TOOLS);
    !tool.starts_with(DELEGATE_PREFIX)
        && PI_TOOLS
            .into_iter()
            .chain(AddedTool::ALL.map(AddedTool::name))
            .chain(ours)
            .any(|known| known == tool)
}

/// What becomes of a tool that nobody here knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownTools {
    /// It may be the program's own; the runner says who has it.
    Kept,
    /// Nobody can have it.
    Dropped,
}

/// The tools that a sub-agent gets, and those that it was to have and does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinalTools {
    /// In the order of their names' bytes, so that one list has one prompt.
    pub tools: Vec<String>,
    /// Nobody here knows them, or they delegate.
    pub unknown: Vec<String>,
    /// Somebody took them from everybody.
    pub disabled: Vec<String>,
    /// They change something, and the agent only reads.
    pub changing: Vec<String>,
}

/// Each once; then goes what is unknown, what is disabled, and from an agent that only reads what changes something.
pub fn finalise_tools(
    asked: Vec<String>,
    unknown: UnknownTools,
    disabled: &[String],
    mutability: Mutability,
) -> FinalTools {
    let mut done = FinalTools::default();
    let mut seen: Vec<String> = Vec::new();
    for tool in asked {
        if seen.contains(&tool) {
            continue;
        }
        seen.push(tool.clone());
        let list = if unknown == UnknownTools::Dropped && !is_known(&tool) {
            &mut done.unknown
        } else if disabled.contains(&tool) {
            &mut done.disabled
        } else if mutability == Mutability::ReadOnly && changes_something(&tool) {
            &mut done.changing
        } else {
            &mut done.tools
        };
        list.push(tool);
    }
    done.tools.sort_unstable();
    done
}

/// It can change the workspace, or something beyond it.
pub fn changes_something(tool: &str) -> bool {
    CHANGING_PI_TOOLS.contains(&tool) || AddedTool::named(tool).is_some_and(AddedTool::changes_something)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_goes_for_the_first_reason_there_is() {
        let asked = ["write", "read", "nope", "read", "bash", "delegate_x", "grep"];
        let asked = || asked.map(str::to_string).to_vec();
        let disabled = ["write".to_string(), "grep".to_string()];
        let done = finalise_tools(asked(), UnknownTools::Dropped, &disabled, Mutability::ReadOnly);
        assert_eq!(done.tools, ["read"]);
        assert_eq!(done.unknown, ["nope", "delegate_x"]);
        assert_eq!(done.disabled, ["write", "grep"]);
        assert_eq!(done.changing, ["bash"]);
        let kept = finalise_tools(asked(), UnknownTools::Kept, &[], Mutability::FullAccess);
        assert_eq!(
            kept.tools,
            ["bash", "delegate_x", "grep", "nope", "read", "write"]
        );
    }

    #[test]
    fn no_sub_agent_delegates() {
        assert!(is_known("read") && is_known(RETRIEVAL_TOOL));
        for tool in ["delegate", "delegate_explore", "Read", "nope", ""] {
            assert!(!is_known(tool), "{tool}");
        }
    }
}
