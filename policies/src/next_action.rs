//! What does a run do next?
//!
//! The question is asked after every step and after every restart alike, so recovery is the normal flow.

use crate::chain::{StepDecision, StepFacts, decide_step, total_time};
use crate::compat::trim;
use crate::domain::{
    AttemptEnding, AttemptNumber, Brief, Briefing, JudgedPass, ModelChoice, Reason, ReasonCode, Replay,
    RunRequest, TerminalState, Verdict, WhatToRun,
};
use crate::fallback::{FallbackDecision, FallbackFacts, FallbackSettings, StartFrom, decide_fallback};
use crate::gate::{GateDecision, GateFacts, GateSettings, decide_gate};
use crate::judge_loop::{DEFAULT_QUESTION, brief_with_goal};
use crate::judge_models::{JudgeModelDecision, choose_judge_model};
use crate::model_choice::{ChoiceDecision, choose_models};
use crate::projection::{AttemptProjection, RunProjection, ToolCallProjection, ToolFate};
use std::time::Duration;

/// What is seen besides the journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActionFacts {
    /// The attempt this incarnation drives.
    pub live_attempt: Option<AttemptNumber>,
    /// This generation has room for the run.
    pub has_room: bool,
    /// The total clock has run out.
    pub total_over: bool,
    /// The total clock of the run's group has run out.
    pub group_over: bool,
    /// What is seen of the chain that the run belongs to; none before anybody looked.
    pub chain: Option<StepFacts>,
    /// The time of the gate's command that this incarnation drives.
    pub live_gate: Option<u32>,
    /// Asking the user came to nothing.
    pub question_failed: Option<QuestionFailure>,
    /// A person must look, whatever else holds.
    pub must_park: Option<Reason>,
    /// The runner can go on with a nested session.
    pub can_resume: bool,
    /// What became of the result in this life; none before it was offered.
    pub delivery: Option<DeliveryState>,
    /// There is no worktree to be had for the run.
    pub worktree_refused: Option<Reason>,
    /// Looking at the trace came to nothing in this life.
    pub observation_failed: bool,
}

/// What became of a result that was offered to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// The host has it for good.
    Kept,
    /// The host showed it.
    Shown,
    /// The host is not there, or did not take it.
    NotTaken,
}

/// Why a question to the user came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionFailure {
    /// Nobody is there to ask.
    NobodyThere,
    /// Nobody answered in time.
    TimedOut,
    /// The person closed the question.
    Dismissed,
    /// The host went away.
    HostGone,
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Have actor and judge make one pass.
    Judge {
        /// From 1, over the whole run.
        pass: u32,
        model: String,
        wait: Duration,
        /// What the actor wrote before its judge failed: only the judge is asked again.
        written: Option<Brief>,
    },
    /// Put a question to the user.
    Ask {
        question: String,
        /// The question is in the journal already.
        asked_before: bool,
    },
    /// Keep the brief for the sub-agent.
    KeepBrief {
        brief: Brief,
        /// The verdict it passed with; none where no judge was asked.
        verdict: Option<Verdict>,
        /// The models it goes on; none keeps the chain of the request.
        choice: Option<Box<ModelChoice>>,
    },
    /// Look how the earlier steps of the chain stand, and wait until the one before is over.
    AwaitEarlierSteps,
    AwaitRoom,
    /// Make the git worktree that the run works in, or find the one that was made.
    PrepareWorktree,
    /// Keep what was changed in the worktree, now that nobody works there.
    TakePatch {
        /// How the run ends then.
        state: TerminalState,
        /// Why, when it does not succeed.
        reason: Option<Reason>,
    },
    /// Remove the worktree.
    ClearWorktree,
    StartAttempt {
        number: AttemptNumber,
        model: String,
        wait: Duration,
        from: StartFrom,
    },
    /// The attempt under way goes on; stop it if the run must end.
    LetAttemptRun {
        /// Whether it has to stop, and as what.
        stop_as: Option<AttemptEnding>,
    },
    /// Keep the answer of the run that this one goes on with.
    KeepAnswer {
        answer: String,
    },
    /// Run the command that says whether the answer counts.
    TryGate {
        /// Which time, from 1.
        number: u32,
    },
    /// That command goes on; stop it if the run must end.
    LetGateRun {
        /// Whether it has to stop.
        stop: bool,
    },
    /// That command began in an earlier life: make sure nothing of it is left, and say that nobody knows.
    SettleLostGate {
        number: u32,
    },
    /// An attempt of an earlier life is open in the journal: make sure nothing of it is left, and say it was lost.
    SettleLostAttempt {
        number: AttemptNumber,
    },
    End {
        state: TerminalState,
        /// Why, when it did not succeed.
        reason: Option<Reason>,
    },
    /// Give the host the result.
    Deliver,
    /// Look at the trace, now that the person has the result.
    Observe,
    /// Write down that the host has the result for good.
    Acknowledge,
    Rest,
}

