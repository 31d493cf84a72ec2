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

pub(super) fn hashline_edit() -> ToolDefinition {
    let anchor = |what: &str| json!({ "type": "string", "description": what });
    definition(
        AddedTool::HashlineEdit,
        "Changes a file at lines named by their anchors: what stands before the | of each line that read shows (41#KXVTB). \
         All edits are about the file as it was read, in any order; all of them are made or none. An anchor that no \
         longer fits is refused with the lines that are there now. The answer has the new anchors. Needs no copy of \
         the lines that go.",
        json!({
            "filePath": { "type": "string", "description": "The file, which has to be there." },
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {
                            "type": "string",
                            "enum": [
                                "replace", "append", "prepend", "replace_text", "insert_after", "insert_before",
                                "replace_range",
                            ],
                            "description": "replace: lines in the place of pos, or of pos to end. append, prepend: \
                                            lines behind or before pos; without pos at the end or the beginning of \
                                            the file. replace_text: newText for oldText, which stands there once.",
                        },
                        "pos": anchor("Anchor of the first line."),
                        "end": anchor("Anchor of the last line of a range."),
                        "lines": {
                            "anyOf": [
                                { "type": "array", "items": { "type": "string" } },
                                { "type": "string" },
                                { "type": "null" },
                            ],
                            "description": "New lines without anchors; none takes lines away.",
                        },
                        "oldText": { "type": "string" },
                        "newText": { "type": "string" },
                    },
                    "required": ["op"],
                },
            },
            "rename": { "type": "string", "description": "The path that the file gets; nothing may be there." },
            "delete": { "type": "boolean", "description": "Removes the file; without edits." },
        }),
        &["filePath", "edits"],
    )
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
