//! Serving a host: reads its lines on a plain thread, turns them into calls on [`HostEvents`], answers in order of
//! completion.

use super::connection::{AnswerLine, Peer};
use super::events::HostEvents;
use super::framing::{LineEvent, LineReader};
use super::host::{PiHost, RunBook};
use super::live::{LiveBook, LiveRuns};
use super::model::BridgedModel;
use super::wire::{
    CapabilitiesOffer, CapabilityCall, ChainRun, ChainTextAsk, Completions, ContextAsk, ContextOffer,
    ContextStanding, CutsAsk, DelegationAsk, DeliveryAcknowledged, Envelope, ErrorCode, ErrorObject,
    GuidanceAsk, Hello, KNOWN_EVENTS, LINE_BYTES_MAX, MarkerSkeleton, MessageId, Notification,
    ObservedEvents, PROTOCOL_VERSION, PROTOCOL_VERSION_OLDEST, Ping, PromptAsk, QuestionAnswer,
    QuestionAnswered, ReadingShown, Request, RequestCancel, ResumableRuns, RunMessageAsk, RunResume, RunTell,
    RunsRecent, RunsResumable, SessionEnd, SessionStart, SetupAsk, SkillCancel, SkillCancelled, SkillNames,
    SkillRun, SkillRunAccepted, StatusAsk, StatusText, SystemPromptSeen, ToolAsk, ToolUsed, ToolsOffer,
    TraceList, TraceNames, TraceReport, TraceText, TraceView, TranscriptAsk, TypedInput, Welcome, WishesAsk,
    read_envelope,
};
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;

/// What a bridge may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeSettings {
    /// The longest line read, in bytes.
    pub line_bytes_max: usize,
    /// Requests of the host that may be under way; more are answered `busy`.
    pub requests_max: usize,
    /// Messages read ahead; a host that sends more waits.
    pub messages_ahead_max: usize,
    /// So long is read on after nobody reads us any more.
    pub last_words: Duration,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self {
            line_bytes_max: LINE_BYTES_MAX,
            requests_max: 256,
            messages_ahead_max: 64,
            last_words: Duration::from_millis(500),
        }
    }
}

/// Why a bridge could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// No thread.
    #[error("start a thread of the bridge: {0}")]
    Thread(#[from] io::Error),
}

/// A connection to a host that is open but not served yet: the runtime is built between the two.
#[derive(Debug)]
pub struct Bridge {
    peer: Peer,
    runs: RunBook,
    live: LiveBook,
    live_runs: Option<LiveRuns>,
    incoming: mpsc::Receiver<Incoming>,
    settings: BridgeSettings,
    /// Where we write, to see when nobody reads there any more.
    watched: Option<OwnedFd>,
}

impl Bridge {
    /// Starts to read and to write, each on a thread of its own.
    pub fn open(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        settings: BridgeSettings,
    ) -> Result<Self, BridgeError> {
        let peer = Peer::start(output)?;
        let (sender, incoming) = mpsc::channel(settings.messages_ahead_max);
        let (live, live_runs) = LiveBook::open();
        let reader_peer = peer.clone();
        std::thread::Builder::new()
            .name("bridge-reader".into())
            .spawn(move || {
                read_lines(
                    LineReader::new(input, settings.line_bytes_max),
                    &reader_peer,
                    &sender,
                );
                reader_peer.close();
            })?;
        Ok(Self {
            peer,
            runs: RunBook::default(),
            live,
            live_runs: Some(live_runs),
            incoming,
            settings,
            watched: None,
        })
    }

    /// Opens the bridge on this process's stdin and stdout. Nobody else may use them from now on.
    #[cfg(unix)]
    pub fn open_stdio(settings: BridgeSettings) -> Result<Self, BridgeError> {
        use std::os::fd::AsFd;
        let input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let watched = output.as_fd().try_clone_to_owned()?;
        let opened = Self::open(input, output, settings)?;
        Ok(Self {
            watched: Some(watched),
            ..opened
        })
    }

    /// Our end of the connection.
    pub fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// The host behind it.
    pub fn host(&self) -> PiHost {
        PiHost::new(self.peer.clone(), self.runs.clone(), self.live.clone())
    }

    /// Tells of the runs that the host is to be shown; none the second time.
    pub fn live_runs(&mut self) -> Option<LiveRuns> {
        self.live_runs.take()
    }

