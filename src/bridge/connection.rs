//! One connection: what we send, and whose answer is whose. Used from any thread; never blocks one.
//!
//! Everything has a limit: bytes waiting to be written, requests waiting for an answer, the length of a line, the
//! time until an answer. A plain thread writes, so that a slow host never holds up the runtime.

use super::wire::{ErrorCode, ErrorObject, LINE_BYTES_MAX, MessageId, Notification, Request, RequestCancel};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Bytes that may wait to be written.
const OUTGOING_BYTES_MAX: usize = 4 * LINE_BYTES_MAX;
/// What a line costs at least, so that their number is bounded as well.
const LINE_COST_MIN: usize = 256;
/// Requests of ours that may wait for an answer.
const PENDING_MAX: usize = 1024;
/// What most lines fit into.
const LINE_BYTES_USUAL: usize = 512;
/// The writer gathers what waits up to this size before it writes.
const WRITE_GATHER_BYTES: usize = 64 * 1024;

/// Why a request of ours has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskFailure {
    /// The other end is closed.
    #[error("reach the host: it is gone")]
    Gone,
    /// It did not answer in time.
    #[error("get an answer from the host to {method} within {within:?}")]
    Timeout {
        /// What was asked.
        method: &'static str,
        /// How long we waited.
        within: Duration,
    },
    /// It answered that it cannot.
    #[error("have the host do it: {}", .0.message)]
    Error(ErrorObject),
    /// Its answer does not fit the method.
    #[error("read the host's answer to {method}: {why}")]
    Unreadable {
        /// What was asked.
        method: &'static str,
        /// What does not fit.
        why: String,
    },
    /// What we wanted to say is longer than a line may be.
    #[error("send {method} to the host: {bytes} bytes are more than a line may have")]
    TooLong {
        /// What was asked.
        method: &'static str,
        /// How long it would be.
        bytes: usize,
    },
    /// Too many requests of ours wait already.
    #[error("ask the host for {method}: too many requests wait for it already")]
    Busy {
        /// What was asked.
        method: &'static str,
    },
}

/// What went over a connection, and what did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines read.
    pub lines_read: u64,
    /// Lines that could not be read as a message.
    pub lines_unread: u64,
    /// Messages of ours that were dropped because the host is behind.
    pub dropped: u64,
    /// Events of a type we do not know; kept and counted.
    pub events_unknown: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) lines_read: AtomicU64,
    pub(super) lines_unread: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) events_unknown: AtomicU64,
}

/// A line on its way, and the room it takes until it is written.
struct Line {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// An answer as it goes over the wire: written once, straight from its type.
#[derive(Debug)]
pub(super) struct AnswerLine {
    id: MessageId,
    line: Vec<u8>,
}

impl AnswerLine {
    pub(super) fn done(id: MessageId, result: &impl Serialize) -> Self {
        Self::sized(id, result, LINE_BYTES_USUAL)
    }

    /// The same, for a result of which it is known how long it will be.
    pub(super) fn sized(id: MessageId, result: &impl Serialize, bytes: usize) -> Self {
        let answered = Answered {
            jsonrpc: "2.0",
            id: &id,
            result,
        };
        let line = encode_sized(&answered, bytes);
        Self { id, line }
    }

    pub(super) fn failed(id: MessageId, error: &ErrorObject) -> Self {
        let line = encode(&Failed {
            jsonrpc: "2.0",
            id: Some(&id),
            error,
        });
        Self { id, line }
    }
}

type Outcome = Result<Box<RawValue>, AskFailure>;

struct Shared {
    lines: mpsc::UnboundedSender<Line>,
    room: Arc<Semaphore>,
    pending: Mutex<BTreeMap<u64, oneshot::Sender<Outcome>>>,
    next_id: AtomicU64,
    gone: CancellationToken,
    counters: Counters,
}

/// Our end of a connection.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("traffic", &self.traffic()).finish()
    }
}

/// Forgets a request nobody waits for any more, and says so to the other side.
struct Waiting<'a> {
    peer: &'a Peer,
    id: u64,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.peer.pending().remove(&self.id);
            self.peer.notify(&RequestCancel { id: self.id });
        }
    }
}

