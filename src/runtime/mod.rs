//! The runtime as a Rust program holds it: start it, spawn sub-agents, watch them, read results, shut down.
//!
//! Everything inside lives on one thread of its own; what is held here is `Send + Sync + Clone` and talks to that thread
//! over a bounded channel.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use impresario::{Runtime, SubAgent};
//!
//! let runtime = Runtime::builder().start().await?;
//! let run = runtime.spawn(SubAgent::explore("How does a crashed actor come back?")).await?;
//! let outcome = run.outcome().await?;
//! println!("{}", outcome.answer.unwrap_or_default());
//! runtime.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod builder;
mod chain;
mod events;
mod group;
mod hosts;
mod inside;
mod local_tools;
mod message;
mod program;
mod resume;
mod retention;
mod run;
mod state_directory;
mod statistics;
mod sub_agent;
mod transcript;
mod unread;
mod wait;
mod wish;

pub use builder::{RuntimeBuilder, StartError};
pub use chain::{Chain, ChainStep};
pub use events::{RunEvent, RunEvents};
pub use group::{Group, GroupEvents, GroupOutcome, SubAgentGroup, member_requests};
pub(crate) use local_tools::{ToolSettings, local_tools};
pub use message::SentMessage;
pub use resume::Resumable;
pub use run::{Outcome, Run, RunError};
pub(crate) use state_directory::{SERVER_LISTS, cache_directory, log_of, logs, make_private, worktrees};
pub use state_directory::{StateDirectoryError, state_directory};
pub use sub_agent::{EMBEDDED_RUNNER, OFFLINE_MODEL, PI_RUNNER, SubAgent};
pub use unread::{Acknowledgement, Unread};
pub(crate) use wish::{take_answer, wishes};

// What a program implements, gives or reads when it embeds the runtime.
pub use crate::models::OfflineOr;
pub use async_trait::async_trait;
pub use impresario_actors::gateways::{
    ChatMessage, ChatRole, Delivery, DeliveryReceipt, Host, HostError, ModelClient, ModelError, ModelMessage,
    ModelReply, ModelRequest, ModelRole, ModelUsage, Progress, TextDeltas, ToolCall, ToolDefinition,
    UnixMillis,
};
pub use impresario_actors::journal::{RunFilter, RunProgress, RunSummary, RuntimeId};
pub use impresario_actors::models::ProviderModels;
pub use impresario_actors::runners::embedded::{EmbeddedTool, ToolContext};
pub use impresario_policies::agents::AgentDefinition;
pub use impresario_policies::chain::ChainRefusal;
pub use impresario_policies::domain::{
    AdmissionTerms, AttemptEnding, Budget, CacheTerms, CallEvidence, CallTarget, Caller, Cap, CommandRun,
    CoolDownSettings, CutTool, EarlierMessage, FileChange, FileChanged, FileSeen, FileState, Flag, Gate,
    GateEnding, GroupId, GroupMember, Isolation, MessageId, MessageKind, ModelCall, ModelFault, NotHashed,
    OnFailure, OverflowSettings, Patch, PatchedFile, Proof, Reason, ReasonCode, Replay, Retrieval, RunId,
    RunMessage, RunRequest, RunState, SessionId, Step, Subtask, TerminalState, ToolUse, WhatToRun,
    WholeAnswer, Work, Worktree,
};
pub use impresario_policies::group::{MemberProjection, MemberResult};
pub use impresario_policies::network::services::{NetworkSettings, SearchProvider, Service, ServiceKey};
pub use impresario_policies::parallel::{ParallelRefusal, WorkerResult};
pub use impresario_policies::projection::MessageFate;
pub use impresario_policies::receipt::{PatchProof, Receipt, flag_words, receipt_line, receipt_lines};
pub use impresario_policies::worker_pool::PoolSettings;

pub use impresario_actors::journal::{Pruned, Retention};
pub use impresario_actors::messages::session::{PlansCounted, SkillOrder};

