//! What do the steps of a run add up to?
//!
//! The journal holds [`Step`]s; where a run stands is a projection of them, made anew whenever somebody asks. The fold
//! is total: a sequence that cannot have happened gives a projection too, and says so in
//! [`RunProjection::contradictions`]. What was begun outside (an attempt, a tool) is believed even then; what is said
//! twice is believed the first time.

#![warn(missing_docs)]

mod contradiction;
mod fold;
mod gate;
mod messages;
mod tool_calls;
mod worktree;

pub use contradiction::{Contradiction, Impossible};
pub use gate::{GateFate, GateProjection};
pub use messages::{MessageFate, MessageProjection};
pub use tool_calls::ToolCalls;
pub use worktree::{KeptChanges, WorktreeProjection};

use crate::budget::is_other_model;
use crate::domain::{
    AttemptEnding, AttemptNumber, Brief, CallEvidence, CallTarget, Caller, Flag, JudgedPass, ModelCall,
    ModelChoice, ModelFault, ModelUsage, PassedOver, Proof, Question, Reason, Replay, RunRequest, RunState,
    Step, TerminalState, Verdict, WholeAnswer,
};

/// One step as the journal holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// Its place in the run, from 1, without gaps.
    pub sequence: u64,
    /// The generation of the runtime that wrote it; never falls.
    pub generation: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    pub step: Step,
}

/// Where a run stands, as its steps say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunProjection {
    /// How many steps there are; the sequence of the last one.
    pub steps: u64,
    /// The generation of the last step, 0 before the first. A run that was taken over and did not get on since has a
    /// higher one in the journal's table of runs.
    pub generation: u64,
    /// When the last step was written, in milliseconds since 1970.
    pub last_step_at_ms: u64,
    /// What was accepted, and when.
    pub accepted: Option<Acceptance>,
    /// The passes of actor and judge, in order.
    pub passes: Vec<JudgedPass>,
    /// The passes that came to nothing because of their model, in order.
    pub failed_passes: Vec<FailedPass>,
    /// What the user was asked, in order.
    pub questions: Vec<Question>,
    /// The brief for the sub-agent, once there is one.
    pub brief: Option<Brief>,
    /// The verdict the brief passed with.
    pub verdict: Option<Verdict>,
    /// Which models it runs on, where that was chosen.
    pub choice: Option<ModelChoice>,
    /// The generation of the runtime that last had room for the run; none before.
    pub admitted_in: Option<u64>,
    /// When there was room for the run for the first time, in milliseconds since 1970; the total clock counts from here.
    pub admitted_at_ms: Option<u64>,
    /// The git worktree it works in, once there is one.
    pub worktree: Option<WorktreeProjection>,
    /// What was seen of the models before attempts, where there was something to say.
    pub considered: Vec<ModelsConsidered>,
    /// The attempts, in order of their beginning.
    pub attempts: Vec<AttemptProjection>,
    /// The calls of models, in order of their ends; a journal of an earlier version has none.
    pub calls: Vec<ModelCall>,
    /// What it was told while it was under way, in order.
    pub messages: Vec<MessageProjection>,
    /// The reviewed answer.
    pub answer: Option<String>,
    /// What in it is not borne out by what was seen.
    pub flags: Vec<Flag>,
    /// The times that the command of its gate was run, in order.
    pub gates: Vec<GateProjection>,
    /// Why the run has to stop for a person to decide, as it was said first.
    pub park_requested: Option<Reason>,
    /// Who asked for cancellation first.
    pub cancel_requested: Option<String>,
    /// The terminal step.
    pub ended: Option<RunEnd>,
    /// How many times the host was given the result.
    pub deliveries: u32,
    /// The run's trace was looked at.
    pub observed: bool,
    /// The host has the result for good.
    pub acknowledged: bool,
    /// What in the sequence cannot have happened, in order; empty for every run that our own code wrote.
    pub contradictions: Vec<Contradiction>,
}

/// What was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Acceptance {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Everything that was asked for.
    pub request: Box<RunRequest>,
}

/// A pass of actor and judge that came to nothing because of its model.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedPass {
    /// From 1.
    pub pass: u32,
    /// The model that gave no answer.
    pub model: String,
    /// What kept it from answering.
    pub fault: ModelFault,
    /// What the provider or the host said.
    pub detail: String,
    /// What the actor had written by then.
    pub brief: Option<Brief>,
}

/// What was seen of the models before an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelsConsidered {
    /// The attempt.
    pub attempt: AttemptNumber,
    /// The models that were not asked.
    pub passed_over: Vec<PassedOver>,
    /// It tries for others whether its model is back.
    pub is_probe: bool,
}

