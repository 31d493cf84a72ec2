//! `gh_search`: code in public repositories.

use super::{NetworkTools, answer, sayable, told, wire};
use crate::gateways::{ToolAnswer, WebFailure};
use impresario_policies::network::code_hits::answer_code_search;
use impresario_policies::network::untrusted::mark_untrusted;
use serde::Deserialize;
use serde_json::Value;

/// The tool of the server.
const TOOL: &str = "searchGitHub";
/// What stands there where a server says nothing of its failure.
const NOTHING_SAID: &str = "unknown error";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GhSearchArguments {
    pub(super) query: String,
    pub(super) language: Option<Vec<String>>,
    pub(super) repo: Option<String>,
    pub(super) path: Option<String>,
    pub(super) match_case: Option<bool>,
    pub(super) match_whole_words: Option<bool>,
    pub(super) use_regexp: Option<bool>,
}

pub(super) async fn run(tools: &NetworkTools, arguments: GhSearchArguments) -> Result<ToolAnswer, String> {
    let query = sayable(&arguments.query)?.to_string();
    let host = tools.settings.code_search.host();
    let asked = wire::code_search(&arguments);
    let result = tools.code_search.call(tools.web.as_ref(), TOOL, &asked).await;
    let result = result.map_err(|failure| {
        let failure = WebFailure {
            status: failure.http_status,
            why: failure.why,
            said: failure.said,
        };
        told("Error searching GitHub", host, &failure)
    })?;
    let text = text_of(host, &query, &result)?;
    Ok(answer(text, vec![format!("{host}: {TOOL} {query:?}")]))
}

fn text_of(host: &str, query: &str, result: &Value) -> Result<String, String> {
    match wire::tool_texts(result) {
        Ok(hits) => Ok(answer_code_search(host, query, &hits)),
        Err(said) if said.is_empty() => Err(format!("Error searching GitHub: {NOTHING_SAID}")),
        Err(said) => Err(format!(
            "Error searching GitHub:\n{}",
            mark_untrusted(host, &said.join("\n"))
        )),
    }
}
