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

pub(super) fn definition(
    tool: AddedTool,
    description: &str,
    properties: Value,
    required: &[&str],
) -> ToolDefinition {
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

const PATTERN: &str = "Code with `$NAME` for one node and `$$$NAME` for any number of them: `$A.unwrap()`, \
                       `console.log($$$ARGS)`, `if ($C) { $$$BODY }`. It is a whole piece of code by itself.";
const RULE: &str = "Instead of a pattern: an ast-grep rule in YAML, `rule:` with `kind`, `pattern`, `regex`, `inside`, \
                    `has`, `precedes`, `follows`, `all`, `any`, `not`; `constraints`, `utils`, `transform` and `fix` beside it.";
const LANG: &str = "rust, typescript, tsx, javascript, python, go, java, c, cpp, csharp, kotlin, swift, ruby, php, bash, \
                    html, css, json, yaml and others. A rule may say it itself.";
const PATHS: &str = "Files and directories to look in; the working directory unless told.";
const GLOBS: &str = "Only files like these; with `!` in front, none like these.";

fn looked_for() -> Value {
    json!({
        "pattern": { "type": "string", "description": PATTERN },
        "rule": { "type": "string", "description": RULE },
        "lang": { "type": "string", "description": LANG },
        "paths": { "type": "array", "items": { "type": "string" }, "description": PATHS },
        "globs": { "type": "array", "items": { "type": "string" }, "description": GLOBS },
    })
}

fn and(mut properties: Value, more: Value) -> Value {
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    properties
}

pub(super) fn ast_search() -> ToolDefinition {
    definition(
        AddedTool::AstSearch,
        "Finds code by its structure: spacing, line breaks and comments do not matter, and text in strings or comments \
         is no code. Leaves out what ignore files name. Shows at most 100 places and counts all.",
        and(
            looked_for(),
            json!({
                "context": { "type": "integer", "minimum": 0, "maximum": 20, "description": "Lines shown around each place; 0 unless told." },
            }),
        ),
        &[],
    )
}

pub(super) fn ast_replace() -> ToolDefinition {
    definition(
        AddedTool::AstReplace,
        "Replaces code by its structure, in all files or in none. Shows the patch and changes nothing unless dryRun is \
         false; what it changed can be taken back with `undo`.",
        and(
            looked_for(),
            json!({
                "rewrite": { "type": "string", "description": "What stands there instead, with the names of the pattern: `$A?`. Empty removes it. A rule may have a `fix` instead." },
                "dryRun": { "type": "boolean", "description": "true unless told: only show what would change." },
                "undo": { "type": "string", "description": "The number of a replacement to take back; nothing else is needed then." },
            }),
        ),
        &[],
    )
}

pub(super) fn look_at() -> ToolDefinition {
    definition(
        AddedTool::LookAt,
        "Shows a picture (PNG, JPEG, GIF, WebP, BMP; at most 10 MiB), and up to 3 others beside it. Large ones are scaled \
         down.",
        json!({
            "path": { "type": "string", "description": "The picture." },
            "objective": { "type": "string", "description": "What to find out from it." },
            "context": { "type": "string", "description": "What should be known for that." },
            "referenceFiles": { "type": "array", "items": { "type": "string" }, "maxItems": 3, "description": "Pictures to compare it with." },
        }),
        &["path", "objective"],
    )
}