/// An attempt and what it did.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptProjection {
    /// From 1.
    pub number: AttemptNumber,
    /// The generation that started it. A lower one than the run's now means that its driver is gone.
    pub generation: u64,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// The model as the runner knows it.
    pub model: String,
    /// Which runner.
    pub runner: String,
    /// The nested session's file, where the runner keeps one.
    pub session_file: Option<String>,
    /// Whether a nested session with finished tools went on.
    pub resumes_session: bool,
    /// Its first event was seen.
    pub active: bool,
    /// Its tool calls, in order of their beginning.
    pub tools: ToolCalls,
    /// How it ended; none while it is under way.
    pub ended: Option<AttemptEnd>,
}

/// A tool call and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallProjection {
    /// Which call: [`call_name`](crate::tool_call::call_name).
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// What it was called with, in one redacted line.
    pub summary: String,
    /// Whether it may run again.
    pub replay: Replay,
    /// Which file or command it is about; none where its arguments do not say.
    pub target: Option<CallTarget>,
    /// What was seen of it when it ended; none where there was nothing to see.
    pub evidence: Option<Box<CallEvidence>>,
    /// What became of it.
    pub fate: ToolFate,
    /// When it began, in milliseconds since 1970.
    pub begun_at_ms: u64,
    /// When it was known what became of it; none while it is in flight.
    pub over_at_ms: Option<u64>,
}

