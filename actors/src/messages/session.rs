//! What the actors of a session hear: host, judge, router, cache-marker planner.

#![warn(missing_docs)]

use super::run::Refusal;
use crate::gateways::{ChatMessage, Delivery, DeliveryReceipt, Glimpse, HostError, Progress, RulesNotRead};
use crate::message;
use impresario_policies::budget::Allowance;
use impresario_policies::cache_markers::{MarkerRequest, Planned};
use impresario_policies::domain::{
    Brief, CacheTerms, GuidanceTerms, HistoryTerms, Isolation, ModelCall, ModelFault, RunId, SessionId,
    Verdict,
};
use impresario_policies::guidance::{GivenRules, RuleMark, Touched};
use impresario_policies::truncation::{CutResult, SeenEntry, TruncationTerms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use ts_rs::TS;

/// Has actor and judge make one pass over a task.
#[derive(Debug, Clone)]
pub struct JudgeTask {
    /// For which run.
    pub run: RunId,
    /// Whose it is, where it belongs to one.
    pub session: Option<SessionId>,
    /// What the person sees of the run, but for what it is doing.
    pub progress: Progress,
    /// Nobody waits for the pass any more: a call of the model that is under way is given up.
    pub stop: CancellationToken,
    /// Which pass of the run, from 1.
    pub pass: u32,
    /// What it may spend.
    pub allowance: Allowance,
    /// What the actor wrote already, before a judge failed: it is judged only.
    pub written: Option<Brief>,
    /// The name of the agent or skill.
    pub name: String,
    /// Its instructions.
    pub instructions: String,
    /// The task, in the user's words.
    pub task: String,
    /// What the user answered so far, each with its question.
    pub clarifications: Vec<(String, String)>,
    /// The last pass, when it was not passed.
    pub rejected: Option<(Brief, Verdict)>,
    /// The model for both.
    pub model: String,
    /// The actor writes, and nobody judges.
    pub skip_judge: bool,
    /// What they see of the conversation.
    pub history: HistoryTerms,
    /// One call may take so long.
    pub within: Duration,
}
message!(impl JudgeTask -> Result<Judgement, PassFailure>);

/// What one pass gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What the actor pass wrote.
    pub brief: Brief,
    /// What the judge said.
    pub verdict: Verdict,
    /// The calls of the model it took.
    pub calls: Vec<ModelCall>,
}

/// Why a pass came to nothing: its model gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PassFailure {
    /// What kept the model.
    pub fault: ModelFault,
    /// What the provider or the host said.
    pub detail: String,
    /// What the actor had written by then.
    pub written: Option<Brief>,
    /// The calls of the model it took.
    pub calls: Vec<ModelCall>,
}

/// Puts a question to the user; asking again while it is open shows it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskUser {
    /// About which run.
    pub run: RunId,
    /// Whose it is, where it belongs to one.
    pub session: Option<SessionId>,
    /// As shown.
    pub question: String,
}
message!(impl AskUser -> Result<String, HostError>);

/// Hands a result to the host. Idempotent by run.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliverResult {
    /// The result.
    pub delivery: Delivery,
    /// Whose it is, where it belongs to one.
    pub session: Option<SessionId>,
    /// It may stand in the session already: look first.
    pub look_first: bool,
}
message!(impl DeliverResult -> Result<DeliveryReceipt, HostError>);

/// Reads the newest messages of the session's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHistory {
    /// At most so many.
    pub messages_max: usize,
}
message!(impl ReadHistory -> Vec<ChatMessage>);

/// Shows progress; dropped when nobody looks.
#[derive(Debug, Clone, PartialEq)]
pub struct ShowProgress {
    /// What.
    pub progress: Progress,
    /// Whose it is, where it belongs to one.
    pub session: Option<SessionId>,
}
message!(impl ShowProgress -> ());

/// Shows what a sub-agent says and waits for; dropped when nobody looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowGlimpse {
    /// What.
    pub glimpse: Glimpse,
}
message!(impl ShowGlimpse -> ());

/// Tells the person something that is no result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowNotice {
    /// As shown.
    pub text: String,
}
message!(impl ShowNotice -> ());

/// Plans the prompt-cache markers of a request that is about to go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanMarkers {
    /// The request, without its text.
    pub request: MarkerRequest,
    /// What holds for it.
    pub terms: CacheTerms,
}
message!(impl PlanMarkers -> Planned);

/// Asks whether a request may begin, or another with the same beginning is to fill the provider's cache first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskForTurn {
    /// The request, without its text.
    pub request: MarkerRequest,
    /// What holds for it.
    pub terms: CacheTerms,
}
message!(impl AskForTurn -> Turn);

