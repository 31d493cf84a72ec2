//! One try inside a run: drives a runner, watches its clocks, says how it ended.
//!
//! Receives what the runner says (as notes to itself, one at a time), clocks that ran out, [`TellAttempt`] and
//! [`StopAttempt`].
//! Asks the run to put tool starts and ends on disk before the sub-agent goes on.

mod evidence;
mod gate;
mod glimpses;
mod guide;
mod open_calls;
mod prompts;
mod review;
mod said;
mod silence;
mod wire;

use self::evidence::Witness;
use self::gate::Gate;
use self::glimpses::Glimpses;
use self::guide::Guide;
use self::open_calls::{OpenCalls, Unwritten};
use self::prompts::Prompts;
pub use self::review::AnswerReview;
use self::said::Said;
use self::silence::{JournalWait, Silence};
use crate::gateways::{
    AttemptHandle, AttemptRequest, ContextEngine, FileLooks, Glimpse, ModelUsage, RuleFiles, RunnerEvent,
    SubAgentRunner, Tools,
};
use crate::messages::prompts::LogPrompt;
use crate::messages::run::{
    AttemptOver, ClockDue, ReadOverflow, RecordSteps, ReviewToolResult, RunnerSaid, StartDue, StopAttempt,
    TellAttempt,
};
use crate::messages::session::{AskForTurn, PlanMarkers, ShowGlimpse};
use crate::purse::Purse;
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::attempt_ending::{describe_ending, read_ending};
use impresario_policies::domain::{
    AttemptEnding, CacheTerms, Caller, Clocks, EndFacts, GuidanceTerms, Isolation, MessageId, ModelCall,
    Proof, RunMessage, Step,
};
use impresario_policies::overflow_review::ResultLimits;
use impresario_policies::redact::redact;
use impresario_policies::run_messages::kept_answer;
use impresario_policies::whole_answer::keep_what_was_said;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ASK: Duration = Duration::from_secs(60);
/// A step waits for the journal as long as its run does, which has clocks and says when it gives up.
const WRITTEN_WITHIN: Duration = Duration::from_secs(24 * 3600);
const EVENTS_AHEAD_MAX: usize = 64;
/// A sub-agent that was stopped has so long to be heard to its end.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Whom an attempt reaches.
#[derive(Clone)]
pub struct AttemptPorts {
    /// Puts steps on disk.
    pub record: Port<RecordSteps>,
    /// Hears how it ended.
    pub over: Port<AttemptOver>,
    pub review: Port<ReviewToolResult>,
    /// Reads kept tool results.
    pub overflow: Port<ReadOverflow>,
    /// The host, for what may be dropped.
    pub glimpse: Port<ShowGlimpse>,
    /// When a request may begin that shares its beginning with others.
    pub turn: Port<AskForTurn>,
    /// Where its cache markers belong.
    pub plan_markers: Port<PlanMarkers>,
}

/// What an attempt works with.
pub struct AttemptTools {
    /// Who runs the sub-agent; none where this runtime has no such runner.
    pub runner: Option<Rc<dyn SubAgentRunner>>,
    pub context: Rc<dyn ContextEngine>,
    /// The tools that Impresario adds.
    pub tools: Arc<dyn Tools>,
    /// Looks at the files that tools read and change.
    pub files: Rc<dyn FileLooks>,
    pub purse: Purse,
    pub review: AnswerReview,
}

pub struct Attempt {
    request: AttemptRequest,
    result_limits: Arc<ResultLimits>,
    clocks: Clocks,
    ports: AttemptPorts,
    runner: Option<Rc<dyn SubAgentRunner>>,
    context: Rc<dyn ContextEngine>,
    tools: Arc<dyn Tools>,
    review: AnswerReview,
    handle: Option<Box<dyn AttemptHandle>>,
    events: Option<mpsc::Receiver<RunnerEvent>>,
    /// The messages that the runner has, or gets when it is there.
    has: BTreeSet<MessageId>,
    /// What was said before the runner was there to hear it.
    untold: Vec<RunMessage>,
    stopping: CancellationToken,
    stop_as: Option<AttemptEnding>,
    ending: bool,
    said: Said,
    glimpses: Glimpses,
    used: Used,
    purse: Rc<Purse>,
    prompts: Rc<Prompts>,
    unsaid: Unsaid,
    /// Nothing more comes from the runner.
    heard_all: CancellationToken,
    silence: Silence,
    traced: Option<usize>,
    previews: Previews,
    open_calls: OpenCalls,
    witness: Rc<Witness>,
    isolation: Isolation,
    guidance: Option<(GuidanceTerms, Rc<dyn RuleFiles>)>,
    /// Its system prompt for the log, and who logs it; none where nobody wishes for it.
    logged: Option<(Port<LogPrompt>, Box<LogPrompt>)>,
}

