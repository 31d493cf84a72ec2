//! One life of a server: its process, the conversation with it, and its end.

use super::launch::{Greeting, Launch};
use super::long_lines::{TooLong, WithoutLongLines};
use super::wire;
use crate::processes::{ContainedProcess, StderrTail, Streams};
use impresario_policies::capability::servers::ServerTool;
use impresario_policies::domain::Proof;
use impresario_policies::retrieval_tool::{RetrievalToolDecision, choose_retrieval_tool};
use rmcp::model::{
    CallToolRequest, ClientCapabilities, ClientConfig, ClientRequest, Implementation, PaginatedRequestParams,
    ProtocolVersion, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RunningService,
    ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceExt};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A message is at most this long.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// So many pages of tools are asked for.
const TOOL_PAGES_MAX: usize = 20;
/// So many characters of the last words on stderr are shown.
const LAST_WORDS_MAX: usize = 400;
/// How long the last words are waited for once the process has ended.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(500);
/// How long what was cancelled at its limit may take to say so.
const AFTER_THE_LIMIT: Duration = Duration::from_millis(250);
/// A server that never got ready has this long to go.
const GRACE: Duration = Duration::from_millis(500);

/// A server that can be asked.
pub(super) struct Server {
    process: ContainedProcess,
    client: RefCell<Option<RunningService<RoleClient, ClientConfig>>>,
    peer: Peer<RoleClient>,
    tool: String,
    argument: String,
    too_long: TooLong,
    stderr: Stderr,
}

/// Why there is no server.
pub(super) struct Failure {
    pub(super) why: String,
    /// What was observed of its process, if there was one.
    pub(super) ended: Option<Proof>,
}

impl Server {
    /// Starts the program, greets it and finds its tool, all within `limit`.
    pub(super) async fn start(
        launch: &Launch,
        limit: Duration,
        closing: &CancellationToken,
    ) -> Result<Self, Failure> {
        let (process, streams) = match ContainedProcess::start(launch.spec.clone()).await {
            Ok(started) => started,
            Err(error) => {
                return Err(Failure {
                    why: error.to_string(),
                    ended: None,
                });
            }
        };
        let Streams {
            stdin,
            stdout,
            stderr,
        } = streams;
        let stderr = Stderr::listen(stderr);
        let too_long = TooLong::default();
        let stdout = WithoutLongLines::new(stdout, MESSAGE_BYTES_MAX, too_long.clone());
        let transport =
            AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MESSAGE_BYTES_MAX + 1);
        let getting_ready = async {
            let client = greet(transport, launch.greeting).await?;
            let (tool, argument) = tool_of(client.peer()).await?;
            Ok::<_, String>((client, tool, argument))
        };
        let ready = tokio::select! { biased;
            () = closing.cancelled() => Err("the attempt is over".to_string()),
            ready = timeout(limit, getting_ready) => ready
                .unwrap_or_else(|_| Err(format!("it was not ready within {}", seconds(limit)))),
        };
        match ready {
            Ok((client, tool, argument)) => Ok(Self {
                process,
                peer: client.peer().clone(),
                client: RefCell::new(Some(client)),
                tool,
                argument,
                too_long,
                stderr,
            }),
            Err(why) => {
                let ended = process.stop(GRACE).await;
                Err(Failure {
                    why: stderr.explain(&why).await,
                    ended: Some(ended),
                })
            }
        }
    }

    /// It cannot be asked any more.
    pub(super) fn is_over(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Asks; the inner error is the server's own, the outer one means that it did not answer.
    pub(super) async fn ask(&self, query: &str, limit: Duration) -> Result<Result<String, String>, String> {
        let call = wire::call(&self.tool, &self.argument, query);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let asking = async {
            let options = PeerRequestOptions::with_timeout(limit);
            let sent = self.peer.send_cancellable_request(request, options).await?;
            sent.await_response().await
        };
        match timeout(limit + AFTER_THE_LIMIT, asking).await {
            Ok(Ok(ServerResult::CallToolResult(result))) => Ok(wire::text_of(result)),
            Ok(Ok(_)) => Err("it answered with something that is no tool result".to_string()),
            Ok(Err(ServiceError::McpError(error))) => Ok(Err(error.message.into_owned())),
            Ok(Err(ServiceError::Timeout { .. })) | Err(_) => {
                Err(format!("it did not answer within {}", seconds(limit)))
            }
            Ok(Err(_)) if self.too_long.happened() => Err(format!(
                "its answer was larger than {} MiB",
                MESSAGE_BYTES_MAX / (1024 * 1024)
            )),
            Ok(Err(_)) => Err(self.stderr.explain("it ended without an answer").await),
        }
    }

    /// Closes its input, then stops it; returns when nothing of it is left.
    pub(super) async fn end(&self, grace: Duration) -> Proof {
        let client = self.client.borrow_mut().take();
        if let Some(mut client) = client {
            // The process is stopped in any case; this only gives it the end of its input first.
            let _ = client.close_with_timeout(AFTER_THE_LIMIT).await;
        }
        self.process.stop(grace).await
    }
}