impl Action {
    /// What it is, in a word for the log: what is in it may be the user's.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Judge { .. } => "judge",
            Self::Ask { .. } => "ask",
            Self::KeepBrief { .. } => "keep brief",
            Self::AwaitEarlierSteps => "await earlier steps",
            Self::AwaitRoom => "await room",
            Self::KeepAnswer { .. } => "keep answer",
            Self::TryGate { .. } => "try gate",
            Self::LetGateRun { .. } => "let gate run",
            Self::SettleLostGate { .. } => "settle lost gate",
            Self::PrepareWorktree => "prepare worktree",
            Self::TakePatch { .. } => "take patch",
            Self::ClearWorktree => "clear worktree",
            Self::StartAttempt { .. } => "start attempt",
            Self::LetAttemptRun { .. } => "let attempt run",
            Self::SettleLostAttempt { .. } => "settle lost attempt",
            Self::End { .. } => "end",
            Self::Deliver => "deliver",
            Self::Observe => "observe",
            Self::Acknowledge => "acknowledge",
            Self::Rest => "rest",
        }
    }
}

/// Decides what a run does next. What it changed in a worktree of its own is kept before it ends, however it ends.
pub fn decide_next_action(run: &RunProjection, facts: &ActionFacts) -> Action {
    match decide(run, facts) {
        Action::End { state, reason } => before_the_end(run, state, reason),
        action => action,
    }
}

fn before_the_end(run: &RunProjection, state: TerminalState, reason: Option<Reason>) -> Action {
    let Some(worktree) = &run.worktree else {
        return Action::End { state, reason };
    };
    let Some(kept) = &worktree.kept else {
        return Action::TakePatch { state, reason };
    };
    let may_go = match &kept.patch {
        // Whoever goes on with the run works there again.
        Ok(patch) => patch.complete && state != TerminalState::Parked,
        Err(_) => false,
    };
    match may_go && !worktree.cleared && worktree.stays.is_none() {
        true => Action::ClearWorktree,
        false => Action::End { state, reason },
    }
}

fn decide(run: &RunProjection, facts: &ActionFacts) -> Action {
    if run.ended.is_some() {
        return after_the_end(run, facts);
    }
    let Some(accepted) = &run.accepted else {
        return end(
            TerminalState::Parked,
            ReasonCode::Internal,
            "The journal does not say what was accepted.",
        );
    };
    let request = &accepted.request;
    if let Some(open) = run.attempt_under_way() {
        return while_attempt_is_open(open, run, facts);
    }
    if let Some(open) = run.gate_under_way() {
        return while_gate_is_open(open.number, run, facts);
    }
    if let Some((state, reason)) = settled_end(run) {
        return Action::End { state, reason };
    }
    if let Some(reason) = run.park_requested.as_ref().or(facts.must_park.as_ref()) {
        return Action::End {
            state: TerminalState::Parked,
            reason: Some(reason.clone()),
        };
    }
    if facts.group_over {
        return group_over(request);
    }
    // What comes after the answer has a clock of its own.
    if facts.total_over && run.answer.is_none() {
        return total_over(run, request);
    }
    let Some(_) = &run.brief else {
        return towards_a_brief(run, request, facts);
    };
    if !facts.has_room {
        return Action::AwaitRoom;
    }
    if run.is_isolated() && run.worktree.is_none() {
        return match &facts.worktree_refused {
            None => Action::PrepareWorktree,
            Some(reason) => Action::End {
                state: TerminalState::Failed,
                reason: Some(reason.clone()),
            },
        };
    }
    match (&run.answer, run.inherited_answer()) {
        (Some(_), _) => towards_the_gate(run, request),
        (None, Some(answer)) if run.attempts.is_empty() => Action::KeepAnswer {
            answer: answer.to_string(),
        },
        (None, _) => towards_an_answer(run, request, facts),
    }
}

