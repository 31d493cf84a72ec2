//! Which tools of a host are found when they are needed instead of being offered all the time.

use crate::delegation_block::DELEGATE_TOOL;

/// What is always offered, where it is: what every task needs, and what finds the rest.
const ALWAYS: [&str; 13] = [
    "read",
    "bash",
    "edit",
    "write",
    "grep",
    "find",
    "ls",
    "powershell",
    "capability_search",
    "capability_activate",
    "capability_add",
    "capability_status",
    "loadout",
];

/// Whether a tool is offered all the time and never looked for.
pub fn is_always_there(tool: &str) -> bool {
    ALWAYS.contains(&tool)
}

/// Whether a tool stands for our agents and skills, which are found themselves.
pub fn is_ours(tool: &str) -> bool {
    tool == DELEGATE_TOOL
        || tool
            .strip_prefix(DELEGATE_TOOL)
            .is_some_and(|rest| rest.starts_with('_'))
}

/// Whether a host finds its tools itself: then they are its to offer.
pub fn has_own_search(tools: &[&str]) -> bool {
    tools
        .iter()
        .any(|tool| ["tool_search", "search_tools", "find_tools"].contains(tool))
}

/// The tools that stay active: of those that are, all but the ones that are in the index and not within reach. Nothing is
/// switched on, and what the index does not know stays.
pub fn active_tools(active: &[String], indexed: &[String], within_reach: &[String]) -> Vec<String> {
    let stays = |tool: &&String| {
        is_always_there(tool)
            || !indexed.contains(tool)
            || within_reach
                .iter()
                .any(|id| id.strip_prefix("tool:pi:") == Some(tool.as_str()))
    };
    active.iter().filter(stays).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_string()).collect()
    }

    #[test]
    fn our_tools_are_known_by_their_name() {
        assert!(is_ours("delegate") && is_ours("delegate_explore"));
        assert!(!is_ours("delegates") && !is_ours("web_fetch"));
        assert!(has_own_search(&["read", "tool_search"]) && !has_own_search(&["read", "capability_search"]));
    }

    #[test]
    fn what_was_off_stays_off_and_what_is_unknown_stays_on() {
        let active = names(&["read", "bash", "wash", "feed", "elsewhere"]);
        let left = active_tools(
            &active,
            &names(&["wash", "feed", "read"]),
            &names(&["tool:pi:feed", "tool:pi:grep"]),
        );
        assert_eq!(left, names(&["read", "bash", "feed", "elsewhere"]));
    }
}
