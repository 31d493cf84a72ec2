//! The thread that writes. It takes what waits, writes it in one transaction, and answers when it is on disk.
//!
//! It knows nothing of actors, so that a journal actor that is restarted finds the same thread; a write that was in
//! flight is settled by asking again, for a row that stands already counts as written.

use super::store::last_sequence;
use super::{Committed, JournalError, Row, Store};
use impresario_policies::domain::RunId;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

/// So many commits are written in one transaction at most.
const GROUP_MAX: usize = 256;

/// So many requests wait at most; whoever comes then waits for a place.
const WAITING_MAX: usize = 1024;

type Answer<T> = Result<T, JournalError>;

type Work = Box<dyn FnOnce(&mut dyn Store) + Send>;

enum Request {
    Commit(Waiting),
    Claim(Claim),
    Work(Work),
    Close(oneshot::Sender<Answer<()>>),
}

struct Waiting {
    rows: Arc<[Row]>,
    reply: oneshot::Sender<Answer<Committed>>,
}

struct Claim {
    run: RunId,
    generation: u64,
    reply: oneshot::Sender<Answer<u64>>,
}

/// The writing thread and its store. The thread ends on [`Writer::close`], or when nobody can ask it any more.
#[derive(Debug)]
pub struct Writer {
    handle: WriterHandle,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts the thread that owns `store`.
    pub fn start(store: impl Store + 'static) -> std::io::Result<Self> {
        let (sender, requests) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("journal".to_string())
            .spawn(move || serve(store, requests))?;
        Ok(Self {
            handle: WriterHandle { requests: sender },
            thread,
        })
    }

    /// What others hold to ask the thread.
    pub fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Writes what waits, closes the store and ends the thread. Whoever asks later is told that the journal is closed.
    pub async fn close(self) -> Result<(), JournalError> {
        let (reply, closed) = oneshot::channel();
        self.handle.send(Request::Close(reply)).await?;
        let outcome = closed.await.map_err(|_| JournalError::Closed)?;
        // The answer is the thread's last act, so this does not wait. A thread that panicked has said so already.
        let _ = self.thread.join();
        outcome
    }
}

/// What others hold to ask the writing thread. Survives every actor.
#[derive(Debug, Clone)]
pub struct WriterHandle {
    requests: mpsc::Sender<Request>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit(waiting) => write!(f, "Commit({} rows)", waiting.rows.len()),
            Self::Claim(claim) => write!(f, "Claim({})", claim.run),
            Self::Work(_) => f.write_str("Work"),
            Self::Close(_) => f.write_str("Close"),
        }
    }
}

impl WriterHandle {
    /// Writes all of `rows` or none, and returns when they are on disk.
    pub async fn commit(&self, rows: impl Into<Arc<[Row]>>) -> Result<Committed, JournalError> {
        let (reply, answer) = oneshot::channel();
        let rows = rows.into();
        self.send(Request::Commit(Waiting { rows, reply })).await?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    /// Makes this runtime the owner of a run; see [`Store::claim`]. Several that wait are written together.
    pub async fn claim(&self, run: RunId, generation: u64) -> Result<u64, JournalError> {
        let (reply, answer) = oneshot::channel();
        let claim = Claim {
            run,
            generation,
            reply,
        };
        self.send(Request::Claim(claim)).await?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    /// Does `work` with the store, after everything that was asked before.
    pub async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (reply, answer) = oneshot::channel();
        let work = move |store: &mut dyn Store| {
            // Nobody waits any more when the asker died; the work is done all the same.
            let _ = reply.send(work(store));
        };
        self.send(Request::Work(Box::new(work))).await?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    async fn send(&self, request: Request) -> Result<(), JournalError> {
        self.requests
            .send(request)
            .await
            .map_err(|_| JournalError::Closed)
    }
}

fn serve(mut store: impl Store, mut requests: mpsc::Receiver<Request>) {
    let mut next = requests.blocking_recv();
    while let Some(request) = next.take() {
        match request {
            Request::Commit(first) => {
                let (group, after) = gather(first, &mut requests, Request::commit);
                write_group(&mut store, group);
                next = after;
            }
            Request::Claim(first) => {
                let (group, after) = gather(first, &mut requests, Request::claim);
                claim_group(&mut store, group);
                next = after;
            }
            Request::Work(work) => work(&mut store),
            Request::Close(reply) => {
                requests.close();
                let _ = reply.send(store.close());
                return;
            }
        }
        next = next.or_else(|| requests.blocking_recv());
    }
    // Everybody is gone; there is nobody left to hear of a failure.
    let _ = store.close();
}

impl Request {
    fn commit(self) -> Result<Waiting, Self> {
        match self {
            Self::Commit(waiting) => Ok(waiting),
            other => Err(other),
        }
    }

    fn claim(self) -> Result<Claim, Self> {
        match self {
            Self::Claim(claim) => Ok(claim),
            other => Err(other),
        }
    }
}

/// Takes what waits behind `first` and is of its kind, and the request after them when it is of another.
fn gather<T>(
    first: T,
    requests: &mut mpsc::Receiver<Request>,
    of_this_kind: fn(Request) -> Result<T, Request>,
) -> (Vec<T>, Option<Request>) {
    let mut group = vec![first];
    while group.len() < GROUP_MAX {
        match requests.try_recv().map(of_this_kind) {
            Ok(Ok(waiting)) => group.push(waiting),
            Ok(Err(other)) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

fn claim_group(store: &mut impl Store, group: Vec<Claim>) {
    let claims = group.iter().map(|claim| (claim.run.clone(), claim.generation));
    let answers = store.claim_all(&claims.collect::<Vec<_>>());
    for (claim, answer) in group.into_iter().zip(answers) {
        // Nobody waits any more when the asker died; what is ours stays ours, and is said when it is asked again.
        let _ = claim.reply.send(answer);
    }
}

fn write_group(store: &mut impl Store, group: Vec<Waiting>) {
    let groups = group.iter().map(|waiting| &*waiting.rows).collect::<Vec<_>>();
    let together = store.commit_together(&groups);
    // Somebody's rows are bad; they fail alone. When the file is busy, each of them would wait for it as long again.
    let is_of_one = group.len() > 1 && !matches!(together, Ok(()) | Err(JournalError::Busy));
    for Waiting { rows, reply } in group {
        let outcome = match is_of_one {
            true => store.commit(&rows),
            false => together.clone(),
        };
        let through = last_sequence(&rows);
        // Whoever hears of it may take the rows back.
        drop(rows);
        // Nobody waits any more when the asker died; what is written stays written.
        let _ = reply.send(outcome.map(|()| Committed { through }));
    }
}
