//! Runs: asked for, cancelled, asked back about, delivered.

use impresario_actors::gateways::{DeliveredChanges, DeliveredReceipt, DeliveredRun, DeliveryReceipt};
use impresario_actors::messages::session::ListedSkill;
use impresario_policies::domain::{
    FileChange, MessageId, MessageKind, PatchedFile, Reason, RunId, SessionId, TerminalState, WhatToRun,
};
use impresario_policies::sight::RunSight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Run a skill or an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillRun {
    /// From which session.
    pub session: SessionId,
    /// Unique; the same request sent twice means one run.
    pub request: String,
    /// The skill or the agent.
    pub name: String,
    /// It is an agent.
    #[serde(default)]
    pub agent: bool,
    /// What is wanted.
    pub task: String,
    /// What an agent is told besides.
    #[serde(default)]
    #[ts(type = "string | null")]
    pub context: Option<String>,
    /// It was typed in the host's own form: a skill of the host's is not run but refused as unknown.
    #[serde(default)]
    pub hosts_form: bool,
    /// The skills that the host lists itself.
    #[serde(default)]
    pub listed: Vec<ListedSkill>,
    /// It works in a git worktree of its own, whatever its definition says.
    #[serde(default)]
    pub isolated: bool,
    /// The main agent delegated it and waits: it runs beside what else the session has in flight.
    #[serde(default)]
    pub delegated: bool,
}

/// The run is accepted: it is in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillRunAccepted {
    /// Its id.
    pub run: RunId,
}

/// Which runs can a person go on with?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunsResumable {
    /// From which session.
    pub session: SessionId,
}

/// A run that a person can go on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ResumableRun {
    /// Its id.
    pub run: RunId,
    /// The skill or agent.
    pub name: String,
    /// How the task begins.
    pub task: String,
    /// The directory it works in, where it is not the session's own.
    #[serde(default)]
    pub elsewhere: Option<String>,
    /// `parked`, `failed`, …; `cut off` where its runtime is dead and its session is closed.
    pub state: String,
    /// When it was accepted, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The answer to [`RunsResumable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ResumableRuns {
    /// Those of the session's own workspace first, the newest first.
    pub runs: Vec<ResumableRun>,
}

/// Go on with a run that is parked or was cut off, in a new run that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunResume {
    /// In which session; the result belongs there.
    pub session: SessionId,
    /// Unique; the same request sent twice means one run.
    pub request: String,
    /// The run's id, or as much of the beginning as makes it the only one.
    pub run: String,
}

/// The new run is accepted: it is in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunResumed {
    /// The new run.
    pub run: RunId,
    /// The run that it goes on with.
    pub resumes: RunId,
    /// The skill or agent.
    pub name: String,
    /// What is wanted.
    pub task: String,
}

/// Tell a sub-agent that works something: it has it before its next call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunTell {
    /// From which session.
    pub session: SessionId,
    /// What is wanted with it.
    pub kind: MessageKind,
    /// How the run's id begins, then the text. The text alone means the only run of the session that is under way.
    pub what: String,
    /// The main agent says it: then `what` is the text alone, and what the sub-agent says to it is asked for with
    /// `run.message`.
    #[serde(default)]
    pub by_agent: Option<ToldByAgent>,
}

/// Whom the main agent tells something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToldByAgent {
    /// The run, or how its id begins; none means the only one of the session that is under way.
    pub run: Option<String>,
}

/// What became of a message? Answered when that is final, or as it is after a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunMessageAsk {
    /// From which session.
    pub session: SessionId,
    /// Which run has it.
    pub run: RunId,
    /// Which message.
    pub message: MessageId,
}

/// The answer to [`RunMessageAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunMessageTold {
    /// `queued`, `delivered`, `answered` or `expired`.
    pub fate: String,
    /// Nothing more becomes of it.
    pub is_final: bool,
    /// What the sub-agent said next, where it was asked something.
    pub answer: Option<String>,
}

/// The message is in the journal. What the sub-agent says to a question comes as a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct RunTold {
    /// Which run.
    pub run: RunId,
    /// The skill or agent.
    pub name: String,
    /// The message, whose fate `impresario runs show` tells.
    pub message: MessageId,
}

/// Cancel a run, or all runs of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillCancel {
    /// Of which session.
    pub session: SessionId,
    /// Which run; none means every run of the session.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Who asked, for the run's reason: `escape`, `/skill:cancel`.
    pub by: String,
}

/// Cancellation is on its way; each run still ends with a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SkillCancelled {
    /// The runs that are being cancelled.
    pub runs: Vec<RunId>,
}

/// Show this question to the person. Asked again while it is open, it is shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct QuestionAsk {
    /// About which run.
    pub run: RunId,
    /// In which session; none means whichever is open.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// The question.
    pub question: String,
}

/// The answer to [`QuestionAsk`]; what the person says comes as [`QuestionAnswer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct QuestionShown {
    /// False when nobody is there to answer.
    pub shown: bool,
}

/// What the person said to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct QuestionAnswer {
    /// About which run.
    pub run: RunId,
    /// None when the question was dismissed.
    pub answer: Option<String>,
}

/// The runtime has the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct QuestionAnswered {
    /// Somebody was waiting for it.
    pub taken: bool,
}

