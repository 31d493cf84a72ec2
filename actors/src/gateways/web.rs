//! Servers elsewhere: services that the user chose, and pages that a model names.

use async_trait::async_trait;
use impresario_policies::network::services::ServiceKey;
use impresario_policies::network::urls::PageUrl;
use std::time::Duration;

/// How a key is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyHeader {
    /// `x-api-key: KEY`
    ApiKey(ServiceKey),
    /// `Authorization: Bearer KEY`
    Bearer(ServiceKey),
}

/// One question to a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRequest {
    pub url: String,
    /// Sent with POST where there is one, else GET.
    pub json: Option<String>,
    pub key: Option<KeyHeader>,
    /// What may come back, as a media type; anything where none is said.
    pub accept: Option<&'static str>,
    /// The session of an MCP server.
    pub session: Option<String>,
    /// More is not read, in bytes after decompression.
    pub bytes_max: usize,
    /// It has to be there within this.
    pub time: Duration,
}

/// What we call ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// As a browser does, with our own name in it.
    LikeABrowser,
    /// Our own name and nothing else: some servers let that in where they turn browsers away.
    Plain,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    pub url: PageUrl,
    pub accept: &'static str,
    pub agent: Agent,
    /// More is not read, in bytes after decompression.
    pub bytes_max: usize,
    /// All of it, redirects included.
    pub time: Duration,
}

/// What came back, with a status that means success.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebResponse {
    pub status: u16,
    pub content_type: Option<String>,
    /// The session that an MCP server opened.
    pub session: Option<String>,
    pub body: Vec<u8>,
    /// There was more.
    pub truncated: bool,
    /// Where it was in the end, if elsewhere.
    pub led_to: Option<String>,
}

/// Why nothing came back that can be used. None of it holds a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebFailure {
    /// What the server said, if it said anything.
    pub status: Option<u16>,
    /// In our words.
    pub why: String,
    /// In the server's: text of others.
    pub said: Option<String>,
}

impl WebFailure {
    /// Without a word of the server's.
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            ..Self::default()
        }
    }
}

/// Reaches servers. A request ends when its future is dropped.
#[async_trait]
pub trait Web: Send + Sync {
    /// Asks a service, which may be anywhere. It cannot lead on to another place.
    async fn ask(&self, request: ServiceRequest) -> Result<WebResponse, WebFailure>;
    /// Reads a page, wherever it leads on the public internet.
    async fn read(&self, request: PageRequest) -> Result<WebResponse, WebFailure>;
}
