//! One run, from acceptance to its one terminal state.
//!
//! Receives what its attempt has for the journal ([`RecordStep`], [`AttemptOver`]), wishes to cancel or park, and notes
//! to itself. Asks the journal, the judge, the host and the sub-agent supervisor. What comes next is decided by
//! [`decide_next_move`] from the journal's steps alone, so an incarnation that begins in the middle goes on from there.

use crate::event_feed::EventFeed;
use crate::gateways::{Delivery, DeliveryReceipt, HostError, Progress, SubAgentRunner, WallClock};
use crate::journal::{JournalError, Row};
use crate::messages::journal::{Commit, ReadRun};
use crate::messages::run::{
    AskForRoom, AttemptOver, CancelReply, CancelRun, MoveDue, ParkRun, RecordRefused, RecordStep, RunClosed,
    StopAttempt, TotalClockDue, WriteTrace,
};
use crate::messages::session::{AskUser, DeliverResult, JudgeTask, ShowProgress};
use crate::supervision::{Actor, Answer, ChildExited, Context, Handles, Nursery, Port, Spec};
use impresario_policies::conduct::{ConductFacts, Move, QuestionFailure, decide_next_move};
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Proof, Reason, Replay, RunId, RunRequest, Step, TerminalState,
};
use impresario_policies::fallback::StartFrom;
use impresario_policies::interruption::{Interruption, describe_interruption};
use impresario_policies::output_sanitizer::{SanitizerSettings, sanitize_output};
use impresario_policies::progress::describe_step;
use impresario_policies::projection::{RecordedStep, RunProjection};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;

/// What the run asks of others takes at most so long; longer means that somebody is stuck.
const ASK: Duration = Duration::from_secs(30);
/// How often an unwritable journal is tried before the run gives up.
const WRITE_TRIES_MAX: u32 = 6;
const WRITE_WAIT_FIRST: Duration = Duration::from_millis(50);

/// Whom a run reaches.
#[derive(Clone)]
pub struct RunPorts {
    /// Writes steps.
    pub commit: Port<Commit>,
    /// Reads steps.
    pub read: Port<ReadRun>,
    /// Actor and judge.
    pub judge: Port<JudgeTask>,
    /// The person.
    pub ask_user: Port<AskUser>,
    /// The host.
    pub deliver: Port<DeliverResult>,
    /// The host, for what may be dropped.
    pub show: Port<ShowProgress>,
    /// The sub-agent supervisor's admission.
    pub room: Port<AskForRoom>,
    /// The sub-agent supervisor, when all is over.
    pub closed: Port<RunClosed>,
    /// The trace recorder of this run.
    pub trace: Port<WriteTrace>,
    /// Where attempts live.
    pub attempts: Nursery,
    /// This run itself, for attempts that exit.
    pub attempt_exited: Port<ChildExited>,
}

/// What an attempt needs to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptSeed {
    /// The run.
    pub run: RunId,
    /// Which attempt.
    pub number: AttemptNumber,
    /// On which model.
    pub model: String,
    /// What the nested session is told when it goes on.
    pub resume: Option<String>,
    /// What was accepted.
    pub request: RunRequest,
    /// The brief.
    pub brief: impresario_policies::domain::Brief,
}

/// An attempt, ready to be started.
pub struct GrownAttempt {
    /// For the nursery.
    pub spec: Spec,
    /// Tells it to stop.
    pub stop: Port<StopAttempt>,
}

/// What the run uses that is no actor.
#[derive(Clone)]
pub struct RunTools {
    /// Makes an attempt; the wiring knows how.
    pub grow_attempt: Rc<dyn Fn(AttemptSeed) -> GrownAttempt>,
    /// Finds the runner by name.
    pub runner: Rc<dyn Fn(&str) -> Option<Rc<dyn SubAgentRunner>>>,
    /// Where durable steps are announced.
    pub feed: EventFeed,
    /// For the `at` of steps.
    pub clock: Rc<dyn WallClock>,
    /// Whether the host that asked for this run is the one we have.
    pub host_is_here: Rc<dyn Fn(&RunRequest) -> bool>,
    /// Removes the files of a run that is over; its nested session stays while somebody may go on with it.
    pub clear_away: Rc<dyn Fn(&RunId, KeepSession)>,
    /// The directory for nested sessions, below the state directory.
    pub sessions: std::path::PathBuf,
}

