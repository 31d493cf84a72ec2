//! One run, from acceptance to its one terminal state.
//!
//! Receives what its attempt has for the journal ([`RecordSteps`], [`AttemptOver`]), wishes to cancel or park, and notes
//! to itself. Asks the journal, the judge, the host and the sub-agent supervisor. What comes next is decided by
//! [`decide_next_action`](impresario_policies::next_action::decide_next_action) from the journal's steps alone, so an incarnation that begins in the middle goes on from there.

mod actions;
mod chain;
mod gate;
mod models;
mod telling;
mod unwritable;
mod worktree;
mod writing;

use crate::event_feed::EventFeed;
use crate::gateways::{FileLooks, Gates, Login, LoginId, SubAgentRunner, WallClock, Worktrees};
use crate::journal::Row;
use crate::messages::cool_downs::{AskForModel, GivenModel, ModelHeard};
use crate::messages::journal::{Commit, ReadRun, ReadRuns};
use crate::messages::run::{
    AskForRoom, AttemptOver, CancelReply, CancelRun, GroupClockDue, MoveDue, ObserveRun, ParkRun,
    RecordRefused, RecordSteps, RunClosed, StopAttempt, TellAttempt, TellReply, TellRun, TotalClockDue,
    WriteTrace,
};
use crate::messages::session::{AskUser, DeliverResult, JudgeTask, ShowNotice, ShowProgress};
use crate::supervision::{Actor, Answer, ChildExited, ChildSpec, Context, DynamicSupervisor, Handles, Port};
use futures_util::future::LocalBoxFuture;
use impresario_policies::budget::Allowance;
use impresario_policies::domain::{
    AttemptEnding, AttemptNumber, Brief, FileState, MessageId, Proof, Reason, RunId, RunMessage, RunRequest,
    Step,
};
use impresario_policies::next_action::ActionFacts;
use impresario_policies::projection::RunProjection;
use impresario_policies::run_messages::{MessageDecision, decide_message};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use unwritable::{GivenUp, Trouble};

/// What the run asks of others takes at most so long; longer means that somebody is stuck.
const ASK: Duration = Duration::from_secs(30);

/// Whom a run reaches.
#[derive(Clone)]
pub struct RunPorts {
    pub commit: Port<Commit>,
    pub read: Port<ReadRun>,
    /// Finds the other members of its group.
    pub list: Port<ReadRuns>,
    pub judge: Port<JudgeTask>,
    pub ask_user: Port<AskUser>,
    pub deliver: Port<DeliverResult>,
    /// Which models may be asked.
    pub models: Port<AskForModel>,
    /// The same, for what became of it.
    pub heard: Port<ModelHeard>,
    /// The host, for what may be dropped.
    pub show: Port<ShowProgress>,
    pub notice: Port<ShowNotice>,
    /// The sub-agent supervisor's admission.
    pub room: Port<AskForRoom>,
    /// The sub-agent supervisor, when all is over.
    pub closed: Port<RunClosed>,
    /// The trace recorder of this run.
    pub trace: Port<WriteTrace>,
    /// The same, once the run is over.
    pub observe: Port<ObserveRun>,
    pub attempts: DynamicSupervisor,
    /// This run itself, for attempts that exit.
    pub attempt_exited: Port<ChildExited>,
}

/// What an attempt needs to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptSeed {
    pub run: RunId,
    pub number: AttemptNumber,
    pub model: String,
    /// What the nested session is told when it goes on.
    pub resume: Option<String>,
    pub request: RunRequest,
    pub brief: Brief,
    /// What it may spend.
    pub allowance: Allowance,
    /// What the run was told so far.
    pub messages: Vec<RunMessage>,
}

/// An attempt, ready to be started.
pub struct GrownAttempt {
    pub spec: ChildSpec,
    /// Tells it to stop.
    pub stop: Port<StopAttempt>,
    /// Tells it what the run is told.
    pub tell: Port<TellAttempt>,
}

/// Observes that nothing of a run is left, within a grace.
pub type Contain = Rc<dyn Fn(RunId, Duration) -> LocalBoxFuture<'static, Proof>>;