use impresario_actors::capability_index::{CapabilitiesFound, CapabilityRequest, Indexed};
use impresario_actors::journal::JournalError;
use impresario_actors::messages::anchors::RecallAnchors;
use impresario_actors::messages::capabilities::{
    CapabilityUsed, FindCapability, IndexCapabilities, ReadUses, SearchCapabilities,
};
use impresario_actors::messages::journal::{Prune, ReadClaimable, ReadRun, ReadRuns};
use impresario_actors::messages::prompts::LogPrompt;
use impresario_actors::messages::run::{AdoptDue, CancelReply, CancelRun, ParkRuns, StartRun};
use impresario_actors::messages::session::{
    CountCuts, CountPlans, CutsCounted, GuideResult, GuidedResult, PlanCuts, PlanMarkers, PlanNotApplied,
    StartSkill,
};
use impresario_actors::session_index::Recalled;
use impresario_actors::supervision::{AskError, Message};
use impresario_policies::cache_markers::{MarkerRequest, Planned};
use impresario_policies::capability::Capability;
use impresario_policies::capability::promotion::Use;
use impresario_policies::projection::RecordedStep;
use impresario_policies::truncation::CutResult;
pub(crate) use inside::lock;
use inside::{Inside, Thread};
use retention::forget_answers;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const ASK: Duration = Duration::from_secs(60);

/// A running runtime. Clones share it; when the last one is dropped it shuts down by itself, without waiting.
#[derive(Debug, Clone)]
pub struct Runtime(Arc<Thread>);

