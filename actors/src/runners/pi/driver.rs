//! Drives one nested Pi from its prompt to its end: one task, one loop, every wait bounded by somebody's clock.
//!
//! Reads as fast as the attempt takes events, never faster. Speaks RPC on the program's stdin. When the run is over
//! it closes stdin, gives Pi a moment to leave, stops what is left, and only then says how it ended.

use super::calls::Calls;
use super::gate::{self, Answered, Question};
use super::pool::{History, Worker, WorkerPool};
use super::reader::{Dialog, EventReader, Response, Seen};
use super::summary::one_line;
use super::told::{Messages, MessagesBefore};
use super::wire::Command;
use crate::gateways::{EndFacts, Overrun, RunnerEvent, RunnerEvents, ToolGate};
use crate::processes::StderrTail;
use crate::processes::{ContainedProcess, ExitFacts, RUN_MARKER, Streams};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use impresario_policies::attempt_ending::read_ending;
use impresario_policies::domain::{AttemptEnding, Proof, RunId, RunMessage};
use impresario_policies::run_messages::told;
use impresario_policies::tool_call::CALLS_IN_A_REPLY_MAX;
use impresario_policies::worker_pool::PoolDecision;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// So much of the title of a dialog that is refused is kept.
const DIALOG_CHARACTERS_MAX: usize = 200;
/// With so many events waiting for the attempt, Pi has to wait too.
const EVENTS_WAITING_MAX: usize = 64;
/// With so many questions of the child extension open, Pi has to wait too.
const QUESTIONS_OPEN_MAX: usize = 64;
/// One `Text` event holds no more than this when several are put together.
const TEXT_BYTES_MAX: usize = 256 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;
/// A Pi that does not read what we say is not left to fill our memory.
const UNSAID_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long Pi may take to leave by itself when its work is done, or to say that it is.
const LEAVING: Duration = Duration::from_secs(2);
/// How long to wait before a Pi that is not settled is asked again.
const PROBE_AGAIN: Duration = Duration::from_millis(50);
/// How long Pi may take to end a run that it was told to abort.
const ABORTING: Duration = Duration::from_secs(2);
/// How long the pipes of a process that is gone may take to run dry.
const DRAINING: Duration = Duration::from_secs(1);

const PROMPT_ID: &str = "prompt";
const ABORT_ID: &str = "abort";
const ABORT_RETRY_ID: &str = "abort_retry";

/// What the owner of the attempt orders.
#[derive(Debug)]
pub(super) enum Order {
    /// Begin nothing more and end by yourself.
    Cancel,
    /// Tell it this before its next call of the model.
    Tell(RunMessage),
    /// Stop within this grace and say what was observed.
    Stop(Duration, oneshot::Sender<Proof>),
}

/// Whose worker a process is that may serve another run after this one.
pub(super) struct Employment {
    pub pool: WorkerPool,
    pub history: History,
    pub run: RunId,
}

/// What a driver works with.
pub(super) struct Assignment {
    pub process: Rc<ContainedProcess>,
    /// None for a process that serves this run only.
    pub employment: Option<Employment>,
    pub streams: Streams,
    pub prompt: String,
    /// What the run was told before, and where that stands.
    pub messages: MessagesBefore,
    pub grace: Duration,
    pub events: RunnerEvents,
    pub orders: mpsc::UnboundedReceiver<Order>,
    pub gate: Rc<dyn ToolGate>,
    /// What it reads has anchors, by which it edits.
    pub anchored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The run is under way, or about to be.
    Working,
    /// The run may be over; Pi was asked, or will be again.
    Settling {
        until: Instant,
        again: Option<Instant>,
    },
    /// Pi was told to abort.
    Aborting {
        until: Instant,
    },
    /// The run is over; whether anything but Pi itself is left is being looked at.
    Looking,
    Leaving {
        until: Instant,
    },
    /// Pi is being stopped.
    Stopping,
    /// Nothing is left of it; the pipes run dry.
    Draining {
        until: Instant,
    },
}

enum Wake {
    Order(Option<Order>),
    Gone(Proof),
    Exited(ExitFacts),
    Looked(bool),
    Due,
    Taken(Result<(), ()>),
    Answered(Answered),
    Said(std::io::Result<usize>),
    Heard(usize),
    Complained(usize),
}