/// What results began with, by call, until the runner says that the call ended.
type Previews = Rc<RefCell<BTreeMap<String, String>>>;

/// Calls of the model that are over and not on disk: they are written with the next step.
type Unsaid = Rc<RefCell<Vec<ModelCall>>>;

/// The calls that are not on disk yet, and a step behind them.
fn calls_and(unsaid: &Unsaid, step: Option<Step>) -> Vec<Step> {
    unsaid.take().into_iter().map(Step::from).chain(step).collect()
}

/// What its calls of the model used so far.
type Used = Rc<Cell<ModelUsage>>;

/// How it ended, and what was said.
struct EndingRead {
    ending: AttemptEnding,
    detail: String,
}

impl EndingRead {
    fn of(facts: &EndFacts) -> Self {
        let ending = read_ending(facts);
        Self {
            ending,
            detail: redact(&describe_ending(facts, ending)).into_owned(),
        }
    }
}

impl Actor for Attempt {
    const KIND: &'static str = "attempt";
    const HANDLES: &'static [&'static str] =
        &["StartDue", "RunnerSaid", "ClockDue", "TellAttempt", "StopAttempt"];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.notify(StartDue);
    }
}

impl Attempt {
    /// An attempt that has not begun.
    pub fn new(
        request: AttemptRequest,
        result_limits: Arc<ResultLimits>,
        clocks: Clocks,
        ports: AttemptPorts,
        tools: AttemptTools,
    ) -> Self {
        let AttemptTools {
            runner,
            context,
            tools,
            files,
            purse,
            review,
        } = tools;
        let witness = Rc::new(Witness::new(files, request.workspace.clone()));
        let prompts = Prompts::new(request.run.clone(), ports.clone());
        let silence = Silence {
            active: false,
            tools_running: BTreeSet::new(),
            retry_wait: Duration::ZERO,
            last_event: Instant::now(),
            clock_setting: 0,
            journal_waits: Rc::default(),
        };
        Self {
            has: request
                .messages
                .iter()
                .map(|message| message.id.clone())
                .collect(),
            untold: Vec::new(),
            request,
            result_limits,
            clocks,
            ports,
            runner,
            context,
            tools,
            review,
            handle: None,
            events: None,
            stopping: CancellationToken::new(),
            stop_as: None,
            ending: false,
            said: Said::default(),
            glimpses: Glimpses::default(),
            used: Used::default(),
            prompts: Rc::new(prompts),
            purse: Rc::new(purse),
            unsaid: Unsaid::default(),
            heard_all: CancellationToken::new(),
            silence,
            traced: None,
            previews: Previews::default(),
            open_calls: OpenCalls::default(),
            witness,
            isolation: Isolation::None,
            guidance: None,
            logged: None,
        }
    }

    /// Its system prompt is logged when it begins.
    pub fn logged(self, prompt: Option<(Port<LogPrompt>, Box<LogPrompt>)>) -> Self {
        Self {
            logged: prompt,
            ..self
        }
    }

    /// It is given the rules of the directories that it comes to.
    pub fn guided(self, terms: GuidanceTerms, files: Rc<dyn RuleFiles>) -> Self {
        Self {
            guidance: (!terms.is_off()).then_some((terms, files)),
            ..self
        }
    }

    /// It works in a git worktree of its own, or in the person's files.
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// How its requests use the provider's cache.
    pub fn cached(self, terms: CacheTerms) -> Self {
        self.prompts.hold(terms);
        self
    }

    /// It leaves a trace: arguments are kept, and so much of every result, in UTF-16 units.
    pub fn traced(self, preview_units_max: Option<usize>) -> Self {
        Self {
            traced: preview_units_max,
            ..self
        }
    }
}