/// How a run ends whatever else holds, and why: its steps say so already.
pub(crate) fn settled_end(run: &RunProjection) -> Option<(TerminalState, Option<Reason>)> {
    let kept = run.worktree.as_ref().and_then(|worktree| worktree.kept.as_ref());
    if let Some(kept) = kept {
        return Some((kept.state, kept.reason.clone()));
    }
    if run.answer_counts() {
        return Some((TerminalState::Succeeded, None));
    }
    if let Some(closed) = closed_gate(run) {
        return Some((TerminalState::Failed, Some(closed)));
    }
    let by = run.cancel_requested.as_ref()?;
    let reason = Reason {
        code: ReasonCode::Cancelled,
        message: format!("Cancelled by {by}."),
    };
    Some((TerminalState::Cancelled, Some(reason)))
}

fn closed_gate(run: &RunProjection) -> Option<Reason> {
    let request = &run.accepted.as_ref()?.request;
    match gate_of(run, request)? {
        GateDecision::Closed(reason) => Some(reason),
        GateDecision::Open | GateDecision::Try { .. } | GateDecision::Park(_) => None,
    }
}

fn gate_of(run: &RunProjection, request: &RunRequest) -> Option<GateDecision> {
    let gate = request.terms.gate.as_ref()?;
    let settings = GateSettings {
        lost_in_a_row_max: request.persistence.lost_in_a_row_max,
    };
    Some(decide_gate(gate, &GateFacts { tried: &run.gates }, &settings))
}

/// There is an answer, and it is not settled whether it counts.
fn towards_the_gate(run: &RunProjection, request: &RunRequest) -> Action {
    match gate_of(run, request) {
        Some(GateDecision::Try { number }) => Action::TryGate { number },
        Some(GateDecision::Park(reason)) => Action::End {
            state: TerminalState::Parked,
            reason: Some(reason),
        },
        Some(GateDecision::Closed(reason)) => Action::End {
            state: TerminalState::Failed,
            reason: Some(reason),
        },
        Some(GateDecision::Open) | None => Action::End {
            state: TerminalState::Succeeded,
            reason: None,
        },
    }
}

fn while_gate_is_open(number: u32, run: &RunProjection, facts: &ActionFacts) -> Action {
    if facts.live_gate != Some(number) {
        return Action::SettleLostGate { number };
    }
    let stop = run.cancel_requested.is_some()
        || run.park_requested.is_some()
        || facts.must_park.is_some()
        || facts.group_over;
    Action::LetGateRun { stop }
}

/// The result first. That the host has it is written last, so that whoever recovers looks at the trace too.
fn after_the_end(run: &RunProjection, facts: &ActionFacts) -> Action {
    if run.acknowledged {
        return Action::Rest;
    }
    let Some(fate) = facts.delivery else {
        return Action::Deliver;
    };
    if is_to_be_observed(run) && !run.observed && !facts.observation_failed {
        return Action::Observe;
    }
    match fate {
        DeliveryState::Kept => Action::Acknowledge,
        DeliveryState::Shown | DeliveryState::NotTaken => Action::Rest,
    }
}

