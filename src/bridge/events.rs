//! What a host can tell the runtime. The runtime implements this; tests record it.

use super::wire::{
    CapabilitiesOffer, CapabilitiesTaken, CapabilityCall, CapabilityDone, ChainRun, ChainRunAccepted,
    ChainText, ChainTextAsk, ContextAsk, ContextCuts, ContextDone, ContextOffer, ContextSaid,
    ContextStanding, ContextTaken, CutsAsk, Delegation, DelegationAsk, GuidanceAsk, GuidanceGiven,
    InputReading, MarkerPlan, MarkerSkeleton, ObservedEvent, PromptAsk, PromptPlan, ReadingAnchored,
    ReadingShown, ResumableRun, RunMessageAsk, RunMessageTold, RunResume, RunResumed, RunTell, RunTold,
    SessionEnd, SessionStart, SetupAsk, SetupNext, SkillCancel, SkillRun, SkillSummary, SystemPromptSeen,
    ToolAsk, ToolDone, ToolUsed, ToolsOffer, ToolsTaken, TraceName, TranscriptAsk, TranscriptPage,
    TypedInput, Wishes, WishesAsk,
};
use async_trait::async_trait;
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::{Reason, RunId, SessionId};

/// Why a run was not accepted, and what the person can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("accept the run: {}", .reason.message)]
pub struct Refused {
    /// The reason a terminal state would carry.
    pub reason: Reason,
    /// What the person can do, in one sentence.
    pub hint: Option<String>,
}

/// What a host can tell the runtime.
///
/// Calls arrive in the order of the wire: a call is begun (polled once) before the next one is. Notifications are
/// awaited to their end before the next message is read, so they must not wait for long; requests run side by side.
/// A panic in one of them answers that request with an error and costs nothing else.
#[async_trait]
pub trait HostEvents: Send + Sync {
    /// A session began; the same one may begin several times.
    async fn session_started(&self, session: SessionStart);
    /// A session ended, the process lives on or not.
    async fn session_ended(&self, end: SessionEnd);
    /// The host closed its end. Nothing comes after this; the process ends when it returns.
    async fn host_gone(&self);
    /// A line was typed that may be ours: what does it ask for?
    async fn input(&self, input: TypedInput) -> InputReading;
    /// A skill shall run. `request` is unique: the same one twice means one run.
    async fn run_skill(&self, request: SkillRun) -> Result<RunId, Refused>;
    /// Runs a chain. Returns when all its runs are in the journal.
    async fn run_chain(&self, request: ChainRun) -> Result<ChainRunAccepted, Refused>;
    /// What a chain says, when nothing more happens to it.
    async fn chain_text(&self, asked: ChainTextAsk) -> Result<ChainText, Refused>;
    /// The runs that a person can go on with.
    async fn resumable(&self, session: &SessionId) -> Vec<ResumableRun>;
    /// A run shall be gone on with. `request` is unique: the same one twice means one run.
    async fn resume(&self, request: RunResume) -> Result<RunResumed, Refused>;
    /// A sub-agent that works shall be told something.
    async fn tell(&self, request: RunTell) -> Result<RunTold, Refused>;
    /// What became of a message, when that is final or after a while.
    async fn message(&self, request: RunMessageAsk) -> Result<RunMessageTold, Refused>;
    /// Runs shall be cancelled; returns those that are.
    async fn cancel(&self, request: SkillCancel) -> Vec<RunId>;
    /// Something happened in the session; known or not, in order.
    async fn observe(&self, session: &SessionId, event: ObservedEvent);
    /// A provider request is about to go out; the markers it should carry.
    async fn plan_markers(&self, skeleton: MarkerSkeleton) -> MarkerPlan;
    /// A tool of the main agent's gave a result; the rules of directories that belong behind it.
    async fn guide(&self, asked: GuidanceAsk) -> GuidanceGiven;

    /// An anchor was set; the results that it has made stale.
    async fn cut(&self, asked: CutsAsk) -> ContextCuts;

    /// How the context stands before a request; a line for the model where one is due.
    async fn context_status(&self, asked: ContextStanding) -> ContextSaid;
    /// What the host has of what can be used; the answer says with what the rest is found.
    async fn capabilities(&self, offer: CapabilitiesOffer) -> CapabilitiesTaken;
    /// One of the tools with which the rest is found is called, or its command typed.
    async fn call_capability(&self, call: CapabilityCall) -> CapabilityDone;
    /// A system prompt is about to be used; the skills it should show.
    async fn shape_prompt(&self, asked: PromptAsk) -> PromptPlan;
    /// A session is about to be used; the tool for its context.
    async fn offer_context(&self, offer: ContextOffer) -> ContextTaken;
    /// That tool is called.
    async fn call_context(&self, ask: ContextAsk) -> ContextDone;
    /// A session is about to be used; the tools that are added to the host's.
    async fn offer_tools(&self, offer: ToolsOffer) -> ToolsTaken;
    /// One of them is called. Dropped when nobody waits for it any more.
    async fn call_tool(&self, ask: ToolAsk) -> ToolDone;
    /// A tool of the host's read something, and the main agent edits by anchors.
    async fn anchor_reading(&self, shown: ReadingShown) -> ReadingAnchored;
    /// A session is about to be used; what settings wish of it.
    async fn wishes(&self, asked: WishesAsk) -> Wishes;
    /// A system prompt was seen that was wished for.
    async fn prompt_seen(&self, seen: SystemPromptSeen);
    /// A tool of the host was used.
    async fn tool_used(&self, used: ToolUsed);
    /// A result that was only shown stands in the session now.
    async fn delivery_acknowledged(&self, run: RunId);
    /// Whether the main agent of this session is taught to delegate, and how.
    async fn delegation(&self, asked: DelegationAsk) -> Delegation;
    /// The skills a person can choose from; the host lists some itself.
    async fn skills(&self, session: &SessionId, listed: Vec<ListedSkill>) -> Vec<SkillSummary>;
    /// What the traces of a skill say together, for the person. What went wrong stands in the text too.
    async fn trace_report(&self, session: &SessionId, skill: String) -> String;
    /// One trace, for the person. What went wrong stands in the text too.
    async fn trace_view(&self, session: &SessionId, file: String) -> String;
    /// The newest runs of a session.
    async fn recent(&self, session: &SessionId) -> Vec<ResumableRun>;
    /// What the sub-agent of a run and its model said to each other.
    async fn transcript(&self, asked: TranscriptAsk) -> Result<TranscriptPage, Refused>;
    /// How things stand, for the person. What went wrong stands in the text too.
    async fn status(&self, session: &SessionId, section: String) -> String;
    /// What a person who chooses models for the agents is asked next, or what became of it.
    async fn setup_models(&self, asked: SetupAsk) -> Result<SetupNext, Refused>;
    /// The traces a person can choose from, the newest first.
    async fn traces(&self, session: &SessionId) -> Vec<TraceName>;
}
