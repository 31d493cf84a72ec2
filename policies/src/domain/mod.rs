//! The words of the trade: runs, attempts, endings, briefs. Plain data, no behaviour beyond construction.

#![warn(missing_docs)]

mod answer;
mod brief;
mod budget;
mod ending;
mod evidence;
mod family;
mod gate;
mod given;
mod group;
mod id;
mod manner;
mod request;
mod retrieval;
mod routing;
mod run;
mod terms;
mod told;
mod trace;
mod usage;
mod worktree;

pub use answer::WholeAnswer;
pub use brief::{
    Brief, Complexity, Inherited, JudgedPass, Question, ROUTE_UNAVAILABLE, Risk, Route, Tier, Verdict,
};
pub use budget::{Budget, Caller, Cap, ModelCall, PromptSeen};
pub use ending::{AttemptEnding, EndFacts, ModelFault, Overrun};
pub use evidence::{
    CallEvidence, CallTarget, CommandRun, FileChanged, FileSeen, FileState, Flag, NotHashed, ToolUse, Work,
};
pub use family::ModelFamily;
pub use gate::{Gate, GateEnding};
pub use given::{EarlierMessage, EarlierSpeaker, Given, Picture};
pub use group::{ChainPlace, GroupId, GroupMember, OnFailure, Subtask};
pub use id::{AttemptNumber, MessageId, MessageIdError, RunId, RunIdError, SessionId};
pub use manner::{ExecutionMode, PromptMode, ReasoningEffort};
pub use request::{Briefing, Clocks, CoolDownSettings, CutTool, PassedOver, Persistence, RunRequest};
pub use retrieval::{Retrieval, RetrievalEngine};
pub use routing::{
    ModelNaming, ModelPool, RouteDecision, RoutePreference, RouteSettings, RouteSource, SkillModelPolicy,
};
pub use run::{
    Containment, Origin, Proof, Reason, ReasonCode, Replay, RunState, Step, TerminalState, WhatToRun,
};
pub use terms::{
    AdmissionTerms, AnswerTerms, CacheTerms, DegradationSettings, GuidanceTerms, HistorySettings,
    HistoryStrategy, HistoryTerms, MiddleMode, ModelChoice, ObservationSettings, OverflowSettings,
    ResultTerms, RoutingTerms, RunTerms, ShortNewest, Surroundings, TierCeilings, TraceTerms, TreePlace,
};
pub use told::{MessageKind, RunMessage};
pub use trace::{TraceOutcome, TraceVerdict};
pub use usage::ModelUsage;
pub use worktree::{FileChange, Isolation, Patch, PatchedFile, Worktree};