fn is_to_be_observed(run: &RunProjection) -> bool {
    let request = run.accepted.as_ref().map(|accepted| &accepted.request);
    let reason = run.ended.as_ref().and_then(|end| end.reason.as_ref());
    leaves_trace(run, reason) && request.is_some_and(|request| request.terms.trace.observation.is_some())
}

/// Whether a run that ends because of `reason` leaves a trace: one that was never begun says nothing of its agent.
pub fn leaves_trace(run: &RunProjection, reason: Option<&Reason>) -> bool {
    let request = run.accepted.as_ref().map(|accepted| &accepted.request);
    let not_begun = reason.is_some_and(|reason| reason.code == ReasonCode::StepNotBegun);
    !not_begun && request.is_some_and(|request| request.trace_directory.is_some())
}

fn while_attempt_is_open(open: &AttemptProjection, run: &RunProjection, facts: &ActionFacts) -> Action {
    if facts.live_attempt != Some(open.number) {
        return Action::SettleLostAttempt { number: open.number };
    }
    let stop_as =
        if run.cancel_requested.is_some() || run.park_requested.is_some() || facts.must_park.is_some() {
            Some(AttemptEnding::Cancelled)
        } else if facts.total_over || facts.group_over {
            Some(AttemptEnding::Deadline)
        } else {
            None
        };
    Action::LetAttemptRun { stop_as }
}

fn towards_a_brief(run: &RunProjection, request: &RunRequest, facts: &ActionFacts) -> Action {
    let inherited = request.terms.inherited.as_ref();
    if let Some((brief, verdict)) =
        inherited.and_then(|earlier| Some((earlier.brief.as_ref()?, &earlier.verdict)))
    {
        return keep_brief(brief.clone(), verdict.clone(), request);
    }
    if let Some(action) = towards_a_brief_in_a_chain(request, facts) {
        return action;
    }
    let Briefing::Judged {
        passes_max,
        questions_max,
        ..
    } = &request.briefing
    else {
        return keep_brief_unjudged(run, request, facts);
    };
    if let Some(question) = run.open_question() {
        return match facts.question_failed {
            None => ask_again(question),
            Some(failure) => unanswered(question, failure, request),
        };
    }
    let answered_after = run.questions.last().map_or(0, |question| question.after_pass);
    let passes = run.passes.len() as u32;
    let Some(latest) = run.latest_pass().filter(|_| passes != answered_after) else {
        return judge(passes + 1, run, request);
    };
    let unjudged = *passes_max == 0;
    let brief = brief_of(run, latest, request);
    let has_goal = !trim(&brief.user_goal).is_empty();
    if has_goal && (latest.verdict.passed() || unjudged) {
        let verdict = (!unjudged).then(|| latest.verdict.clone());
        return keep_brief(brief, verdict, request);
    }
    if passes - answered_after < (*passes_max).max(1) {
        return judge(passes + 1, run, request);
    }
    let question = question_of(&latest.verdict);
    if (run.questions.len() as u32) < *questions_max {
        return Action::Ask {
            question,
            asked_before: false,
        };
    }
    unanswered(&question, QuestionFailure::NobodyThere, request)
}

/// What the steps before said is part of the brief, so it is on disk before the step begins.
fn towards_a_brief_in_a_chain(request: &RunRequest, facts: &ActionFacts) -> Option<Action> {
    let member = request.group.as_ref()?;
    let place = member.chain.as_ref()?;
    let Some(seen) = &facts.chain else {
        return Some(Action::AwaitEarlierSteps);
    };
    Some(match decide_step(member, place, seen) {
        StepDecision::Wait => Action::AwaitEarlierSteps,
        StepDecision::Begin { prompt } => {
            let brief = Brief {
                user_goal: prompt,
                ..Brief::default()
            };
            keep_brief(brief, None, request)
        }
        StepDecision::End { state, reason } => Action::End {
            state,
            reason: Some(reason),
        },
    })
}

