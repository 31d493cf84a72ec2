//! Every message of the bridge as a Rust type. What is not here, or part of it, is not on the wire.
//!
//! Fields that a side does not know are ignored and methods it does not know are answered with an error, so the two
//! sides may be of different age as long as their protocol versions overlap.

mod anchors;
mod artefacts;
mod capabilities;
mod chains;
mod delegation;
mod envelope;
mod guidance;
mod look;
mod markers;
mod methods;
mod model;
mod runs;
mod session;
mod setup;
mod tools;
mod traces;
mod truncation;
mod ui;
mod wishes;

pub(crate) use anchors::context_tool;
pub use anchors::{
    ContextAsk, ContextDone, ContextOffer, ContextPivot, ContextTaken, SessionAnchor, SessionLabel,
};
pub use artefacts::{json_schema, typescript};
pub(crate) use capabilities::capability_tools;
pub use capabilities::{
    CapabilitiesOffer, CapabilitiesTaken, CapabilityCall, CapabilityDone, HostTool, PromptAsk, PromptPlan,
    PromptSkill, SeenPrompt, ToolUsed,
};
pub use chains::{ChainMember, ChainRun, ChainRunAccepted, ChainText, ChainTextAsk};
pub use delegation::{DelegateTool, Delegation, DelegationAsk};
pub use envelope::{Envelope, ErrorCode, ErrorObject, MessageId, read_envelope};
pub use guidance::{GuidanceAsk, GuidanceGiven, GuidanceMark, GuidanceNotRead, GuidanceRules};
pub use impresario_actors::gateways::{ModelError, ModelReply, ModelRequest};
pub use look::{RunsRecent, StatusAsk, StatusText, TranscriptAsk, TranscriptPage};
pub use markers::{MarkerBlock, MarkerBlockKind, MarkerEdit, MarkerPlan, MarkerSkeleton, MarkerTtl};
pub use methods::{METHODS, Method, MethodKind, Notification, Request, Side, Unanswered};
pub use model::{HOST_MODEL, ModelStanding, ModelsCheck, ModelsChecked};
pub use runs::{
    DeliveryAcknowledged, DeliveryOffer, OfferReceipt, OfferedAnswer, OfferedRun, QuestionAnswer,
    QuestionAnswered, QuestionAsk, QuestionShown, ResumableRun, ResumableRuns, RunMessageAsk, RunMessageTold,
    RunResume, RunResumed, RunTell, RunTold, RunsResumable, SkillCancel, SkillCancelled, SkillRun,
    SkillRunAccepted, ToldByAgent,
};
pub use session::{
    Completions, HasRun, InputReading, KNOWN_EVENTS, ObservedEvent, ObservedEvents, SessionEnd,
    SessionHasRun, SessionHistory, SessionHistoryMessages, SessionMode, SessionStart, SkillNames,
    SkillSummary, TypedInput,
};
pub use setup::{SetupAsk, SetupNext};
pub use tools::{
    ReadingAnchored, ReadingShown, ToolAsk, ToolChange, ToolDone, ToolPicture, ToolsOffer, ToolsTaken,
};
pub use traces::{TraceList, TraceName, TraceNames, TraceReport, TraceText, TraceView};
pub use truncation::{
    ContextCut, ContextCuts, ContextEntry, ContextLine, ContextSaid, ContextStanding, ContextTold, CutsAsk,
    EntryKind,
};
pub use ui::{Hello, NoticeLevel, Ping, Pong, RequestCancel, UiNotice, UiProgress, UiSight, Welcome};
pub use wishes::{BashDrawing, ReadDrawing, SystemPromptSeen, Wishes, WishesAsk};

/// The version of the protocol this runtime speaks.
pub const PROTOCOL_VERSION: u32 = 1;
/// The oldest version it still speaks.
pub const PROTOCOL_VERSION_OLDEST: u32 = 1;
/// The longest line either side sends or reads, in bytes, without its LF.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The deepest nesting of objects and arrays in a line.
pub const DEPTH_MAX: usize = 64;