/// The runtime's thread is gone, or does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// It was shut down, or it died.
    #[error("reach the runtime: it is gone")]
    Gone,
    /// Tens of thousands of callers stand in line already (docs/ARCHITECTURE.md, limits). Nothing was done: ask later.
    #[error("reach the runtime: it has more callers than it can hold, ask again later")]
    Busy,
    /// Somebody inside did not answer; the text says who and why.
    #[error("get an answer from the runtime: {0}")]
    Inside(String),
    /// The journal knows no such run.
    #[error("find the run: there is no run {run} in the journal")]
    NotFound {
        /// The id that was asked for.
        run: RunId,
    },
    /// The run's end is not in the journal yet, so nobody can have taken it.
    #[error("acknowledge the result of run {run}: its end is not in the journal yet")]
    NotEnded {
        /// Which run.
        run: RunId,
    },
    /// Another runtime works on the run. Its steps can be read here; only it can cancel it.
    #[error("learn how run {run} ends: another runtime ({owner}), which is alive, works on it")]
    DrivenElsewhere {
        /// Which run.
        run: RunId,
        /// Who works on it.
        owner: RuntimeId,
    },
    /// The run is unfinished, the runtime that worked on it is dead, and it waits for a runtime with its host's session.
    #[error("learn how run {run} ends: its runtime is dead, and it waits for the session that asked for it")]
    Unattended {
        /// Which run.
        run: RunId,
    },
    /// The journal did not do what was asked.
    #[error("use the journal: {0}")]
    Journal(#[from] JournalError),
    /// The run was not accepted. Nothing of it is in the journal.
    #[error("accept the run: {}", .0.message)]
    Refused(Reason),
    /// The run does not take the message. Nothing of it is in the journal.
    #[error("tell the run: {}", .0.message)]
    MessageRefused(Reason),
    /// The group was not accepted. Nothing of it is in the journal.
    #[error("accept the group: {0}")]
    GroupRefused(#[from] ParallelRefusal),
    /// A chain that cannot be run.
    #[error("chain refused: {0}")]
    ChainRefused(#[from] ChainRefusal),
}

impl Runtime {
    /// Begins with the defaults: the embedded runner, the offline model, the user's state directory.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Spawns a sub-agent. When this returns the run is on disk and reaches a terminal state, whatever happens.
    pub async fn spawn(&self, sub_agent: SubAgent) -> Result<Run, RuntimeError> {
        let request = self.request_of(sub_agent).await?;
        self.spawn_request(request).await
    }

    /// The same with an id chosen by the caller, so that asking again starts nothing twice: whoever did not hear the
    /// answer asks again with the same id, after a restart too, and has the handle. Keep an id of
    /// [`Self::new_run_id`] with whatever the run is for. Another sub-agent under an id that is taken is refused.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let directory = tempfile::tempdir()?;
    /// use impresario::{Runtime, SubAgent};
    ///
    /// let runtime = Runtime::builder().state_directory(directory.path()).start().await?;
    /// let id = runtime.new_run_id();
    /// let task = || SubAgent::explore("Where is the entry point?").unjudged();
    /// let run = runtime.spawn_as(id.clone(), task()).await?;
    /// let same = runtime.spawn_as(id, task()).await?;
    /// assert_eq!(run.id(), same.id());
    /// assert_eq!(runtime.runs(Default::default()).await?.len(), 1);
    /// # runtime.shutdown().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn spawn_as(&self, run: RunId, sub_agent: SubAgent) -> Result<Run, RuntimeError> {
        let request = self.request_of(sub_agent).await?;
        self.spawn_request_as(run, request).await
    }

    /// The same for a request that is complete.
    pub async fn spawn_request(&self, request: RunRequest) -> Result<Run, RuntimeError> {
        self.spawn_request_as(self.0.new_run_id(), request).await
    }

    /// Starts a skill as a person ordered it: one in flight per session.
    pub async fn spawn_skill(&self, order: SkillOrder) -> Result<Run, RuntimeError> {
        self.spawn_skill_as(self.0.new_run_id(), order).await
    }

    /// The same with an id chosen by the caller, so that asking twice starts one run.
    pub async fn spawn_skill_as(&self, run: RunId, order: SkillOrder) -> Result<Run, RuntimeError> {
        self.start_skill(run, order, false).await
    }

    /// The same for an agent that waits for it: several may be in flight in its session.
    pub async fn spawn_delegated_skill_as(&self, run: RunId, order: SkillOrder) -> Result<Run, RuntimeError> {
        self.start_skill(run, order, true).await
    }

    async fn start_skill(&self, run: RunId, order: SkillOrder, beside: bool) -> Result<Run, RuntimeError> {
        let start = StartSkill {
            run: run.clone(),
            order,
            beside,
        };
        let accepted = self
            .ask(move |inside| inside.ports.start_skill.ask_again(start, ASK))
            .await?;
        accepted.map_err(|refusal| RuntimeError::Refused(refusal.0))?;
        Ok(Run::new(self.clone(), run))
    }

    /// A handle on a run that is in the journal.
    pub fn run(&self, run: RunId) -> Run {
        Run::new(self.clone(), run)
    }

    /// Where nested sessions are kept.
    pub(crate) fn sessions_directory(&self) -> std::path::PathBuf {
        self.0.defaults.sessions.clone()
    }

    /// Where the journal is.
    pub(crate) fn journal_file(&self) -> std::path::PathBuf {
        self.0
            .defaults
            .sessions
            .with_file_name(impresario_actors::journal::JOURNAL_FILE)
    }

    /// How many stand before this run in the line for room; none where it does not wait here.
    pub(crate) fn before_in_line(&self, run: &RunId) -> Option<usize> {
        self.0.before(run)
    }

    /// A new run id, for [`Self::spawn_as`] and [`Self::spawn_skill_as`].
    pub fn new_run_id(&self) -> RunId {
        self.0.new_run_id()
    }

    /// Lists runs, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<RunSummary>, RuntimeError> {
        Ok(self
            .ask(move |inside| inside.ports.read_runs.ask_again(ReadRuns { filter }, ASK))
            .await??)
    }

    /// The runs that have something left to do and whose runtime is dead.
    pub(crate) async fn claimable(&self) -> Result<Vec<RunSummary>, RuntimeError> {
        let found = self
            .ask(|inside| inside.ports.read_claimable.ask_again(ReadClaimable, ASK))
            .await??;
        Ok(found.into_iter().map(|claimable| claimable.run).collect())
    }

    /// The steps of a run after the sequence `after`.
    pub async fn steps(&self, run: &RunId, after: u64) -> Result<Vec<RecordedStep>, RuntimeError> {
        let read = ReadRun {
            run: run.clone(),
            after,
        };
        Ok(self
            .ask(move |inside| inside.ports.read_run.ask_again(read, ASK))
            .await??)
    }

    /// Forgets old runs, and with them what was kept of their answers.
    pub async fn prune(&self, retention: Retention) -> Result<Pruned, RuntimeError> {
        let answers = self.0.defaults.answers.clone();
        let pruned = self.ask(move |inside| {
            let ports = inside.ports.clone();
            async move {
                let pruned = ports.prune.ask_again(Prune { retention }, ASK).await;
                forget_answers(&ports, answers).await;
                pruned
            }
        });
        Ok(pruned.await??)
    }

    /// Plans the prompt-cache markers of a request that is about to go out.
    pub(crate) async fn plan_markers(
        &self,
        request: MarkerRequest,
        terms: CacheTerms,
    ) -> Result<Planned, RuntimeError> {
        let plan = PlanMarkers { request, terms };
        self.ask(move |inside| inside.ports.plan_markers.ask_again(plan, ASK))
            .await
    }

    /// Says that a plan could not be applied.
    pub(crate) async fn plan_not_applied(&self, why: String) -> Result<(), RuntimeError> {
        self.ask(move |inside| {
            inside
                .ports
                .plan_not_applied
                .ask_again(PlanNotApplied { why }, ASK)
        })
        .await
    }

    /// What became of the cache markers of requests so far, and who waits for another to fill the provider's cache.
    pub async fn count_plans(&self) -> Result<PlansCounted, RuntimeError> {
        self.ask(|inside| inside.ports.count_plans.ask_again(CountPlans, ASK))
            .await
    }

    /// Says which results of tools an anchor has made stale.
    pub(crate) async fn plan_cuts(&self, plan: PlanCuts) -> Result<Vec<CutResult>, RuntimeError> {
        self.ask(move |inside| inside.ports.plan_cuts.ask_again(plan, ASK))
            .await
    }

    /// What was left out so far.
    pub(crate) async fn count_cuts(&self) -> Result<CutsCounted, RuntimeError> {
        self.ask(|inside| inside.ports.count_cuts.ask_again(CountCuts, ASK))
            .await
    }

    /// Says which rules of directories belong behind a result of a tool.
    pub async fn guide(&self, result: GuideResult) -> Result<GuidedResult, RuntimeError> {
        self.ask(move |inside| inside.ports.guide.ask_again(result, ASK))
            .await
    }

    /// Makes the index of what can be used in a workspace.
    pub(crate) async fn index_capabilities(
        &self,
        scope: PathBuf,
        all: Vec<Capability>,
    ) -> Result<Indexed, String> {
        let index = IndexCapabilities { scope, all };
        self.look_up(move |inside| inside.ports.index_capabilities.ask_again(index, ASK))
            .await
    }

    /// What can be used and fits a request.
    pub(crate) async fn search_capabilities(
        &self,
        scope: PathBuf,
        request: CapabilityRequest,
    ) -> Result<CapabilitiesFound, String> {
        let search = SearchCapabilities { scope, request };
        self.look_up(move |inside| inside.ports.search_capabilities.ask_again(search, ASK))
            .await
    }

    /// What can be used and has this id.
    pub(crate) async fn find_capability(
        &self,
        scope: PathBuf,
        id: String,
    ) -> Result<Option<Capability>, String> {
        let find = FindCapability { scope, id };
        self.look_up(move |inside| inside.ports.find_capability.ask_again(find, ASK))
            .await
    }

    /// Something that can be used was.
    pub(crate) async fn capability_used(
        &self,
        scope: PathBuf,
        id: String,
        at: UnixMillis,
    ) -> Result<(), String> {
        let used = CapabilityUsed { scope, id, at };
        let told = self
            .ask(move |inside| inside.ports.capability_used.ask_again(used, ASK))
            .await;
        told.map_err(|error| error.to_string())
    }

    /// What was used last, that first.
    pub(crate) async fn capability_uses(&self, scope: PathBuf) -> Result<Vec<Use>, String> {
        self.look_up(move |inside| inside.ports.read_uses.ask_again(ReadUses { scope }, ASK))
            .await
    }

    /// The anchors of all sessions that fit.
    pub(crate) async fn recall_anchors(&self, recall: RecallAnchors) -> Result<Recalled, String> {
        self.look_up(move |inside| inside.ports.recall_anchors.ask_again(recall, ASK))
            .await
    }

    /// Logs a system prompt, if anybody wishes for it.
    pub(crate) async fn log_prompt(&self, seen: LogPrompt) -> Result<(), String> {
        self.look_up(move |inside| inside.ports.log_prompt.ask_again(seen, ASK))
            .await
    }

    /// Looks for runs to go on with, at the start or when the host opened a session. Returns when they are under way.
    pub async fn adopt(&self) -> Result<(), RuntimeError> {
        self.ask(|inside| inside.ports.adopt.ask_again(AdoptDue, ASK))
            .await
    }

    async fn spawn_request_as(&self, run: RunId, request: RunRequest) -> Result<Run, RuntimeError> {
        let start = StartRun {
            run: run.clone(),
            request: Box::new(request),
        };
        let accepted = self
            .ask(move |inside| inside.ports.start.ask_again(start, ASK))
            .await?;
        accepted.map_err(|refusal| RuntimeError::Refused(refusal.0))?;
        Ok(Run::new(self.clone(), run))
    }

    /// Asks the process that drives the run to cancel it. Whether it did stands in the journal.
    pub(crate) fn wish_cancelled(&self, run: &RunId) -> std::io::Result<()> {
        wish::leave(&self.0.defaults.wishes, run)
    }

    /// Answers a question of a run that was left to itself. Whether it was heard stands in the journal.
    pub(crate) fn leave_answer(&self, run: &RunId, question: &str, answer: &str) -> std::io::Result<()> {
        wish::leave_answer(&self.0.defaults.wishes, run, question, answer)
    }

    /// The run was left to a process of its own, which nobody sits before.
    pub(crate) fn is_left_to_itself(&self, run: &RunId) -> bool {
        let state = self.0.defaults.wishes.parent();
        state.is_some_and(|state| log_of(state, run).exists())
    }

    /// Takes that back, where nobody took it up.
    pub(crate) fn unwish(&self, run: &RunId) {
        wish::take_back(&self.0.defaults.wishes, run);
    }

    /// Parks everything that is under way, waits for it, and stops. Returns when nothing is left.
    pub async fn shutdown(&self) -> Result<(), RuntimeError> {
        let reason = Reason {
            code: ReasonCode::HostGone,
            message: "The program shut its runtime down while this run worked.".to_string(),
        };
        self.shutdown_because(reason).await
    }

    /// The same with a reason of the caller's for the runs that are parked.
    pub async fn shutdown_because(&self, reason: Reason) -> Result<(), RuntimeError> {
        let park = ParkRuns { reason };
        let _ = self
            .ask(move |inside| inside.ports.park.ask_again(park, ASK))
            .await;
        self.0.stop().await
    }

    async fn cancel(&self, run: RunId, by: String) -> Result<bool, RuntimeError> {
        let cancel = CancelRun { run, by };
        let reply = self
            .ask(move |inside| inside.ports.cancel.ask_again(cancel, ASK))
            .await?;
        Ok(reply == CancelReply::Cancelling)
    }

    /// The request of a sub-agent. Where its agent may stand in a file, a thread for files reads it.
    async fn request_of(&self, sub_agent: SubAgent) -> Result<RunRequest, RuntimeError> {
        let defaults = self.0.defaults.clone();
        let request = match sub_agent.reads_files(&defaults) {
            false => sub_agent.into_request(&defaults),
            true => self
                .0
                .call(move |_| async move {
                    tokio::task::spawn_blocking(move || sub_agent.into_request(&defaults)).await
                })
                .await?
                .map_err(|error| RuntimeError::Inside(format!("reading files of agents failed: {error}")))?,
        };
        request.map_err(RuntimeError::Refused)
    }

    /// Asks an actor inside.
    /// What the index says; that nobody answers is an error like its own.
    async fn look_up<M, Asked, T>(
        &self,
        ask: impl FnOnce(&Inside) -> Asked + Send + 'static,
    ) -> Result<T, String>
    where
        M: Message<Reply = Result<T, String>>,
        T: Send,
        Asked: Future<Output = Result<M::Reply, AskError<M>>> + 'static,
    {
        self.ask(ask).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn ask<M, Asked>(
        &self,
        ask: impl FnOnce(&Inside) -> Asked + Send + 'static,
    ) -> Result<M::Reply, RuntimeError>
    where
        M: Message,
        M::Reply: Send,
        Asked: Future<Output = Result<M::Reply, AskError<M>>> + 'static,
    {
        let asked = self.0.call(move |inside| {
            let asked = ask(inside);
            async move {
                asked.await.map_err(|error| match error {
                    AskError::Busy(_) => RuntimeError::Busy,
                    other => RuntimeError::Inside(other.to_string()),
                })
            }
        });
        asked.await?
    }
}
