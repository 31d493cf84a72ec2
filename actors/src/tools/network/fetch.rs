//! `web_fetch`: a page of the web.
//!
//! A service reads it first: it runs scripts and leaves menus out. Where it cannot, the page is asked for itself.

use super::page_text::{PageBytes, text_of};
use super::wire::ReadPage;
use super::{NetworkTools, answer, whole, wire};
use crate::gateways::{Agent, KeyHeader, PageRequest, ServiceRequest, ToolAnswer, WebFailure, WebResponse};
use impresario_policies::network::fetched::{FetchedPage, PageSource, answer_fetch};
use impresario_policies::network::limits::{EXCHANGE_TIME, PAGE_BYTES_MAX, SERVICE_BYTES_MAX, fetch_timeout};
use impresario_policies::network::markdown::PageForm;
use impresario_policies::network::requests::{ExaPage, TavilyPage};
use impresario_policies::network::services::{SearchProvider, Service};
use impresario_policies::network::urls::PageUrl;
use impresario_policies::redact::{holds_key, redact};
use serde::Deserialize;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize)]
pub(super) struct WebFetchArguments {
    url: String,
    format: Option<String>,
    query: Option<String>,
    offset: Option<usize>,
    timeout: Option<f64>,
}

pub(super) async fn run(
    tools: &NetworkTools,
    arguments: WebFetchArguments,
    cancelled: &CancellationToken,
) -> Result<ToolAnswer, String> {
    let url = PageUrl::read(&arguments.url, &tools.settings.opened).map_err(|why| why.to_string())?;
    let form = PageForm::of(arguments.format.as_deref())?;
    let question = arguments
        .query
        .as_deref()
        .filter(|question| !question.trim().is_empty());
    if holds_key(url.as_str()) || question.is_some_and(holds_key) {
        return Err(
            "What is asked would be sent to others, and holds what looks like a key: take it out."
                .to_string(),
        );
    }
    let time = fetch_timeout(arguments.timeout).map_or(EXCHANGE_TIME, Duration::from_secs);
    let (service, name) = match tools.settings.provider {
        SearchProvider::Exa => (&tools.settings.exa, "Exa Contents"),
        SearchProvider::Tavily => (&tools.settings.tavily, "Tavily Extract"),
    };
    let mut called = Vec::new();
    let read = match request(tools.settings.provider, service, &url, question, time) {
        None => Err(NO_KEY.to_string()),
        Some(request) => {
            called.push(format!("{}: read {}", service.host(), url.shown()));
            let answered = tools.web.ask(request).await.and_then(whole);
            let word = tools.settings.provider.word();
            read_by(tools.settings.provider, name, answered)
                .map_err(|why| format!("{word} provider failed: {why}"))
        }
    };
    let page = match read {
        Ok(page) => by_service(name, &url, page),
        Err(why_direct) => {
            called.push(format!("{}: GET {}", url.host(), url.shown()));
            directly(tools, &url, form, time, why_direct, cancelled).await?
        }
    };
    Ok(answer(answer_fetch(&page, arguments.offset.unwrap_or(0)), called))
}

const NO_KEY: &str = "Tavily API key missing; set impresario.web.tavilyKey or TAVILY_API_KEY.";

/// What a service is asked; none where it has no key and needs one.
fn request(
    provider: SearchProvider,
    service: &Service,
    url: &PageUrl,
    question: Option<&str>,
    time: Duration,
) -> Option<ServiceRequest> {
    let (path, key, json) = match provider {
        SearchProvider::Exa => {
            let key = service.key.clone().map(KeyHeader::ApiKey);
            ("/contents", key, wire::body(&ExaPage::new(url.shown())))
        }
        SearchProvider::Tavily => {
            let key = Some(KeyHeader::Bearer(service.key.clone()?));
            (
                "/extract",
                key,
                wire::body(&TavilyPage::new(url.shown(), question)),
            )
        }
    };
    Some(ServiceRequest {
        url: service.at(path),
        json: Some(json),
        key,
        accept: None,
        session: None,
        bytes_max: SERVICE_BYTES_MAX,
        time,
    })
}

fn read_by(
    provider: SearchProvider,
    name: &str,
    answered: Result<Vec<u8>, WebFailure>,
) -> Result<ReadPage, String> {
    let body = answered.map_err(|failure| failure.why)?;
    let text_keys: &[&str] = match provider {
        SearchProvider::Exa => &["text"],
        SearchProvider::Tavily => &["raw_content", "content"],
    };
    wire::read_page(&body, text_keys).ok_or_else(|| format!("{name} returned no extracted result."))
}

fn by_service(name: &'static str, url: &PageUrl, page: ReadPage) -> FetchedPage {
    FetchedPage {
        url: url.shown().to_string(),
        host: url.host().to_string(),
        source: PageSource::Service {
            name,
            title: page.title,
            author: page.author,
            published: page.published,
        },
        text: page.text,
    }
}

async fn directly(
    tools: &NetworkTools,
    url: &PageUrl,
    form: PageForm,
    time: Duration,
    why_direct: String,
    cancelled: &CancellationToken,
) -> Result<FetchedPage, String> {
    let failed = |why: &str| {
        let why_direct = redact(&why_direct);
        format!(
            "Fetched {}: error ({why})\nProvider fallback: {why_direct}",
            url.shown()
        )
    };
    let request = PageRequest {
        url: url.clone(),
        accept: form.accept(),
        agent: Agent::LikeABrowser,
        bytes_max: PAGE_BYTES_MAX,
        time,
    };
    let mut answered = tools.web.read(request.clone()).await;
    if answered
        .as_ref()
        .is_err_and(|failure| failure.status == Some(403))
    {
        let plainly = PageRequest {
            agent: Agent::Plain,
            ..request
        };
        answered = tools.web.read(plainly).await;
    }
    let WebResponse {
        status,
        content_type,
        body,
        truncated,
        led_to,
        ..
    } = answered.map_err(|failure| failed(&failure.why))?;
    let base = led_to
        .as_deref()
        .and_then(|led_to| PageUrl::read(led_to, &tools.settings.opened).ok());
    let (shown, host) = match &base {
        Some(base) => (base.as_str().to_string(), base.host().to_string()),
        None => (url.shown().to_string(), url.host().to_string()),
    };
    let page = PageBytes {
        body,
        content_type: content_type.clone(),
        url: base.unwrap_or_else(|| url.clone()),
        form,
    };
    let cancelled = cancelled.clone();
    let text = tools.heavy_work.run(move || text_of(&page, &cancelled)).await;
    let text = text.unwrap_or_else(Err).map_err(|why| failed(&why))?;
    Ok(FetchedPage {
        url: shown,
        host,
        source: PageSource::Direct {
            status,
            content_type,
            form,
            why_direct,
            truncated,
        },
        text,
    })
}
