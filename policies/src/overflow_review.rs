//! Is a tool's result too large to go into the sub-agent's context?

use crate::domain::{OverflowSettings, RunRequest};
use crate::overflow_preview::READ_TOOL;
use std::collections::BTreeMap;

/// A result as it came from a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolResultFacts<'a> {
    /// The MCP server, or the runtime's own name for its tools.
    pub server: &'a str,
    pub tool: &'a str,
    /// Size of the result in UTF-8.
    pub bytes: usize,
}

/// How large a result of some tools may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCeiling {
    /// Which server; none for any.
    pub server: Option<String>,
    /// Which tool; none for any.
    pub tool: Option<String>,
    /// The largest result that passes; none for any size.
    pub bytes_max: Option<usize>,
}

/// What a run allows results of tools to be, and what becomes of the larger ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLimits {
    /// The first that names a tool decides.
    pub ceilings: Vec<ToolCeiling>,
    pub memory: OverflowSettings,
}

impl ResultLimits {
    /// The ceilings of single tools, and one for all the others.
    pub fn of(single: &BTreeMap<String, u64>, others: u64, memory: OverflowSettings) -> Self {
        let ceiling = |tool: Option<&String>, bytes: u64| ToolCeiling {
            server: None,
            tool: tool.cloned(),
            bytes_max: Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
        };
        let single = single.iter().map(|(tool, bytes)| ceiling(Some(tool), *bytes));
        Self {
            ceilings: single.chain([ceiling(None, others)]).collect(),
            memory,
        }
    }
}

impl From<&RunRequest> for ResultLimits {
    /// Nothing is kept for a sub-agent that could not read it.
    fn from(request: &RunRequest) -> Self {
        let terms = &request.terms.results;
        let can_read = request.tools.iter().any(|tool| tool == READ_TOOL);
        let memory = OverflowSettings {
            enabled: terms.memory.enabled && can_read,
            ..terms.memory
        };
        Self::of(&terms.ceilings, request.overflow_ceiling_bytes, memory)
    }
}

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowReview {
    /// It goes on as it is.
    Pass,
    /// It is kept aside and a preview goes on, at most this large.
    KeepAside {
        /// The ceiling it is above.
        ceiling: usize,
    },
}

/// Reviews a result; the first ceiling that names its tool decides, and none means it passes.
pub fn review_tool_result(facts: &ToolResultFacts<'_>, ceilings: &[ToolCeiling]) -> OverflowReview {
    let names = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|wanted| wanted == given);
    let meant =
        |ceiling: &&ToolCeiling| names(&ceiling.server, facts.server) && names(&ceiling.tool, facts.tool);
    match ceilings.iter().find(meant).and_then(|ceiling| ceiling.bytes_max) {
        Some(ceiling) if facts.bytes > ceiling => OverflowReview::KeepAside { ceiling },
        _ => OverflowReview::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(tool: Option<&str>, bytes_max: Option<usize>) -> ToolCeiling {
        ToolCeiling {
            server: None,
            tool: tool.map(str::to_string),
            bytes_max,
        }
    }

    fn check(tool: &str, bytes: usize, expected: OverflowReview) {
        let ceilings = [
            ceiling(Some("free"), None),
            ceiling(Some("tight"), Some(10)),
            ceiling(None, Some(100)),
        ];
        assert_eq!(
            review_tool_result(
                &ToolResultFacts {
                    server: "s",
                    tool,
                    bytes
                },
                &ceilings
            ),
            expected
        );
    }

    #[test]
    fn the_first_ceiling_that_names_the_tool_decides() {
        check("free", 1_000_000, OverflowReview::Pass);
        check("tight", 10, OverflowReview::Pass);
        check("tight", 11, OverflowReview::KeepAside { ceiling: 10 });
        check("other", 100, OverflowReview::Pass);
        check("other", 101, OverflowReview::KeepAside { ceiling: 100 });
    }

    #[test]
    fn a_tool_has_its_own_ceiling_and_the_others_share_one() {
        let own = BTreeMap::from([("codebase-retrieval".to_string(), 10)]);
        let limits = ResultLimits::of(&own, 100, OverflowSettings::default());
        let review = |tool| {
            let facts = ToolResultFacts {
                server: "",
                tool,
                bytes: 50,
            };
            review_tool_result(&facts, &limits.ceilings)
        };
        assert_eq!(
            review("codebase-retrieval"),
            OverflowReview::KeepAside { ceiling: 10 }
        );
        assert_eq!(review("bash"), OverflowReview::Pass);
    }
}
