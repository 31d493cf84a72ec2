//! Retrieval: the passages that answer a question, from the context engine.

use super::place::Workspace;
use crate::gateways::{ContextEngine, RetrievalRequest};
use impresario_policies::retrieval::citation::{Citation, render_citations};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) const DESCRIPTION: &str = "Finds the passages of the workspace that answer a question in plain words, best \
first. Shows `path#Lfirst-Llast` above each passage and its lines with their numbers.";

const PASSAGES_DEFAULT: usize = 8;
const PASSAGES_MAX: usize = 20;
/// Below the ceiling above which results are kept aside.
const SHOWN_BYTES_MAX: usize = 20_000;

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

pub(super) async fn run(
    context: &dyn ContextEngine,
    workspace: &Workspace,
    arguments: RetrieveArguments,
) -> Result<String, String> {
    let request = RetrievalRequest {
        query: arguments.query,
        workspace: workspace.root().to_path_buf(),
        passages_max: arguments
            .passages_max
            .unwrap_or(PASSAGES_DEFAULT)
            .clamp(1, PASSAGES_MAX),
    };
    let found = context
        .retrieve(request)
        .await
        .map_err(|error| format!("failed to {error}"))?;
    if found.is_empty() {
        return Ok("No passage shares a telling word with the query.".to_string());
    }
    let citations: Vec<Citation> = found
        .into_iter()
        .map(|passage| Citation {
            path: passage.path,
            line_start: passage.line_start,
            line_end: passage.line_end,
            text: passage.text,
        })
        .collect();
    Ok(render_citations(&citations, SHOWN_BYTES_MAX))
}
