//! What `--json` prints: one object a line.

use crate::agents::{FoundWrong, KnownAgent};
use crate::traces::Reported;
use impresario_actors::journal::RunSummary;
use impresario_actors::worktrees::{Applied, WorktreeEntry};
use impresario_policies::agents::Routing;
use impresario_policies::cache_explain::ExplainedCall;
use impresario_policies::costs::Cost;
use impresario_policies::domain::{
    AttemptNumber, Isolation, MessageId, MessageKind, ModelCall, ModelUsage, Reason, ReasoningEffort, RunId,
    RunState, SessionId, Step, TraceVerdict, WhatToRun, WholeAnswer,
};
use impresario_policies::execution_route::tier_word;
use impresario_policies::overview::SeenRun;
use impresario_policies::projection::{MessageProjection, RecordedStep, RunProjection};
use impresario_policies::receipt::Receipt;
use impresario_policies::settings::ResolvedValue;
use impresario_policies::sight::RunSight;
use impresario_policies::statistics::{AgentTally, FailureTally};
use impresario_policies::tool_policy::Mutability;
use impresario_policies::trace_file::Trace;
use impresario_policies::trace_text::duration_ms;
use impresario_policies::transcript::Transcript;
use impresario_policies::utc_date::utc_day;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// As it is printed.
pub(super) fn json_line(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default()
}

/// A durable step of a run.
#[derive(Debug, Serialize)]
pub(super) struct EventLine(Value);

impl EventLine {
    /// `type`, `run`, `sequence`, `at_ms`, then what the step says.
    pub(super) fn of(run: &RunId, recorded: &RecordedStep) -> Self {
        let mut line = Map::new();
        line.insert("type".into(), json!(event_type(&recorded.step)));
        line.insert("run".into(), json!(run));
        line.insert("sequence".into(), json!(recorded.sequence));
        line.insert("at_ms".into(), json!(recorded.at_ms));
        if let Ok(Value::Object(fields)) = serde_json::to_value(&recorded.step) {
            line.extend(fields.into_iter().filter(|(name, _)| name != "step"));
        }
        Self(Value::Object(line))
    }

    /// The same with one more field.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        if let Value::Object(line) = &mut self.0 {
            line.insert(name.to_string(), value);
        }
        self
    }
}

fn event_type(step: &Step) -> &'static str {
    match step {
        Step::Accepted { .. } => "run_accepted",
        Step::Judged { .. } => "brief_judged",
        Step::PassFailed { .. } => "brief_failed",
        Step::QuestionAsked { .. } => "question_asked",
        Step::QuestionAnswered { .. } => "question_answered",
        Step::Briefed { .. } => "run_briefed",
        Step::Routed { .. } => "run_routed",
        Step::Admitted => "run_admitted",
        Step::WorktreePrepared { .. } => "worktree_prepared",
        Step::PatchTaken { .. } => "patch_taken",
        Step::PatchNotTaken { .. } => "patch_not_taken",
        Step::WorktreeCleared => "worktree_cleared",
        Step::WorktreeStays { .. } => "worktree_stays",
        Step::ModelsConsidered { .. } => "models_considered",
        Step::AttemptStarted { .. } => "attempt_started",
        Step::AttemptActive { .. } => "attempt_active",
        Step::ModelCalled { .. } => "model_called",
        Step::ToolStarted { .. } => "tool_started",
        Step::ToolEnded { .. } => "tool_ended",
        Step::ToolIndeterminate { .. } => "tool_indeterminate",
        Step::MessageAccepted { .. } => "message_accepted",
        Step::MessageDelivered { .. } => "message_delivered",
        Step::MessageAnswered { .. } => "message_answered",
        Step::AttemptEnded { .. } => "attempt_ended",
        Step::Answered { .. } => "run_answered",
        Step::GateStarted { .. } => "gate_started",
        Step::GateEnded { .. } => "gate_ended",
        Step::GateIndeterminate { .. } => "gate_indeterminate",
        Step::ParkRequested { .. } => "park_requested",
        Step::CancelRequested { .. } => "cancel_requested",
        Step::Ended { .. } => "run_ended",
        Step::Delivered => "run_delivered",
        Step::Observed { .. } => "run_observed",
        Step::DeliveryAcknowledged => "delivery_acknowledged",
    }
}

