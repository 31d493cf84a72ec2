//! The traits through which actors reach the outside. Every double in the tests is a real alternative implementation.
//!
//! All of them are used on the one thread of the actors, so their futures need not be `Send`.

mod answers;
mod clock;
mod context;
mod files;
mod gates;
mod host;
mod login;
mod memory;
mod model;
mod rules;
mod runner;
mod tools;
mod traces;
mod web;
mod worktrees;

pub use answers::AnswerShelf;
pub use clock::{Entropy, SeededEntropy, SystemEntropy, SystemWallClock, UnixMillis, WallClock};
pub use context::{
    ContextEngine, PASSAGES_MAX, RetrievalError, RetrievalRequest, RetrievalResult, Retrieved,
};
pub use files::FileLooks;
pub use gates::{GateAsk, GateReport, Gates};
pub use host::{
    ChatMessage, ChatRole, DeliveredChanges, DeliveredReceipt, DeliveredRun, Delivery, DeliveryReceipt,
    Glimpse, Host, HostError, Progress,
};
pub use login::{Login, LoginId};
pub use memory::free_memory_now;
pub use model::{
    ModelClient, ModelError, ModelMessage, ModelReply, ModelRequest, ModelRole, ModelUsage, TextDeltas,
    ToolCall, ToolDefinition,
};
pub use rules::{RuleFiles, RulesAsk, RulesFound, RulesNotRead};
pub use runner::{
    AttemptHandle, AttemptRequest, CallAsked, EndFacts, Outline, Overrun, RunnerEvent, RunnerEvents,
    SpawnError, SubAgentRunner, ToolGate, ToolVerdict, ToolsLacking, session_file,
};
pub use tools::{Reach, ToolAnswer, ToolPlace, Tools};
pub use traces::{TracePlace, TraceShelf};
pub use web::{Agent, KeyHeader, PageRequest, ServiceRequest, Web, WebFailure, WebResponse};
pub use worktrees::{WorktreeAsk, WorktreeError, Worktrees};
