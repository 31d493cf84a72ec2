//! Servers are reached over HTTP.
//!
//! Two clients: one for services, which the user chose and which may be anywhere, also behind the system's proxy; one for
//! pages, which a model names. The second connects to checked addresses only, and so takes no proxy: a proxy would look
//! up names for itself. Neither follows redirects by itself.

use super::resolver::{CheckedNames, NameLookUp, SystemNames};
use crate::gateways::{Agent, KeyHeader, PageRequest, ServiceRequest, Web, WebFailure, WebResponse};
use crate::http_clients::{build_client, with_causes};
use async_trait::async_trait;
use impresario_policies::network::limits::{
    CONNECT_TIME, FAILURE_BYTES_MAX, FAILURE_CHARACTERS_MAX, REDIRECTS_MAX,
};
use impresario_policies::network::services::{NetworkSettings, ServiceKey};
use impresario_policies::network::urls::OpenedHosts;
use impresario_policies::redact::redact;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;

const OUR_NAME: &str = concat!("impresario/", env!("CARGO_PKG_VERSION"));
const LIKE_A_BROWSER: &str = concat!(
    "Mozilla/5.0 (compatible; impresario/",
    env!("CARGO_PKG_VERSION"),
    "; +https://github.com/impresario-runtime/impresario)"
);
const SESSION: &str = "mcp-session-id";
/// A connection that nobody uses is closed after this.
const IDLE: Duration = Duration::from_secs(10);

/// Reaches servers over HTTP.
pub struct HttpWeb {
    services: OnceLock<Client>,
    pages: OnceLock<Client>,
    names: Arc<dyn NameLookUp>,
    opened: OpenedHosts,
    keys: Vec<ServiceKey>,
}

impl HttpWeb {
    /// Nobody is called before something is asked.
    pub fn new(settings: &NetworkSettings) -> Self {
        Self {
            services: OnceLock::new(),
            pages: OnceLock::new(),
            names: Arc::new(SystemNames),
            opened: settings.opened.clone(),
            keys: settings.keys().cloned().collect(),
        }
    }

    /// Names of pages are looked up there.
    pub fn with_names(mut self, names: Arc<dyn NameLookUp>) -> Self {
        self.names = names;
        self
    }

    fn services(&self) -> Result<&Client, WebFailure> {
        made_once(&self.services, || {
            build_client(|client| {
                client
                    .connect_timeout(CONNECT_TIME)
                    .pool_idle_timeout(IDLE)
                    // A key goes to the address that was given, and nowhere else.
                    .redirect(Policy::none())
                    .user_agent(OUR_NAME)
            })
        })
    }

    fn pages(&self) -> Result<&Client, WebFailure> {
        made_once(&self.pages, || {
            let names = Arc::new(CheckedNames {
                names: self.names.clone(),
                opened: self.opened.clone(),
            });
            build_client(|client| {
                client
                    .connect_timeout(CONNECT_TIME)
                    .pool_idle_timeout(IDLE)
                    // Each hop is looked at before it is made.
                    .redirect(Policy::none())
                    .no_proxy()
                    .referer(false)
                    .dns_resolver(names.clone())
            })
        })
    }