impl Handles<StartDue> for Attempt {
    fn handle(&mut self, _: StartDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let (sender, receiver) = mpsc::channel(EVENTS_AHEAD_MAX);
        let gate = Rc::new(Gate {
            attempt: self.request.attempt,
            result_limits: self.result_limits.clone(),
            ports: self.ports.clone(),
            stopping: self.stopping.clone(),
            context: self.context.clone(),
            tools: self.tools.clone(),
            workspace: self.request.workspace.clone(),
            readable: self.request.readable.clone(),
            within: self.clocks.tool,
            traced: self.traced,
            previews: self.previews.clone(),
            open_calls: self.open_calls.clone(),
            witness: self.witness.clone(),
            purse: self.purse.clone(),
            unsaid: self.unsaid.clone(),
            prompts: self.prompts.clone(),
            conclude: Cell::default(),
            journal_waits: self.silence.journal_waits.clone(),
            isolation: self.isolation,
            guide: self.guide(),
        });
        let request = self.request.clone();
        let Some(runner) = self.runner.clone() else {
            let why = "there is no such runner in this runtime";
            self.not_started(AttemptEnding::SpawnFailed, why, ctx);
            return Answer::now(());
        };
        self.events = Some(receiver);
        self.arm_clock(ctx);
        if let Some((port, prompt)) = self.logged.take() {
            // A prompt that is not logged costs the run nothing.
            let _ = port.tell(*prompt);
        }
        ctx.spawn_then(
            async move { runner.start(request, sender, gate).await },
            |attempt, started, ctx| match started {
                Ok(handle) => attempt.started_with(handle, ctx),
                Err(error) if error.is_our_loss => attempt.not_started(AttemptEnding::Lost, &error.why, ctx),
                Err(error) => attempt.not_started(AttemptEnding::SpawnFailed, &error.why, ctx),
            },
        );
        Answer::now(())
    }
}

impl Handles<RunnerSaid> for Attempt {
    fn handle(&mut self, said: RunnerSaid, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let before = self.silence.clock(&self.clocks);
        self.silence.heard(&said.event);
        self.said.heard(&said.event);
        self.add_up(&said.event);
        self.prompts.heard(&said.event);
        if self.silence.clock(&self.clocks) != before {
            self.arm_clock(ctx);
        }
        if let RunnerEvent::Text { delta } = &said.event {
            self.said.push(delta);
        }
        if self.glimpses.is_due(&said.event) {
            self.show_glimpse();
        }
        let end = match &said.event {
            RunnerEvent::ToolEnded { call, .. } => self.open_calls.ended(call),
            _ => None,
        };
        match said.event {
            RunnerEvent::Ended(facts) => {
                self.heard_all.cancel();
                self.end(&facts, ctx);
            }
            RunnerEvent::Text { .. } => self.listen(ctx),
            RunnerEvent::ToolEnded { call, is_error, .. } if end.is_none() => match is_error {
                true => self.listen(ctx),
                false => self.ran_unasked(&call, ctx),
            },
            event => match step_of(self.request.attempt, self.with_preview(event)) {
                Some(step) => self.record(Some(step), end, ctx),
                // A call of the model is written with the tool it leads to. One that led to none waits no longer.
                None if self.unsaid.borrow().len() > 1 => self.record(None, None, ctx),
                None => self.listen(ctx),
            },
        }
        Answer::now(())
    }
}

impl Handles<ClockDue> for Attempt {
    fn handle(&mut self, due: ClockDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        if due.setting != self.silence.clock_setting || self.ending {
            return Answer::now(());
        }
        self.silence.forgive_waiting();
        let silent_for = self.silence.last_event.elapsed();
        if silent_for < self.silence.allowed(&self.clocks) {
            self.arm_clock(ctx);
        } else {
            self.stop(due.stop_as, ctx);
        }
        Answer::now(())
    }
}

impl Handles<TellAttempt> for Attempt {
    fn handle(&mut self, TellAttempt { message }: TellAttempt, _: &mut Context<Self>) -> Answer<Self, ()> {
        if self.ending || !self.has.insert(message.id.clone()) {
            return Answer::now(());
        }
        match &self.handle {
            Some(handle) => handle.tell(message),
            None => self.untold.push(message),
        }
        Answer::now(())
    }
}

impl Handles<StopAttempt> for Attempt {
    fn handle(&mut self, message: StopAttempt, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.stop(message.stop_as, ctx);
        Answer::now(())
    }
}

impl Attempt {
    fn started_with(&mut self, handle: Box<dyn AttemptHandle>, ctx: &mut Context<Self>) {
        if self.stopping.is_cancelled() {
            handle.cancel();
        }
        for message in self.untold.drain(..) {
            handle.tell(message);
        }
        self.handle = Some(handle);
        match self.stop_as {
            Some(_) => self.end(&EndFacts::default(), ctx),
            None => self.listen(ctx),
        }
    }

