//! Running a sub-agent: an embedded loop, a nested Pi, later a remote worker.

use super::{Login, ModelUsage, ToolAnswer};
use async_trait::async_trait;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::cache_markers::{Block, MarkerEdit};
use impresario_policies::domain::{
    AttemptNumber, Given, MessageId, PromptMode, Proof, Reason, ReasoningEffort, Replay, RunId, RunMessage,
};
pub use impresario_policies::domain::{EndFacts, Overrun};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Everything a runner needs to know to make one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRequest {
    /// The run, whose id marks every process (`IMPRESARIO_RUN`).
    pub run: RunId,
    pub attempt: AttemptNumber,
    /// `provider/id`, or `offline`.
    pub model: String,
    /// What stands before the task: byte-stable between runs of one agent or skill.
    pub system_prompt: String,
    /// The task, from the brief.
    pub user_prompt: String,
    /// Names of the tools the sub-agent may use, and nothing else.
    pub tools: Vec<String>,
    /// The directory it works in.
    pub workspace: PathBuf,
    /// Directories beside the workspace that it may read in.
    pub readable: Vec<PathBuf>,
    /// A directory of its own, mode 0700, gone after the run.
    pub scratch: PathBuf,
    /// Where a runner with sessions keeps the nested one.
    pub session_file: PathBuf,
    /// Whether a nested session with finished tools goes on, and what it is told first.
    pub resume: Option<String>,
    /// Sampling temperature, where the runner supports it.
    pub temperature: Option<f64>,
    /// How much the model thinks; none for what its provider does.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The form of the answer, as a JSON Schema.
    pub answer_schema: Option<String>,
    /// What it has before its task; none for nothing.
    #[serde(default)]
    pub given: Option<Box<Given>>,
    /// Where the instructions stand, where the runner has a system prompt of its own.
    pub prompt_mode: PromptMode,
    /// What the run was told so far. What the conversation does not have yet is told first.
    pub messages: Vec<RunMessage>,
    /// Further environment for processes.
    pub environment: BTreeMap<String, String>,
    /// How long a process has between being asked to stop and being killed.
    pub grace: Duration,
    /// Its process serves no other run, before or after.
    #[serde(default)]
    pub fresh: bool,
}

/// Where the nested session of a run is, in the directory for sessions.
pub fn session_file(sessions: &Path, run: &RunId) -> PathBuf {
    sessions.join(format!("{run}.jsonl"))
}

/// What a runner reports, in the order it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RunnerEvent {
    /// Something came: the start-up clock stops. Sent once, first.
    Active,
    /// Something came that means nothing else: resets the inactivity clock.
    Alive,
    /// The answer so far grew by this.
    Text { delta: String },
    /// A tool call begins, or is about to ask the gate whether it may. For the clocks only: what the journal says of a
    /// start comes from the gate.
    ToolStarted {
        /// Which call: by turn, place and the id that the model gave it.
        call: String,
        tool: String,
    },
    /// A tool call ended.
    ToolEnded {
        /// Which call: by turn, place and the id that the model gave it.
        call: String,
        /// The tool said it failed.
        is_error: bool,
        /// Size of the result in bytes.
        bytes: u64,
        /// The first characters of the result, at most 500.
        preview: String,
        /// The handle under which a result above the ceiling was kept.
        overflow: Option<String>,
    },
    /// The sub-agent will try a provider again by itself; the inactivity clock waits for it.
    RetryAnnounced {
        /// From 1.
        attempt: u32,
        /// How long it will wait.
        delay: Duration,
        /// What the provider said, redacted.
        why: String,
    },
    /// A call of the model is over.
    Called {
        /// The model that answered, where the provider says it.
        served: Option<String>,
        /// As the provider counted: nothing where it refused; none where it was cut off and nobody counted.
        used: Option<ModelUsage>,
    },
    /// A message to the run stands in the conversation.
    Told { message: MessageId },
    /// The sub-agent said something after a question.
    Replied { message: MessageId, text: String },
    /// Something we do not know or could not read; kept, counted, never fatal.
    Unread {
        /// The first 200 characters, redacted.
        line: String,
        why: String,
    },
    /// The last event, with everything a policy needs to say how it ended.
    Ended(EndFacts),
}

/// Why an attempt could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("start the sub-agent: {why}")]
pub struct SpawnError {
    pub why: String,
    /// A process of ours died meanwhile: another try may well go better.
    pub is_our_loss: bool,
}

impl SpawnError {
    /// It cannot be started.
    pub fn new(why: String) -> Self {
        Self {
            why,
            is_our_loss: false,
        }
    }
}

/// Where a runner's events go: bounded, in order, and waiting when the attempt actor is behind.
pub type RunnerEvents = tokio::sync::mpsc::Sender<RunnerEvent>;