/// Drives to the end. Returns early only when the owner went away.
pub(super) async fn drive(assignment: Assignment) {
    let before = assignment.messages.clone();
    Driver::new(assignment).run(before).await;
}

struct Driver {
    /// None once it belongs to the pool again.
    process: Option<Rc<ContainedProcess>>,
    employment: Option<Employment>,
    /// What lets a call of the model begin.
    /// What a call of the model gives to everything that is started from then on.
    marked: Rc<BTreeMap<String, String>>,
    look: Option<LocalBoxFuture<'static, bool>>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    chunk: Box<[u8]>,
    complaint: Box<[u8]>,
    events: RunnerEvents,
    orders: mpsc::UnboundedReceiver<Order>,
    gate: Rc<dyn ToolGate>,
    anchored: bool,
    grace: Duration,
    phase: Phase,
    reader: EventReader,
    seen: Vec<Seen>,
    /// Events the attempt has not taken yet.
    waiting: VecDeque<RunnerEvent>,
    /// What Pi has not been told yet.
    unsaid: Vec<u8>,
    said: usize,
    questions: FuturesUnordered<LocalBoxFuture<'static, Answered>>,
    calls: Calls,
    messages: Messages,
    /// Handles of results that were kept aside, by call.
    kept: BTreeMap<String, String>,
    probes: u32,
    stop: Option<LocalBoxFuture<'static, Proof>>,
    exited: Option<LocalBoxFuture<'static, ExitFacts>>,
    stop_ordered: bool,
    /// The calls of a reply that has more than it may.
    calls_too_many: Option<u64>,
    /// Why a call of the model was not let in.
    over_budget: Option<String>,
    /// Stopping began before its exit was seen.
    killed_by_us: bool,
    exit: Option<ExitFacts>,
    proof: Option<Proof>,
    asked_for_proof: Vec<oneshot::Sender<Proof>>,
    tail: StderrTail,
}

impl Driver {
    fn new(assignment: Assignment) -> Self {
        let process = assignment.process;
        let watched = process.clone();
        let mark = assignment.employment.as_ref();
        let marked = mark.map(|employment| (RUN_MARKER.to_string(), employment.run.to_string()));
        let prompt = Command::Prompt {
            id: PROMPT_ID,
            message: &assignment.prompt,
        };
        Self {
            exited: Some(Box::pin(async move { watched.exited().await })),
            process: Some(process),
            employment: assignment.employment,
            marked: Rc::new(marked.into_iter().collect()),
            look: None,
            stdin: Some(assignment.streams.stdin),
            stdout: Some(assignment.streams.stdout),
            stderr: Some(assignment.streams.stderr),
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            complaint: vec![0; 4 * 1024].into_boxed_slice(),
            events: assignment.events,
            orders: assignment.orders,
            gate: assignment.gate,
            anchored: assignment.anchored,
            grace: assignment.grace,
            phase: Phase::Working,
            reader: EventReader::default(),
            seen: Vec::new(),
            waiting: VecDeque::new(),
            unsaid: prompt.to_line(),
            said: 0,
            questions: FuturesUnordered::new(),
            calls: Calls::default(),
            messages: Messages::default(),
            kept: BTreeMap::new(),
            probes: 0,
            stop: None,
            stop_ordered: false,
            calls_too_many: None,
            over_budget: None,
            killed_by_us: false,
            exit: None,
            proof: None,
            asked_for_proof: Vec::new(),
            tail: StderrTail::default(),
        }
    }

    async fn run(mut self, before: MessagesBefore) {
        self.waiting.extend(self.messages.begin(before));
        if self.messages.wants_an_answer() {
            self.reader.listen();
        }
        loop {
            let wake = self.wait().await;
            match wake {
                Wake::Order(None) => return,
                Wake::Order(Some(order)) => self.obey(order),
                Wake::Gone(proof) => self.gone(proof),
                Wake::Exited(exit) => self.left(exit),
                Wake::Looked(is_alone) => self.looked(is_alone),
                Wake::Due => self.due(),
                Wake::Taken(Ok(())) => {}
                Wake::Taken(Err(())) => return self.nobody_listens().await,
                Wake::Answered(answered) => self.answered(answered),
                Wake::Said(said) => self.said(said),
                Wake::Heard(bytes) => self.heard(bytes),
                Wake::Complained(bytes) => self.complained(bytes),
            }
            if self.is_done() {
                break;
            }
        }
        self.conclude().await;
    }

