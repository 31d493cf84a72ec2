//! `web_search`: pages of the web.

use super::{NetworkTools, answer, sayable, told, whole, wire};
use crate::gateways::{KeyHeader, ServiceRequest, ToolAnswer, WebFailure};
use impresario_policies::network::limits::{EXCHANGE_TIME, SERVICE_BYTES_MAX};
use impresario_policies::network::requests::{ExaSearch, TavilySearch};
use impresario_policies::network::searches::answer_search;
use impresario_policies::network::services::SearchProvider;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct WebSearchArguments {
    query: String,
    category: Option<String>,
}

pub(super) async fn run(tools: &NetworkTools, arguments: WebSearchArguments) -> Result<ToolAnswer, String> {
    let query = sayable(&arguments.query)?;
    let category = arguments
        .category
        .as_deref()
        .filter(|category| !category.trim().is_empty());
    let provider = tools.settings.provider;
    let (service, key, json) = match provider {
        SearchProvider::Exa => {
            let service = &tools.settings.exa;
            let key = service.key.clone().map(KeyHeader::ApiKey);
            (service, key, wire::body(&ExaSearch::new(query, category)))
        }
        SearchProvider::Tavily => {
            let service = &tools.settings.tavily;
            let Some(key) = service.key.clone() else {
                return Err(NO_TAVILY_KEY.to_string());
            };
            (
                service,
                Some(KeyHeader::Bearer(key)),
                wire::body(&TavilySearch::new(query)),
            )
        }
    };
    let request = ServiceRequest {
        url: service.at("/search"),
        json: Some(json),
        key,
        accept: None,
        session: None,
        bytes_max: SERVICE_BYTES_MAX,
        time: EXCHANGE_TIME,
    };
    let answered = tools.web.ask(request).await.and_then(whole);
    let hits = answered.and_then(|body| {
        let hits = match provider {
            SearchProvider::Exa => wire::exa_hits(&body),
            SearchProvider::Tavily => wire::tavily_hits(&body),
        };
        hits.ok_or_else(|| WebFailure::new("it answered something that is no list of pages"))
    });
    let what = format!("Error from {} API", provider.name());
    let hits = hits.map_err(|failure| told(&what, service.host(), &failure))?;
    let called = format!("{}: search {query:?}", service.host());
    Ok(answer(answer_search(service.host(), &hits), vec![called]))
}

/// What to do about a key that is not there.
pub(super) const NO_TAVILY_KEY: &str =
    "Error: Tavily API key is missing. Set impresario.web.tavilyKey or TAVILY_API_KEY.";