/// What the runtime says to a tool's result before the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolVerdict {
    Pass,
    Replace {
        text: String,
        /// The handle under which the original was kept, where it was too large.
        overflow: Option<String>,
    },
}

/// A call of the model that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAsked {
    /// The model as it is asked for.
    pub model: String,
    /// The size of the prompt.
    pub bytes: u64,
    /// The reply has at most so many tokens.
    pub tokens_max: u64,
    /// The request without its text, where the runner has it.
    pub outline: Option<Outline>,
}

/// A request without its text: enough for what a provider's cache makes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order in which the provider hashes them.
    pub blocks: Vec<Block>,
    /// Its cache markers can still be changed.
    pub is_open: bool,
}

/// The runtime's say on tools and on calls of the model, for runners that can wait for it.
#[async_trait(?Send)]
pub trait ToolGate {
    /// Whether a call of the model may be made, and how its cache markers have to change; an error says why not, and
    /// ends the attempt.
    async fn calling(&self, asked: CallAsked) -> Result<Vec<MarkerEdit>, String>;
    /// Returns when the start is on disk; an error means the tool must not run. `call` is unique in the attempt
    /// ([`call_name`](impresario_policies::tool_call::call_name)), `arguments` is JSON as the model gave it.
    async fn starting(
        &self,
        call: &str,
        tool: &str,
        summary: &str,
        arguments: &str,
        replay: Replay,
    ) -> Result<(), String>;
    /// Why this call may not run where the sub-agent works; none where it may. What is forbidden is told the model, and
    /// nothing of it begins.
    fn forbids(&self, _tool: &str, _arguments: &str) -> Option<String> {
        None
    }
    /// A call failed, which is said before its result is reviewed.
    fn failed(&self, _call: &str) {}
    /// What was said so far was replaced by a summary.
    fn compacted(&self) {}
    /// Reviews a result before the model sees it.
    async fn review(&self, call: &str, tool: &str, result: &str) -> ToolVerdict;
    /// Reads a kept result: `list` and `read` of the overflow memory.
    async fn overflow(&self, tool: &str, arguments: &serde_json::Value) -> Result<String, String>;
    /// Asks the context engine that the run chose; passages only where it knows such. Both sides are for the model.
    async fn retrieve(&self, query: &str, passages_max: Option<usize>) -> Result<String, String>;
    /// Makes a call of a tool that Impresario adds. Both sides are for the model. Where the runner knows which call that
    /// is, what the tool says it changed is kept with the call's end.
    async fn use_tool(
        &self,
        call: Option<&str>,
        tool: AddedTool,
        arguments: &serde_json::Value,
    ) -> Result<ToolAnswer, String>;
}

/// A sub-agent at work. Dropping it stops what it started, without waiting.
#[async_trait(?Send)]
pub trait AttemptHandle {
    /// No further model call or tool starts from now on; asks the sub-agent to end by itself.
    fn cancel(&self);
    /// Tells it something before its next call of the model. It says [`RunnerEvent::Told`] when that stands in the
    /// conversation; one that ends before does not.
    fn tell(&self, message: RunMessage);
    /// Stops it: asks, waits for the grace, kills, sweeps; returns what was observed. May be called twice.
    async fn stop(&mut self, grace: Duration) -> Proof;
}

/// Tools that were asked for and that a runner does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsLacking {
    pub lacking: Vec<String>,
    pub offered: Vec<String>,
}

#[async_trait(?Send)]
pub trait SubAgentRunner {
    /// `embedded`, `pi`.
    fn name(&self) -> &str;
    /// Whether it can go on with a nested session after a crash.
    fn can_resume(&self) -> bool;
    /// Names among `tools` that it cannot offer, with what it could. A runner that cannot tell offers them all.
    fn lacks(&self, _tools: &[String]) -> Option<ToolsLacking> {
        None
    }
    /// Whether an attempt could start as things are now. Asked before a run is accepted, so that nothing is paid for one
    /// that cannot work.
    fn ready(&self) -> Result<(), Reason> {
        Ok(())
    }
    /// Memory that a sub-agent of it takes, in bytes, as far as that can be said before.
    fn memory(&self) -> u64 {
        0
    }
    /// What it would call this model with, in this workspace.
    fn login(&self, _model: &str) -> Login {
        Login::UNKNOWN
    }
    /// Starts one attempt. The last event it sends is `Ended`, unless it is dropped before.
    async fn start(
        &self,
        request: AttemptRequest,
        events: RunnerEvents,
        gate: Rc<dyn ToolGate>,
    ) -> Result<Box<dyn AttemptHandle>, SpawnError>;
    /// Makes sure nothing of this run is left from an earlier life of the runtime, and says what was observed.
    async fn contain(&self, run: &RunId, grace: Duration) -> Proof;
    /// Lets go of what is kept for later runs, and sees it gone. The runtime ends.
    async fn close(&self) {}
}