/// A request may begin.
#[derive(Debug, Default)]
pub struct Turn {
    /// It is the first of its kind: others wait until this is dropped, when the answer has begun or is over.
    pub first: Option<oneshot::Sender<()>>,
    /// So long it waited.
    pub waited: Duration,
}

/// Says what became of plans so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountPlans;
message!(impl CountPlans -> PlansCounted);

/// A host could not apply a plan: the request went out as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNotApplied {
    /// Why, in the host's words.
    pub why: String,
}
message!(impl PlanNotApplied -> ());

/// What became of the plans of this runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlansCounted {
    /// Requests that were looked at.
    pub looked_at: u64,
    /// Requests that were changed.
    pub changed: u64,
    /// Changes that could not be applied, so that the request went out as it was.
    pub not_applied: u64,
    /// Why the last of them could not.
    pub why: Option<String>,
    /// What all prompts are expected to cost, in plain tokens, which are guessed.
    pub cost: u64,
    /// What they would be expected to cost without any plan.
    pub unplanned_cost: u64,
    /// Sub-agents that wait at this moment for another with the same beginning.
    pub waiting: u64,
}

/// An anchor was set: which results of tools has it made stale?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCuts {
    /// What the model sees, in its order.
    pub seen: Vec<SeenEntry>,
    /// The anchor's summary, and all that was said since.
    pub since: String,
    /// The model that goes on, as `provider/id`.
    pub model: String,
    /// How much is left out.
    pub terms: TruncationTerms,
}
message!(impl PlanCuts -> Vec<CutResult>);

/// Says what was left out so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountCuts;
message!(impl CountCuts -> CutsCounted);

/// What was left out in this runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CutsCounted {
    /// Anchors that were looked at.
    pub anchors: u64,
    /// Results that were left out.
    pub results: u64,
    /// Their characters.
    pub characters: u64,
}

/// Looks which rules of directories belong behind a result of a tool of the main agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideResult {
    /// Whose result.
    pub session: SessionId,
    /// Later ones have higher numbers.
    pub number: u64,
    /// The earlier ones whose results are not in the session yet.
    pub open: Vec<u64>,
    /// The places that the call touched.
    pub touched: Vec<Touched>,
    /// Where the main agent works.
    pub workspace: PathBuf,
    /// The person trusts what lies there.
    pub is_trusted: bool,
    /// How much is given; none for what is configured.
    pub terms: Option<GuidanceTerms>,
    /// What stands in the session, in its order.
    pub given: Vec<RuleMark>,
}
message!(impl GuideResult -> GuidedResult);

/// What belongs behind a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuidedResult {
    /// In the order in which they stand there.
    pub rules: Vec<GivenRules>,
    /// What is there and could not be read.
    pub not_read: Vec<RulesNotRead>,
}

/// Starts a skill. Idempotent by run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartSkill {
    /// Chosen by the caller, so that asking again is harmless.
    pub run: RunId,
    /// What is wanted.
    pub order: SkillOrder,
    /// An agent ordered it and waits for it: it runs beside what else its session has in flight.
    pub beside: bool,
}
message!(impl StartSkill -> Result<(), Refusal>);

/// A skill or an agent as a person or the main agent orders it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillOrder {
    /// The skill or the agent, by name.
    pub name: String,
    /// It is an agent.
    pub agent: bool,
    /// The task, in the user's words.
    pub task: String,
    /// What an agent is told besides.
    pub context: Option<String>,
    /// The host's session.
    pub session: Option<SessionId>,
    /// Where the host keeps that session, where it does.
    pub session_file: Option<PathBuf>,
    /// Where the host works.
    pub workspace: PathBuf,
    /// The host trusts what lies there.
    pub workspace_trusted: bool,
    /// The session's own model, as `provider/id`.
    pub model: Option<String>,
    /// Where it works, whatever its definition says; none for what that says.
    pub isolation: Option<Isolation>,
    /// The skills that the host lists itself.
    pub listed: Vec<ListedSkill>,
    /// It was typed in the host's own form, which the host understands too.
    pub hosts_form: bool,
}

/// A skill that the host lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ListedSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its file.
    pub file: PathBuf,
    /// Who put it there.
    pub scope: ListedScope,
    /// The directory it was found through, where the host says.
    #[serde(default)]
    pub base: Option<PathBuf>,
}

/// Who put a skill where the host found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ListedScope {
    /// The person, for every workspace.
    User,
    /// The workspace, or a directory above it.
    Project,
    /// A package that was installed.
    Package,
    /// The person, for this session.
    Session,
}

/// Note of the router to itself: find out which skills are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoverDue;
message!(impl RecoverDue -> ());

/// Note of the router to itself: a skill is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillOver {
    /// Which run it was.
    pub run: RunId,
}
message!(impl SkillOver -> ());