/// A run in a list.
#[derive(Debug, Serialize)]
pub(super) struct RunLine<'a> {
    run: &'a RunId,
    state: RunState,
    what: &'a WhatToRun,
    task: &'a str,
    host: &'a str,
    accepted_at_ms: u64,
    ended_at_ms: Option<u64>,
    reason: Option<&'a Reason>,
    resumes: Option<&'a RunId>,
    workspace: Option<&'a Path>,
    session: Option<&'a SessionId>,
    cut_off: bool,
    delivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    /// All of it, where it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_answer: Option<&'a WholeAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<ModelUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts_uncounted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<&'a [ModelCall]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<MessageLine<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Receipt>,
}

/// What a run was told, and what became of it.
#[derive(Debug, Serialize)]
struct MessageLine<'a> {
    message: &'a MessageId,
    kind: MessageKind,
    by: &'a str,
    text: &'a str,
    at_ms: u64,
    fate: &'static str,
    attempt: Option<AttemptNumber>,
    delivered_at_ms: Option<u64>,
    answer: Option<&'a str>,
    answered_at_ms: Option<u64>,
}

impl<'a> MessageLine<'a> {
    fn of(run: &RunProjection, known: &'a MessageProjection) -> Self {
        Self {
            message: &known.message.id,
            kind: known.message.kind,
            by: &known.message.by,
            text: &known.message.text,
            at_ms: known.at_ms,
            fate: run.fate_of(known).word(),
            attempt: known.delivered.map(|(attempt, _)| attempt),
            delivered_at_ms: known.delivered.map(|(_, at)| at),
            answer: known.answered.as_ref().map(|(answer, _)| answer.as_str()),
            answered_at_ms: known.answered.as_ref().map(|(_, at)| *at),
        }
    }
}

impl<'a> RunLine<'a> {
    /// What only its steps say is there with them.
    pub(super) fn of(summary: &'a RunSummary, cut_off: bool, story: Option<&'a RunProjection>) -> Self {
        let used = story.map(RunProjection::used);
        Self {
            run: &summary.run,
            state: summary.state,
            what: &summary.what,
            task: &summary.task,
            host: &summary.host,
            accepted_at_ms: summary.accepted_at.0,
            ended_at_ms: summary.ended_at.map(|at| at.0),
            reason: summary.reason.as_ref(),
            resumes: summary.resumes.as_ref(),
            workspace: summary.workspace.as_deref(),
            session: summary.session.as_ref(),
            cut_off,
            delivered: summary.acknowledged,
            answer: story.and_then(RunProjection::answer_or_partial),
            whole_answer: story.and_then(RunProjection::whole_answer),
            used: used.map(|used| used.counted),
            attempts_uncounted: used.map(|used| used.attempts_uncounted),
            calls: story.map(|story| story.calls.as_slice()),
            messages: story.map(|story| {
                let messages = story.messages.iter();
                messages.map(|known| MessageLine::of(story, known)).collect()
            }),
            receipt: story.map(Receipt::of),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct TranscriptLine<'a> {
    run: &'a RunId,
    title: &'a str,
    lines: &'a [String],
    is_over: bool,
}

impl<'a> TranscriptLine<'a> {
    pub(super) fn of(run: &'a RunId, transcript: &'a Transcript) -> Self {
        Self {
            run,
            title: &transcript.title,
            lines: &transcript.lines,
            is_over: transcript.is_over,
        }
    }
}

/// A run that was left to a process of its own.
#[derive(Debug, Serialize)]
pub(super) struct DetachedLine<'a> {
    run: &'a RunId,
    log: Cow<'a, str>,
}

impl<'a> DetachedLine<'a> {
    pub(super) fn of(run: &'a RunId, log: &'a Path) -> Self {
        Self {
            run,
            log: log.to_string_lossy(),
        }
    }
}

/// A run that is under way, and what is seen of it.
#[derive(Debug, Serialize)]
pub(super) struct SeenRunLine<'a> {
    run: &'a RunId,
    host: &'a str,
    session: Option<&'a SessionId>,
    workspace: &'a str,
    group: Option<&'a str>,
    cut_off: bool,
    #[serde(flatten)]
    sight: &'a RunSight,
}

impl<'a> SeenRunLine<'a> {
    pub(super) fn of(seen: &'a SeenRun) -> Self {
        Self {
            run: &seen.run,
            host: &seen.host,
            session: seen.session.as_ref(),
            workspace: &seen.workspace,
            group: seen.group.as_ref().map(|group| group.as_str()),
            cut_off: seen.cut_off,
            sight: &seen.sight,
        }
    }
}

