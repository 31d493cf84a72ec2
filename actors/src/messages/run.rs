//! What a run hears, and what it tells.

use crate::gateways::{LoginId, ModelUsage, ToolVerdict};
use crate::message;
use impresario_policies::domain::{
    AdmissionTerms, AttemptEnding, AttemptNumber, GroupMember, ModelCall, Proof, Reason, RunId, RunMessage,
    RunRequest, Step, TraceVerdict, WholeAnswer,
};
use impresario_policies::overflow_review::ResultLimits;
use impresario_policies::unwritable::ToldEnding;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Asks the sub-agent supervisor to take on a run. Idempotent by id.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRun {
    /// Chosen by the caller, so that asking again is harmless.
    pub run: RunId,
    /// Everything that is asked for.
    pub request: Box<RunRequest>,
}
message!(impl StartRun -> Result<(), Refusal>);

/// Asks the sub-agent supervisor to take on several runs at once: all of them or none. Idempotent by their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct StartGroup {
    /// In the order in which they shall begin.
    pub runs: Vec<StartRun>,
}
message!(impl StartGroup -> Result<(), Refusal>);

/// Why a run was not accepted. Nothing of it is in the journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("accept the run: {}", .0.message)]
pub struct Refusal(pub Reason);

/// Asks the sub-agent supervisor for room; answered when there is some. Idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskForRoom {
    pub run: RunId,
    /// Its group, which has a width of its own.
    pub group: Option<GroupMember>,
    pub lane: Lane,
    pub terms: AdmissionTerms,
    /// Memory that it will take, in bytes.
    pub memory: u64,
}
message!(impl AskForRoom -> ());

/// Whom a run calls, and as whom. A run with room that asks for another lane leaves the one it has, and waits with its
/// room for a place in the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    pub provider: String,
    pub login: LoginId,
}

/// Cancels a run. Idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRun {
    pub run: RunId,
    pub by: String,
}
message!(impl CancelRun -> CancelReply);

/// What became of a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReply {
    /// It is on disk and under way.
    Cancelling,
    /// No such run is under way here.
    NotUnderWay,
}

/// Tells a run something. Idempotent by the message's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellRun {
    pub run: RunId,
    pub message: RunMessage,
}
message!(impl TellRun -> TellReply);

/// What became of a message to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TellReply {
    /// It is on disk, and reaches the sub-agent unless the run ends before.
    Taken,
    /// It is not taken.
    Refused(Reason),
    /// The run is not ready to say; asked again in a moment, it is.
    NotYet,
    /// No such run is under way here.
    NotUnderWay,
}

/// Tells an attempt what the run was told. What it has already it does not take again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellAttempt {
    pub message: RunMessage,
}
message!(impl TellAttempt -> ());

/// Parks every run of this runtime that is under way: the host went away. Answered when they are over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkRuns {
    /// Why, for the people who look later.
    pub reason: Reason,
}
message!(impl ParkRuns -> u32);

/// Parks this run, whatever it is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkRun {
    pub reason: Reason,
}
message!(impl ParkRun -> ());

/// Note of a run to itself: look what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveDue;
message!(impl MoveDue -> ());

/// Note of a run to itself: the total clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TotalClockDue;
message!(impl TotalClockDue -> ());

/// Note of a run to itself: the total clock of its group ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupClockDue;
message!(impl GroupClockDue -> ());

/// An attempt has something for the journal. Answered when all of it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSteps {
    pub steps: Vec<Step>,
}
message!(impl RecordSteps -> Result<(), RecordRefused>);

/// None of the steps is recorded, and what they announce must not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record a step: {0}")]
pub struct RecordRefused(pub String);

/// An attempt is over and its processes are gone.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptOver {
    pub attempt: AttemptNumber,
    pub ending: AttemptEnding,
    /// What the provider or the process said, redacted.
    pub detail: String,
    /// The reviewed answer, or what there was of one.
    pub answer: String,
    /// All that was said, where the answer is cut.
    pub whole: Option<WholeAnswer>,
    /// Of the files that it names, those that are there; none where nobody could say.
    pub cited: Option<BTreeSet<String>>,
    /// Calls of the model that are not on disk yet.
    pub calls: Vec<ModelCall>,
    /// What its calls of the model used, as far as was heard.
    pub used: ModelUsage,
    /// What was observed of its processes.
    pub proof: Proof,
}
message!(impl AttemptOver -> ());

/// Tells an attempt to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopAttempt {
    /// What the ending shall be called.
    pub stop_as: AttemptEnding,
}
message!(impl StopAttempt -> ());

/// Note of an attempt to itself: start the sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartDue;
message!(impl StartDue -> ());

/// Note of an attempt to itself: the runner said something.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerSaid {
    pub event: crate::gateways::RunnerEvent,
}
message!(impl RunnerSaid -> ());

/// Note of an attempt to itself: a clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDue {
    /// As what the attempt ends.
    pub stop_as: AttemptEnding,
    /// Which setting of the clock this is; a later one makes it stale.
    pub setting: u64,
}
message!(impl ClockDue -> ());

/// Reviews the result of a tool before the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewToolResult {
    pub attempt: AttemptNumber,
    /// Which call of it; a review of the same call gives the same verdict.
    pub call: String,
    pub tool: String,
    pub result: String,
    /// How large it may be, and what becomes of it when it is larger.
    pub limits: Arc<ResultLimits>,
}
message!(impl ReviewToolResult -> ToolVerdict);

/// Reads the overflow memory of a run on behalf of the sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOverflow {
    /// `list` or `read`.
    pub tool: String,
    /// As the model gave them.
    pub arguments: serde_json::Value,
}
message!(impl ReadOverflow -> Result<String, String>);

/// Writes the trace file of a run that is about to end. Idempotent: the file is named after the run.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTrace {
    pub state: impresario_policies::domain::TerminalState,
    /// Why, when it does not succeed.
    pub reason: Option<Reason>,
}
message!(impl WriteTrace -> Result<(), String>);

/// Looks at the trace of a run that is over and has been delivered. Idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObserveRun {
    /// Whoever asked for the run is there to be told.
    pub person_is_there: bool,
}
message!(impl ObserveRun -> Result<Observed, String>);

/// What was seen of a run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What its trace says; none where observability is off.
    pub verdict: Option<TraceVerdict>,
    /// The person was told that the skill stopped working.
    pub alerted: bool,
}

/// A run has nothing more to do here. Idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunClosed {
    pub run: RunId,
    /// How it ended, when that could not be written; it is settled when the journal can be written again.
    pub told: Option<ToldEnding>,
}
message!(impl RunClosed -> ());

/// Waits until a run has nothing more to do here; answered at once when it is not under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitRun {
    pub run: RunId,
}
message!(impl AwaitRun -> Awaited);

/// What is known of a run that is not under way here any more, or never was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// Nothing more happens to it here; the journal says how it stands.
    Rests,
    /// It ended so, and the journal does not say it yet.
    Told(ToldEnding),
}

/// Note of the sub-agent supervisor to itself: have endings written that were only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleDue;
message!(impl SettleDue -> ());

/// Note of the sub-agent supervisor to itself: take on the runs that the journal says are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdoptDue;
message!(impl AdoptDue -> ());
