//! A run and the steps it takes. The journal holds these; everything else is a projection of them.

use super::{
    AttemptEnding, AttemptNumber, Brief, CallEvidence, CallTarget, FileState, Flag, GateEnding, MessageId,
    ModelCall, ModelChoice, ModelFault, ModelUsage, PassedOver, Patch, RunId, RunMessage, RunRequest,
    SessionId, TraceVerdict, Verdict, WholeAnswer, Worktree,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Where a run stands. The four last ones are terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// On disk, nothing done yet.
    Accepted,
    /// The brief is written.
    Briefed,
    /// Admitted, waiting for its first attempt or between two.
    Admitted,
    /// An attempt is under way.
    Running,
    /// The answer is on disk; what it needs is the end.
    Answered,
    /// Ended well.
    Succeeded,
    /// Ended without an answer.
    Failed,
    /// Somebody cancelled.
    Cancelled,
    /// Stopped where a person must decide; `runs resume` makes a new run that names it.
    Parked,
}

impl RunState {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Briefed => "briefed",
            Self::Admitted => "admitted",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Parked => "parked",
        }
    }
}

/// The four ways a run can end.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum TerminalState {
    /// Ended well.
    Succeeded,
    /// Ended without an answer.
    Failed,
    /// Somebody cancelled.
    Cancelled,
    /// Stopped where a person must decide.
    Parked,
}

impl TerminalState {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        RunState::from(self).word()
    }
}

impl From<TerminalState> for RunState {
    fn from(state: TerminalState) -> Self {
        match state {
            TerminalState::Succeeded => Self::Succeeded,
            TerminalState::Failed => Self::Failed,
            TerminalState::Cancelled => Self::Cancelled,
            TerminalState::Parked => Self::Parked,
        }
    }
}

/// Why a run did not succeed: a code for programs, a sentence for a tired person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Reason {
    /// Stable across versions.
    pub code: ReasonCode,
    /// What happened and what to do, in one or two sentences, no secrets, no home paths.
    pub message: String,
}

/// The codes a [`Reason`] can carry.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Another skill of the session is in flight.
    Busy,
    /// The task lacks something the judge asked for and nobody answered.
    NeedsClarification,
    /// No agent of that name.
    UnknownAgent,
    /// No skill of that name.
    UnknownSkill,
    /// The skill's file cannot be used.
    BrokenSkill,
    /// The provider of a model is not among those that may be used.
    DisallowedProvider,
    /// The model id is not one the provider has.
    UnknownModel,
    /// The start-up clock fired.
    StartUpTimeout,
    /// The inactivity clock fired.
    InactivityTimeout,
    /// The total clock fired.
    TotalTimeout,
    /// Every model of the chain was unavailable.
    Unavailable,
    /// Every model of the chain asked to slow down.
    RateLimited,
    /// The credentials were refused.
    Authentication,
    /// The conversation no longer fits the model.
    ContextOverflow,
    /// The model declined.
    Refused,
    /// What answers questions about the workspace is not ready.
    RetrievalUnavailable,
    /// The sub-agent could not be started.
    SpawnFailed,
    /// What the sub-agent printed was not the protocol.
    ProtocolError,
    /// The sub-agent's process died.
    Crashed,
    /// It ended well and said nothing.
    EmptyAnswer,
    /// Its answer does not have the form that was asked for.
    MalformedAnswer,
    /// What a program gave cannot be used: a picture that is none, a conversation that is too long.
    BadInput,
    /// One reply called more tools than it may.
    TooManyCalls,
    /// The sub-agent had more processes than a run may have.
    TooManyProcesses,
    /// What may be spent is spent.
    OverBudget,
    /// Somebody cancelled.
    Cancelled,
    /// A tool that must not run twice was cut off.
    ToolIndeterminate,
    /// Restarts without progress.
    NoProgress,
    /// The host went away while the run was in the foreground.
    HostGone,
    /// The runtime that owned the run died with its host.
    RuntimeGone,
    /// Nobody can go on with the run.
    NotResumable,
    /// The journal could not be written.
    JournalUnwritable,
    /// The journal is not as it was written.
    JournalDamaged,
    /// There is no git worktree to be had for the run.
    WorktreeUnavailable,
    /// A message to a run was not taken.
    MessageRefused,
    /// A sub-agent would wait for a run that waits for it.
    WaitCycle,
    /// The command that decides whether the answer counts said no.
    GateClosed,
    /// That command was cut off, and nobody knows what it did.
    GateIndeterminate,
    /// The step of the chain before this one did not succeed.
    StepNotBegun,
    /// Something else was accepted under this id before.
    IdTaken,
    /// Something of ours broke; the message says where.
    Internal,
}

