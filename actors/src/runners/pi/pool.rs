//! Nested Pis that are kept warm: each serves one run at a time, with a session of its own for each, and waits between.
//!
//! A worker carries its runtime's mark instead of a run's; what its tools start carries the mark of the run. Where a run
//! does not end cleanly, its worker ends with it, seen by the keeper as ever. Where it does, the keeper has seen that
//! nothing but the worker is left of it. Idle workers are owned here and by nobody else: they go when the runner goes.

use super::launch::Launch;
use super::lines::{LineSplitter, Piece};
use super::reader::LINE_BYTES_MAX;
use super::wire::{Command, switched};
use crate::processes::{ContainedProcess, Ending, Part, ProcessSpec, StartError, Streams, contain_part};
use impresario_policies::domain::{Proof, RunId};
use impresario_policies::worker_pool::{
    PoolDecision, PoolSettings, WorkerFacts, count_to_let_go, decide_keeping, waits_for,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

/// A worker that needs longer for another session is not worth waiting for.
const SWITCHING_WITHIN: Duration = Duration::from_secs(5);
const SESSION_ID: &str = "session";
const CHUNK_BYTES: usize = 64 * 1024;

/// A nested Pi that may serve several runs.
pub(super) struct Worker {
    pub process: Rc<ContainedProcess>,
    pub streams: Streams,
    pub history: History,
}

/// What is known of a worker beside its process.
#[derive(Clone)]
pub(super) struct History {
    number: u32,
    launch: Rc<Launch>,
    started: Instant,
    /// The runs it has served, the present one included.
    runs: u32,
}

/// The workers of a runner.
#[derive(Clone)]
pub(super) struct WorkerPool(Rc<Inner>);

struct Inner {
    settings: PoolSettings,
    /// The runtime's id, which workers are marked with.
    runtime: RunId,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    started: u32,
    /// The longest-waiting first.
    idle: Vec<Idle>,
    /// The runs that are being served.
    serving: BTreeMap<RunId, Serving>,
}

/// What serves a run.
enum Serving {
    /// A worker that is being started.
    Starting(Part),
    /// A worker, for as long as somebody owns it, and how it ends.
    Running(Weak<ContainedProcess>, Ending),
}

impl Serving {
    fn running(process: &Rc<ContainedProcess>) -> Self {
        Self::Running(Rc::downgrade(process), process.ending())
    }
}

/// A worker that waits, in a task of its own.
struct Idle {
    history: History,
    wanted: oneshot::Sender<()>,
    handed_over: oneshot::Receiver<Worker>,
    ending: Ending,
}

impl WorkerPool {
    pub(super) fn new(settings: PoolSettings, runtime: RunId) -> Self {
        Self(Rc::new(Inner {
            settings,
            runtime,
            state: RefCell::default(),
        }))
    }

    /// Starts a worker for a run, its first one.
    pub(super) async fn start(
        &self,
        run: &RunId,
        launch: Launch,
        spec: ProcessSpec,
    ) -> Result<Worker, StartError> {
        let number = self.0.next_number();
        let part = Part::Worker(number);
        self.serves(run, Serving::Starting(part));
        let marked = ProcessSpec {
            run: self.0.runtime.clone(),
            part,
            ..spec
        };
        let (process, streams) = ContainedProcess::start(marked).await?;
        let process = Rc::new(process);
        self.serves(run, Serving::running(&process));
        let history = History {
            number,
            launch: Rc::new(launch),
            started: Instant::now(),
            runs: 1,
        };
        Ok(Worker {
            process,
            streams,
            history,
        })
    }

    /// A worker of this launch for a run whose session is in this file; none where nobody waits who could take it.
    pub(super) async fn take(&self, run: &RunId, launch: &Launch, session: &Path) -> Option<Worker> {
        loop {
            let idle = self.0.find_idle(launch)?;
            // One that was asked and has ended hands nothing over; then there may be another.
            if idle.wanted.send(()).is_err() {
                continue;
            }
            let Ok(mut worker) = idle.handed_over.await else {
                continue;
            };
            self.serves(run, Serving::running(&worker.process));
            if timeout(SWITCHING_WITHIN, switch_session(&mut worker.streams, session)).await == Ok(true) {
                worker.history.runs += 1;
                return Some(worker);
            }
            tracing::info!(worker = worker.history.number, "a worker took no other session");
            worker.process.stop(Duration::ZERO).await;
        }
    }

    fn serves(&self, run: &RunId, serving: Serving) {
        self.0.state.borrow_mut().serving.insert(run.clone(), serving);
    }

    /// Sees the end of the worker that serves this run, which ends with it; none where there is no such worker.
    pub(super) async fn end_of_worker(&self, run: &RunId, grace: Duration) -> Option<Proof> {
        let serving = self.0.state.borrow_mut().serving.remove(run)?;
        match serving {
            Serving::Starting(part) => Some(contain_part(self.0.runtime.clone(), part, grace).await),
            Serving::Running(owned, ending) => {
                if let (Err(_), Some(process)) = (timeout(grace, ending.clone()).await, owned.upgrade()) {
                    return Some(process.stop(Duration::ZERO).await);
                }
                ending.await.ok()
            }
        }
    }

    /// The worker of this run is nothing left of it.
    pub(super) fn served(&self, run: &RunId) {
        self.0.state.borrow_mut().serving.remove(run);
    }

    /// Says whether a worker whose run ended is kept.
    pub(super) fn decide(
        &self,
        history: &History,
        process: &ContainedProcess,
        ended_cleanly: bool,
        is_alone: bool,
    ) -> PoolDecision {
        let facts = WorkerFacts {
            ended_cleanly,
            is_alone,
            runs: history.runs,
            resident_bytes: process.pid().and_then(resident_bytes),
            age: history.started.elapsed(),
            is_current: history.launch.is_current(),
        };
        let decision = decide_keeping(&facts, &self.0.settings);
        tracing::debug!(worker = history.number, ?facts, ?decision, "worker's run is over");
        decision
    }

    /// Lets a worker wait for another run.
    pub(super) fn keep(&self, worker: Worker) {
        let age = worker.history.started.elapsed();
        let until = Instant::now() + waits_for(age, &self.0.settings);
        let (wanted, is_wanted) = oneshot::channel();
        let (hand_over, handed_over) = oneshot::channel();
        let idle = Idle {
            history: worker.history.clone(),
            wanted,
            handed_over,
            ending: worker.process.ending(),
        };
        self.0.make_room();
        let number = worker.history.number;
        self.0.state.borrow_mut().idle.push(idle);
        let pool = Rc::downgrade(&self.0);
        tokio::task::spawn_local(async move {
            match wait_for_a_run(worker, is_wanted, until).await {
                // A taker that is gone drops the worker, which stops it.
                Some(worker) => drop(hand_over.send(worker)),
                None => forget(&pool, number),
            }
        });
    }

    /// Lets everybody go who waits, and sees them gone.
    pub(super) async fn let_all_go(&self) {
        let idle = std::mem::take(&mut self.0.state.borrow_mut().idle);
        for Idle { wanted, ending, .. } in idle {
            drop(wanted);
            // Nobody can say more of one that nobody saw the end of.
            let _ = ending.await;
        }
    }
}

impl Inner {
    fn next_number(&self) -> u32 {
        let mut state = self.state.borrow_mut();
        state.started += 1;
        state.started
    }

    /// The one that waited least: what it read last is the most likely to be at hand.
    fn find_idle(&self, launch: &Launch) -> Option<Idle> {
        let mut state = self.state.borrow_mut();
        let place = state
            .idle
            .iter()
            .rposition(|idle| *idle.history.launch == *launch)?;
        Some(state.idle.remove(place))
    }

    fn make_room(&self) {
        let mut state = self.state.borrow_mut();
        let count = count_to_let_go(state.idle.len(), &self.settings);
        // Nobody who could want them any more: they go.
        state.idle.drain(..count);
    }
}

fn forget(pool: &Weak<Inner>, number: u32) {
    if let Some(pool) = pool.upgrade() {
        let mut state = pool.state.borrow_mut();
        state.idle.retain(|idle| idle.history.number != number);
    }
}

/// None when it is wanted no more, has waited long enough, or is not there any more. Whatever it says meanwhile is read
/// and means nothing: nothing is under way.
async fn wait_for_a_run(
    mut worker: Worker,
    mut is_wanted: oneshot::Receiver<()>,
    until: Instant,
) -> Option<Worker> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (said, complained) = chunk.split_at_mut(CHUNK_BYTES / 2);
    loop {
        let process = worker.process.clone();
        let is_open = tokio::select! {
            biased;
            wanted = &mut is_wanted => return wanted.is_ok().then_some(worker),
            _ = process.exited() => false,
            open = read_away(&mut worker.streams.stdout, said) => open,
            open = read_away(&mut worker.streams.stderr, complained) => open,
            () = sleep_until(until) => false,
        };
        if !is_open {
            return None;
        }
    }
}

async fn read_away(stream: &mut (impl AsyncRead + Unpin), chunk: &mut [u8]) -> bool {
    stream.read(chunk).await.is_ok_and(|bytes| bytes > 0)
}

/// Whether the worker went over to the session in this file, which may not be there yet. All that Pi knows of a
/// conversation goes with the session, and what it was started with is applied again to the next.
async fn switch_session(streams: &mut Streams, session: &Path) -> bool {
    let command = Command::SwitchSession {
        id: SESSION_ID,
        session_path: &session.display().to_string(),
    };
    if streams.stdin.write_all(&command.to_line()).await.is_err() {
        return false;
    }
    let mut lines = LineSplitter::new(LINE_BYTES_MAX);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut answer = None;
    while answer.is_none() {
        let Ok(bytes @ 1..) = streams.stdout.read(&mut chunk).await else {
            return false;
        };
        lines.feed(&chunk[..bytes], |piece| match piece {
            Piece::Line(line) => answer = answer.or_else(|| switched(line, SESSION_ID)),
            Piece::TooLong(_) => {}
        });
    }
    answer == Some(true)
}

/// The memory of a process; none when it is gone.
fn resident_bytes(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