/// How one agent did.
#[derive(Debug, Serialize)]
pub(super) struct AgentTallyLine<'a> {
    agent: &'a str,
    runs: u64,
    succeeded: u64,
    average_ms: f64,
    calls: u64,
    tokens: u64,
    /// Of the runs whose cost is known.
    cost_usd: f64,
    cost_unknown_of: u64,
}

impl<'a> AgentTallyLine<'a> {
    pub(super) fn of(tally: &'a AgentTally) -> Self {
        Self {
            agent: &tally.name,
            runs: tally.runs,
            succeeded: tally.succeeded,
            average_ms: tally.average_ms(),
            calls: tally.calls,
            tokens: tally.tokens,
            cost_usd: tally.cost_usd,
            cost_unknown_of: tally.unpriced,
        }
    }
}

/// What failed.
#[derive(Debug, Serialize)]
pub(super) struct FailureTallyLine<'a> {
    failure: &'a str,
    count: u64,
    newest: &'a [String],
}

impl<'a> FailureTallyLine<'a> {
    pub(super) fn of(tally: &'a FailureTally) -> Self {
        Self {
            failure: &tally.kind,
            count: tally.count,
            newest: &tally.hints,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SettingLine {
    key: String,
    value: Value,
    from: String,
    note: Option<&'static str>,
    about: &'static str,
}

impl SettingLine {
    /// The key in full: of a single agent it is more than the table says.
    pub(super) fn of(key: String, value: &ResolvedValue) -> Self {
        Self {
            key,
            value: value.value.clone(),
            from: value.origin.in_words(),
            note: Some(value.key.note).filter(|note| !note.is_empty()),
            about: value.key.about,
        }
    }
}

/// What calls of models took.
#[derive(Debug, Serialize)]
pub(super) struct CostLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'a WhatToRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    calls: u64,
    used: ModelUsage,
    unpriced_calls: u64,
    estimated_calls: u64,
    attempts_lost: u64,
}

impl<'a> CostLine<'a> {
    pub(super) fn of(total: &'a Cost) -> Self {
        Self {
            day: total.day.map(utc_day),
            what: total.what.as_ref(),
            model: total.model.as_deref(),
            calls: total.calls,
            used: total.used,
            unpriced_calls: total.unpriced,
            estimated_calls: total.estimated,
            attempts_lost: total.attempts_lost,
        }
    }
}

/// A call of a model, and what the provider's cache made of its prompt.
#[derive(Debug, Serialize)]
pub(super) struct CachedCallLine<'a> {
    by: &'static str,
    model: &'a str,
    /// None where nobody counted.
    read: Option<u64>,
    written: Option<u64>,
    plain: Option<u64>,
    paid_as: f64,
    why: &'a str,
}

impl<'a> CachedCallLine<'a> {
    pub(super) fn of(call: &'a ExplainedCall) -> Self {
        Self {
            by: call.by,
            model: &call.model,
            read: call.charge.map(|charge| charge.read),
            written: call.charge.map(|charge| charge.written),
            plain: call.charge.map(|charge| charge.plain),
            paid_as: call.cost,
            why: &call.why,
        }
    }
}

/// A trace, and what it says of its run.
#[derive(Debug, Serialize)]
pub(super) struct TraceLine<'a> {
    file: &'a str,
    skill: &'a str,
    ended_at_ms: f64,
    outcome: &'static str,
    confidence: f64,
    signals: &'a [String],
    stopped_reason: &'a str,
    model: &'a str,
    tier: &'static str,
    tool_calls: usize,
    duration_ms: f64,
}

impl<'a> TraceLine<'a> {
    pub(super) fn of(file: &'a str, trace: &'a Trace, verdict: &'a TraceVerdict) -> Self {
        Self {
            file,
            skill: &trace.skill_name,
            ended_at_ms: trace.timestamp,
            outcome: verdict.outcome.word(),
            confidence: verdict.confidence,
            signals: &verdict.signals,
            stopped_reason: &trace.stopped_reason,
            model: &trace.model,
            tier: tier_word(trace.route.tier),
            tool_calls: trace.tool_calls.len(),
            duration_ms: duration_ms(trace),
        }
    }
}

/// What the traces of a skill say together.
#[derive(Debug, Serialize)]
pub(super) struct TraceReportLine<'a> {
    skill: &'a str,
    traces: Vec<TraceLine<'a>>,
    left_out: Vec<LeftOutLine<'a>>,
}