impl Peer {
    /// Starts the writer on a thread of its own.
    pub(super) fn start(output: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (lines, queue) = mpsc::unbounded_channel();
        let gone = CancellationToken::new();
        let writer_gone = gone.clone();
        std::thread::Builder::new()
            .name("bridge-writer".into())
            .spawn(move || {
                let _gone_at_the_end = writer_gone.drop_guard();
                write_lines(queue, output);
            })?;
        let shared = Shared {
            lines,
            room: Arc::new(Semaphore::new(OUTGOING_BYTES_MAX)),
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            gone,
            counters: Counters::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Asks and waits, at most for the method's own deadline.
    pub async fn ask<R: Request>(&self, request: &R) -> Result<R::Reply, AskFailure> {
        let deadline_ms = R::METHOD.deadline_ms.unwrap_or(10_000);
        self.ask_within(request, Duration::from_millis(deadline_ms.into()))
            .await
    }

    /// Asks and waits. Dropping the future cancels the request at the other end.
    pub async fn ask_within<R: Request>(
        &self,
        request: &R,
        within: Duration,
    ) -> Result<R::Reply, AskFailure> {
        let method = R::METHOD.name;
        let (id, answer) = self.register(method)?;
        let mut waiting = Waiting {
            peer: self,
            id,
            answered: false,
        };
        let line = encode(&Call {
            jsonrpc: "2.0",
            id,
            method,
            params: request,
        });
        let exchange = async {
            self.send(line, method).await?;
            answer.await.unwrap_or(Err(AskFailure::Gone))
        };
        let outcome = tokio::select! {
            biased;
            outcome = exchange => outcome,
            () = self.shared.gone.cancelled() => Err(AskFailure::Gone),
            () = tokio::time::sleep(within) => return Err(AskFailure::Timeout { method, within }),
        };
        waiting.answered = true;
        self.pending().remove(&id);
        let answer = outcome?;
        serde_json::from_str(answer.get()).map_err(|error| AskFailure::Unreadable {
            method,
            why: error.to_string(),
        })
    }

    /// Says something. Never waits; what finds no room is dropped and counted.
    pub fn notify<N: Notification>(&self, notification: &N) {
        let line = encode(&Notify {
            jsonrpc: "2.0",
            method: N::METHOD.name,
            params: notification,
        });
        let cost = cost_of(&line);
        let room = self.shared.room.clone().try_acquire_many_owned(cost);
        match room {
            Ok(room) if line.len() <= LINE_BYTES_MAX + 1 => self.push(Line {
                bytes: line,
                _room: room,
            }),
            _ => {
                self.shared.counters.dropped.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(
                    method = N::METHOD.name,
                    bytes = line.len(),
                    "message to the host dropped"
                );
            }
        }
    }

    /// Returns when the other end is closed.
    pub async fn gone(&self) {
        self.shared.gone.cancelled().await;
    }

    /// Whether the other end is closed.
    pub fn is_gone(&self) -> bool {
        self.shared.gone.is_cancelled()
    }

    /// What went over the connection so far.
    pub fn traffic(&self) -> Traffic {
        let Counters {
            lines_read,
            lines_unread,
            dropped,
            events_unknown,
        } = &self.shared.counters;
        Traffic {
            lines_read: lines_read.load(Ordering::Relaxed),
            lines_unread: lines_unread.load(Ordering::Relaxed),
            dropped: dropped.load(Ordering::Relaxed),
            events_unknown: events_unknown.load(Ordering::Relaxed),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Answers a request of the other side.
    pub(super) async fn answer(&self, answer: AnswerLine) {
        let AnswerLine { id, mut line } = answer;
        if line.len() > LINE_BYTES_MAX + 1 {
            let error = ErrorObject::new(ErrorCode::Internal, "the answer is longer than a line may be");
            line = AnswerLine::failed(id, &error).line;
        }
        // An error here means that the other end is closed: nobody is left to be told.
        self.send(line, "an answer").await.unwrap_or_default();
    }

    /// Answers a line that could not be read. Dropped when the host does not read either.
    pub(super) fn complain(&self, id: Option<MessageId>, error: &ErrorObject) {
        self.shared.counters.lines_unread.fetch_add(1, Ordering::Relaxed);
        let line = encode(&Failed {
            jsonrpc: "2.0",
            id: id.as_ref(),
            error,
        });
        if let Ok(room) = self.shared.room.clone().try_acquire_many_owned(cost_of(&line)) {
            self.push(Line {
                bytes: line,
                _room: room,
            });
        }
    }

    /// Hands an answer to whoever waits for it; an answer nobody waits for is too late and is dropped.
    pub(super) fn resolve(&self, id: Option<MessageId>, outcome: Result<&RawValue, ErrorObject>) {
        let Some(MessageId::Number(number)) = id else {
            if let Err(error) = outcome {
                tracing::warn!(?error, "the host could not read a line of ours");
            }
            return;
        };
        let waiting = self.pending().remove(&number);
        let Some(waiting) = waiting else { return };
        let outcome = outcome.map(ToOwned::to_owned).map_err(AskFailure::Error);
        // The asker may have given up between the two lines above.
        let _too_late = waiting.send(outcome);
    }

    /// The other end is closed: whoever waits is told.
    pub(super) fn close(&self) {
        self.shared.gone.cancel();
        self.pending().clear();
    }

    fn pending(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Outcome>>> {
        self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, method: &'static str) -> Result<(u64, oneshot::Receiver<Outcome>), AskFailure> {
        if self.is_gone() {
            return Err(AskFailure::Gone);
        }
        let mut pending = self.pending();
        if pending.len() >= PENDING_MAX {
            return Err(AskFailure::Busy { method });
        }
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        pending.insert(id, sender);
        Ok((id, receiver))
    }

    async fn send(&self, bytes: Vec<u8>, method: &'static str) -> Result<(), AskFailure> {
        if bytes.len() > LINE_BYTES_MAX + 1 {
            return Err(AskFailure::TooLong {
                method,
                bytes: bytes.len(),
            });
        }
        let room = self.shared.room.clone().acquire_many_owned(cost_of(&bytes)).await;
        let room = room.map_err(|_closed| AskFailure::Gone)?;
        self.push(Line { bytes, _room: room });
        Ok(())
    }

    fn push(&self, line: Line) {
        if self.shared.lines.send(line).is_err() {
            self.shared.gone.cancel();
        }
    }
}

fn cost_of(line: &[u8]) -> u32 {
    u32::try_from(line.len().max(LINE_COST_MIN)).unwrap_or(u32::MAX)
}

fn write_lines(mut queue: mpsc::UnboundedReceiver<Line>, mut output: impl Write) {
    let mut gathered = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        if let Err(error) = write_what_waits(first, &mut queue, &mut gathered, &mut output) {
            tracing::info!(%error, "the host does not read any more");
            return;
        }
    }
}

/// One line alone goes out as it is; several go out together.
fn write_what_waits(
    first: Line,
    queue: &mut mpsc::UnboundedReceiver<Line>,
    gathered: &mut Vec<u8>,
    output: &mut impl Write,
) -> std::io::Result<()> {
    let mut last = first;
    gathered.clear();
    while gathered.len() + last.bytes.len() < WRITE_GATHER_BYTES
        && let Ok(next) = queue.try_recv()
    {
        gathered.extend_from_slice(&last.bytes);
        last = next;
    }
    if !gathered.is_empty() {
        output.write_all(gathered)?;
    }
    output.write_all(&last.bytes)?;
    output.flush()
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: &'a P,
}

#[derive(Serialize)]
struct Notify<'a, P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a P,
}

#[derive(Serialize)]
struct Answered<'a, R> {
    jsonrpc: &'static str,
    id: &'a MessageId,
    result: &'a R,
}

#[derive(Serialize)]
struct Failed<'a> {
    jsonrpc: &'static str,
    id: Option<&'a MessageId>,
    error: &'a ErrorObject,
}

/// A line with its LF.
fn encode(message: &impl Serialize) -> Vec<u8> {
    encode_sized(message, LINE_BYTES_USUAL)
}

/// Our own types always have a JSON form.
fn encode_sized(message: &impl Serialize, bytes: usize) -> Vec<u8> {
    let mut line = Vec::with_capacity(bytes);
    if let Err(error) = serde_json::to_writer(&mut line, message) {
        tracing::error!(%error, "a message of ours has no JSON form");
        line.clear();
    }
    line.push(b'\n');
    line
}