/// What the run uses that is no actor.
#[derive(Clone)]
pub struct RunTools {
    /// Makes an attempt; the wiring knows how.
    pub grow_attempt: Rc<dyn Fn(AttemptSeed) -> GrownAttempt>,
    /// Finds the runner by name.
    pub runner: Rc<dyn Fn(&str) -> Option<Rc<dyn SubAgentRunner>>>,
    /// Tells logins of a provider apart, and knows none.
    pub login_id: Rc<dyn Fn(&str, &Login) -> LoginId>,
    /// Makes sure that nothing carries the mark of a run any more: its runner knows only of what it started itself.
    pub contain: Contain,
    /// Makes git worktrees, and patches of them.
    pub worktrees: Rc<dyn Worktrees>,
    /// Runs commands of gates.
    pub gates: Rc<dyn Gates>,
    /// Looks at the files of calls that were cut off.
    pub files: Rc<dyn FileLooks>,
    /// Where durable steps are announced.
    pub feed: EventFeed,
    /// For the `at` of steps.
    pub clock: Rc<dyn WallClock>,
    /// Whether the host that asked for this run is the one we have.
    pub host_is_here: Rc<dyn Fn(&RunId, &RunRequest) -> bool>,
    /// Removes the files of a run that is over; its nested session stays where somebody may want it.
    pub clear_away: Rc<dyn Fn(&RunId, KeepSession)>,
    /// The directory for nested sessions, below the state directory.
    pub sessions: std::path::PathBuf,
}

/// Whether a nested session outlives its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepSession {
    /// Somebody may go on with it, or read it.
    Yes,
    /// Nobody will look at it.
    No,
}

pub struct Run {
    id: RunId,
    generation: u64,
    ports: RunPorts,
    tools: RunTools,
    projection: RunProjection,
    facts: ActionFacts,
    stop_attempt: Option<Port<StopAttempt>>,
    tell_attempt: Option<Port<TellAttempt>>,
    /// Messages on their way to the disk.
    accepting: BTreeSet<MessageId>,
    stop_sent: Option<AttemptEnding>,
    /// What the attempt under way runs on, as it was given.
    given: Option<GivenModel>,
    /// Stops the command of the gate.
    stop_gate: Option<CancellationToken>,
    /// A pass of the judge is wanted; dropped, its calls of the model are given up.
    judging: Option<DropGuard>,
    loaded: bool,
    /// An effect is under way; its result carries the number it was begun with.
    busy: Option<u64>,
    effects_begun: u64,
    /// Git is at work for this run: that is waited for, whatever is wished meanwhile.
    at_worktree: bool,
    /// Its end is on its way to the disk: nothing may stand behind it.
    is_ending: bool,
    writes: VecDeque<Write>,
    writing: bool,
    /// The write under way fails again and again.
    trouble: Option<Trouble>,
    /// Who wants the run to stop.
    stopped_by: Option<String>,
    /// Nothing is written any more: the run ends without a terminal state on disk.
    given_up: Option<GivenUp>,
}

/// Steps on their way to the journal, and what happens when they are there.
struct Write {
    /// The attempt whose cut-off calls are said with it.
    cut_off: Option<AttemptNumber>,
    /// What their files were when they were looked at, by call.
    seen: BTreeMap<String, FileState>,
    steps: Vec<Step>,
    /// The steps at their places, once it was tried to write them.
    rows: Option<Arc<[Row]>>,
    done: Option<oneshot::Sender<Result<(), RecordRefused>>>,
    then: Option<Then>,
}

impl Write {
    fn of(steps: Vec<Step>) -> Self {
        Self {
            cut_off: None,
            seen: BTreeMap::new(),
            steps,
            rows: None,
            done: None,
            then: None,
        }
    }
}

type Then = Box<dyn FnOnce(&mut Run, &mut Context<Run>)>;

