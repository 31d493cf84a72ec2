//! The table of methods: who sends what, what comes back, how long the sender waits and what silence means.

use super::*;
use schemars::SchemaGenerator;
use serde::{Serialize, de::DeserializeOwned};
use ts_rs::TypeVisitor;

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The extension.
    Host,
    /// The runtime.
    Runtime,
    /// Either.
    Either,
}

/// Whether a message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodKind {
    /// Answered once, with a result or an error.
    Request,
    /// Never answered.
    Notification,
}

/// What the sender does when no answer came within the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// The host goes on with its own value.
    Open,
    /// The person is told that it failed.
    Told,
    /// The caller gets a typed error and decides.
    Fails,
    /// There is nothing to wait for.
    NoAnswer,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Side,
    /// Whether it is answered.
    pub kind: MethodKind,
    /// The type of its parameters.
    pub params: &'static str,
    /// The type of its result.
    pub result: Option<&'static str>,
    /// How long the sender waits.
    pub deadline_ms: Option<u32>,
    /// What silence means.
    pub unanswered: Unanswered,
}

/// A message that is answered.
pub trait Request: Serialize + DeserializeOwned {
    /// What comes back.
    type Reply: Serialize + DeserializeOwned;
    /// Its row.
    const METHOD: Method;
}

/// A message that is not answered.
pub trait Notification: Serialize + DeserializeOwned {
    /// Its row.
    const METHOD: Method;
}

/// One message: its row, and what it is.
macro_rules! message {
    ($params:ident => $reply:ident, $name:literal from $sender:ident, $deadline_ms:literal ms, $unanswered:ident) => {
        impl Request for $params {
            type Reply = $reply;
            const METHOD: Method = Method {
                name: $name,
                sender: Side::$sender,
                kind: MethodKind::Request,
                params: stringify!($params),
                result: Some(stringify!($reply)),
                deadline_ms: Some($deadline_ms),
                unanswered: Unanswered::$unanswered,
            };
        }
    };
    ($params:ident, $name:literal from $sender:ident) => {
        impl Notification for $params {
            const METHOD: Method = Method {
                name: $name,
                sender: Side::$sender,
                kind: MethodKind::Notification,
                params: stringify!($params),
                result: None,
                deadline_ms: None,
                unanswered: Unanswered::NoAnswer,
            };
        }
    };
}

macro_rules! row {
    ($params:ident => $reply:ident) => {
        <$params as Request>::METHOD
    };
    ($params:ident) => {
        <$params as Notification>::METHOD
    };
}

macro_rules! messages {
    ($($params:ident $(=> $reply:ident)?, $name:literal from $sender:ident $(, $deadline_ms:literal ms, $unanswered:ident)?;)*) => {
        $(message!($params $(=> $reply)?, $name from $sender $(, $deadline_ms ms, $unanswered)?);)*

        /// Every method, in the order of the documentation.
        pub const METHODS: &[Method] = &[$(row!($params $(=> $reply)?)),*];

        /// Shows a visitor every type that is a message; what they are made of it finds by itself.
        pub(super) fn visit_messages(visitor: &mut impl TypeVisitor) {
            $(visitor.visit::<$params>(); $(visitor.visit::<$reply>();)?)*
            visitor.visit::<ModelError>();
        }

        /// The same for the schema.
        pub(super) fn describe_messages(generator: &mut SchemaGenerator) {
            $(generator.subschema_for::<$params>(); $(generator.subschema_for::<$reply>();)?)*
            generator.subschema_for::<ModelError>();
        }
    };
}