/// Whether a nested session outlives its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepSession {
    /// The run is parked: it can be resumed.
    Yes,
    /// Nobody can go on with it.
    No,
}

/// See the module.
pub struct Run {
    id: RunId,
    generation: u64,
    ports: RunPorts,
    tools: RunTools,
    projection: RunProjection,
    facts: ConductFacts,
    stop_attempt: Option<Port<StopAttempt>>,
    stop_sent: Option<AttemptEnding>,
    loaded: bool,
    /// An effect is under way; its result carries the number it was begun with.
    busy: Option<u64>,
    effects_begun: u64,
    writes: VecDeque<Write>,
    writing: bool,
}

/// Steps on their way to the journal, and what happens when they are there.
struct Write {
    steps: Vec<Step>,
    tries: u32,
    done: Option<oneshot::Sender<Result<(), RecordRefused>>>,
    then: Option<Then>,
}

type Then = Box<dyn FnOnce(&mut Run, &mut Context<Run>)>;

impl Actor for Run {
    const KIND: &'static str = "run";
    const HANDLES: &'static [&'static str] = &[
        "MoveDue",
        "TotalClockDue",
        "RecordStep",
        "AttemptOver",
        "CancelRun",
        "ParkRun",
        "ChildExited",
    ];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.notify(MoveDue);
    }
}

impl Run {
    /// A run whose steps are in the journal under `id`. `must_park` ends it in `parked`, whatever else holds.
    pub fn new(
        id: RunId,
        generation: u64,
        must_park: Option<Reason>,
        ports: RunPorts,
        tools: RunTools,
    ) -> Self {
        Self {
            id,
            generation,
            ports,
            tools,
            projection: RunProjection::default(),
            facts: ConductFacts {
                must_park,
                ..ConductFacts::default()
            },
            stop_attempt: None,
            stop_sent: None,
            loaded: false,
            busy: None,
            effects_begun: 0,
            writes: VecDeque::new(),
            writing: false,
        }
    }

    fn request(&self) -> Option<&RunRequest> {
        self.projection
            .accepted
            .as_ref()
            .map(|accepted| accepted.request.as_ref())
    }
}

// ---- notes to self

impl Handles<MoveDue> for Run {
    fn handle(&mut self, _: MoveDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        if self.loaded {
            self.move_on(ctx)
        } else {
            self.load(ctx)
        }
        Answer::now(())
    }
}

impl Handles<TotalClockDue> for Run {
    fn handle(&mut self, _: TotalClockDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.facts.total_over = true;
        self.interrupt(ctx);
        Answer::now(())
    }
}

// ---- what the attempt has to say

