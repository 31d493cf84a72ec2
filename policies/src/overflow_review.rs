//! Is a tool's result too large to go into the sub-agent's context?

/// A result as it came from a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolResultFacts<'a> {
    /// The MCP server, or the runtime's own name for its tools.
    pub server: &'a str,
    /// The tool.
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

/// Asks one reviewer after the other; the first replacement wins and nobody after it is asked.
pub fn first_replacement<R>(reviews: impl IntoIterator<Item = Option<R>>) -> Option<R> {
    reviews.into_iter().flatten().next()
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
}