/// What became of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolFate {
    /// It began, and nothing was heard of it since.
    InFlight,
    /// It ended.
    Finished {
        /// The tool said it failed.
        is_error: bool,
        /// Size of the result in bytes.
        bytes: u64,
        /// The first characters of the result, redacted.
        preview: String,
        /// The handle under which a result above the ceiling was kept.
        overflow: Option<String>,
    },
    /// It was cut off and nobody knows whether it happened.
    Indeterminate,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptEnd {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How.
    pub ending: AttemptEnding,
    /// What the provider or the process said.
    pub detail: String,
    /// What there was of an answer.
    pub partial: Option<String>,
    /// All that was said, where the answer is cut.
    pub whole: Option<WholeAnswer>,
    /// What its calls of the model used; none where nobody is left who heard it.
    pub used: Option<ModelUsage>,
    /// What was observed of its processes.
    pub proof: Proof,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunUsage {
    /// As far as it is known.
    pub counted: ModelUsage,
    /// Calls of actor and judge that were cut off.
    pub calls_uncounted: usize,
    /// Attempts that are over and of which nobody knows: what heard them died first.
    pub attempts_uncounted: usize,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How.
    pub state: TerminalState,
    /// Why, when it did not succeed.
    pub reason: Option<Reason>,
    /// What was observed of its processes.
    pub proof: Proof,
}

impl RunProjection {
    /// Adds up `steps`, in the order given.
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a RecordedStep>) -> Self {
        let mut projection = Self::default();
        for recorded in steps {
            projection.add(recorded);
        }
        projection
    }

    /// Where the run stands. A run without any step counts as accepted.
    pub fn state(&self) -> RunState {
        if let Some(end) = &self.ended {
            return end.state.into();
        }
        if self.answer.is_some() {
            return RunState::Answered;
        }
        if self.attempt_under_way().is_some() {
            return RunState::Running;
        }
        if self.admitted_in.is_some() {
            return RunState::Admitted;
        }
        if self.brief.is_some() {
            return RunState::Briefed;
        }
        RunState::Accepted
    }

    /// The models, in order of preference: those that were chosen, else those that were asked for.
    pub fn chain(&self) -> &[String] {
        match (&self.choice, &self.accepted) {
            (Some(choice), _) => &choice.chain,
            (None, Some(accepted)) => &accepted.request.chain,
            (None, None) => &[],
        }
    }

    /// A result of a tool above so many bytes is kept aside.
    pub fn overflow_ceiling_bytes(&self) -> u64 {
        match (&self.choice, &self.accepted) {
            (Some(choice), _) => choice.overflow_ceiling_bytes,
            (None, Some(accepted)) => accepted.request.overflow_ceiling_bytes,
            (None, None) => 0,
        }
    }

    /// It may change files in a git worktree of its own only.
    pub fn is_isolated(&self) -> bool {
        let accepted = self.accepted.as_ref();
        accepted.is_some_and(|accepted| !accepted.request.terms.isolation.is_none())
    }

    /// What the run that it goes on with had answered, where only the gate was left.
    pub fn inherited_answer(&self) -> Option<&str> {
        let inherited = self.accepted.as_ref()?.request.terms.inherited.as_ref()?;
        inherited.answer.as_deref()
    }

    /// The sequence the next step will have.
    pub fn next_sequence(&self) -> u64 {
        self.steps.saturating_add(1)
    }

    /// The number the next attempt will have.
    pub fn next_attempt(&self) -> AttemptNumber {
        let highest = self.attempts.iter().map(|attempt| attempt.number.0).max();
        AttemptNumber(highest.unwrap_or(0).saturating_add(1))
    }

    /// The models that attempts ran on, each once.
    pub fn models_asked(&self) -> Vec<String> {
        let mut asked = Vec::new();
        for attempt in &self.attempts {
            if !asked.contains(&attempt.model) {
                asked.push(attempt.model.clone());
            }
        }
        asked
    }

    /// What was seen of the models before this attempt.
    pub fn considered_before(&self, attempt: AttemptNumber) -> impl Iterator<Item = &ModelsConsidered> {
        self.considered.iter().filter(move |one| one.attempt == attempt)
    }

    /// The attempt that began last.
    pub fn latest_attempt(&self) -> Option<&AttemptProjection> {
        self.attempts.last()
    }

    /// The attempt that has begun and not ended.
    pub fn attempt_under_way(&self) -> Option<&AttemptProjection> {
        self.attempts.iter().rev().find(|attempt| attempt.ended.is_none())
    }

    /// The last pass of actor and judge.
    pub fn latest_pass(&self) -> Option<&JudgedPass> {
        self.passes.last()
    }

    /// The question the user has yet to answer.
    pub fn open_question(&self) -> Option<&str> {
        let last = self.questions.last()?;
        last.answer.is_none().then_some(last.question.as_str())
    }

    /// The reviewed answer, or what there was of one when the last attempt ended.
    pub fn answer_or_partial(&self) -> Option<&str> {
        let partial = || self.latest_attempt()?.ended.as_ref()?.partial.as_deref();
        self.answer.as_deref().or_else(partial)
    }

    /// All of the answer, or of what there was of one, where that is cut.
    pub fn whole_answer(&self) -> Option<&WholeAnswer> {
        match self.latest_attempt() {
            Some(last) => last.ended.as_ref()?.whole.as_ref(),
            None => self
                .accepted
                .as_ref()?
                .request
                .terms
                .inherited
                .as_ref()?
                .whole
                .as_deref(),
        }
    }

    /// How long it took from its acceptance to its end; none while it is not over.
    pub fn took_ms(&self) -> Option<u64> {
        let (accepted, ended) = (self.accepted.as_ref()?, self.ended.as_ref()?);
        Some(ended.at_ms.saturating_sub(accepted.at_ms))
    }

    /// The models that answered though another one was asked for: each with the one that was asked for, once.
    pub fn other_models_served(&self) -> Vec<(&str, &str)> {
        let mut others = Vec::new();
        for call in &self.calls {
            let served = call.served.as_deref();
            let Some(served) = served.filter(|served| is_other_model(&call.requested, served)) else {
                continue;
            };
            let other = (call.requested.as_str(), served);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        others
    }

    fn used_in_calls_of(&self, attempt: AttemptNumber) -> ModelUsage {
        let by = Caller::SubAgent { attempt };
        let calls = self.calls.iter().filter(|call| call.by == by);
        calls
            .filter_map(|call| call.used)
            .fold(ModelUsage::default(), ModelUsage::plus)
    }

    /// What it used: actor, judge and its attempts, of one under way what its calls used.
    pub fn used(&self) -> RunUsage {
        let mut used = RunUsage::default();
        for call in self
            .calls
            .iter()
            .filter(|call| !matches!(call.by, Caller::SubAgent { .. }))
        {
            match call.used {
                Some(of_call) => used.counted = used.counted.plus(of_call),
                None => used.calls_uncounted += 1,
            }
        }
        for attempt in &self.attempts {
            let told = attempt.ended.as_ref().map(|ended| ended.used);
            used.counted = used.counted.plus(match told {
                Some(Some(of_attempt)) => of_attempt,
                Some(None) | None => self.used_in_calls_of(attempt.number),
            });
            used.attempts_uncounted += usize::from(told == Some(None));
        }
        used
    }
}

impl RunUsage {
    /// Nothing was used of which nobody knows.
    pub fn is_whole(&self) -> bool {
        self.attempts_uncounted == 0 && self.calls_uncounted == 0
    }

    /// For people; none while there is nothing to say.
    pub fn in_words(&self) -> Option<String> {
        let counted = (!self.counted.is_nothing()).then(|| self.counted.words());
        let unknown = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("what one {what} used is not known")),
            several => Some(format!("what {several} {what}s used is not known")),
        };
        let attempts = unknown(self.attempts_uncounted, "attempt");
        let calls = unknown(self.calls_uncounted, "call of actor or judge");
        let said = counted
            .into_iter()
            .chain(attempts)
            .chain(calls)
            .collect::<Vec<_>>();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl AttemptProjection {
    /// The tool calls that began, and of which nothing more was heard.
    pub fn tools_in_flight(&self) -> impl Iterator<Item = &ToolCallProjection> {
        self.tools.iter().filter(|tool| tool.fate == ToolFate::InFlight)
    }

    /// The tool calls that ended, well or not.
    pub fn tools_finished(&self) -> impl Iterator<Item = &ToolCallProjection> {
        let finished = |tool: &&ToolCallProjection| matches!(tool.fate, ToolFate::Finished { .. });
        self.tools.iter().filter(finished)
    }
}

#[cfg(test)]
mod tests;