/// One more pass, on the model that is to answer after those that did not.
fn judge(pass: u32, run: &RunProjection, request: &RunRequest) -> Action {
    let failed = run.failed_passes.iter().rev();
    let mut failed = failed.take_while(|failed| failed.pass == pass);
    match choose_judge_model(pass, &run.failed_passes, request) {
        JudgeModelDecision::Call { model, wait } => Action::Judge {
            pass,
            model,
            wait,
            written: failed.find_map(|failed| failed.brief.clone()),
        },
        // Whoever wants no judge wants no brief that only a judge would need.
        JudgeModelDecision::GiveUp(_) if unjudged(request) && !trim(&request.task).is_empty() => {
            keep_brief(the_task_alone(request), None, request)
        }
        JudgeModelDecision::GiveUp(reason) => Action::End {
            state: TerminalState::Failed,
            reason: Some(reason),
        },
    }
}

fn unjudged(request: &RunRequest) -> bool {
    matches!(request.briefing, Briefing::Judged { passes_max: 0, .. })
}

/// What actor and user said together; without a goal of its own the task is the goal.
fn brief_of(run: &RunProjection, pass: &JudgedPass, request: &RunRequest) -> Brief {
    let answers = run
        .questions
        .iter()
        .filter_map(|question| question.answer.clone());
    let brief = Brief {
        user_clarifications: answers.collect(),
        ..pass.brief.clone()
    };
    brief_with_goal(brief, &request.task)
}

fn ask_again(question: &str) -> Action {
    Action::Ask {
        question: question.to_string(),
        asked_before: true,
    }
}

/// Where nobody judges, what an earlier run found out and was told is the brief, else the task alone. A question that
/// was open there is asked where somebody can answer it, and costs nothing where nobody can.
fn keep_brief_unjudged(run: &RunProjection, request: &RunRequest, facts: &ActionFacts) -> Action {
    match (run.open_question(), facts.question_failed) {
        (Some(question), None) => return ask_again(question),
        (Some(question), Some(failure @ (QuestionFailure::HostGone | QuestionFailure::Dismissed))) => {
            return unanswered(question, failure, request);
        }
        (Some(_), Some(QuestionFailure::NobodyThere | QuestionFailure::TimedOut)) | (None, _) => {}
    }
    let brief = match run.latest_pass() {
        Some(pass) => brief_of(run, pass, request),
        None => the_task_alone(request),
    };
    keep_brief(brief, None, request)
}

fn the_task_alone(request: &RunRequest) -> Brief {
    Brief {
        user_goal: request.task.clone(),
        ..Brief::default()
    }
}

/// The models are chosen with the brief, so that no life of the run is between the two.
fn keep_brief(brief: Brief, verdict: Option<Verdict>, request: &RunRequest) -> Action {
    let choice = match choose_models(request, verdict.as_ref()) {
        ChoiceDecision::KeepChain => None,
        ChoiceDecision::Choose(choice) => Some(choice),
        ChoiceDecision::Refuse(reason) => {
            return Action::End {
                state: TerminalState::Failed,
                reason: Some(reason),
            };
        }
    };
    Action::KeepBrief {
        brief,
        verdict,
        choice,
    }
}

/// The judge's own question, else one in its place.
fn question_of(verdict: &Verdict) -> String {
    let given = verdict.missing_requirement_question.as_deref().map(str::trim);
    let given = given.filter(|question| !question.is_empty());
    given.unwrap_or(DEFAULT_QUESTION).to_string()
}

fn unanswered(question: &str, failure: QuestionFailure, request: &RunRequest) -> Action {
    let message = match failure {
        QuestionFailure::NobodyThere => {
            format!("The task does not say enough to begin: {question} Say it in the task and start again.")
        }
        QuestionFailure::TimedOut => {
            let what = match &request.what {
                WhatToRun::Skill(name) => format!("Skill /skill:{name}"),
                WhatToRun::Agent(name) => format!("Agent {name}"),
            };
            let after = seconds_waited(request.clocks.question);
            format!(
                "Q&A timed out after {after}s waiting for user input. {what} cancelled. It was asked: {question} \
                 Say it in the task and start again."
            )
        }
        QuestionFailure::Dismissed => {
            let message = format!("The question was closed without an answer: {question}");
            return end(TerminalState::Cancelled, ReasonCode::Cancelled, &message);
        }
        QuestionFailure::HostGone => {
            let message = format!("The host went away before it was answered: {question}");
            return end(TerminalState::Parked, ReasonCode::HostGone, &message);
        }
    };
    end(TerminalState::Failed, ReasonCode::NeedsClarification, &message)
}