    fn guide(&self) -> Option<Guide> {
        let (terms, files) = self.guidance.clone()?;
        let resumed = self
            .request
            .resume
            .as_ref()
            .map(|_| self.request.session_file.clone());
        Some(Guide::new(files, terms, self.request.workspace.clone(), resumed))
    }

    fn not_started(&mut self, ending: AttemptEnding, why: &str, ctx: &mut Context<Self>) {
        let ending = self.stop_as.unwrap_or(ending);
        self.finish(
            EndingRead {
                ending,
                detail: redact(why).into_owned(),
            },
            String::new(),
            ctx,
        );
    }

    /// Takes the next event; the runner waits while we are busy with the last one.
    fn listen(&mut self, ctx: &mut Context<Self>) {
        let Some(mut events) = self.events.take() else {
            return;
        };
        ctx.spawn_then(
            async move {
                let event = events.recv().await;
                (events, event)
            },
            |attempt, (events, event), ctx| {
                attempt.events = Some(events);
                match event {
                    Some(RunnerEvent::Ended(_)) | None if attempt.ending => attempt.heard_all.cancel(),
                    // An answer that was cut off is paid for too, and the sub-agent may say so while it stops.
                    Some(event) if attempt.ending => {
                        attempt.add_up(&event);
                        attempt.listen(ctx);
                    }
                    Some(event) => ctx.notify(RunnerSaid { event }),
                    // Every runner has a last word; one without it is ours, and no fault of the sub-agent.
                    None => ctx.fail("the runner of the attempt was gone without a word"),
                }
            },
        );
    }

    fn show_glimpse(&self) {
        let glimpse = Glimpse {
            run: self.request.run.clone(),
            words: self.said.last_words().to_string(),
            waits: self.glimpses.waits(),
        };
        let _ = self.ports.glimpse.tell(ShowGlimpse { glimpse });
    }

    fn add_up(&self, event: &RunnerEvent) {
        if let RunnerEvent::Called { served, used } = event {
            self.used.set(self.used.get().plus(used.unwrap_or_default()));
            let call = self.purse.settle(self.caller(), served.clone(), *used);
            self.unsaid.borrow_mut().extend(call);
        }
    }

    fn caller(&self) -> Caller {
        Caller::SubAgent {
            attempt: self.request.attempt,
        }
    }

    /// What the gate kept of a result is more than what the runner tells of it.
    fn with_preview(&self, mut event: RunnerEvent) -> RunnerEvent {
        if let RunnerEvent::ToolEnded { call, preview, .. } = &mut event
            && let Some(kept) = self.previews.borrow_mut().remove(call)
        {
            *preview = kept;
        }
        event
    }

    fn record(&mut self, step: Option<Step>, end: Option<Unwritten>, ctx: &mut Context<Self>) {
        let port = self.ports.record.clone();
        let waiting = JournalWait::begin(&self.silence.journal_waits);
        let (steps, witness) = (calls_and(&self.unsaid, step), self.witness.clone());
        let reply = async move {
            let steps = witness.complete(steps).await;
            port.ask_again(RecordSteps { steps }, WRITTEN_WITHIN).await
        };
        ctx.spawn_then(reply, |attempt, reply, ctx| {
            attempt.silence.forgive_waiting();
            drop((waiting, end));
            if !matches!(reply, Ok(Ok(()))) {
                tracing::debug!(run.id = %attempt.request.run, ?reply, "step of the attempt refused");
            }
            attempt.listen(ctx);
        });
    }

    fn arm_clock(&mut self, ctx: &mut Context<Self>) {
        self.silence.clock_setting += 1;
        let due = ClockDue {
            stop_as: self.silence.ending(),
            setting: self.silence.clock_setting,
        };
        let left = self
            .silence
            .allowed(&self.clocks)
            .saturating_sub(self.silence.last_event.elapsed());
        ctx.notify_after(left, due);
    }

    /// From now on no model call and no tool begins; what is left is the ladder.
    fn stop(&mut self, stop_as: AttemptEnding, ctx: &mut Context<Self>) {
        if self.ending || self.stop_as.is_some() {
            return;
        }
        self.stop_as = Some(stop_as);
        self.stopping.cancel();
        if let Some(handle) = &self.handle {
            handle.cancel();
            self.end(
                &EndFacts {
                    stop_ordered: true,
                    ..EndFacts::default()
                },
                ctx,
            );
        }
    }