/// Here is the result of a run. The same run may be offered again; the host drops what it already has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DeliveryOffer {
    /// Which run.
    pub run: RunId,
    /// For which session; none means whichever is open.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// It was asked for in an earlier session, which the host did not keep.
    #[serde(default)]
    pub earlier_session: bool,
    /// How it ended.
    pub state: TerminalState,
    /// The answer, or what there was of one.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// A line for the person: the sub-agent was stopped before it was done.
    #[serde(default)]
    pub stopped_early: Option<String>,
    /// What it is a result of.
    #[serde(default)]
    pub about: Option<OfferedRun>,
    /// What a person sees of the run, now that it is over.
    #[serde(default)]
    pub sight: Option<RunSight>,
    /// What it changed in a git worktree of its own.
    #[serde(default)]
    pub changes: Option<OfferedChanges>,
    /// What the runtime saw of the work.
    #[serde(default)]
    pub receipt: Option<DeliveredReceipt>,
    /// A line for whoever reads the answer: it is cut, and all of it is there.
    #[serde(default)]
    pub whole: Option<String>,
    /// The chain that it is a step of: what the chain says is one result, the steps' are part of it.
    #[serde(default)]
    pub chain: Option<String>,
}

/// What a run changed in a git worktree of its own; the person's files are as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferedChanges {
    /// In words, with how to apply it.
    pub text: String,
    /// The worktree, while it is there.
    pub worktree: Option<String>,
    /// The commit it was made of; none before the first one.
    pub base: Option<String>,
    /// What keeps the commits of what it began with and of what it left.
    pub reference: String,
    /// The patch; none where it could not be made, and the worktree stays.
    pub patch: Option<OfferedPatch>,
}

/// A patch that can be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferedPatch {
    /// Where it lies.
    pub file: String,
    /// Of the file.
    pub sha256: String,
    /// How many files it changes.
    pub files_in_all: u32,
    /// The first of them.
    pub files: Vec<OfferedFile>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferedFile {
    /// Below the top of the repository.
    pub path: String,
    /// What it was called before.
    pub from: Option<String>,
    /// What was done to it.
    pub change: FileChange,
    /// Lines; none where it is no text.
    #[ts(type = "number | null")]
    pub added: Option<u64>,
    /// Lines; none where it is no text.
    #[ts(type = "number | null")]
    pub removed: Option<u64>,
    /// Git's hash of it before.
    pub before: Option<String>,
    /// Git's hash of it now.
    pub after: Option<String>,
}

/// So many files are named one by one.
const OFFERED_FILES_MAX: usize = 100;

impl From<DeliveredChanges> for OfferedChanges {
    fn from(changes: DeliveredChanges) -> Self {
        let worktree = changes.worktree;
        Self {
            text: changes.text,
            worktree: (!changes.cleared).then(|| worktree.directory.display().to_string()),
            base: worktree.base,
            reference: worktree.reference,
            patch: changes.patch.map(|patch| OfferedPatch {
                file: patch.file.display().to_string(),
                sha256: patch.sha256,
                files_in_all: patch.files_in_all,
                files: patch
                    .files
                    .into_iter()
                    .take(OFFERED_FILES_MAX)
                    .map(Into::into)
                    .collect(),
            }),
        }
    }
}

impl From<PatchedFile> for OfferedFile {
    fn from(file: PatchedFile) -> Self {
        Self {
            path: file.path,
            from: file.from,
            change: file.change,
            added: file.added,
            removed: file.removed,
            before: file.before,
            after: file.after,
        }
    }
}

/// A question of a run, and what the person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferedAnswer {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// What a result is a result of: the session may know nothing of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferedRun {
    /// The skill; none for an agent.
    pub skill: Option<String>,
    /// The agent; none for a skill.
    pub agent: Option<String>,
    /// The task, cut where it is long.
    pub task: String,
    /// What the person was asked.
    pub answers: Vec<OfferedAnswer>,
    /// The model of the last attempt; none before the first.
    pub model: Option<String>,
    /// The models that were left before it, each with why.
    pub left: Vec<String>,
    /// What it used, in words; none while there is nothing to say.
    pub used: Option<String>,
}

impl From<DeliveredRun> for OfferedRun {
    fn from(run: DeliveredRun) -> Self {
        let answers = run.answers.into_iter();
        let (skill, agent) = match run.what {
            WhatToRun::Skill(name) => (Some(name), None),
            WhatToRun::Agent(name) => (None, Some(name)),
        };
        Self {
            skill,
            agent,
            task: shortened(run.task, OFFERED_TASK_CHARS_MAX),
            answers: answers
                .map(|(question, answer)| OfferedAnswer { question, answer })
                .collect(),
            model: run.model,
            left: run.left,
            used: run.used,
        }
    }
}

/// So much of a task stands with its result: whoever gave it knows the rest.
const OFFERED_TASK_CHARS_MAX: usize = 2_000;

fn shortened(text: String, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
        None => text,
    }
}

/// The answer to [`DeliveryOffer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OfferReceipt {
    /// What became of it; after `shown`, [`DeliveryAcknowledged`] follows when it is kept.
    pub receipt: DeliveryReceipt,
}

/// A result that was only shown stands in the session now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DeliveryAcknowledged {
    /// Which run.
    pub run: RunId,
}