/// Starts the program, takes the list of its tools, and ends it: all within `limit`, and a grace for its end.
pub(super) async fn tools_of_server(launch: &Launch, limit: Duration) -> Result<Vec<ServerTool>, String> {
    let started = ContainedProcess::start(launch.spec.clone()).await;
    let (process, streams) = started.map_err(|error| error.to_string())?;
    let stderr = Stderr::listen(streams.stderr);
    let stdout = WithoutLongLines::new(streams.stdout, MESSAGE_BYTES_MAX, TooLong::default());
    let transport =
        AsyncRwTransport::new_client(stdout, streams.stdin).with_max_line_length(MESSAGE_BYTES_MAX + 1);
    let listing = async {
        let client = greet(transport, launch.greeting).await?;
        let tools = tools_listed(client.peer()).await?;
        Ok::<_, String>((client, tools))
    };
    let listed = timeout(limit, listing).await;
    let listed = listed.unwrap_or_else(|_| Err(format!("it was not ready within {}", seconds(limit))));
    let found = match listed {
        Ok((mut client, tools)) => {
            // The process is stopped in any case; this only gives it the end of its input first.
            let _ = client.close_with_timeout(AFTER_THE_LIMIT).await;
            Ok(tools.iter().map(wire::described).collect())
        }
        Err(why) => Err(why),
    };
    process.stop(GRACE).await;
    match found {
        Ok(tools) => Ok(tools),
        Err(why) => Err(stderr.explain(&why).await),
    }
}

async fn greet<R, W>(
    transport: AsyncRwTransport<RoleClient, R, W>,
    greeting: Greeting,
) -> Result<RunningService<RoleClient, ClientConfig>, String>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let us = Implementation::new("impresario", env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(ClientCapabilities::default(), us)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let greeted = match greeting {
        Greeting::Initialize => config.serve(transport).await,
        Greeting::Discover => {
            let mode = ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            };
            config.serve_with_lifecycle(transport, mode).await
        }
    };
    greeted.map_err(|error| match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            "it ended before it was ready".to_string()
        }
        other => format!("it does not speak MCP as we do ({other})"),
    })
}

/// The tool that answers questions, and the argument that takes them.
async fn tool_of(peer: &Peer<RoleClient>) -> Result<(String, String), String> {
    let tools = tools_listed(peer).await?;
    let offered: Vec<_> = tools.iter().map(wire::offered).collect();
    match choose_retrieval_tool(&offered) {
        RetrievalToolDecision::Ask { tool, argument } => Ok((tool, argument)),
        RetrievalToolDecision::Unclear(why) => Err(why),
    }
}

async fn tools_listed(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut cursor = None;
    for _ in 0..TOOL_PAGES_MAX {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let listed = peer.list_tools(Some(page)).await;
        let listed = listed.map_err(|error| match error {
            ServiceError::McpError(error) => format!("it does not list its tools ({})", error.message),
            _ => "it ended before it listed its tools".to_string(),
        })?;
        tools.extend(listed.tools);
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

/// What the server complains, heard to its end.
struct Stderr {
    tail: Rc<RefCell<StderrTail>>,
    listening: RefCell<Option<JoinHandle<()>>>,
}

impl Stderr {
    fn listen(mut stream: ChildStderr) -> Self {
        let tail = Rc::new(RefCell::new(StderrTail::default()));
        let heard = tail.clone();
        let listening = tokio::task::spawn_local(async move {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                heard.borrow_mut().push(&buffer[..count]);
            }
        });
        Self {
            tail,
            listening: RefCell::new(Some(listening)),
        }
    }

    /// A sentence, with the last words of the server when it left some.
    async fn explain(&self, why: &str) -> String {
        let listening = self.listening.borrow_mut().take();
        if let Some(listening) = listening {
            let abort = listening.abort_handle();
            if timeout(LAST_WORDS_WITHIN, listening).await.is_err() {
                abort.abort();
            }
        }
        let said = self.tail.borrow_mut().text();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let skipped = said.chars().count().saturating_sub(LAST_WORDS_MAX);
        let said: String = said.chars().skip(skipped).collect();
        match said.is_empty() {
            true => why.to_string(),
            false => format!("{why}; its last words: {said}"),
        }
    }
}