/// As the peer says it: rounded, a half up.
fn seconds_waited(wait: Duration) -> u64 {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    milliseconds.saturating_add(500) / 1_000
}

fn towards_an_answer(run: &RunProjection, request: &RunRequest, facts: &ActionFacts) -> Action {
    let Some(last) = run.latest_attempt() else {
        return first_attempt(run, request);
    };
    let chain = run.chain();
    let (Some(end), false) = (&last.ended, chain.is_empty()) else {
        return no_model(request);
    };
    let facts_of_last = fallback_facts(run, last, end.ending, &end.detail);
    match decide_fallback(
        &facts_of_last,
        &fallback_settings(request, chain, facts.can_resume),
    ) {
        FallbackDecision::Try { model, wait, from } => Action::StartAttempt {
            number: run.next_attempt(),
            model,
            wait,
            from: or_from_earlier_run(from, request),
        },
        FallbackDecision::Fail(reason) => Action::End {
            state: TerminalState::Failed,
            reason: Some(reason),
        },
        FallbackDecision::Park(reason) => Action::End {
            state: TerminalState::Parked,
            reason: Some(reason),
        },
    }
}

fn first_attempt(run: &RunProjection, request: &RunRequest) -> Action {
    match run.chain().first() {
        None => no_model(request),
        Some(model) => Action::StartAttempt {
            number: run.next_attempt(),
            model: model.clone(),
            wait: Duration::ZERO,
            from: or_from_earlier_run(StartFrom::Scratch, request),
        },
    }
}

/// The beginning of a run that goes on with another one is that one's session: from nothing, finished tools would run
/// a second time.
fn or_from_earlier_run(from: StartFrom, request: &RunRequest) -> StartFrom {
    match from {
        StartFrom::Scratch if request.continues.is_some() => StartFrom::EarlierRun,
        StartFrom::Scratch | StartFrom::Session | StartFrom::SessionToldOfCutTool | StartFrom::EarlierRun => {
            from
        }
    }
}

fn no_model(request: &RunRequest) -> Action {
    let what_to_do = match asked_from(request) {
        AskedFrom::CommandLine => "Name one with `--model provider/id`.",
        AskedFrom::Pi => "Choose one with /model, or set `fallbackModels`.",
        AskedFrom::Program => "Name one in its chain.",
    };
    let message = format!("No model is configured for this run. {what_to_do}");
    end(TerminalState::Failed, ReasonCode::UnknownModel, &message)
}

/// Where a person who reads a reason can do something about it.
enum AskedFrom {
    CommandLine,
    Pi,
    Program,
}

fn asked_from(request: &RunRequest) -> AskedFrom {
    match request.origin.host.as_str() {
        "cli" => AskedFrom::CommandLine,
        "pi" => AskedFrom::Pi,
        _ => AskedFrom::Program,
    }
}