impl ReasonCode {
    /// As it is written: `total_timeout`.
    pub fn word(self) -> String {
        let mut word = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(letter.to_ascii_lowercase());
        }
        word
    }
}

/// Whether a tool may run again on our own initiative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// Running it twice is the same as once: reading, searching.
    Safe,
    /// It changes something, or nobody said.
    Unsafe,
}

/// What kind of thing is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum WhatToRun {
    /// An agent definition by name.
    Agent(String),
    /// A skill by name.
    Skill(String),
}

impl WhatToRun {
    /// By which it is asked for.
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(name) | Self::Skill(name) => name,
        }
    }
}

/// Who asked for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The host's kind: `cli`, `pi`, `embedder`.
    pub host: String,
    /// The host's session, where it has one.
    pub session: Option<SessionId>,
    /// The parked run this one continues.
    pub resumes: Option<RunId>,
}

/// How processes of a run were contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// The run started no process.
    InProcess,
    /// A keeper: subreaper and pidfd.
    Keeper,
    /// A keeper inside a PID namespace.
    PidNamespace,
    /// A process group and the marker sweep only (weaker; not Linux).
    ProcessGroup,
}

/// What was observed when a run ended; published with the terminal event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// How the processes were held.
    pub method: Containment,
    /// The keeper saw that no child of any kind is left below it (ECHILD), or, where the sub-agent's process goes on to
    /// serve another run, nothing but that process, which it froze. True when no process was started.
    pub no_children: bool,
    /// How many processes carrying the run's marker a sweep found after the stop.
    pub processes_left: u32,
}

impl Proof {
    /// For what ran in this process.
    pub const NOTHING_STARTED: Self = Self {
        method: Containment::InProcess,
        no_children: true,
        processes_left: 0,
    };

    /// What holds of both: the weaker hold, and all that is left.
    pub fn and(self, other: Self) -> Self {
        Self {
            method: self.method.weaker(other.method),
            no_children: self.no_children && other.no_children,
            processes_left: self.processes_left.max(other.processes_left),
        }
    }
}

impl Containment {
    fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (Self::InProcess, of_processes) | (of_processes, Self::InProcess) => of_processes,
            (Self::ProcessGroup, _) | (_, Self::ProcessGroup) => Self::ProcessGroup,
            (Self::Keeper, _) | (_, Self::Keeper) => Self::Keeper,
            (Self::PidNamespace, Self::PidNamespace) => Self::PidNamespace,
        }
    }
}

