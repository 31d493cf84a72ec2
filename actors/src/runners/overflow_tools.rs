//! The tools with which a sub-agent looks at results that were kept aside: the same for every runner.

use crate::gateways::ToolDefinition;
use serde_json::{Value, json};

/// A question that the overflow memory answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverflowTool {
    List,
    /// A page of one result.
    Read,
    /// Places in one result.
    Search,
}

impl OverflowTool {
    const ALL: [Self; 3] = [Self::List, Self::Read, Self::Search];

    /// The tool that models know under this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Those of an agent's tools, in an order of their own.
    pub(super) fn among(tools: &[String]) -> impl Iterator<Item = Self> + '_ {
        let allowed = |tool: &Self| tools.iter().any(|name| name == tool.name());
        Self::ALL.into_iter().filter(allowed)
    }

    fn name(self) -> &'static str {
        match self {
            Self::List => "overflow_list",
            Self::Read => "overflow_read",
            Self::Search => "overflow_search",
        }
    }

    /// What the memory calls it.
    pub(super) fn asked_as(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Search => "search",
        }
    }

    /// What models are told of it.
    pub(super) fn definition(self) -> ToolDefinition {
        let (description, properties, required) = match self {
            Self::List => (
                "Lists the tool results that were too large to show, with their handles and sizes.",
                json!({}),
                json!([]),
            ),
            Self::Read => (
                "Reads a part of a tool result that was too large to show. Go on with nextOffset until eof is true.",
                json!({
                    "id": handle(),
                    "offset": { "type": "integer", "minimum": 0, "description": "First character, from 0." },
                    "limit": { "type": "integer", "minimum": 1, "description": "How many characters." },
                }),
                json!(["id"]),
            ),
            Self::Search => (
                "Finds a text in a tool result that was too large to show; each place has the offset to read from.",
                json!({
                    "id": handle(),
                    "query": { "type": "string", "minLength": 1, "description": "The text, as it stands there." },
                }),
                json!(["id", "query"]),
            ),
        };
        ToolDefinition {
            name: self.name().to_string(),
            description: description.to_string(),
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

fn handle() -> Value {
    json!({ "type": "string", "description": "The handle: overflow_1, overflow_2, …" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::overflow_memory::MEMORY_TOOLS;

    #[test]
    fn each_tool_is_found_by_the_name_it_is_offered_under() {
        for tool in OverflowTool::ALL {
            assert_eq!(OverflowTool::named(&tool.definition().name), Some(tool));
        }
        assert_eq!(OverflowTool::ALL.map(OverflowTool::name), MEMORY_TOOLS);
        assert_eq!(OverflowTool::named("list"), None);
    }

    #[test]
    fn an_agent_gets_those_it_may_use() {
        let tools = ["bash", "overflow_search", "overflow_list"].map(str::to_string);
        let found: Vec<_> = OverflowTool::among(&tools).collect();
        assert_eq!(found, [OverflowTool::List, OverflowTool::Search]);
    }
}