    fn end(&mut self, facts: &EndFacts, ctx: &mut Context<Self>) {
        if self.ending {
            return;
        }
        let read = match self.stop_as {
            Some(ending) => EndingRead {
                ending,
                detail: self.silence_in_words(ending),
            },
            None => EndingRead::of(facts),
        };
        let answer = if facts.answer.is_empty() {
            self.said.take()
        } else {
            keep_what_was_said(facts.answer.clone(), 0)
        };
        self.finish(read, answer, ctx);
    }

    /// The runtime was not asked, so what happened is not in the journal, and whatever comes next would not be either.
    fn ran_unasked(&mut self, call: &str, ctx: &mut Context<Self>) {
        let read = EndingRead {
            ending: AttemptEnding::ProtocolError,
            detail: redact(&format!("tool call {call} ran without asking whether it may")).into_owned(),
        };
        let answer = self.said.take();
        self.finish(read, answer, ctx);
    }

    fn silence_in_words(&self, ending: AttemptEnding) -> String {
        let silent_for = self.silence.last_event.elapsed().as_secs();
        let tools = self.silence.tools_running.len();
        match (ending, tools) {
            (AttemptEnding::StartUpSilence, _) => format!("no first event in {silent_for} s"),
            (AttemptEnding::Inactivity, 0) => format!("no event for {silent_for} s"),
            (AttemptEnding::Inactivity, _) => {
                format!("a tool has been running for {silent_for} s without a word")
            }
            _ => String::new(),
        }
    }

    /// Stops what is left, and says how it ended only when that has been seen.
    fn finish(&mut self, read: EndingRead, answer: String, ctx: &mut Context<Self>) {
        self.ending = true;
        self.stopping.cancel();
        let (handle, context) = (self.handle.take(), self.context.clone());
        let (over, attempt, grace) = (self.ports.over.clone(), self.request.attempt, self.request.grace);
        let (used, heard_all) = (self.used.clone(), self.heard_all.clone());
        let (purse, caller, unsaid) = (self.purse.clone(), self.caller(), self.unsaid.clone());
        let (witness, review, run) = (
            self.witness.clone(),
            self.review.clone(),
            self.request.run.clone(),
        );
        let waits_for_journal = self.silence.journal_waits.get() > 0;
        self.listen(ctx);
        let work = async move {
            let mut proof = match handle {
                Some(mut handle) => handle.stop(grace).await,
                None => Proof::NOTHING_STARTED,
            };
            if let Some(of_context) = context.close(grace).await {
                proof = proof.and(of_context);
            }
            // Who waits for the journal hears nothing meanwhile.
            if !waits_for_journal {
                let _ = tokio::time::timeout(HEARD_WITHIN, heard_all.cancelled()).await;
            }
            let EndingRead { ending, detail } = read;
            let cited = match ending {
                AttemptEnding::Answered => witness.cited(&answer).await,
                _ => None,
            };
            let (answer, whole) = review.review(&run, attempt, &answer).await;
            let mut calls = unsaid.take();
            calls.extend(purse.settle_cut(caller));
            over.ask_again(
                AttemptOver {
                    attempt,
                    ending,
                    detail,
                    answer,
                    whole,
                    cited,
                    calls,
                    used: used.get(),
                    proof,
                },
                ASK,
            )
            .await
        };
        ctx.spawn_then(work, |_, _, ctx| ctx.stop());
    }
}

fn step_of(attempt: impresario_policies::domain::AttemptNumber, event: RunnerEvent) -> Option<Step> {
    match event {
        RunnerEvent::Active => Some(Step::AttemptActive { attempt }),
        RunnerEvent::ToolEnded {
            call,
            is_error,
            bytes,
            preview,
            overflow,
        } => Some(Step::ToolEnded {
            attempt,
            call,
            is_error,
            bytes,
            preview: redact(&preview).into_owned(),
            overflow,
            evidence: None,
        }),
        RunnerEvent::Told { message } => Some(Step::MessageDelivered { message, attempt }),
        RunnerEvent::Replied { message, text } => Some(Step::MessageAnswered {
            message,
            attempt,
            answer: kept_answer(&text),
        }),
        RunnerEvent::Alive
        | RunnerEvent::Text { .. }
        // The gate has said so already.
        | RunnerEvent::ToolStarted { .. }
        | RunnerEvent::RetryAnnounced { .. }
        | RunnerEvent::Called { .. }
        | RunnerEvent::Unread { .. }
        | RunnerEvent::Ended(_) => None,
    }
}