    fn is_done(&self) -> bool {
        let dry = self.stdout.is_none() && self.stderr.is_none();
        match self.phase {
            Phase::Draining { until } => dry || Instant::now() >= until,
            Phase::Working
            | Phase::Settling { .. }
            | Phase::Aborting { .. }
            | Phase::Looking
            | Phase::Leaving { .. }
            | Phase::Stopping => false,
        }
    }

    // ---- waiting

    async fn wait(&mut self) -> Wake {
        let due = self.deadline();
        let listens = self.waiting.len() < EVENTS_WAITING_MAX && self.questions.len() < QUESTIONS_OPEN_MAX;
        // What a dying process still says is read whether or not somebody takes it; it is not much.
        let reads = listens || matches!(self.phase, Phase::Stopping | Phase::Draining { .. });
        let unsaid = &self.unsaid[self.said..];
        tokio::select! {
            biased;
            order = self.orders.recv() => Wake::Order(order),
            proof = ready(&mut self.stop) => Wake::Gone(proof),
            permit = self.events.reserve(), if !self.waiting.is_empty() => match (permit, self.waiting.pop_front()) {
                (Ok(permit), Some(event)) => {
                    permit.send(event);
                    Wake::Taken(Ok(()))
                }
                (Ok(_), None) => Wake::Taken(Ok(())),
                (Err(_), _) => Wake::Taken(Err(())),
            },
            Some(answered) = self.questions.next(), if !self.questions.is_empty() => Wake::Answered(answered),
            said = write_some(&mut self.stdin, unsaid), if !unsaid.is_empty() => Wake::Said(said),
            bytes = read_some(&mut self.stdout, &mut self.chunk), if reads => Wake::Heard(bytes),
            bytes = read_some(&mut self.stderr, &mut self.complaint) => Wake::Complained(bytes),
            exit = ready(&mut self.exited) => Wake::Exited(exit),
            is_alone = ready(&mut self.look) => Wake::Looked(is_alone),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Wake::Due,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Working | Phase::Looking | Phase::Stopping => None,
            Phase::Settling { until, again } => Some(again.unwrap_or(until)),
            Phase::Aborting { until } | Phase::Leaving { until } | Phase::Draining { until } => Some(until),
        }
    }

    // ---- what happened

    fn obey(&mut self, order: Order) {
        match order {
            Order::Cancel => self.cancel(),
            Order::Tell(message) => {
                self.messages.hold(message);
                self.tell_held();
            }
            Order::Stop(grace, reply) => {
                if let Some(proof) = &self.proof {
                    // The asker may have gone meanwhile.
                    let _ = reply.send(proof.clone());
                    return;
                }
                self.asked_for_proof.push(reply);
                self.note_stop_ordered();
                self.stop_within(grace);
            }
        }
    }

    /// Once Pi runs, it is told to abort. Before that an abort would be lost, and the run would begin after it.
    fn cancel(&mut self) {
        self.note_stop_ordered();
        match self.phase {
            Phase::Working if self.reader.is_running() => {
                self.say(&Command::Abort { id: ABORT_ID });
                self.phase = Phase::Aborting {
                    until: Instant::now() + ABORTING,
                };
            }
            Phase::Working => self.stop_within(self.grace),
            Phase::Settling { .. }
            | Phase::Aborting { .. }
            | Phase::Looking
            | Phase::Leaving { .. }
            | Phase::Stopping
            | Phase::Draining { .. } => {}
        }
    }

    fn note_stop_ordered(&mut self) {
        if !self.reader.is_over() && self.exit.is_none() {
            self.stop_ordered = true;
        }
    }

    fn due(&mut self) {
        match self.phase {
            Phase::Settling {
                until,
                again: Some(_),
            } if Instant::now() < until => self.probe(until),
            Phase::Settling { .. } => self.let_go(),
            Phase::Aborting { .. } | Phase::Leaving { .. } => self.stop_within(self.grace),
            Phase::Working | Phase::Looking | Phase::Stopping | Phase::Draining { .. } => {}
        }
    }