impl Handles<RecordStep> for Run {
    fn handle(
        &mut self,
        message: RecordStep,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<(), RecordRefused>> {
        if self.is_recorded(&message.step) {
            return Answer::now(Ok(()));
        }
        if let Err(refused) = self.may_record(&message.step) {
            return Answer::now(Err(refused));
        }
        let (done, durable) = oneshot::channel();
        self.record_and_answer(vec![message.step], done, ctx);
        Answer::later(async move {
            durable
                .await
                .unwrap_or_else(|_| Err(RecordRefused("the run's actor was replaced".into())))
        })
    }
}

impl Handles<AttemptOver> for Run {
    fn handle(&mut self, over: AttemptOver, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let open = self.projection.attempt_under_way().map(|attempt| attempt.number);
        if open != Some(over.attempt) {
            return Answer::now(());
        }
        let (done, durable) = oneshot::channel();
        let mut steps = self.cut_off_tools(over.attempt);
        let answered = over.ending == AttemptEnding::Answered;
        let partial = (!answered && !over.answer.is_empty()).then(|| over.answer.clone());
        steps.push(Step::AttemptEnded {
            attempt: over.attempt,
            ending: over.ending,
            detail: over.detail,
            partial,
            proof: over.proof,
        });
        if answered {
            let chars_max = self.request().map_or(0, |request| request.answer_chars_max);
            steps.push(Step::Answered {
                answer: review(&over.answer, chars_max),
            });
        }
        self.facts.live_attempt = None;
        self.stop_attempt = None;
        self.stop_sent = None;
        self.record_and_answer(steps, done, ctx);
        Answer::later(async move {
            let _ = durable.await;
        })
    }
}

impl Handles<ChildExited> for Run {
    fn handle(&mut self, exited: ChildExited, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let live = self
            .facts
            .live_attempt
            .map(|number| attempt_name(&self.id, number));
        if live.as_deref() == Some(exited.name.as_ref()) {
            tracing::warn!(run.id = %self.id, exit = ?exited.exit, "attempt lost");
            self.facts.live_attempt = None;
            self.stop_attempt = None;
            self.stop_sent = None;
            self.move_on(ctx);
        }
        Answer::now(())
    }
}

// ---- wishes from outside

impl Handles<CancelRun> for Run {
    fn handle(&mut self, message: CancelRun, ctx: &mut Context<Self>) -> Answer<Self, CancelReply> {
        if self.projection.ended.is_some() {
            return Answer::now(CancelReply::NotUnderWay);
        }
        if self.projection.cancel_requested.is_some() {
            return Answer::now(CancelReply::Cancelling);
        }
        let (done, durable) = oneshot::channel();
        self.record_and_answer(vec![Step::CancelRequested { by: message.by }], done, ctx);
        Answer::then(durable, |run: &mut Self, _, ctx| {
            run.interrupt(ctx);
            CancelReply::Cancelling
        })
    }
}

impl Handles<ParkRun> for Run {
    fn handle(&mut self, message: ParkRun, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let asked_before = self.projection.park_requested.is_some();
        if self.projection.ended.is_some() || asked_before {
            return Answer::now(());
        }
        let (done, durable) = oneshot::channel();
        let reason = message.reason;
        self.record_and_answer(vec![Step::ParkRequested { reason }], done, ctx);
        Answer::then(durable, |run: &mut Self, _, ctx| run.interrupt(ctx))
    }
}

// ---- the journal

impl Run {
    fn load(&mut self, ctx: &mut Context<Self>) {
        let (read, run) = (self.ports.read.clone(), self.id.clone());
        ctx.spawn_then(
            async move { read.ask_again(ReadRun { run, after: 0 }, ASK).await },
            |run, reply, ctx| match reply {
                Ok(Ok(steps)) => run.loaded_with(steps, ctx),
                Ok(Err(error)) => ctx.fail(format!("read the run: {error}")),
                Err(error) => ctx.fail(format!("read the run: {error:?}")),
            },
        );
    }

    fn loaded_with(&mut self, steps: Vec<RecordedStep>, ctx: &mut Context<Self>) {
        for recorded in &steps {
            self.tools.feed.announce(&self.id, recorded);
        }
        self.projection = RunProjection::of(&steps);
        self.loaded = true;
        let runner = self
            .request()
            .and_then(|request| (self.tools.runner)(&request.runner));
        self.facts.can_resume = runner.is_some_and(|runner| runner.can_resume());
        self.write_next(ctx);
        self.move_on(ctx);
    }

    fn record(&mut self, steps: Vec<Step>, ctx: &mut Context<Self>) {
        self.push_write(
            Write {
                steps,
                tries: 0,
                done: None,
                then: None,
            },
            ctx,
        );
    }

    fn record_then(&mut self, steps: Vec<Step>, then: Then, ctx: &mut Context<Self>) {
        self.push_write(
            Write {
                steps,
                tries: 0,
                done: None,
                then: Some(then),
            },
            ctx,
        );
    }

    fn record_and_answer(
        &mut self,
        steps: Vec<Step>,
        done: oneshot::Sender<Result<(), RecordRefused>>,
        ctx: &mut Context<Self>,
    ) {
        self.push_write(
            Write {
                steps,
                tries: 0,
                done: Some(done),
                then: None,
            },
            ctx,
        );
    }

    fn push_write(&mut self, write: Write, ctx: &mut Context<Self>) {
        self.writes.push_back(write);
        self.write_next(ctx);
    }

    /// One write at a time, so that every step knows its sequence.
    fn write_next(&mut self, ctx: &mut Context<Self>) {
        if self.writing || !self.loaded {
            return;
        }
        let Some(write) = self.writes.pop_front() else {
            return;
        };
        self.writing = true;
        let rows = self.rows_of(&write.steps);
        let commit = Commit { rows: rows.clone() };
        let port = self.ports.commit.clone();
        let reply = async move { port.ask_again(commit, ASK).await };
        ctx.spawn_then(reply, move |run, reply, ctx| match reply {
            Ok(Ok(_)) => run.written(write, rows, ctx),
            Ok(Err(error)) => run.not_written(write, error, ctx),
            Err(error) => ctx.fail(format!("reach the journal: {error:?}")),
        });
    }

