//! The words of the trade: runs, attempts, endings, briefs. Plain data, no behaviour beyond construction.

mod brief;
mod ending;
mod group;
mod id;
mod request;
mod retrieval;
mod run;
mod terms;
mod usage;

pub use brief::{
    Brief, Complexity, Inherited, JudgedPass, Question, ROUTE_UNAVAILABLE, Risk, Route, Tier, Verdict,
};
pub use ending::{AttemptEnding, EndFacts, ModelFault, Overrun};
pub use group::{GroupId, GroupMember};
pub use id::{AttemptNumber, RunId, RunIdError, SessionId};
pub use request::{Briefing, Clocks, Persistence, RunRequest};
pub use retrieval::{Retrieval, RetrievalEngine};
pub use run::{
    Containment, Origin, Proof, Reason, ReasonCode, Replay, RunState, Step, TerminalState, WhatToRun,
};
pub use terms::{
    AnswerTerms, HistoryTerms, ModelChoice, ResultTerms, RoutingTerms, RunTerms, Surroundings, TierCeilings,
    TraceTerms,
};
pub use usage::ModelUsage;