    fn left(&mut self, exit: ExitFacts) {
        self.exit = Some(exit);
        self.exited = None;
        self.stop_within(self.grace);
    }

    fn gone(&mut self, proof: Proof) {
        self.stop = None;
        self.look = None;
        if let Some(employment) = self.employment.take() {
            employment.pool.served(&employment.run);
        }
        for asker in self.asked_for_proof.drain(..) {
            // The asker may have gone meanwhile.
            let _ = asker.send(proof.clone());
        }
        self.proof = Some(proof);
        self.stdin = None;
        self.phase = Phase::Draining {
            until: Instant::now() + DRAINING,
        };
    }

    fn heard(&mut self, bytes: usize) {
        if bytes == 0 {
            self.stdout = None;
            self.reader.finish(&mut self.seen);
        } else {
            self.reader.feed(&self.chunk[..bytes], &mut self.seen);
        }
        for seen in std::mem::take(&mut self.seen) {
            self.take(seen);
        }
        self.tell_held();
        if !self.reader.is_over() && matches!(self.phase, Phase::Settling { .. }) {
            self.phase = Phase::Working;
        }
        if bytes == 0 && self.phase == Phase::Working {
            // A Pi that closes its stdout has nothing more to say, alive or not.
            self.let_go();
        }
    }

    /// Before its run is under way a Pi would take it for a part of the prompt or for nothing; a run that is over hears
    /// nothing any more.
    fn tell_held(&mut self) {
        if self.phase != Phase::Working || !self.reader.is_running() {
            return;
        }
        while let Some(message) = self.messages.next_to_say() {
            let (id, text) = (format!("steer-{}", message.id), told(&message));
            self.say(&Command::Steer {
                id: &id,
                message: &text,
            });
        }
    }

    fn complained(&mut self, bytes: usize) {
        if bytes == 0 {
            self.stderr = None;
        } else {
            self.tail.push(&self.complaint[..bytes]);
        }
    }

    fn take(&mut self, seen: Seen) {
        match seen {
            Seen::Event(event) => self.pass_on(event),
            Seen::Calls(count) => {
                self.calls.next_turn();
                self.limit_calls(count);
            }
            Seen::Told(messages) => {
                let told = self.messages.told(&messages);
                self.waiting.extend(told);
            }
            Seen::SaidNext(text) => {
                let replied = self.messages.replied(&text);
                self.waiting.extend(replied);
            }
            Seen::Response(response) => self.take_response(&response),
            Seen::Dialog(dialog) => self.ask_gate(dialog),
            Seen::MaybeSettled => self.ask_whether_settled(),
            Seen::Settled => self.let_go(),
        }
    }

    fn pass_on(&mut self, event: RunnerEvent) {
        let event = match event {
            RunnerEvent::Alive if !self.waiting.is_empty() => return,
            RunnerEvent::Text { delta } => match self.waiting.back_mut() {
                Some(RunnerEvent::Text { delta: before }) if before.len() < TEXT_BYTES_MAX => {
                    before.push_str(&delta);
                    return;
                }
                _ => RunnerEvent::Text { delta },
            },
            RunnerEvent::ToolStarted { call, tool } => {
                let call = self.calls.begin(&call);
                // A reply that was too long to be read is known by its calls only.
                self.limit_calls(self.calls.in_this_turn());
                RunnerEvent::ToolStarted { call, tool }
            }
            RunnerEvent::ToolEnded {
                call,
                is_error,
                bytes,
                preview,
                overflow,
            } => {
                let call = self.calls.end(&call);
                RunnerEvent::ToolEnded {
                    overflow: self.kept.remove(&call).or(overflow),
                    call,
                    is_error,
                    bytes,
                    preview,
                }
            }
            RunnerEvent::RetryAnnounced { .. } => {
                // Retries were switched off; a version where that did not work is told now.
                self.say(&Command::AbortRetry { id: ABORT_RETRY_ID });
                event
            }
            other => other,
        };
        self.waiting.push_back(event);
    }

    fn limit_calls(&mut self, count: usize) {
        if count > CALLS_IN_A_REPLY_MAX && self.calls_too_many.is_none() {
            self.calls_too_many = Some(count as u64);
            self.stop_within(Duration::ZERO);
        }
    }

