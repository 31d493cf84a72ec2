//! Which tools can a sub-agent have, and which of them change something? No sub-agent delegates.

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

/// The tools that Impresario adds.
pub const ADDED_TOOLS: [&str; 10] = [
    "hashline_edit",
    "ast_search",
    "ast_replace",
    "glob",
    "look_at",
    "web_search",
    "web_fetch",
    "docs_resolve",
    "docs_query",
    "gh_search",
];

/// The tools that change something.
pub const CHANGING_TOOLS: [&str; 5] = ["bash", "edit", "write", "hashline_edit", "ast_replace"];

/// What begins so delegates.
pub const DELEGATE_PREFIX: &str = "delegate";

/// A sub-agent can have it.
pub fn is_known(tool: &str) -> bool {
    let ours = [RETRIEVAL_TOOL].into_iter().chain(MEMORY_TOOLS);
    !tool.starts_with(DELEGATE_PREFIX)
        && PI_TOOLS
            .into_iter()
            .chain(ADDED_TOOLS)
            .chain(ours)
            .any(|known| known == tool)
}

/// It can change the workspace, or something beyond it.
pub fn changes_something(tool: &str) -> bool {
    CHANGING_TOOLS.contains(&tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sub_agent_delegates() {
        assert!(is_known("read") && is_known(RETRIEVAL_TOOL));
        for tool in ["delegate", "delegate_explore", "Read", "nope", ""] {
            assert!(!is_known(tool), "{tool}");
        }
    }
}