    fn rows_of(&self, steps: &[Step]) -> Vec<Row> {
        let at = self.tools.clock.now();
        let sequences = self.projection.next_sequence()..;
        let numbered = sequences.zip(steps);
        numbered
            .map(|(sequence, step)| Row {
                run: self.id.clone(),
                sequence,
                generation: self.generation,
                at,
                step: step.clone(),
            })
            .collect()
    }

    fn written(&mut self, write: Write, rows: Vec<Row>, ctx: &mut Context<Self>) {
        self.writing = false;
        ctx.progress();
        for recorded in rows.iter().map(Row::recorded) {
            self.projection.add(&recorded);
            self.tools.feed.announce(&self.id, &recorded);
            self.show(&recorded);
        }
        if let Some(done) = write.done {
            let _ = done.send(Ok(()));
        }
        if let Some(then) = write.then {
            then(self, ctx);
        }
        self.write_next(ctx);
        self.move_on(ctx);
    }

    fn not_written(&mut self, mut write: Write, error: JournalError, ctx: &mut Context<Self>) {
        self.writing = false;
        write.tries += 1;
        if !error.is_of_the_world() || write.tries >= WRITE_TRIES_MAX {
            tracing::error!(run.id = %self.id, %error, "journal refused a step");
            if let Some(done) = write.done {
                let _ = done.send(Err(RecordRefused(error.to_string())));
            }
            self.tools.feed.announce_unwritable(&self.id, &error.to_string());
            ctx.stop();
            return;
        }
        let wait = WRITE_WAIT_FIRST * (1 << write.tries);
        self.writes.push_front(write);
        self.writing = true;
        ctx.spawn_then(tokio::time::sleep(wait), |run, (), ctx| {
            run.writing = false;
            run.write_next(ctx);
        });
    }

    fn is_recorded(&self, step: &Step) -> bool {
        let attempts = &self.projection.attempts;
        match step {
            Step::AttemptActive { attempt } => attempts
                .iter()
                .any(|known| known.number == *attempt && known.active),
            Step::ToolStarted { attempt, call, .. } => attempts
                .iter()
                .any(|known| known.number == *attempt && known.tools.iter().any(|tool| tool.call == *call)),
            _ => false,
        }
    }

    /// Only the attempt that is live may add to the journal, and no tool begins in a run that is to stop.
    fn may_record(&self, step: &Step) -> Result<(), RecordRefused> {
        let attempt = match step {
            Step::AttemptActive { attempt } | Step::ToolEnded { attempt, .. } => *attempt,
            Step::ToolStarted { attempt, .. } if self.stop_sent.is_none() => *attempt,
            Step::ToolStarted { .. } => return Err(RecordRefused("the run is being stopped".into())),
            _ => return Err(RecordRefused("only the run itself records this step".into())),
        };
        match self.facts.live_attempt == Some(attempt) {
            true => Ok(()),
            false => Err(RecordRefused(format!("attempt {attempt} is over"))),
        }
    }

    fn show(&self, recorded: &RecordedStep) {
        let Some(doing) = describe_step(&recorded.step) else {
            return;
        };
        let tool_calls = self
            .projection
            .attempts
            .iter()
            .map(|attempt| attempt.tools.len())
            .sum::<usize>();
        let at = crate::gateways::UnixMillis(recorded.at_ms);
        let progress = Progress {
            run: self.id.clone(),
            at,
            doing,
            tool_calls: tool_calls as u32,
        };
        let _ = self.ports.show.tell(ShowProgress { progress });
    }
}

// ---- moves

impl Run {
    /// Something happened that may change what the run waits for: whatever effect is under way no longer counts.
    fn interrupt(&mut self, ctx: &mut Context<Self>) {
        let delivering = self.projection.ended.is_some();
        if !delivering {
            self.busy = None;
        }
        self.move_on(ctx);
    }