    /// Versions before 0.80.4 have no word for "nothing follows". They are asked, and their answer comes behind
    /// whatever they announced.
    fn ask_whether_settled(&mut self) {
        if !matches!(
            self.phase,
            Phase::Working | Phase::Settling { .. } | Phase::Aborting { .. }
        ) {
            return;
        }
        self.probe(Instant::now() + LEAVING);
    }

    fn probe(&mut self, until: Instant) {
        self.probes += 1;
        let id = format!("settled-{}", self.probes);
        self.say(&Command::GetState { id: &id });
        self.phase = Phase::Settling { until, again: None };
    }

    fn take_response(&mut self, response: &Response) {
        let Phase::Settling { until, .. } = self.phase else {
            return;
        };
        if response.id != format!("settled-{}", self.probes) {
            return;
        }
        if response.idle == Some(true) {
            self.let_go();
        } else {
            // Pi is tidying up, or something follows that will announce itself.
            let again = Some(Instant::now() + PROBE_AGAIN);
            self.phase = Phase::Settling { until, again };
        }
    }

    fn ask_gate(&mut self, dialog: Dialog) {
        let mut question = gate::read(&dialog);
        if matches!(question, Question::Foreign) {
            tracing::warn!(title = dialog.title, "a dialog in a nested Pi was refused");
            self.pass_on(RunnerEvent::Unread {
                line: one_line(&dialog.title, DIALOG_CHARACTERS_MAX),
                why: format!("a dialog ({}) that nobody sees there was refused", dialog.method),
            });
        }
        match &mut question {
            Question::Start(Some(asked)) => asked.call = self.calls.ask(&asked.call),
            Question::Result(Some(asked)) => asked.call = self.calls.shown(&asked.call),
            Question::OwnTool(Some(asked)) => asked.call = self.calls.shown(&asked.call),
            Question::Start(None)
            | Question::Result(None)
            | Question::WhyNot(_)
            | Question::Call(_)
            | Question::OwnTool(None)
            | Question::Foreign
            | Question::Notice => {}
        }
        let stopping = self.stop_ordered || self.calls_too_many.is_some();
        let answer = gate::answer(
            dialog,
            question,
            stopping,
            self.marked.clone(),
            self.anchored,
            self.gate.clone(),
        );
        self.questions.push(Box::pin(answer));
    }

    fn answered(&mut self, answered: Answered) {
        self.kept.extend(answered.kept);
        if let Some(why) = answered.over_budget {
            self.over_budget.get_or_insert(why);
        }
        self.say_line(&answered.line);
    }

    // ---- what follows

    /// The run is over. A worker may have others to serve.
    fn let_go(&mut self) {
        if matches!(
            self.phase,
            Phase::Looking | Phase::Leaving { .. } | Phase::Stopping | Phase::Draining { .. }
        ) {
            return;
        }
        self.reader.settle();
        let Some(process) = self.process.clone().filter(|_| self.employment.is_some()) else {
            return self.leave();
        };
        self.look = Some(Box::pin(async move { process.is_alone().await }));
        self.phase = Phase::Looking;
    }

    /// Pi leaves by itself when its stdin ends.
    fn leave(&mut self) {
        self.stdin = None;
        self.phase = Phase::Leaving {
            until: Instant::now() + LEAVING,
        };
    }

    fn looked(&mut self, is_alone: bool) {
        self.look = None;
        if self.phase != Phase::Looking {
            return;
        }
        match self.give_back(is_alone) {
            Some(proof) => self.gone(proof),
            None => self.leave(),
        }
    }

    /// Gives a worker back that is fit for another run. What was seen of it is the proof of this one: nothing is left
    /// that the run started.
    fn give_back(&mut self, is_alone: bool) -> Option<Proof> {
        let (employment, process) = (self.employment.as_ref()?, self.process.clone()?);
        let decision = employment
            .pool
            .decide(&employment.history, &process, self.ended_cleanly(), is_alone);
        if decision != PoolDecision::Keep {
            return None;
        }
        let streams = Streams {
            stdin: self.stdin.take()?,
            stdout: self.stdout.take()?,
            stderr: self.stderr.take()?,
        };
        let proof = Proof {
            method: process.containment(),
            no_children: true,
            processes_left: 0,
        };
        // Nothing of this driver keeps the process alive from here on.
        (self.process, self.exited) = (None, None);
        employment.pool.keep(Worker {
            process,
            streams,
            history: employment.history.clone(),
        });
        Some(proof)
    }

