//! The tool with which a sub-agent asks the context engine of its run: the same for every runner.

use crate::gateways::{PASSAGES_MAX, ToolDefinition, ToolGate};
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(alias = "information_request", alias = "question")]
    query: String,
    passages_max: Option<usize>,
}

/// What models are told of it.
pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: RETRIEVAL_TOOL.to_string(),
        description:
            "Finds the passages of the workspace that answer a question in plain words, best first. Shows \
                      `path#Lfirst-Llast` above each passage and its lines with their numbers."
                .to_string(),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "A question or a handful of words." },
                "passages_max": { "type": "integer", "minimum": 1, "maximum": PASSAGES_MAX },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
    }
}

/// Asks the engine; both sides are for the model to read.
pub(super) async fn retrieve(gate: &dyn ToolGate, arguments: &Value) -> Result<String, String> {
    let asked = Arguments::deserialize(arguments).map_err(|error| {
        format!(
            "The arguments cannot be used: {error}. Expected {{\"query\": \"where is a session opened?\"}}."
        )
    })?;
    if asked.query.trim().is_empty() {
        return Err("The query is empty. Ask a question, or give a handful of words.".to_string());
    }
    gate.retrieve(&asked.query, asked.passages_max).await
}