    fn move_on(&mut self, ctx: &mut Context<Self>) {
        if !self.loaded || self.busy.is_some() || self.writing || !self.writes.is_empty() {
            return;
        }
        let next = decide_next_move(&self.projection, &self.facts);
        tracing::debug!(run.id = %self.id, ?next, "move decided");
        match next {
            Move::Judge { pass } => self.judge(pass, ctx),
            Move::Ask {
                question,
                asked_before: false,
            } => self.record(vec![Step::QuestionAsked { question }], ctx),
            Move::Ask {
                question,
                asked_before: true,
            } => self.ask_user(question, ctx),
            Move::KeepBrief { brief, verdict } => self.record(vec![Step::Briefed { brief, verdict }], ctx),
            Move::AwaitRoom => self.await_room(ctx),
            Move::StartAttempt {
                number,
                model,
                wait,
                from,
            } => self.prepare_attempt(number, model, wait, from, ctx),
            Move::LetAttemptRun { stop_as } => self.let_attempt_run(stop_as),
            Move::SettleLostAttempt { number } => self.settle_lost_attempt(number, ctx),
            Move::End { state, reason } => self.end(state, reason, ctx),
            Move::Deliver => self.deliver(ctx),
            Move::Rest => self.rest(ctx),
        }
    }

    /// Begins an effect whose result is ignored if the run was interrupted meanwhile.
    fn effect<T: 'static>(
        &mut self,
        work: impl std::future::Future<Output = T> + 'static,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) {
        self.effects_begun += 1;
        let mine = self.effects_begun;
        self.busy = Some(mine);
        ctx.spawn_then(work, move |run, result, ctx| {
            if run.busy == Some(mine) {
                run.busy = None;
                then(run, result, ctx);
                run.move_on(ctx);
            }
        });
    }

    fn judge(&mut self, pass: u32, ctx: &mut Context<Self>) {
        let Some(task) = self.judge_task() else { return };
        let port = self.ports.judge.clone();
        let within = task.within * 2 + ASK;
        self.effect(
            async move { port.ask_again(task, within).await },
            ctx,
            move |run, reply, ctx| match reply {
                Ok(judgement) => {
                    let step = Step::Judged {
                        pass,
                        brief: judgement.brief,
                        verdict: judgement.verdict,
                    };
                    run.record(vec![step], ctx);
                }
                Err(error) => ctx.fail(format!("reach the judge: {error:?}")),
            },
        );
    }

    fn judge_task(&self) -> Option<JudgeTask> {
        use impresario_policies::domain::{Briefing, WhatToRun};
        let request = self.request()?;
        let Briefing::Judged { model, .. } = &request.briefing else {
            return None;
        };
        let (WhatToRun::Agent(name) | WhatToRun::Skill(name)) = &request.what;
        let answered = self.projection.questions.iter().filter_map(|question| {
            let answer = question.answer.clone()?;
            Some((question.question.clone(), answer))
        });
        let last = self.projection.latest_pass();
        Some(JudgeTask {
            run: self.id.clone(),
            name: name.clone(),
            instructions: request.instructions.clone(),
            task: request.task.clone(),
            clarifications: answered.collect(),
            rejected: last.map(|pass| (pass.brief.clone(), pass.verdict.clone())),
            model: model.clone(),
            within: request.clocks.routing,
        })
    }

    fn ask_user(&mut self, question: String, ctx: &mut Context<Self>) {
        let within = self.request().map_or(ASK, |request| request.clocks.question);
        let (port, run) = (self.ports.ask_user.clone(), self.id.clone());
        let asked = async move { port.ask_again(AskUser { run, question }, within).await };
        self.effect(asked, ctx, |run, reply, ctx| match reply {
            Ok(Ok(answer)) => run.record(vec![Step::QuestionAnswered { answer }], ctx),
            Ok(Err(HostError::Gone)) => run.facts.question_failed = Some(QuestionFailure::HostGone),
            Ok(Err(HostError::NobodyThere | HostError::Refused(_))) => {
                run.facts.question_failed = Some(QuestionFailure::NobodyThere);
            }
            Err(_) => run.facts.question_failed = Some(QuestionFailure::TimedOut),
        });
    }

    fn await_room(&mut self, ctx: &mut Context<Self>) {
        let (port, run) = (self.ports.room.clone(), self.id.clone());
        // Room comes when another run ends, and every run ends: the wait is bounded by theirs.
        let within = Duration::from_secs(24 * 3600);
        self.effect(
            async move { port.ask_again(AskForRoom { run }, within).await },
            ctx,
            |run, reply, ctx| match reply {
                Ok(()) => run.admitted(ctx),
                Err(error) => ctx.fail(format!("get room: {error:?}")),
            },
        );
    }

