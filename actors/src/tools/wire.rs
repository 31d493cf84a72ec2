//! What models are told of the tools, and how their arguments are read.

use crate::gateways::ToolDefinition;
use impresario_policies::added_tools::AddedTool;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads arguments as a tool wants them; the model is told what is wrong with them.
pub(super) fn arguments<A: DeserializeOwned>(given: &Value) -> Result<A, String> {
    let given = if given.is_null() { json!({}) } else { given.clone() };
    serde_json::from_value(given).map_err(|error| format!("The arguments cannot be used: {error}."))
}

fn definition(tool: AddedTool, description: &str, properties: Value, required: &[&str]) -> ToolDefinition {
    ToolDefinition {
        name: tool.name().to_string(),
        description: description.to_string(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

pub(super) fn glob() -> ToolDefinition {
    definition(
        AddedTool::Glob,
        "Lists files whose path matches a glob, the newest first, at most 25. Leaves out what ignore files name, .git, \
         node_modules, dist and build; dot files only where the glob names them.",
        json!({
            "pattern": { "type": "string", "description": "`**/*.rs`, `src/*.{ts,tsx}`; relative to `path`." },
            "path": { "type": "string", "description": "The directory to look in; the working directory unless told." },
        }),
        &["pattern"],
    )
}