/// A file that is called like a trace and is none.
#[derive(Debug, Serialize)]
struct LeftOutLine<'a> {
    file: &'a str,
    why: String,
}

impl<'a> TraceReportLine<'a> {
    pub(super) fn of(skill: &'a str, reported: &'a Reported) -> Self {
        let traces = reported.found.traces.iter().zip(&reported.report.verdicts);
        let left_out = reported.found.skipped.iter().map(|(file, why)| LeftOutLine {
            file,
            why: why.to_string(),
        });
        Self {
            skill,
            traces: traces
                .map(|(found, verdict)| TraceLine::of(&found.file, &found.trace, verdict))
                .collect(),
            left_out: left_out.collect(),
        }
    }
}

/// An agent in a list.
#[derive(Debug, Serialize)]
pub(super) struct AgentLine<'a> {
    agent: &'a str,
    description: &'a str,
    instructions: &'a str,
    /// None for one that no file describes.
    file: Option<&'a Path>,
    mutability: Mutability,
    tools: &'a [String],
    models: &'a [String],
    fallback_models: Option<&'a [String]>,
    reasoning_effort: Option<&'static str>,
    temperature: Option<f64>,
    timeout_ms: Option<u64>,
    inactivity_timeout_ms: Option<u64>,
    prompt_mode: &'static str,
    execution_mode: &'static str,
    #[serde(skip_serializing_if = "Isolation::is_none")]
    isolation: Isolation,
    routing: Option<&'a Routing>,
    /// What the settings say of it, by field, and where.
    set: BTreeMap<&'static str, String>,
    notes: Vec<SkippedAgentLine<'a>>,
}

impl<'a> AgentLine<'a> {
    pub(super) fn of(known: &'a KnownAgent) -> Self {
        let definition = &known.definition;
        Self {
            agent: definition.name(),
            description: &definition.description,
            instructions: &definition.instructions,
            file: known.source.file(),
            mutability: definition.mutability,
            tools: definition.tools.as_deref().unwrap_or_default(),
            models: &definition.models,
            fallback_models: definition.fallback_models.as_deref(),
            reasoning_effort: definition.reasoning_effort.map(ReasoningEffort::word),
            temperature: definition.temperature,
            timeout_ms: definition.total_timeout.map(|total| total.as_millis() as u64),
            inactivity_timeout_ms: definition.inactivity_timeout.map(|time| time.as_millis() as u64),
            prompt_mode: definition.prompt_mode.word(),
            execution_mode: definition.execution_mode.word(),
            set: known.settings.values.iter().map(set_by).collect(),
            isolation: definition.isolation,
            routing: definition.routing.as_ref(),
            notes: known.notes.iter().map(SkippedAgentLine::of).collect(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        json!(self).to_string()
    }
}

fn set_by(value: &ResolvedValue) -> (&'static str, String) {
    (value.key.path, value.origin.in_words())
}

/// Something wrong in a file that should describe an agent.
#[derive(Debug, Serialize)]
pub(super) struct SkippedAgentLine<'a> {
    file: &'a Path,
    line: u64,
    column: u64,
    problem: &'a str,
}

impl<'a> SkippedAgentLine<'a> {
    pub(super) fn of(wrong: &'a FoundWrong) -> Self {
        Self {
            file: &wrong.file,
            line: wrong.note.line,
            column: wrong.note.column,
            problem: &wrong.note.message,
        }
    }

    pub(super) fn to_json(&self) -> String {
        json!(self).to_string()
    }
}

/// A worktree in a list.
pub(super) fn worktree_line(entry: &WorktreeEntry) -> String {
    let mut line = Map::new();
    if let Ok(Value::Object(fields)) = serde_json::to_value(entry) {
        line.extend(fields);
    }
    line.insert("there".into(), json!(entry.directory.is_dir()));
    Value::Object(line).to_string()
}

/// What became of an order to apply a patch.
pub(super) fn applied_line(run: &RunId, applied: &Applied, only_looked: bool) -> String {
    let (outcome, files, conflicts) = match applied {
        Applied::Files(files) if only_looked => ("would_apply", *files, Vec::new()),
        Applied::Files(files) => ("applied", *files, Vec::new()),
        Applied::Already => ("applied_already", 0, Vec::new()),
        Applied::Conflicts(conflicts) => ("conflicts", 0, conflicts.clone()),
    };
    json!({ "run": run, "outcome": outcome, "files": files, "conflicts": conflicts }).to_string()
}
