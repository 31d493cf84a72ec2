//! The tools of the server: their schemas, their arguments, their answers.

use impresario_actors::journal::{KeptAside, OverflowEntry, RunSummary};
use impresario_actors::overflow::wire::entries;
use impresario_policies::overflow_read::{PAGE_UNITS, PAGE_UNITS_MAX};
use rmcp::model::{JsonObject, Tool};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct KeepWish {
    /// The text.
    pub(super) text: String,
    /// Where it came from.
    #[serde(default)]
    pub(super) tool: String,
}

pub(super) fn keep_wish(arguments: &Value) -> Result<KeepWish, String> {
    KeepWish::deserialize(arguments)
        .map_err(|error| format!("The arguments cannot be read: {error}. Expected {{\"text\": \"…\"}}."))
}

/// The run that a call names, if it does.
pub(super) fn run_named(arguments: &Value) -> Result<Option<&str>, String> {
    match arguments.get("run") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(named)) if !named.trim().is_empty() => Ok(Some(named.trim())),
        Some(_) => {
            Err("'run' is the id of a run, or as much of its beginning as makes it the only one.".to_string())
        }
    }
}

pub(super) fn list_of_run(kept: &[OverflowEntry]) -> String {
    json!({ "entries": entries(kept) }).to_string()
}

/// What the host keeps here, and the runs that keep something.
pub(super) fn list(own: &[OverflowEntry], runs: &[(RunSummary, KeptAside)]) -> String {
    let runs = runs.iter().map(|(run, kept)| {
        json!({
            "run": run.run.as_str(),
            "name": run.what.name(),
            "task": run.task.lines().next().unwrap_or_default(),
            "entries": kept.entries,
            "bytes": kept.bytes,
        })
    });
    json!({ "entries": entries(own), "runs": runs.collect::<Vec<_>>() }).to_string()
}

/// The tools, with or without a say whose memory is meant.
pub(super) fn tools(of_one_run: bool) -> Vec<Tool> {
    let id = json!({ "type": "string", "description": "The handle: overflow_1, overflow_2, …" });
    let offset =
        json!({ "type": "integer", "minimum": 0, "default": 0, "description": "First character, from 0." });
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": PAGE_UNITS_MAX, "default": PAGE_UNITS,
        "description": "How many characters.",
    });
    let query = json!({ "type": "string", "minLength": 1, "description": "The text, as it stands there." });
    let mut tools = vec![
        tool(
            "list",
            match of_one_run {
                true => {
                    "Lists the tool results that were too large to show and are kept, with handles and sizes."
                }
                false => {
                    "Lists what is kept here, with handles and sizes, and the runs that keep something. With a run, \
                    lists what that run keeps; it is gone when the run ends."
                }
            },
            json!({}),
            &[],
            of_one_run,
        ),
        tool(
            "read",
            "Reads a part of what is kept. Go on with nextOffset until eof is true.",
            json!({ "id": id, "offset": offset, "limit": limit }),
            &["id"],
            of_one_run,
        ),
        tool(
            "search",
            "Finds a text in what is kept; each place has the offset to read from.",
            json!({ "id": id, "query": query }),
            &["id", "query"],
            of_one_run,
        ),
    ];
    if !of_one_run {
        tools.push(keep_tool());
    }
    tools
}

fn keep_tool() -> Tool {
    let properties = json!({
        "text": { "type": "string", "description": "What is to be kept." },
        "tool": { "type": "string", "description": "Where it came from." },
    });
    let description = "For a host that has a result too large for its model: keeps it while this server runs, and \
        gives the short text that can stand in its place.";
    tool("keep", description, properties, &["text"], true)
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
    no_run: bool,
) -> Tool {
    let mut properties = properties;
    if !no_run {
        properties["run"] = json!({
            "type": "string",
            "description": "The run whose memory is meant; without it, what this host keeps here.",
        });
    }
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema))
}