    fn admitted(&mut self, ctx: &mut Context<Self>) {
        self.facts.has_room = true;
        let Some(request) = self.request() else { return };
        let spent = self.projection.attempts.first().map_or(0, |first| {
            self.tools.clock.now().0.saturating_sub(first.started_at_ms)
        });
        let left = request.clocks.total.saturating_sub(Duration::from_millis(spent));
        ctx.notify_after(left, TotalClockDue);
        if self.projection.admitted_in != Some(self.generation) {
            self.record(vec![Step::Admitted], ctx);
        }
    }

    fn prepare_attempt(
        &mut self,
        number: AttemptNumber,
        model: String,
        wait: Duration,
        from: StartFrom,
        ctx: &mut Context<Self>,
    ) {
        self.effect(tokio::time::sleep(wait), ctx, move |run, (), ctx| {
            let Some(seed) = run.attempt_seed(number, model.clone(), from) else {
                return;
            };
            let step = Step::AttemptStarted {
                attempt: number,
                model,
                runner: seed.request.runner.clone(),
                session_file: Some(run.session_file()),
                resumes_session: from != StartFrom::Scratch,
            };
            run.facts.live_attempt = Some(number);
            run.record_then(
                vec![step],
                Box::new(move |run, ctx| run.start_attempt(seed, ctx)),
                ctx,
            );
        });
    }

    fn session_file(&self) -> String {
        self.tools
            .sessions
            .join(format!("{}.jsonl", self.id))
            .to_string_lossy()
            .into_owned()
    }

    fn attempt_seed(&self, number: AttemptNumber, model: String, from: StartFrom) -> Option<AttemptSeed> {
        let resume = match from {
            StartFrom::Scratch => None,
            StartFrom::Session | StartFrom::SessionToldOfCutTool => {
                Some(describe_interruption(&self.projection, Interruption::Lost))
            }
            StartFrom::EarlierRun => self.request()?.continues.clone(),
        };
        Some(AttemptSeed {
            run: self.id.clone(),
            number,
            model,
            resume,
            request: self.request()?.clone(),
            brief: self.projection.brief.clone()?,
        })
    }

    fn start_attempt(&mut self, seed: AttemptSeed, ctx: &mut Context<Self>) {
        let grown = (self.tools.grow_attempt)(seed);
        self.stop_attempt = Some(grown.stop);
        let nursery = self.ports.attempts.clone();
        let on_exit = self.ports.attempt_exited.clone();
        ctx.spawn_then(
            async move { nursery.start(grown.spec, Some(on_exit)).await },
            |run, started, ctx| {
                if let Err(error) = started {
                    tracing::warn!(run.id = %run.id, ?error, "attempt not started");
                    run.facts.live_attempt = None;
                    run.move_on(ctx);
                }
            },
        );
    }

    fn let_attempt_run(&mut self, stop_as: Option<AttemptEnding>) {
        let (Some(stop_as), Some(attempt)) = (stop_as, &self.stop_attempt) else {
            return;
        };
        if self.stop_sent.is_none() && attempt.tell(StopAttempt { stop_as }).is_ok() {
            self.stop_sent = Some(stop_as);
        }
    }

    fn settle_lost_attempt(&mut self, number: AttemptNumber, ctx: &mut Context<Self>) {
        let contain = self.contain();
        self.effect(contain, ctx, move |run, proof, ctx| {
            let mut steps = run.cut_off_tools(number);
            steps.push(Step::AttemptEnded {
                attempt: number,
                ending: AttemptEnding::Lost,
                detail: String::new(),
                partial: None,
                proof,
            });
            run.record(steps, ctx);
        });
    }

    fn cut_off_tools(&self, number: AttemptNumber) -> Vec<Step> {
        let attempt = self
            .projection
            .attempts
            .iter()
            .find(|attempt| attempt.number == number);
        let in_flight = attempt.into_iter().flat_map(|attempt| attempt.tools_in_flight());
        let cut = in_flight.filter(|tool| tool.replay == Replay::Unsafe);
        cut.map(|tool| Step::ToolIndeterminate {
            attempt: number,
            call: tool.call.clone(),
            tool: tool.tool.clone(),
        })
        .collect()
    }

