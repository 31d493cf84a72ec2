//! The table of methods: who sends what, what comes back, how long the sender waits and what silence means.

use super::*;
use serde::{Serialize, de::DeserializeOwned};

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

macro_rules! request {
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
}

macro_rules! notification {
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

request!(Hello => Welcome, "hello" from Host, 10_000 ms, Told);
request!(Ping => Pong, "ping" from Either, 5_000 ms, Fails);
notification!(RequestCancel, "request.cancel" from Either);
notification!(SessionStart, "session.start" from Host);
notification!(SessionEnd, "session.end" from Host);
request!(TypedInput => InputReading, "input" from Host, 5_000 ms, Told);
request!(SkillRun => SkillRunAccepted, "skill.run" from Host, 30_000 ms, Told);
request!(RunsResumable => ResumableRuns, "runs.resumable" from Host, 5_000 ms, Open);
request!(RunResume => RunResumed, "run.resume" from Host, 60_000 ms, Told);
request!(SkillCancel => SkillCancelled, "skill.cancel" from Host, 5_000 ms, Told);
request!(QuestionAnswer => QuestionAnswered, "question.answer" from Host, 5_000 ms, Told);
notification!(ObservedEvents, "event" from Host);
request!(MarkerSkeleton => MarkerPlan, "markers.plan" from Host, 50 ms, Open);
notification!(DeliveryAcknowledged, "delivery.acknowledged" from Host);
request!(Completions => SkillNames, "completions" from Host, 2_000 ms, Open);
request!(TraceReport => TraceText, "trace.report" from Host, 5_000 ms, Told);
request!(TraceView => TraceText, "trace.view" from Host, 5_000 ms, Told);
request!(TraceList => TraceNames, "trace.list" from Host, 2_000 ms, Open);
request!(DelegationAsk => Delegation, "delegation" from Host, 1_000 ms, Open);
notification!(UiProgress, "ui.progress" from Runtime);
notification!(UiNotice, "ui.notice" from Runtime);
request!(QuestionAsk => QuestionShown, "question.ask" from Runtime, 5_000 ms, Fails);
request!(ModelComplete => ModelCompleted, "model.complete" from Runtime, 180_000 ms, Fails);
request!(ModelsCheck => ModelsChecked, "models.check" from Runtime, 5_000 ms, Fails);
request!(DeliveryOffer => OfferReceipt, "delivery.offer" from Runtime, 10_000 ms, Fails);
request!(SessionHistory => SessionHistoryMessages, "session.history" from Runtime, 2_000 ms, Fails);
request!(SessionHasRun => HasRun, "session.has_run" from Runtime, 2_000 ms, Fails);

/// Every method, in the order of the documentation.
pub const METHODS: &[Method] = &[
    <Hello as Request>::METHOD,
    <Ping as Request>::METHOD,
    <RequestCancel as Notification>::METHOD,
    <SessionStart as Notification>::METHOD,
    <SessionEnd as Notification>::METHOD,
    <TypedInput as Request>::METHOD,
    <SkillRun as Request>::METHOD,
    <RunsResumable as Request>::METHOD,
    <RunResume as Request>::METHOD,
    <SkillCancel as Request>::METHOD,
    <QuestionAnswer as Request>::METHOD,
    <ObservedEvents as Notification>::METHOD,
    <MarkerSkeleton as Request>::METHOD,
    <DeliveryAcknowledged as Notification>::METHOD,
    <Completions as Request>::METHOD,
    <TraceReport as Request>::METHOD,
    <TraceView as Request>::METHOD,
    <TraceList as Request>::METHOD,
    <DelegationAsk as Request>::METHOD,
    <UiProgress as Notification>::METHOD,
    <UiNotice as Notification>::METHOD,
    <QuestionAsk as Request>::METHOD,
    <ModelComplete as Request>::METHOD,
    <ModelsCheck as Request>::METHOD,
    <DeliveryOffer as Request>::METHOD,
    <SessionHistory as Request>::METHOD,
    <SessionHasRun as Request>::METHOD,
];