    async fn follow(&self, request: &PageRequest) -> Result<WebResponse, WebFailure> {
        let mut url = request.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let asked = self
                .pages()?
                .get(url.as_str())
                .header(USER_AGENT, agent(request.agent))
                .header(ACCEPT, request.accept)
                .header(ACCEPT_LANGUAGE, "en-US,en;q=0.9");
            let response = self.send(asked).await?;
            let location = response.headers().get(LOCATION);
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) || location.is_none() {
                let mut page = self.take(response, request.bytes_max, false).await?;
                page.led_to = (url != request.url).then(|| url.as_str().to_string());
                return Ok(page);
            }
            let location = location.map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
            url = url
                .follow(&location.unwrap_or_default(), &self.opened)
                .map_err(|why| {
                    WebFailure::new(format!("{} leads to a place that is refused: {why}", url.host()))
                })?;
        }
        Err(WebFailure::new(format!(
            "it leads on more than {REDIRECTS_MAX} times"
        )))
    }

    async fn send(&self, asked: RequestBuilder) -> Result<Response, WebFailure> {
        asked.send().await.map_err(|error| self.network_failure(error))
    }

    fn network_failure(&self, error: reqwest::Error) -> WebFailure {
        // The address may hold what a receipt leaves out.
        let why = with_causes(&error.without_url());
        WebFailure::new(format!("Network error: {}", self.harmless(&why)))
    }

    /// Reads what came, or what the server said instead.
    async fn take(
        &self,
        mut response: Response,
        bytes_max: usize,
        its_words: bool,
    ) -> Result<WebResponse, WebFailure> {
        let status = response.status();
        let header = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_string())
        };
        let (content_type, session) = (header(CONTENT_TYPE.as_str()), header(SESSION));
        if status.is_success() {
            let (body, truncated) = self.body(&mut response, bytes_max).await?;
            return Ok(WebResponse {
                status: status.as_u16(),
                content_type,
                session,
                body,
                truncated,
                led_to: None,
            });
        }
        let said = match its_words {
            true => self
                .body(&mut response, FAILURE_BYTES_MAX)
                .await
                .ok()
                .map(|(body, _)| body),
            false => None,
        };
        let said = said.map(|body| self.harmless(&String::from_utf8_lossy(&body)));
        Err(WebFailure {
            status: Some(status.as_u16()),
            why: format!(
                "HTTP {}: {}",
                status.as_u16(),
                status.canonical_reason().unwrap_or("unknown status")
            ),
            said: said.filter(|said| !said.trim().is_empty()),
        })
    }

    /// What is read counts after decompression: a small answer can be a large one.
    async fn body(&self, response: &mut Response, bytes_max: usize) -> Result<(Vec<u8>, bool), WebFailure> {
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.network_failure(error))?
        {
            let room = bytes_max - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((body, true));
            }
        }
        Ok((body, false))
    }

    /// Without keys, and short.
    fn harmless(&self, text: &str) -> String {
        let hidden = self
            .keys
            .iter()
            .fold(text.to_string(), |text, key| key.hide_in(&text));
        redact(&hidden).chars().take(FAILURE_CHARACTERS_MAX).collect()
    }
}

fn made_once(
    client: &OnceLock<Client>,
    make: impl FnOnce() -> Result<Client, reqwest::Error>,
) -> Result<&Client, WebFailure> {
    if let Some(client) = client.get() {
        return Ok(client);
    }
    let made = make().map_err(|error| WebFailure::new(with_causes(&error)))?;
    Ok(client.get_or_init(|| made))
}

fn agent(agent: Agent) -> &'static str {
    match agent {
        Agent::LikeABrowser => LIKE_A_BROWSER,
        Agent::Plain => OUR_NAME,
    }
}

fn headers(request: &ServiceRequest) -> Result<HeaderMap, WebFailure> {
    let mut headers = HeaderMap::new();
    let mut secret = |name: &'static str, value: String| {
        // A key with a line end in it would be two headers.
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| WebFailure::new("the key cannot be sent: it holds signs that no key has"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    match &request.key {
        Some(KeyHeader::ApiKey(key)) => secret("x-api-key", key.expose().to_string())?,
        Some(KeyHeader::Bearer(key)) => secret("authorization", format!("Bearer {}", key.expose()))?,
        None => {}
    }
    if let Some(session) = &request.session {
        secret(SESSION, session.clone())?;
    }
    if request.json.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(accept) = request.accept {
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
    }
    Ok(headers)
}

fn late(time: Duration) -> WebFailure {
    WebFailure::new(format!("no answer within {} s", time.as_secs()))
}

#[async_trait]
impl Web for HttpWeb {
    async fn ask(&self, request: ServiceRequest) -> Result<WebResponse, WebFailure> {
        let (time, bytes_max) = (request.time, request.bytes_max);
        let headers = headers(&request)?;
        let asked = match request.json {
            Some(json) => self.services()?.post(&request.url).body(json),
            None => self.services()?.get(&request.url),
        };
        let answered = async {
            self.take(self.send(asked.headers(headers)).await?, bytes_max, true)
                .await
        };
        timeout(time, answered).await.unwrap_or_else(|_| Err(late(time)))
    }

    async fn read(&self, request: PageRequest) -> Result<WebResponse, WebFailure> {
        let read = timeout(request.time, self.follow(&request)).await;
        read.unwrap_or_else(|_| Err(late(request.time)))
    }
}