    /// The models behind it.
    pub fn model(&self) -> BridgedModel {
        BridgedModel::new(self.peer.clone())
    }

    /// Serves until the host closes its end. A future: run it beside the runtime, on any kind of tokio runtime.
    pub async fn serve(mut self, events: Arc<dyn HostEvents>) {
        let mut service = Service {
            peer: self.peer.clone(),
            runs: self.runs.clone(),
            events: events.clone(),
            settings: self.settings,
            greeted: false,
            running: BTreeMap::new(),
        };
        let (peer, watched, last_words) = (self.peer.clone(), self.watched.take(), self.settings.last_words);
        let unheard = async move {
            tokio::select! { biased;
                () = peer.gone() => {}
                () = until_unread(watched) => {}
            }
            // A host that exits closes both ends at once: what it wrote before, an acknowledgement above all, is read
            // first. The end of its input ends this earlier.
            tokio::time::sleep(last_words).await;
        };
        tokio::pin!(unheard);
        let mut under_way: FuturesUnordered<BoxFuture<'static, Finished>> = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(finished) = under_way.next(), if !under_way.is_empty() => service.finish(finished).await,
                incoming = self.incoming.recv() => match incoming {
                    Some(Incoming::Call(call)) => service.begin(call, &mut under_way).await,
                    Some(Incoming::Notify { method, params }) => service.note(&method, &params).await,
                    None => break,
                },
                // Whoever does not read any more cannot be served, whatever it still writes.
                () = &mut unheard => break,
            }
        }
        self.peer.close();
        drop(under_way);
        tracing::info!(traffic = ?self.peer.traffic(), "the host closed its end");
        events.host_gone().await;
    }
}