messages! {
    Hello => Welcome, "hello" from Host, 10_000 ms, Told;
    Ping => Pong, "ping" from Either, 5_000 ms, Fails;
    RequestCancel, "request.cancel" from Either;
    SessionStart, "session.start" from Host;
    SessionEnd, "session.end" from Host;
    TypedInput => InputReading, "input" from Host, 5_000 ms, Told;
    SkillRun => SkillRunAccepted, "skill.run" from Host, 30_000 ms, Told;
    ChainRun => ChainRunAccepted, "chain.run" from Host, 30_000 ms, Told;
    ChainTextAsk => ChainText, "chain.text" from Host, 10_000 ms, Told;
    RunsResumable => ResumableRuns, "runs.resumable" from Host, 5_000 ms, Open;
    RunResume => RunResumed, "run.resume" from Host, 60_000 ms, Told;
    RunTell => RunTold, "run.tell" from Host, 20_000 ms, Told;
    RunMessageAsk => RunMessageTold, "run.message" from Host, 20_000 ms, Told;
    SkillCancel => SkillCancelled, "skill.cancel" from Host, 5_000 ms, Told;
    QuestionAnswer => QuestionAnswered, "question.answer" from Host, 5_000 ms, Told;
    ObservedEvents, "event" from Host;
    MarkerSkeleton => MarkerPlan, "markers.plan" from Host, 50 ms, Open;
    GuidanceAsk => GuidanceGiven, "guidance" from Host, 2_000 ms, Open;
    CutsAsk => ContextCuts, "context.cuts" from Host, 1_000 ms, Open;
    ContextStanding => ContextSaid, "context.status" from Host, 100 ms, Open;
    DeliveryAcknowledged, "delivery.acknowledged" from Host;
    Completions => SkillNames, "completions" from Host, 2_000 ms, Open;
    TraceReport => TraceText, "trace.report" from Host, 5_000 ms, Told;
    TraceView => TraceText, "trace.view" from Host, 5_000 ms, Told;
    TraceList => TraceNames, "trace.list" from Host, 2_000 ms, Open;
    DelegationAsk => Delegation, "delegation" from Host, 1_000 ms, Open;
    RunsRecent => ResumableRuns, "runs.recent" from Host, 2_000 ms, Open;
    TranscriptAsk => TranscriptPage, "run.transcript" from Host, 5_000 ms, Told;
    StatusAsk => StatusText, "status" from Host, 10_000 ms, Told;
    SetupAsk => SetupNext, "setup.models" from Host, 10_000 ms, Told;
    CapabilitiesOffer => CapabilitiesTaken, "capabilities.offer" from Host, 3_000 ms, Open;
    CapabilityCall => CapabilityDone, "capability.call" from Host, 20_000 ms, Told;
    PromptAsk => PromptPlan, "capability.prompt" from Host, 250 ms, Open;
    ToolUsed, "capability.used" from Host;
    ContextOffer => ContextTaken, "context.offer" from Host, 1_000 ms, Open;
    ContextAsk => ContextDone, "context.call" from Host, 3_000 ms, Told;
    ToolsOffer => ToolsTaken, "tools.offer" from Host, 1_000 ms, Open;
    ReadingShown => ReadingAnchored, "tool.anchors" from Host, 1_000 ms, Open;
    ToolAsk => ToolDone, "tool.call" from Host, 140_000 ms, Told;
    WishesAsk => Wishes, "session.wishes" from Host, 1_000 ms, Open;
    SystemPromptSeen, "prompt.seen" from Host;
    UiProgress, "ui.progress" from Runtime;
    UiSight, "ui.sight" from Runtime;
    UiNotice, "ui.notice" from Runtime;
    QuestionAsk => QuestionShown, "question.ask" from Runtime, 5_000 ms, Fails;
    ModelRequest => ModelReply, "model.complete" from Runtime, 180_000 ms, Fails;
    ModelsCheck => ModelsChecked, "models.check" from Runtime, 5_000 ms, Fails;
    DeliveryOffer => OfferReceipt, "delivery.offer" from Runtime, 10_000 ms, Fails;
    SessionHistory => SessionHistoryMessages, "session.history" from Runtime, 2_000 ms, Fails;
    SessionHasRun => HasRun, "session.has_run" from Runtime, 2_000 ms, Fails;
}
