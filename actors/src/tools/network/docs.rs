//! `docs_resolve` and `docs_query`: documentation of libraries.

use super::{NetworkTools, answer, sayable, told, whole, wire};
use crate::gateways::{KeyHeader, ServiceRequest, ToolAnswer, WebFailure};
use impresario_policies::network::documents::{answer_documents, answer_resolve, check_library_id};
use impresario_policies::network::limits::{EXCHANGE_TIME, SERVICE_BYTES_MAX};
use impresario_policies::network::requests::{docs_path, libraries_path};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocsResolveArguments {
    library_name: String,
    query: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocsQueryArguments {
    library_id: String,
    query: String,
}

pub(super) async fn resolve(
    tools: &NetworkTools,
    arguments: DocsResolveArguments,
) -> Result<ToolAnswer, String> {
    let (name, query) = (sayable(&arguments.library_name)?, sayable(&arguments.query)?);
    let asked = ask(tools, &libraries_path(name, query)).await.and_then(|body| {
        let libraries = wire::libraries(&body);
        libraries.ok_or_else(|| WebFailure::new("it answered something that is no list of libraries"))
    });
    let host = tools.settings.context7.host();
    let libraries = asked.map_err(|failure| told("Error resolving library", host, &failure))?;
    let called = format!("{host}: look for {name:?} ({query:?})");
    Ok(answer(
        answer_resolve(host, name, query, &libraries),
        vec![called],
    ))
}

pub(super) async fn query(tools: &NetworkTools, arguments: DocsQueryArguments) -> Result<ToolAnswer, String> {
    let (id, query) = (arguments.library_id.trim(), sayable(&arguments.query)?);
    check_library_id(id)?;
    let host = tools.settings.context7.host();
    let asked = ask(tools, &docs_path(id, query)).await;
    let body = asked.map_err(|failure| told("Error querying documentation", host, &failure))?;
    let called = format!("{host}: ask {id} {query:?}");
    Ok(answer(
        answer_documents(host, id, query, &wire::documentation(&body)),
        vec![called],
    ))
}

async fn ask(tools: &NetworkTools, path: &str) -> Result<Vec<u8>, WebFailure> {
    let service = &tools.settings.context7;
    let request = ServiceRequest {
        url: service.at(path),
        json: None,
        key: service.key.clone().map(KeyHeader::Bearer),
        accept: None,
        session: None,
        bytes_max: SERVICE_BYTES_MAX,
        time: EXCHANGE_TIME,
    };
    tools.web.ask(request).await.and_then(whole)
}