/// Returns when the other end of what we write to is closed. A file or a terminal has no other end.
async fn until_unread(output: Option<OwnedFd>) {
    let Some(output) = output else {
        return std::future::pending().await;
    };
    // The thread waits with the process: nothing but the end of either wakes it.
    let watched = tokio::task::spawn_blocking(move || {
        loop {
            // Nothing is asked for, so only an error or the end of the other side is told.
            let mut output = [PollFd::new(&output, PollFlags::empty())];
            match poll(&mut output, None) {
                Ok(_) => return output[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    });
    if !matches!(watched.await, Ok(true)) {
        std::future::pending::<()>().await;
    }
}

#[derive(Debug)]
struct Call {
    id: MessageId,
    method: String,
    params: Box<RawValue>,
}

#[derive(Debug)]
enum Incoming {
    Call(Call),
    Notify { method: String, params: Box<RawValue> },
}

/// Reads until the end, on the reader's own thread. Answers to requests of ours take the short way.
fn read_lines<R: Read>(mut reader: LineReader<R>, peer: &Peer, incoming: &mpsc::Sender<Incoming>) {
    loop {
        let line = match reader.next_line() {
            Ok(LineEvent::Line(line)) => line,
            Ok(LineEvent::TooLong { bytes }) => {
                let message =
                    format!("read a line of {bytes} bytes: that is above the limit, so it was thrown away");
                peer.complain(None, &ErrorObject::new(ErrorCode::LineTooLong, message));
                continue;
            }
            Ok(LineEvent::End) => return,
            Err(error) => {
                tracing::warn!(%error, "the host's end broke");
                return;
            }
        };
        peer.counters().lines_read.fetch_add(1, Ordering::Relaxed);
        let message = match read_envelope(line) {
            Ok(Envelope::Answer { id, outcome }) => {
                peer.resolve(id, outcome);
                continue;
            }
            Ok(Envelope::Call { id, method, params }) => Incoming::Call(Call {
                id,
                method: method.into_owned(),
                params: owned(params),
            }),
            Ok(Envelope::Notify { method, params }) => Incoming::Notify {
                method: method.into_owned(),
                params: owned(params),
            },
            Err((id, error)) => {
                peer.complain(id, &error);
                continue;
            }
        };
        if incoming.blocking_send(message).is_err() {
            return;
        }
    }
}

fn owned(params: Option<&RawValue>) -> Box<RawValue> {
    params.unwrap_or(RawValue::NULL).to_owned()
}

struct Finished {
    id: MessageId,
    /// None when its sender cancelled it.
    answer: Option<AnswerLine>,
}

struct Service {
    peer: Peer,
    runs: RunBook,
    events: Arc<dyn HostEvents>,
    settings: BridgeSettings,
    greeted: bool,
    running: BTreeMap<MessageId, AbortHandle>,
}

impl Service {
    /// Begins a request; one that is answered at once is answered without a detour.
    async fn begin(&mut self, call: Call, under_way: &mut FuturesUnordered<BoxFuture<'static, Finished>>) {
        let Call { id, method, params } = call;
        if self.running.len() >= self.settings.requests_max || self.running.contains_key(&id) {
            let error = ErrorObject::new(
                ErrorCode::Busy,
                "too many requests are under way; ask again later",
            );
            return self.peer.answer(AnswerLine::failed(id, &error)).await;
        }
        if let Some(answer) = self.answer_itself(&id, &method, &params) {
            return self.peer.answer(answer).await;
        }
        let answering = answer_or_say_why(id.clone(), self.events.clone(), self.runs.clone(), method, params);
        let (abort, registration) = AbortHandle::new_pair();
        let answered_id = id.clone();
        let mut finished = Abortable::new(AssertUnwindSafe(answering).catch_unwind(), registration)
            .map(move |outcome| {
                let answer = outcome
                    .ok()
                    .map(|outcome| outcome.unwrap_or_else(|_panic| broken(answered_id.clone())));
                Finished {
                    id: answered_id,
                    answer,
                }
            })
            .boxed();
        match futures_util::poll!(&mut finished) {
            std::task::Poll::Ready(finished) => self.finish(finished).await,
            std::task::Poll::Pending => {
                self.running.insert(id, abort);
                under_way.push(finished);
            }
        }
    }

    async fn finish(&mut self, finished: Finished) {
        self.running.remove(&finished.id);
        if let Some(answer) = finished.answer {
            self.peer.answer(answer).await;
        }
    }

    /// What needs no runtime: the handshake and the echo. Everything else waits for the handshake.
    fn answer_itself(&mut self, id: &MessageId, method: &str, params: &RawValue) -> Option<AnswerLine> {
        if method == <Ping as Request>::METHOD.name {
            // What comes back is what was sent, so it is not taken apart.
            let bytes = params.get().len() + 64;
            return Some(AnswerLine::sized(id.clone(), &params, bytes));
        }
        if method == <Hello as Request>::METHOD.name {
            let welcome = parse::<Hello>(params).and_then(|hello| self.greet(&hello));
            return Some(match welcome {
                Ok(welcome) => AnswerLine::done(id.clone(), &welcome),
                Err(error) => AnswerLine::failed(id.clone(), &error),
            });
        }
        if !self.greeted {
            let error = ErrorObject::new(ErrorCode::NotReady, "say hello first");
            return Some(AnswerLine::failed(id.clone(), &error));
        }
        None
    }

    fn greet(&mut self, hello: &Hello) -> Result<Welcome, ErrorObject> {
        let protocol = PROTOCOL_VERSION.min(hello.protocol_newest);
        if protocol < PROTOCOL_VERSION_OLDEST.max(hello.protocol_oldest) {
            let message = format!(
                "find a protocol version both speak: the runtime speaks {PROTOCOL_VERSION_OLDEST} to \
                 {PROTOCOL_VERSION}, the extension {} to {}; update the older of the two",
                hello.protocol_oldest, hello.protocol_newest
            );
            return Err(ErrorObject::new(ErrorCode::NoCommonVersion, message));
        }
        tracing::info!(?hello, protocol, "a host connected");
        self.greeted = true;
        Ok(Welcome {
            protocol,
            runtime_version: env!("CARGO_PKG_VERSION").into(),
            capabilities: Vec::new(),
            line_bytes_max: u32::try_from(self.settings.line_bytes_max).unwrap_or(u32::MAX),
        })
    }

    /// Notifications cannot be answered, so what is wrong with one is logged and counted.
    async fn note(&mut self, method: &str, params: &RawValue) {
        let noted = AssertUnwindSafe(self.note_or_say_why(method, params))
            .catch_unwind()
            .await;
        let why = match noted {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.message,
            Err(_panic) => "the runtime broke".into(),
        };
        self.peer.counters().lines_unread.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(method, why, "a notification of the host had no effect");
    }

    async fn note_or_say_why(&mut self, method: &str, params: &RawValue) -> Result<(), ErrorObject> {
        if method == <RequestCancel as Notification>::METHOD.name {
            let RequestCancel { id } = parse(params)?;
            if let Some(abort) = self.running.get(&MessageId::Number(id)) {
                abort.abort();
            }
            return Ok(());
        }
        if !self.greeted {
            return Err(ErrorObject::new(ErrorCode::NotReady, "say hello first"));
        }
        if method == <SessionStart as Notification>::METHOD.name {
            self.events.session_started(parse(params)?).await;
        } else if method == <SessionEnd as Notification>::METHOD.name {
            self.events.session_ended(parse(params)?).await;
        } else if method == <DeliveryAcknowledged as Notification>::METHOD.name {
            self.events
                .delivery_acknowledged(parse::<DeliveryAcknowledged>(params)?.run)
                .await;
        } else if method == <ToolUsed as Notification>::METHOD.name {
            self.events.tool_used(parse(params)?).await;
        } else if method == <SystemPromptSeen as Notification>::METHOD.name {
            self.events.prompt_seen(parse(params)?).await;
        } else if method == <ObservedEvents as Notification>::METHOD.name {
            self.observe(parse(params)?).await;
        } else {
            return Err(unknown_method(method));
        }
        Ok(())
    }

    async fn observe(&self, observed: ObservedEvents) {
        let counters = self.peer.counters();
        for event in observed.events {
            if !KNOWN_EVENTS.contains(&event.name.as_str()) {
                counters.events_unknown.fetch_add(1, Ordering::Relaxed);
            }
            self.events.observe(&observed.session, event).await;
        }
    }
}

async fn answer_or_say_why(
    id: MessageId,
    events: Arc<dyn HostEvents>,
    runs: RunBook,
    method: String,
    params: Box<RawValue>,
) -> AnswerLine {
    let answered = answer_call(id.clone(), events, runs, method, params).await;
    answered.unwrap_or_else(|error| AnswerLine::failed(id, &error))
}

async fn answer_call(
    id: MessageId,
    events: Arc<dyn HostEvents>,
    runs: RunBook,
    method: String,
    params: Box<RawValue>,
) -> Result<AnswerLine, ErrorObject> {
    if method == <TypedInput as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.input(parse(&params)?).await))
    } else if method == <MarkerSkeleton as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.plan_markers(parse(&params)?).await))
    } else if method == <GuidanceAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.guide(parse(&params)?).await))
    } else if method == <CutsAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.cut(parse(&params)?).await))
    } else if method == <ContextStanding as Request>::METHOD.name {
        Ok(AnswerLine::done(
            id,
            &events.context_status(parse(&params)?).await,
        ))
    } else if method == <SkillRun as Request>::METHOD.name {
        let request: SkillRun = parse(&params)?;
        let session = request.session.clone();
        let run = events.run_skill(request).await.map_err(refusal)?;
        runs.remember(run.clone(), session);
        Ok(AnswerLine::done(id, &SkillRunAccepted { run }))
    } else if method == <ChainRun as Request>::METHOD.name {
        let request: ChainRun = parse(&params)?;
        let session = request.session.clone();
        let accepted = events.run_chain(request).await.map_err(refusal)?;
        for member in &accepted.members {
            runs.remember(member.run.clone(), session.clone());
        }
        Ok(AnswerLine::done(id, &accepted))
    } else if method == <ChainTextAsk as Request>::METHOD.name {
        let text = events.chain_text(parse(&params)?).await.map_err(refusal)?;
        Ok(AnswerLine::done(id, &text))
    } else if method == <RunsResumable as Request>::METHOD.name {
        let RunsResumable { session } = parse(&params)?;
        let runs = events.resumable(&session).await;
        Ok(AnswerLine::done(id, &ResumableRuns { runs }))
    } else if method == <RunResume as Request>::METHOD.name {
        let request: RunResume = parse(&params)?;
        let session = request.session.clone();
        let resumed = events.resume(request).await.map_err(refusal)?;
        runs.remember(resumed.run.clone(), session);
        Ok(AnswerLine::done(id, &resumed))
    } else if method == <RunTell as Request>::METHOD.name {
        let told = events.tell(parse(&params)?).await.map_err(refusal)?;
        Ok(AnswerLine::done(id, &told))
    } else if method == <RunMessageAsk as Request>::METHOD.name {
        let told = events.message(parse(&params)?).await.map_err(refusal)?;
        Ok(AnswerLine::done(id, &told))
    } else if method == <SkillCancel as Request>::METHOD.name {
        let cancelled = events.cancel(parse(&params)?).await;
        Ok(AnswerLine::done(id, &SkillCancelled { runs: cancelled }))
    } else if method == <QuestionAnswer as Request>::METHOD.name {
        let answer: QuestionAnswer = parse(&params)?;
        let taken = runs.answer(answer);
        Ok(AnswerLine::done(id, &QuestionAnswered { taken }))
    } else if method == <Completions as Request>::METHOD.name {
        let Completions { session, listed } = parse(&params)?;
        let skills = events.skills(&session, listed).await;
        Ok(AnswerLine::done(id, &SkillNames { skills }))
    } else if method == <TraceReport as Request>::METHOD.name {
        let TraceReport { session, skill } = parse(&params)?;
        let text = events.trace_report(&session, skill).await;
        Ok(AnswerLine::done(id, &TraceText { text }))
    } else if method == <TraceView as Request>::METHOD.name {
        let TraceView { session, file } = parse(&params)?;
        let text = events.trace_view(&session, file).await;
        Ok(AnswerLine::done(id, &TraceText { text }))
    } else if method == <TraceList as Request>::METHOD.name {
        let TraceList { session } = parse(&params)?;
        let traces = events.traces(&session).await;
        Ok(AnswerLine::done(id, &TraceNames { traces }))
    } else if method == <RunsRecent as Request>::METHOD.name {
        let RunsRecent { session } = parse(&params)?;
        let runs = events.recent(&session).await;
        Ok(AnswerLine::done(id, &ResumableRuns { runs }))
    } else if method == <TranscriptAsk as Request>::METHOD.name {
        let page = events.transcript(parse(&params)?).await.map_err(refusal)?;
        Ok(AnswerLine::done(id, &page))
    } else if method == <SetupAsk as Request>::METHOD.name {
        let next = events.setup_models(parse(&params)?).await.map_err(refusal)?;
        Ok(AnswerLine::done(id, &next))
    } else if method == <StatusAsk as Request>::METHOD.name {
        let StatusAsk { session, section } = parse(&params)?;
        let text = events.status(&session, section).await;
        Ok(AnswerLine::done(id, &StatusText { text }))
    } else if method == <CapabilitiesOffer as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.capabilities(parse(&params)?).await))
    } else if method == <CapabilityCall as Request>::METHOD.name {
        Ok(AnswerLine::done(
            id,
            &events.call_capability(parse(&params)?).await,
        ))
    } else if method == <ContextOffer as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.offer_context(parse(&params)?).await))
    } else if method == <ContextAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.call_context(parse(&params)?).await))
    } else if method == <ToolsOffer as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.offer_tools(parse(&params)?).await))
    } else if method == <ToolAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.call_tool(parse(&params)?).await))
    } else if method == <ReadingShown as Request>::METHOD.name {
        Ok(AnswerLine::done(
            id,
            &events.anchor_reading(parse(&params)?).await,
        ))
    } else if method == <WishesAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.wishes(parse(&params)?).await))
    } else if method == <PromptAsk as Request>::METHOD.name {
        Ok(AnswerLine::done(id, &events.shape_prompt(parse(&params)?).await))
    } else if method == <DelegationAsk as Request>::METHOD.name {
        let asked: DelegationAsk = parse(&params)?;
        Ok(AnswerLine::done(id, &events.delegation(asked).await))
    } else {
        Err(unknown_method(&method))
    }
}

fn broken(id: MessageId) -> AnswerLine {
    AnswerLine::failed(
        id,
        &ErrorObject::new(ErrorCode::Internal, "the runtime broke on this request"),
    )
}

fn refusal(refused: super::Refused) -> ErrorObject {
    let data = json!({ "code": refused.reason.code, "hint": refused.hint });
    ErrorObject::new(ErrorCode::Refused, refused.reason.message).with_data(data)
}

fn unknown_method(method: &str) -> ErrorObject {
    let method: String = method.chars().take(80).collect();
    ErrorObject::new(
        ErrorCode::UnknownMethod,
        format!("find a method named {method:?}"),
    )
}

fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, ErrorObject> {
    let mut deserializer = serde_json::Deserializer::from_str(params.get());
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let message = format!("read the parameters at {}: {}", error.path(), error.inner());
        ErrorObject::new(ErrorCode::InvalidParams, message)
    })
}