    /// Observes that nothing of this run is left.
    fn contain(&self) -> impl std::future::Future<Output = Proof> + 'static {
        let runner = self
            .request()
            .and_then(|request| (self.tools.runner)(&request.runner));
        let grace = self
            .request()
            .map_or(Duration::from_secs(2), |request| request.clocks.grace);
        let run = self.id.clone();
        async move {
            match runner {
                Some(runner) => runner.contain(&run, grace).await,
                None => Proof {
                    method: impresario_policies::domain::Containment::InProcess,
                    no_children: true,
                    processes_left: 0,
                },
            }
        }
    }

    fn end(&mut self, state: TerminalState, reason: Option<Reason>, ctx: &mut Context<Self>) {
        let (contain, trace) = (self.contain(), self.ports.trace.clone());
        let of_last = self
            .projection
            .latest_attempt()
            .and_then(|last| last.ended.as_ref());
        let of_last = of_last.map(|ended| ended.proof.clone());
        let write_trace = WriteTrace {
            state,
            reason: reason.clone(),
        };
        let work = async move {
            let proof = seal(of_last, contain.await);
            if let Err(error) = trace.ask_again(write_trace, ASK).await {
                tracing::warn!(?error, "trace not written");
            }
            proof
        };
        self.effect(work, ctx, move |run, proof, ctx| {
            run.record(vec![Step::Ended { state, reason, proof }], ctx)
        });
    }

    fn deliver(&mut self, ctx: &mut Context<Self>) {
        let here = self
            .request()
            .is_some_and(|request| (self.tools.host_is_here)(request));
        let Some(delivery) = self.delivery().filter(|_| here) else {
            return self.rest(ctx);
        };
        let port = self.ports.deliver.clone();
        let message = DeliverResult {
            delivery,
            look_first: self.projection.deliveries > 0,
        };
        let deliver = async move { port.ask_again(message, ASK).await };
        self.effect(deliver, ctx, |run, reply, ctx| match reply {
            Ok(Ok(DeliveryReceipt::Kept)) => {
                run.record(vec![Step::Delivered, Step::DeliveryAcknowledged], ctx);
            }
            Ok(Ok(DeliveryReceipt::Shown)) => {
                run.record_then(vec![Step::Delivered], Box::new(|run, ctx| run.rest(ctx)), ctx);
            }
            Ok(Err(_)) | Err(_) => run.rest(ctx),
        });
    }

    fn delivery(&self) -> Option<Delivery> {
        let ended = self.projection.ended.as_ref()?;
        let last_words = || self.projection.latest_attempt()?.ended.as_ref()?.partial.clone();
        Some(Delivery {
            run: self.id.clone(),
            state: ended.state,
            answer: self.projection.answer.clone().or_else(last_words),
            reason: ended.reason.clone(),
        })
    }

    /// Nothing more can be done here: says so, and is gone.
    fn rest(&mut self, ctx: &mut Context<Self>) {
        if let Some(end) = &self.projection.ended {
            let parked = end.state == TerminalState::Parked;
            (self.tools.clear_away)(&self.id, if parked { KeepSession::Yes } else { KeepSession::No });
        }
        let (closed, run) = (self.ports.closed.clone(), self.id.clone());
        let work = async move { closed.ask_again(RunClosed { run }, ASK).await };
        self.effects_begun += 1;
        self.busy = Some(self.effects_begun);
        ctx.spawn_then(work, |_, _, ctx| ctx.stop());
    }
}

/// How an attempt is called among the children of its run.
pub fn attempt_name(run: &RunId, number: AttemptNumber) -> String {
    format!("attempt {run}.{number}")
}

/// The last attempt's proof says how its processes were held; what was seen now says that none is left.
fn seal(of_last_attempt: Option<Proof>, seen_now: Proof) -> Proof {
    match of_last_attempt {
        Some(proven) if proven.no_children => Proof {
            processes_left: seen_now.processes_left,
            ..proven
        },
        Some(_) | None => seen_now,
    }
}

/// What the host gets of an answer.
fn review(answer: &str, units_max: usize) -> String {
    let settings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: true,
        units_max,
    };
    sanitize_output(answer, &settings).text.into_owned()
}