/// One durable fact about a run, in the past tense. A journal row holds one, with the run's generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// The run exists.
    Accepted {
        /// Everything that was asked for.
        request: Box<RunRequest>,
    },
    /// One pass of actor and judge was paid for.
    Judged {
        /// From 1.
        pass: u32,
        /// What the actor pass wrote.
        brief: Brief,
        /// What the judge said.
        verdict: Verdict,
    },
    /// A pass of actor and judge came to nothing: their model gave no answer. The task is not to blame.
    PassFailed {
        /// From 1; the pass is tried again under the same number.
        pass: u32,
        /// The model that gave none.
        model: String,
        /// What kept it from answering.
        fault: ModelFault,
        /// What the provider or the host said, at most 500 characters.
        detail: String,
        /// What the actor wrote before the judge failed: it is not paid again.
        brief: Option<Brief>,
    },
    /// The user was asked.
    QuestionAsked {
        /// The question as shown.
        question: String,
    },
    /// The user answered.
    QuestionAnswered {
        /// The answer as typed.
        answer: String,
    },
    /// The brief the sub-agent gets.
    Briefed {
        /// The brief.
        brief: Brief,
        /// The verdict it passed with; none where no judge was asked.
        verdict: Option<Verdict>,
    },
    /// The model was chosen, for good: a restart does not choose again. Written with the brief.
    Routed {
        /// What holds from now on.
        choice: Box<ModelChoice>,
    },
    /// There was room.
    Admitted,
    /// The run has a git worktree of its own to work in.
    WorktreePrepared {
        /// What it was made of, and where it is.
        worktree: Box<Worktree>,
    },
    /// What was changed in the worktree is kept for good. The end of the run is settled with it: nothing works there
    /// any more.
    PatchTaken {
        /// What was changed.
        patch: Box<Patch>,
        /// How the run ends.
        state: TerminalState,
        /// Why, when it does not succeed.
        reason: Option<Reason>,
    },
    /// What was changed in the worktree could not be kept: it stays where it is. The end of the run is settled with it.
    PatchNotTaken {
        /// Why.
        why: String,
        /// How the run ends.
        state: TerminalState,
        /// Why, when it does not succeed.
        reason: Option<Reason>,
    },
    /// The worktree is gone; what was changed in it is kept.
    WorktreeCleared,
    /// The worktree could not be removed: it stays where it is, and what was changed in it is kept all the same.
    WorktreeStays {
        /// Why.
        why: String,
    },
    /// An attempt begins; written before anything is started.
    AttemptStarted {
        /// From 1.
        attempt: AttemptNumber,
        /// The model as the runner knows it.
        model: String,
        /// `embedded`, `pi`.
        runner: String,
        /// The nested session's file, where the runner keeps one.
        session_file: Option<String>,
        /// Whether a nested session with finished tools goes on.
        resumes_session: bool,
    },
    /// Before this attempt it was looked which models could be had. Written with its start, where there is something to
    /// say.
    ModelsConsidered {
        /// The attempt that begins.
        attempt: AttemptNumber,
        /// Those that were not asked.
        passed_over: Vec<PassedOver>,
        /// The attempt tries for others whether its model is back.
        is_probe: bool,
    },
    /// The first event of the attempt was seen.
    AttemptActive {
        /// Which.
        attempt: AttemptNumber,
    },
    /// A call of a model is over, and this is what it took.
    ModelCalled {
        /// Who called which model, and what it used.
        call: Box<ModelCall>,
    },
    /// A tool call begins; committed before the tool runs where the runner lets us.
    ToolStarted {
        /// Which attempt.
        attempt: AttemptNumber,
        /// Which call: [`call_name`](crate::tool_call::call_name).
        call: String,
        /// The tool's name.
        tool: String,
        /// What it is called with, in one redacted line.
        summary: String,
        /// The same as JSON, redacted and bounded; none where nobody said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// Whether it may run again.
        replay: Replay,
        /// Which file or command it is about; none where its arguments do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<CallTarget>,
    },
    /// A tool call ended.
    ToolEnded {
        /// Which attempt.
        attempt: AttemptNumber,
        /// Which call: [`call_name`](crate::tool_call::call_name).
        call: String,
        /// The tool said it failed.
        is_error: bool,
        /// Size of the result in bytes.
        bytes: u64,
        /// The first characters of the result, redacted.
        preview: String,
        /// The handle under which a result above the ceiling was kept.
        overflow: Option<String>,
        /// What was seen of it besides; none where there was nothing to see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Box<CallEvidence>>,
    },
    /// A tool call was cut off and nobody knows whether it happened.
    ToolIndeterminate {
        /// Which attempt.
        attempt: AttemptNumber,
        /// Which call: [`call_name`](crate::tool_call::call_name).
        call: String,
        /// The tool's name.
        tool: String,
        /// What the file that it was to change was, when nothing of the attempt was there any more; none where its
        /// arguments name no file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<FileState>,
    },
    /// Somebody tells the run something: it stands in line for the sub-agent. The end of the run is the end of whatever
    /// still stands there.
    MessageAccepted {
        /// What, and who.
        message: Box<RunMessage>,
    },
    /// A message stands in the conversation of the sub-agent. Said again by an attempt that begins a new conversation.
    MessageDelivered {
        /// Which.
        message: MessageId,
        /// Whose conversation.
        attempt: AttemptNumber,
    },
    /// The sub-agent said something after a question.
    MessageAnswered {
        /// Which.
        message: MessageId,
        /// Who said it.
        attempt: AttemptNumber,
        /// What it said next, redacted and bounded.
        answer: String,
    },
    /// An attempt is over and its processes are gone.
    AttemptEnded {
        /// Which.
        attempt: AttemptNumber,
        /// How.
        ending: AttemptEnding,
        /// What the provider or the process said, redacted, at most 500 characters.
        detail: String,
        /// What there was of an answer.
        partial: Option<String>,
        /// All that was said, where the answer is cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Box<WholeAnswer>>,
        /// What its calls of the model used, as far as the sub-agent said; none where nobody is left who heard it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUsage>,
        /// What was observed of its processes.
        proof: Proof,
    },
    /// The reviewed answer, on disk before anybody sees it.
    Answered {
        /// The answer.
        answer: String,
        /// What in it is not borne out by what was seen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<Flag>,
    },
    /// The command of the gate begins; committed before it is started.
    GateStarted {
        /// Which time, from 1.
        gate: u32,
        /// What is run, in one redacted line.
        command: String,
    },
    /// The command of the gate ended, and its processes are gone.
    GateEnded {
        /// Which time.
        gate: u32,
        /// How.
        ending: GateEnding,
        /// The end of what it printed, redacted.
        output: String,
        /// What was observed of its processes.
        proof: Proof,
    },
    /// The command of the gate was cut off, and nobody knows what it did. Its processes are gone.
    GateIndeterminate {
        /// Which time.
        gate: u32,
        /// What was observed of its processes.
        proof: Proof,
    },
    /// The run has to stop for a person to decide, whatever it is doing.
    ParkRequested {
        /// Why.
        reason: Reason,
    },
    /// Cancellation was asked for.
    CancelRequested {
        /// Who or what asked, for the reason's message.
        by: String,
    },
    /// The one terminal step.
    Ended {
        /// How.
        state: TerminalState,
        /// Why, when it did not succeed.
        reason: Option<Reason>,
        /// What was observed of its processes.
        proof: Proof,
    },
    /// The host was given the result.
    Delivered,
    /// The run's trace was looked at.
    Observed {
        /// What it says; none where observability is off.
        verdict: Option<TraceVerdict>,
        /// The person was told that the skill stopped working.
        alerted: bool,
    },
    /// The host has it for good.
    DeliveryAcknowledged,
}

impl From<ModelCall> for Step {
    fn from(call: ModelCall) -> Self {
        Self::ModelCalled { call: Box::new(call) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_said_as_it_is_written() {
        for code in [
            ReasonCode::TotalTimeout,
            ReasonCode::Busy,
            ReasonCode::ToolIndeterminate,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.word());
        }
    }

    #[test]
    fn what_two_programs_leave_is_proven_as_weakly_as_the_weaker_one() {
        let proof = |method, no_children, processes_left| Proof {
            method,
            no_children,
            processes_left,
        };
        let keeper = proof(Containment::Keeper, true, 0);
        let namespace = proof(Containment::PidNamespace, false, 2);
        let both = proof(Containment::Keeper, false, 2);
        assert_eq!(keeper.clone().and(namespace.clone()), both);
        assert_eq!(namespace.and(keeper.clone()), both);
        assert_eq!(Proof::NOTHING_STARTED.and(keeper.clone()), keeper);
    }
}
