//! Retrieval: what answers a question, from the context engine of the run.

use crate::gateways::{PASSAGES_MAX, ToolGate};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) const DESCRIPTION: &str = "Finds the passages of the workspace that answer a question in plain words, best \
first. Shows `path#Lfirst-Llast` above each passage and its lines with their numbers.";

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "A question or a handful of words." },
            "passages_max": { "type": "integer", "minimum": 1, "maximum": PASSAGES_MAX }
        },
        "required": ["query"],
        "additionalProperties": false
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct RetrieveArguments {
    #[serde(alias = "information_request", alias = "question")]
    query: String,
    passages_max: Option<usize>,
}

pub(super) async fn run(gate: &dyn ToolGate, arguments: RetrieveArguments) -> Result<String, String> {
    gate.retrieve(&arguments.query, arguments.passages_max).await
}
