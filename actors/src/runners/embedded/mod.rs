//! The `embedded` runner: an agent loop in this process, with tools that read and search the workspace.
//!
//! The model speaks through a [`ModelClient`]; every tool call passes the gate before it runs and its result passes
//! the gate before the model sees it. The conversation is kept in the session file, so that a run that was cut off
//! goes on without repeating a finished tool.

mod agent_loop;
mod inbox;
mod outline;
mod pictures;
mod session_file;
mod tool_calls;
mod tools;

#[cfg(test)]
mod tests;

pub use tools::{EmbeddedTool, RegisteredTool, ToolContext};

use crate::context::local::HeavyWork;
use crate::gateways::{
    AttemptHandle, AttemptRequest, Login, ModelClient, RunnerEvents, SpawnError, SubAgentRunner, ToolGate,
    Tools, ToolsLacking,
};
use crate::program::ProgramThreads;
use agent_loop::AgentLoop;
use async_trait::async_trait;
use impresario_policies::answer_schema::AnswerSchema;
use impresario_policies::domain::{Containment, Proof, RunId, RunMessage};
use impresario_policies::providers::find_target;
use inbox::Inbox;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool_calls::ToolCalls;
use tools::Toolbox;

/// A conversation and a few results of tools.
const EMBEDDED_BYTES: u64 = 8 << 20;

/// What the runner works with.
#[derive(Clone)]
pub struct EmbeddedParts {
    pub model: Rc<dyn ModelClient>,
    /// Tools of the embedder, beside the built-in ones.
    pub tools: Vec<RegisteredTool>,
    /// The tools that Impresario adds, as far as models are told of them; calls go through the gate.
    pub added: Arc<dyn Tools>,
    pub program: ProgramThreads,
    /// Where searches and file writes run.
    pub heavy_work: HeavyWork,
    /// At most so many calls of the model in one attempt.
    pub turns_max: u32,
    /// At most so many tokens in one reply.
    pub tokens_max: u32,
}

impl EmbeddedParts {
    pub fn new(model: Rc<dyn ModelClient>, program: ProgramThreads, added: Arc<dyn Tools>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            added,
            program,
            heavy_work: HeavyWork::default(),
            turns_max: 40,
            tokens_max: 8_192,
        }
    }
}

/// Runs sub-agents in this process.
pub struct EmbeddedRunner {
    parts: EmbeddedParts,
    writes: Rc<session_file::Writes>,
}

impl EmbeddedRunner {
    /// A runner with its parts.
    pub fn new(parts: EmbeddedParts) -> Self {
        let writes = Rc::new(session_file::Writes::new());
        Self { parts, writes }
    }
}

#[async_trait(?Send)]
impl SubAgentRunner for EmbeddedRunner {
    fn name(&self) -> &str {
        "embedded"
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn lacks(&self, tools: &[String]) -> Option<ToolsLacking> {
        let offered = tools::offered(&self.parts);
        let lacking: Vec<String> = tools
            .iter()
            .filter(|name| !offered.contains(name))
            .cloned()
            .collect();
        (!lacking.is_empty()).then_some(ToolsLacking { lacking, offered })
    }

    fn memory(&self) -> u64 {
        EMBEDDED_BYTES
    }

    fn login(&self, model: &str) -> Login {
        let target = find_target(model, |name| std::env::var(name).ok());
        Login::of(
            target
                .into_iter()
                .flat_map(|target| [Some(target.url), target.key])
                .flatten(),
        )
    }

    async fn start(
        &self,
        request: AttemptRequest,
        events: RunnerEvents,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Box<dyn AttemptHandle>, SpawnError> {
        let cancel = CancellationToken::new();
        let toolbox = Toolbox::new(&request, &self.parts, Rc::clone(&gate))
            .map_err(|why| SpawnError::new(format!("open the workspace: {why}")))?;
        let inbox = Inbox::default();
        let form = request.answer_schema.as_deref().map(AnswerSchema::read);
        let form = form
            .transpose()
            .map_err(|why| SpawnError::new(format!("read the schema of the answer: {why}")))?;
        let calls = ToolCalls {
            toolbox,
            gate,
            events,
            cancel: cancel.clone(),
        };
        let agent = AgentLoop::new(
            request,
            inbox.clone(),
            self.parts.clone(),
            self.writes.clone(),
            calls,
            form,
        );
        let task = tokio::task::spawn_local(agent.run());
        Ok(Box::new(EmbeddedAttempt { cancel, inbox, task }))
    }

    async fn contain(&self, _run: &RunId, _grace: Duration) -> Proof {
        nothing_started()
    }
}

/// An agent loop at work.
struct EmbeddedAttempt {
    cancel: CancellationToken,
    inbox: Inbox,
    task: JoinHandle<()>,
}

#[async_trait(?Send)]
impl AttemptHandle for EmbeddedAttempt {
    fn cancel(&self) {
        self.cancel.cancel();
    }

    fn tell(&self, message: RunMessage) {
        self.inbox.put(message);
    }

    async fn stop(&mut self, grace: Duration) -> Proof {
        self.cancel.cancel();
        if !self.task.is_finished() && tokio::time::timeout(grace, &mut self.task).await.is_err() {
            self.task.abort();
        }
        nothing_started()
    }
}

impl Drop for EmbeddedAttempt {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}

/// No process belongs to an embedded sub-agent.
fn nothing_started() -> Proof {
    Proof {
        method: Containment::InProcess,
        no_children: true,
        processes_left: 0,
    }
}