fn fallback_facts(
    run: &RunProjection,
    last: &AttemptProjection,
    ending: AttemptEnding,
    detail: &str,
) -> FallbackFacts {
    let ending_of = |attempt: &AttemptProjection| attempt.ended.as_ref().map(|end| end.ending);
    let newest_first = || run.attempts.iter().rev();
    let lost_in_a_row = newest_first()
        .take_while(|attempt| {
            ending_of(attempt) == Some(AttemptEnding::Lost) && attempt.tools_finished().next().is_none()
        })
        .count();
    let own_tries = newest_first().filter(|attempt| ending_of(attempt) != Some(AttemptEnding::Lost));
    let on_model = own_tries.take_while(|attempt| attempt.model == last.model);
    // One that got on with the work is the first of a new row: hours of work may meet a busy provider more than once.
    let mut got_on = false;
    let tries_on_model = on_model
        .take_while(|attempt| !std::mem::replace(&mut got_on, attempt.tools_finished().next().is_some()))
        .count();
    let tools = || run.attempts.iter().flat_map(|attempt| attempt.tools.iter());
    let finished = |fate: &ToolFate| matches!(fate, ToolFate::Finished { .. });
    let cut = last.tools.iter();
    let cut = cut.filter(|tool| tool.replay == Replay::Unsafe && !finished(&tool.fate));
    let in_words = |tool: &ToolCallProjection| match tool.summary.is_empty() {
        true => format!("`{}`", tool.tool),
        false => format!("`{}` ({})", tool.tool, tool.summary),
    };
    FallbackFacts {
        ending,
        detail: detail.to_string(),
        model: last.model.clone(),
        tries_on_model: tries_on_model as u32,
        lost_in_a_row: lost_in_a_row as u32,
        place_in_chain: run
            .chain()
            .iter()
            .position(|model| *model == last.model)
            .unwrap_or(0),
        asked: run.models_asked(),
        was_probe: run.considered_before(last.number).any(|one| one.is_probe),
        unsafe_tool_finished: tools().any(|tool| tool.replay == Replay::Unsafe && finished(&tool.fate)),
        unsafe_calls_cut: cut.map(in_words).collect(),
        any_tool_finished: tools().any(|tool| finished(&tool.fate)),
    }
}

fn fallback_settings(request: &RunRequest, chain: &[String], can_resume: bool) -> FallbackSettings {
    FallbackSettings {
        chain: chain.to_vec(),
        tries_per_model_max: request.persistence.tries_per_model_max,
        unreached_tries_max: request.persistence.unreached_tries_max,
        wait_first: request.persistence.wait_first,
        wait_max: request.persistence.wait_max,
        lost_in_a_row_max: request.persistence.lost_in_a_row_max,
        can_resume,
        cut_tool: request.persistence.cut_tool,
    }
}

fn total_over(run: &RunProjection, request: &RunRequest) -> Action {
    // It was admitted, or its clock would not run.
    let seconds = total_time(run, request, 0).as_secs();
    let more = match asked_from(request) {
        AskedFrom::CommandLine => "Give it more with `--timeout`.",
        AskedFrom::Pi => "Give it more with the setting `impresario.totalTimeoutMs`.",
        AskedFrom::Program => "Give it a longer timeout.",
    };
    let message = format!("The run's total time of {seconds} s is over. {more}");
    end(TerminalState::Failed, ReasonCode::TotalTimeout, &message)
}

fn group_over(request: &RunRequest) -> Action {
    let total = request.group.as_ref().map(|member| member.total);
    let seconds = total.unwrap_or_default().as_secs_f64();
    let of_chain = request
        .group
        .as_ref()
        .is_some_and(|member| member.chain.is_some());
    if of_chain {
        let message =
            format!("The total time of {seconds} s for the whole chain is over. Give it a longer timeout.");
        return end(TerminalState::Failed, ReasonCode::TotalTimeout, &message);
    }
    let more = match asked_from(request) {
        AskedFrom::CommandLine => "Give it more with `--timeout` or parallelSubagents.totalTimeoutMs.",
        AskedFrom::Pi => "Give it more with the setting `impresario.parallelSubagents.totalTimeoutMs`.",
        AskedFrom::Program => "Give the group a longer timeout.",
    };
    let message = format!("The total time of {seconds} s for all sub-tasks together is over. {more}");
    end(TerminalState::Failed, ReasonCode::TotalTimeout, &message)
}

fn end(state: TerminalState, code: ReasonCode, message: &str) -> Action {
    Action::End {
        state,
        reason: Some(Reason {
            code,
            message: message.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
