//! Calls of a tool of an MCP server over streamable HTTP.
//!
//! Three requests, each with its answer, over the client of all services: rmcp's own transport keeps a stream and a task
//! open for each session, sends requests again and answers without a limit that is ours to set.

use super::wire::{self, McpReply};
use crate::gateways::{ServiceRequest, Web, WebFailure, WebResponse};
use impresario_policies::network::limits::{EXCHANGE_TIME, MCP_BYTES_MAX};
use impresario_policies::network::sse::read_events;
use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpFailure {
    /// In our words.
    pub why: String,
    /// In the server's: text of others.
    pub said: Option<String>,
    /// The status of HTTP, where that is what failed.
    pub http_status: Option<u16>,
    /// The code of JSON-RPC, where the server refused.
    pub rpc_code: Option<i64>,
}

/// What is known of a server between two calls.
#[derive(Debug, Default)]
struct Session {
    /// It was greeted.
    is_open: bool,
    /// What it calls the session, if it does.
    id: Option<String>,
    /// The last request.
    requests: u64,
}

/// An MCP server.
#[derive(Debug)]
pub struct McpServer {
    url: String,
    session: Mutex<Session>,
}

impl McpServer {
    /// Nothing is sent before the first call.
    pub fn new(url: String) -> Self {
        Self {
            url,
            session: Mutex::default(),
        }
    }

    /// Calls a tool. A session that the server has forgotten is opened anew by the next call.
    pub async fn call(
        &self,
        web: &dyn Web,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Value, McpFailure> {
        if !self.session().is_open {
            self.greet(web).await?;
        }
        let id = self.next_id();
        let answered = self.post(web, wire::call_tool(id, tool, arguments)).await;
        if answered
            .as_ref()
            .is_err_and(|failure| failure.http_status == Some(404))
        {
            self.forget();
        }
        match reply_in(&answered?, id)? {
            McpReply::Result(result) => Ok(result),
            McpReply::Failed { code, message } => Err(refused("MCP call failed", code, message)),
        }
    }

    async fn greet(&self, web: &dyn Web) -> Result<(), McpFailure> {
        self.forget();
        let id = self.next_id();
        let answered = self.post(web, wire::initialize(id)).await?;
        if let McpReply::Failed { code, message } = reply_in(&answered, id)? {
            return Err(refused("MCP initialize failed", code, message));
        }
        self.session().id = answered.session;
        self.post(web, wire::initialized()).await?;
        self.session().is_open = true;
        Ok(())
    }

    /// For a moment: nobody waits with it.
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self) {
        let mut session = self.session();
        (session.is_open, session.id) = (false, None);
    }

    fn next_id(&self) -> u64 {
        let mut session = self.session();
        session.requests += 1;
        session.requests
    }

    async fn post(&self, web: &dyn Web, json: String) -> Result<WebResponse, McpFailure> {
        let session = self.session().id.clone();
        let request = ServiceRequest {
            url: self.url.clone(),
            json: Some(json),
            key: None,
            accept: Some("application/json, text/event-stream"),
            session,
            bytes_max: MCP_BYTES_MAX,
            time: EXCHANGE_TIME,
        };
        let answered = web
            .ask(request)
            .await
            .map_err(|WebFailure { status, why, said }| McpFailure {
                why: format!("MCP request failed: {why}"),
                said,
                http_status: status,
                rpc_code: None,
            })?;
        match answered.truncated {
            true => Err(McpFailure {
                why: "MCP response exceeded maximum body size".to_string(),
                ..McpFailure::default()
            }),
            false => Ok(answered),
        }
    }
}

fn refused(what: &str, code: Option<i64>, message: String) -> McpFailure {
    McpFailure {
        why: what.to_string(),
        said: Some(message),
        http_status: None,
        rpc_code: code,
    }
}

/// The answer to this request, alone or among events.
fn reply_in(response: &WebResponse, id: u64) -> Result<McpReply, McpFailure> {
    let reply = wire::mcp_reply(&response.body, id).or_else(|| {
        let events = read_events(std::str::from_utf8(&response.body).ok()?);
        events
            .iter()
            .find_map(|event| wire::mcp_reply(event.data.as_bytes(), id))
    });
    reply.ok_or_else(|| McpFailure {
        why: "MCP request failed: the server answered something that is no answer to it".to_string(),
        ..McpFailure::default()
    })
}