    /// The answer is there, nobody stopped anything, and nothing is on its way in either direction.
    fn ended_cleanly(&self) -> bool {
        let is_open = self.stdin.is_some() && self.stdout.is_some() && self.stderr.is_some();
        let is_silent = self.unsaid.is_empty() && self.questions.is_empty() && self.messages.is_all_told();
        let is_free = !self.stop_ordered && self.over_budget.is_none() && self.exit.is_none();
        is_open && is_silent && is_free && read_ending(&self.reader.facts()) == AttemptEnding::Answered
    }

    fn stop_within(&mut self, grace: Duration) {
        if self.proof.is_some() {
            return;
        }
        let Some(process) = self.process.clone() else {
            return;
        };
        self.killed_by_us |= self.exit.is_none();
        // Asked again, the process takes the shorter grace.
        self.stop = Some(Box::pin(async move { process.stop(grace).await }));
        self.phase = Phase::Stopping;
    }

    fn say(&mut self, command: &Command<'_>) {
        self.say_line(&command.to_line());
    }

    fn say_line(&mut self, line: &[u8]) {
        if self.stdin.is_none() {
            return;
        }
        if self.unsaid.len() - self.said + line.len() > UNSAID_BYTES_MAX {
            self.stop_within(self.grace);
            return;
        }
        self.unsaid.extend_from_slice(line);
    }

    fn said(&mut self, said: std::io::Result<usize>) {
        match said {
            Ok(bytes) if bytes > 0 => self.said += bytes,
            // Pi does not listen any more; its exit or its silence tells the rest.
            Ok(_) | Err(_) => self.stdin = None,
        }
        if self.said >= self.unsaid.len() || self.stdin.is_none() {
            self.unsaid.clear();
            self.said = 0;
        }
    }

    // ---- the end

    async fn conclude(mut self) {
        // Its exit may have come together with the proof that nothing is left.
        let late = self.exited.take().and_then(FutureExt::now_or_never);
        let exit = self.exit.or(late).unwrap_or_default();
        let processes = exit.processes.map(|count| Overrun::Processes(count.into()));
        let facts = EndFacts {
            overrun: self.calls_too_many.map(Overrun::Calls).or(processes),
            over_budget: self.over_budget.take(),
            keeper_died: exit.keeper_died,
            killed_by_us: self.killed_by_us,
            stop_ordered: self.stop_ordered,
            exit_code: exit.code,
            exit_signal: exit.signal,
            stderr_tail: self.tail.text(),
            ..self.reader.facts()
        };
        self.waiting.push_back(RunnerEvent::Ended(facts));
        while let Some(event) = self.waiting.pop_front() {
            if !self.hand_over(event).await {
                return;
            }
        }
        // The proof stays to be asked for as long as there is an owner.
        while let Some(order) = self.orders.recv().await {
            self.obey(order);
        }
    }

    /// Hands an event over, still answering orders; false when nobody is left to take it.
    async fn hand_over(&mut self, event: RunnerEvent) -> bool {
        let events = self.events.clone();
        let sending = events.send(event);
        tokio::pin!(sending);
        loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    Some(order) => self.obey(order),
                    None => return false,
                },
                sent = &mut sending => return sent.is_ok(),
            }
        }
    }

    /// The attempt stopped listening but still owns us: what runs is stopped, and only orders are answered.
    async fn nobody_listens(mut self) {
        self.note_stop_ordered();
        self.waiting.clear();
        if let (None, Some(process)) = (&self.proof, &self.process) {
            let proof = process.stop(self.grace).await;
            self.gone(proof);
        }
        while let Some(order) = self.orders.recv().await {
            self.obey(order);
        }
    }
}

async fn ready<T>(future: &mut Option<LocalBoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn write_some(stdin: &mut Option<ChildStdin>, bytes: &[u8]) -> std::io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(bytes).await,
        None => Ok(0),
    }
}

/// Zero bytes mean that nothing more comes, for whatever reason.
async fn read_some(stream: &mut Option<impl AsyncRead + Unpin>, chunk: &mut [u8]) -> usize {
    match stream {
        Some(stream) => stream.read(chunk).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}