impl Actor for Run {
    const KIND: &'static str = "run";
    const HANDLES: &'static [&'static str] = &[
        "MoveDue",
        "TotalClockDue",
        "GroupClockDue",
        "RecordSteps",
        "AttemptOver",
        "CancelRun",
        "TellRun",
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
            facts: ActionFacts {
                must_park,
                ..ActionFacts::default()
            },
            stop_attempt: None,
            tell_attempt: None,
            accepting: BTreeSet::new(),
            stop_sent: None,
            given: None,
            stop_gate: None,
            judging: None,
            loaded: false,
            busy: None,
            effects_begun: 0,
            at_worktree: false,
            is_ending: false,
            writes: VecDeque::new(),
            writing: false,
            trouble: None,
            stopped_by: None,
            given_up: None,
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

impl Handles<GroupClockDue> for Run {
    fn handle(&mut self, _: GroupClockDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.facts.group_over = true;
        self.interrupt(ctx);
        Answer::now(())
    }
}

// ---- what the attempt has to say

impl Handles<RecordSteps> for Run {
    fn handle(
        &mut self,
        message: RecordSteps,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<(), RecordRefused>> {
        if let Some(refused) = self.refused_for_good() {
            return Answer::now(Err(refused));
        }
        let mut steps = message.steps;
        steps.retain(|step| !self.is_said_already(step));
        if steps.is_empty() {
            return Answer::now(Ok(()));
        }
        if let Some(refused) = steps.iter().find_map(|step| self.may_record(step).err()) {
            return Answer::now(Err(refused));
        }
        let (done, durable) = oneshot::channel();
        self.record_and_answer(steps, done, ctx);
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
        if self.given_up.is_some() && self.facts.live_attempt == Some(over.attempt) {
            self.attempt_is_gone(ctx);
            return Answer::now(());
        }
        if open != Some(over.attempt) {
            return Answer::now(());
        }
        let (done, durable) = oneshot::channel();
        let answered = over.ending == AttemptEnding::Answered;
        let partial = (!answered && !over.answer.is_empty()).then(|| over.answer.clone());
        let mut steps: Vec<Step> = over.calls.into_iter().map(Step::from).collect();
        steps.push(Step::AttemptEnded {
            attempt: over.attempt,
            ending: over.ending,
            detail: over.detail,
            partial,
            whole: over.whole.map(Box::new),
            used: Some(over.used),
            proof: over.proof,
        });
        if answered {
            let flags = self.flag(&over.answer, over.cited.as_ref());
            steps.push(Step::Answered {
                answer: over.answer,
                flags,
            });
        }
        self.facts.live_attempt = None;
        self.stop_attempt = None;
        self.tell_attempt = None;
        self.stop_sent = None;
        self.record_end_of(over.attempt, steps, Some(done), ctx);
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
            if self.given_up.is_some() {
                self.attempt_is_gone(ctx);
                return Answer::now(());
            }
            self.facts.live_attempt = None;
            self.stop_attempt = None;
            self.tell_attempt = None;
            self.stop_sent = None;
            self.move_on(ctx);
        }
        Answer::now(())
    }
}

// ---- wishes from outside

impl Handles<CancelRun> for Run {
    fn handle(&mut self, message: CancelRun, ctx: &mut Context<Self>) -> Answer<Self, CancelReply> {
        if self.projection.ended.is_some() || self.given_up.is_some() {
            return Answer::now(CancelReply::NotUnderWay);
        }
        if self.projection.cancel_requested.is_some() {
            return Answer::now(CancelReply::Cancelling);
        }
        let (done, durable) = oneshot::channel();
        self.stopped_by = Some(message.by.clone());
        self.record_and_answer(vec![Step::CancelRequested { by: message.by }], done, ctx);
        // What is under way hears of it while the disk is busy; what it says of its end is written after the wish.
        self.let_attempt_run(Some(AttemptEnding::Cancelled));
        self.let_gate_run(true);
        Answer::then(durable, |run: &mut Self, _, ctx| {
            run.interrupt(ctx);
            CancelReply::Cancelling
        })
    }
}

impl Handles<TellRun> for Run {
    fn handle(
        &mut self,
        TellRun { message, .. }: TellRun,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, TellReply> {
        if self.given_up.is_some() {
            return Answer::now(TellReply::NotUnderWay);
        }
        if !self.loaded || self.is_ending || self.accepting.contains(&message.id) {
            return Answer::now(TellReply::NotYet);
        }
        match decide_message(&self.projection, &message) {
            MessageDecision::Take => {}
            MessageDecision::TakenBefore => return Answer::now(TellReply::Taken),
            MessageDecision::Refuse(reason) => return Answer::now(TellReply::Refused(reason)),
        }
        let (done, durable) = oneshot::channel();
        self.accepting.insert(message.id.clone());
        let step = Step::MessageAccepted {
            message: Box::new(message.clone()),
        };
        self.record_and_answer(vec![step], done, ctx);
        // Only what is on disk is told: what is told and forgotten would be told again by nobody.
        Answer::then(durable, move |run: &mut Self, written, ctx| {
            run.accepting.remove(&message.id);
            match written {
                Ok(Ok(())) => {
                    run.tell_attempt(message, ctx);
                    TellReply::Taken
                }
                Ok(Err(_)) | Err(_) => TellReply::NotYet,
            }
        })
    }
}

impl Run {
    /// An attempt that is not there yet, or dies before it hears this, has the message from its beginning.
    fn tell_attempt(&self, message: RunMessage, ctx: &mut Context<Self>) {
        if let Some(attempt) = self.tell_attempt.clone() {
            ctx.spawn(async move {
                let _ = attempt.ask_again(TellAttempt { message }, ASK).await;
            });
        }
    }
}

impl Handles<ParkRun> for Run {
    fn handle(&mut self, message: ParkRun, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let asked_before = self.projection.park_requested.is_some();
        if self.projection.ended.is_some() || asked_before || self.given_up.is_some() {
            return Answer::now(());
        }
        let (done, durable) = oneshot::channel();
        self.stopped_by = Some("the host".to_string());
        let reason = message.reason;
        self.record_and_answer(vec![Step::ParkRequested { reason }], done, ctx);
        Answer::then(durable, |run: &mut Self, _, ctx| run.interrupt(ctx))
    }
}

/// How an attempt is called among the children of its run.
pub fn attempt_name(run: &RunId, number: AttemptNumber) -> String {
    format!("attempt {run}.{number}")
}
