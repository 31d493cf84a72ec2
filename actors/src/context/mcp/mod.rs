//! A context engine that is an MCP server: auggie, or any other.
//!
//! The server's program starts with the first question of an attempt, below a keeper as every process of a run, and
//! ends with the attempt. Whatever is waited for has a limit: the handshake, the list of tools, an answer, and how
//! large that is. A server that died is started again by the next question, until too many questions in a row came
//! to nothing.

mod account;
mod launch;
mod long_lines;
mod server;
mod wire;

pub use account::check_account;
pub use launch::EngineSettings;

use crate::gateways::{ContextEngine, RetrievalError, RetrievalRequest, Retrieved};
use async_trait::async_trait;
use impresario_policies::capability::servers::{McpServer, ServerTool};
use impresario_policies::domain::{Proof, Retrieval, RetrievalEngine, RunId};
use launch::Launch;
use server::{Server, tools_of_server};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The tools that a server lists. Its program is started in `place` below a keeper, carries `mark`, and is gone when this
/// returns. Needs a tokio runtime with a local set.
pub async fn list_tools(
    settings: &EngineSettings,
    server: &McpServer,
    mark: &RunId,
    place: PathBuf,
) -> Result<Vec<ServerTool>, String> {
    let engine = RetrievalEngine::Mcp {
        command: server.command.clone(),
        environment: server.environment.clone(),
    };
    let launch = Launch::of(settings, &engine, mark, place)?;
    tools_of_server(&launch, settings.ready_within).await
}

/// After so many failures in a row the server is not asked again.
const FAILURES_IN_A_ROW_MAX: u32 = 3;
/// Between being asked to end and being killed, for a server that is replaced.
const GRACE: Duration = Duration::from_secs(1);

/// Asks an MCP server. See the module.
pub struct McpContextEngine {
    name: &'static str,
    answer_within: Duration,
    ready_within: Duration,
    launch: Result<Rc<Launch>, String>,
    server: Rc<Mutex<Place>>,
    closing: CancellationToken,
}

/// Where the server stands, while there is one.
#[derive(Default)]
struct Place {
    server: Option<Rc<Server>>,
    failures: u32,
    last_failure: String,
    ended: Option<Proof>,
}

impl McpContextEngine {
    /// An engine for one attempt of `run`. Nothing starts before something is asked.
    pub fn new(settings: &EngineSettings, retrieval: &Retrieval, run: &RunId, workspace: PathBuf) -> Self {
        let launch = Launch::of(settings, &retrieval.engine, run, workspace);
        Self {
            name: match retrieval.engine {
                RetrievalEngine::Local => "local",
                RetrievalEngine::Auggie { .. } => "auggie",
                RetrievalEngine::Mcp { .. } => "mcp",
            },
            answer_within: retrieval.timeout,
            ready_within: settings.ready_within,
            launch: launch.map(Rc::new),
            server: Rc::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Whether the server starts, speaks, and has a tool that can be asked. Says nothing of logins.
    pub async fn check(&self) -> Result<(), RetrievalError> {
        self.ready().await.map(|_| ())
    }

    /// The server, started if need be. It gets ready also when nobody waits for it any more, so that whoever closes
    /// the engine finds everything that was started.
    async fn ready(&self) -> Result<Rc<Server>, RetrievalError> {
        let launch = self.launch.clone().map_err(|why| self.unavailable(why))?;
        let (place, closing, within) = (self.server.clone(), self.closing.clone(), self.ready_within);
        let started = tokio::task::spawn_local(async move {
            let mut place = place.lock().await;
            place.ready(&launch, within, &closing).await
        });
        let started = started.await.unwrap_or_else(|error| Err(error.to_string()));
        started.map_err(|why| self.unavailable(why))
    }

    fn unavailable(&self, why: String) -> RetrievalError {
        RetrievalError::Unavailable {
            engine: self.name.to_string(),
            why,
        }
    }
}

impl Place {
    async fn ready(
        &mut self,
        launch: &Launch,
        within: Duration,
        closing: &CancellationToken,
    ) -> Result<Rc<Server>, String> {
        if closing.is_cancelled() {
            return Err("the attempt is over".to_string());
        }
        if let Some(server) = self.server.clone().filter(|server| !server.is_over()) {
            return Ok(server);
        }
        self.end(GRACE).await;
        if self.failures >= FAILURES_IN_A_ROW_MAX {
            let (times, last) = (self.failures, &self.last_failure);
            return Err(format!(
                "given up after {times} failures in a row; the last: {last}"
            ));
        }
        match Server::start(launch, within, closing).await {
            Ok(server) => {
                let server = Rc::new(server);
                self.server = Some(server.clone());
                Ok(server)
            }
            Err(failure) => {
                self.remember(failure.ended);
                self.failed(&failure.why);
                Err(failure.why)
            }
        }
    }

    /// Ends the server, if there is one.
    async fn end(&mut self, grace: Duration) {
        if let Some(server) = self.server.take() {
            let proof = server.end(grace).await;
            self.remember(Some(proof));
        }
    }

    fn remember(&mut self, ended: Option<Proof>) {
        let before = self.ended.take();
        self.ended = match (before, ended) {
            (Some(before), Some(ended)) => Some(before.and(ended)),
            (one, other) => one.or(other),
        };
    }

    fn failed(&mut self, why: &str) {
        self.failures += 1;
        self.last_failure = why.to_string();
    }
}

#[async_trait(?Send)]
impl ContextEngine for McpContextEngine {
    fn name(&self) -> &str {
        self.name
    }

    async fn retrieve(&self, request: RetrievalRequest) -> Result<Retrieved, RetrievalError> {
        let server = self.ready().await?;
        let answer = tokio::select! { biased;
            () = self.closing.cancelled() => return Err(self.unavailable("the attempt is over".to_string())),
            answer = server.ask(&request.query, self.answer_within) => answer,
        };
        let mut place = self.server.lock().await;
        match answer {
            Ok(words) => {
                place.failures = 0;
                words.map(Retrieved::Words).map_err(|said| self.unavailable(said))
            }
            Err(why) => {
                place.failed(&why);
                Err(self.unavailable(why))
            }
        }
    }

    async fn close(&self, grace: Duration) -> Option<Proof> {
        self.closing.cancel();
        let mut place = self.server.lock().await;
        place.end(grace).await;
        place.ended.clone()
    }
}

impl Drop for McpContextEngine {
    /// Nobody waits: what is still getting ready gives up, and its process is stopped by its keeper.
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
