//! Tools that ask servers elsewhere: `web_search`, `web_fetch`, `docs_resolve`, `docs_query`, `gh_search`.

mod code_search;
mod docs;
mod fetch;
mod http;
pub mod mcp;
mod page_text;
mod resolver;
mod search;
#[cfg(test)]
mod tests;
mod wire;

pub use http::HttpWeb;
pub use resolver::{LookUp, NameLookUp, SystemNames};

use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolDefinition, Web, WebFailure, WebResponse};
use impresario_policies::added_tools::{AddedTool, ToolReceipt};
use impresario_policies::network::limits::read_query;
use impresario_policies::network::services::NetworkSettings;
use impresario_policies::network::untrusted::mark_untrusted;
use impresario_policies::redact::{holds_key, redact};
use mcp::McpServer;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The tools of the network.
pub struct NetworkTools {
    settings: NetworkSettings,
    web: Arc<dyn Web>,
    code_search: McpServer,
    /// Where pages are made text.
    heavy_work: HeavyWork,
}

impl fmt::Debug for NetworkTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkTools").finish_non_exhaustive()
    }
}

impl NetworkTools {
    /// Tools that ask the services of these settings, over HTTP.
    pub fn new(settings: NetworkSettings, heavy_work: HeavyWork) -> Self {
        let web = Arc::new(HttpWeb::new(&settings));
        Self::over(settings, web, heavy_work)
    }

    /// Tools that reach servers in this way.
    pub fn over(settings: NetworkSettings, web: Arc<dyn Web>, heavy_work: HeavyWork) -> Self {
        Self {
            code_search: McpServer::new(settings.code_search.base_url.clone()),
            settings,
            web,
            heavy_work,
        }
    }

    /// What a model is told of a tool; none of one that is not of the network.
    pub fn definition(tool: AddedTool) -> Option<ToolDefinition> {
        wire::tool_definition(tool)
    }

    /// Makes a call. Dropped, it drops its request; `cancelled` also stops what works on a page.
    pub async fn call(
        &self,
        tool: AddedTool,
        arguments: &Value,
        cancelled: &CancellationToken,
    ) -> Result<ToolAnswer, String> {
        match tool {
            AddedTool::WebSearch => search::run(self, super::wire::arguments(arguments)?).await,
            AddedTool::WebFetch => fetch::run(self, super::wire::arguments(arguments)?, cancelled).await,
            AddedTool::DocsResolve => docs::resolve(self, super::wire::arguments(arguments)?).await,
            AddedTool::DocsQuery => docs::query(self, super::wire::arguments(arguments)?).await,
            AddedTool::GhSearch => code_search::run(self, super::wire::arguments(arguments)?).await,
            AddedTool::HashlineEdit
            | AddedTool::AstSearch
            | AddedTool::AstReplace
            | AddedTool::Glob
            | AddedTool::LookAt => Err(format!("{} is no tool of the network.", tool.name())),
        }
    }
}

/// What is looked for, if it may be said to others.
fn sayable(query: &str) -> Result<&str, String> {
    let query = read_query(query)?;
    match holds_key(query) {
        true => Err(
            "What is asked would be sent to others, and holds what looks like a key: take it out."
                .to_string(),
        ),
        false => Ok(query),
    }
}

/// What a call gave, and whom it asked for what.
fn answer(text: String, called: Vec<String>) -> ToolAnswer {
    let called = called.iter().map(|called| redact(called).into_owned()).collect();
    ToolAnswer {
        receipt: ToolReceipt {
            called,
            ..ToolReceipt::default()
        },
        ..ToolAnswer::text(text)
    }
}

/// A failure as a model reads it. What the server said of it is text of others.
fn told(what: &str, host: &str, failure: &WebFailure) -> String {
    match &failure.said {
        None => format!("{what}: {}", failure.why),
        Some(said) => format!("{what}: {}\n{}", failure.why, mark_untrusted(host, said)),
    }
}

/// All of an answer; a service that says too much says nothing that can be read.
fn whole(answered: WebResponse) -> Result<Vec<u8>, WebFailure> {
    match answered.truncated {
        true => Err(WebFailure::new(format!(
            "it answered more than {} bytes",
            answered.body.len()
        ))),
        false => Ok(answered.body),
    }
}
