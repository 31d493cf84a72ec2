//! The server: a thread of its own, so that it serves synchronous tests, and tests with a paused clock, alike.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

use crate::caching::{Caching, usage};
use crate::connection::{CuttableListener, Scissors};
use crate::ledger::{Call, Ledger, Outcome};
use crate::playback::{ErrorReply, Playback, Step, play, unscripted};
use crate::request::{RequestSummary, Wire};
use crate::script::{Script, Turn};
use crate::selection::{Progress, Selection, select};

/// The largest request that is read.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a server is told before it starts.
#[derive(Debug, Clone, Default)]
pub struct ServerSettings {
    /// The port; zero takes a free one.
    pub port: u16,
    /// Where the ledger is written besides memory.
    pub log: Option<PathBuf>,
}

/// A running server; dropping it stops it and closes every connection.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ledger: Ledger,
    script: Mutex<(Script, Progress)>,
    gates: Mutex<BTreeSet<String>>,
    gate_opened: Notify,
    caching: Caching,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// The script cannot be played, or there is no port.
    #[allow(
        clippy::unused_async,
        reason = "callers need not know that the server lives on a thread of its own"
    )]
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_blocking(script)
    }

    /// The same, for a test without a runtime.
    ///
    /// # Errors
    /// The script cannot be played, or there is no port.
    pub fn start_blocking(script: Script) -> io::Result<Self> {
        Self::start_with(script, &ServerSettings::default())
    }

    /// The same, on this port and with this ledger on disk.
    ///
    /// # Errors
    /// The script cannot be played, the port is taken, or the ledger cannot be opened.
    pub fn start_with(script: Script, settings: &ServerSettings) -> io::Result<Self> {
        script
            .check()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let ledger = match &settings.log {
            Some(path) => Ledger::on_disk(path)?,
            None => Ledger::default(),
        };
        let shared = Arc::new(Shared {
            ledger,
            script: Mutex::new((script, Progress::default())),
            gates: Mutex::default(),
            gate_opened: Notify::new(),
            caching: Caching::default(),
        });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || serve(listener, serving, stopped))?;
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address without a path, as Anthropic's clients want it: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The calls so far; it stays readable after the server is gone.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// Replaces the script; counting begins anew. Answers under way go on as they began.
    ///
    /// # Errors
    /// The script cannot be played; the old one stays.
    pub fn set_script(&self, script: Script) -> io::Result<()> {
        script
            .check()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        *lock(&self.shared.script) = (script, Progress::default());
        Ok(())
    }

    /// Opens a gate for all who wait at it and for all who will come.
    pub fn open_gate(&self, name: &str) {
        lock(&self.shared.gates).insert(name.to_owned());
        self.shared.gate_opened.notify_waiters();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.ledger.stopping();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has shown itself to the client already; a second one here would abort.
            let _ = thread.join();
        }
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<Infallible>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime for the model server");
    runtime.block_on(async move {
        let listener = TcpListener::from_std(listener).expect("a listening socket");
        let router =
            Router::new().fallback(answer).layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).with_state(shared);
        let service = router.into_make_service_with_connect_info::<Scissors>();
        tokio::select! {
            biased;
            _ = stopped => {}
            result = axum::serve(CuttableListener(listener), service) => result.expect("the model server serves"),
        }
    });
    // Answers under way are dropped with the runtime, which closes their connections.
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(scissors): ConnectInfo<Scissors>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    raw: Bytes,
) -> Response {
    let wire = if method == Method::POST {
        Wire::of_path(uri.path())
    } else {
        Wire::Unknown
    };
    let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let request = RequestSummary::read(wire, &body);
    let selection = shared.select(wire, &method, &uri, &request);
    let call = call_of(
        wire,
        &format!("{method} {}", uri.path()),
        &request,
        &selection,
        &headers,
        &raw,
        &body,
    );
    let number = shared.ledger.receive(call);
    let mut watch = CallWatch {
        ledger: shared.ledger.clone(),
        number,
        status: None,
        bytes_sent: 0,
        ended: false,
    };
    let mut turn = match selection {
        Selection::Turn { turn, .. } => turn,
        Selection::Unscripted(why) => return watch.error(&unscripted(wire, &why)),
    };
    let is_cached = wire == Wire::Anthropic && lock(&shared.script).0.caching;
    if is_cached {
        turn.usage = usage(shared.caching.charge(&body), turn.usage.output);
    }
    shared.wait_for_headers(&turn).await;
    if is_cached {
        shared.caching.begin(&body);
    }
    match play(&turn, wire, &request, &body, number) {
        Playback::Silence => std::future::pending().await,
        Playback::Cut => {
            watch.end(Outcome::CutByScript);
            scissors.cut();
            Response::new(Body::empty())
        }
        Playback::Error(error) => watch.error(&error),
        Playback::Answer {
            streaming,
            steps,
            said,
        } => {
            shared.ledger.say(number, said);
            watch.answer(number, streaming, steps, shared)
        }
    }
}

impl Shared {
    fn select(&self, wire: Wire, method: &Method, uri: &Uri, request: &RequestSummary) -> Selection {
        if wire == Wire::Unknown {
            return Selection::Unscripted(format!("nothing is served at {method} {}", uri.path()));
        }
        let mut script = lock(&self.script);
        let (script, progress) = &mut *script;
        select(script, progress, request)
    }

    async fn wait_for_headers(&self, turn: &Turn) {
        if turn.wait_ms > 0 {
            tokio::time::sleep(Duration::from_millis(turn.wait_ms)).await;
        }
        if let Some(gate) = &turn.gate {
            self.wait_at_gate(gate).await;
        }
    }

    async fn wait_at_gate(&self, name: &str) {
        loop {
            let opened = self.gate_opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if lock(&self.gates).contains(name) {
                return;
            }
            opened.await;
        }
    }
}

/// Sees how a call ends, also when its answer is dropped because the client went away.
struct CallWatch {
    ledger: Ledger,
    number: u64,
    status: Option<u16>,
    bytes_sent: u64,
    ended: bool,
}

impl CallWatch {
    fn end(&mut self, outcome: Outcome) {
        if !self.ended {
            self.ended = true;
            self.ledger
                .end(self.number, self.status, self.bytes_sent, outcome);
        }
    }

    fn error(mut self, error: &ErrorReply) -> Response {
        let body = error.body.to_string();
        self.status = Some(error.status);
        self.bytes_sent = body.len() as u64;
        self.end(Outcome::Completed);
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::builder()
            .status(status)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(seconds) = error.retry_after {
            response = response.header(header::RETRY_AFTER, seconds);
        }
        response.body(Body::from(body)).expect("an error is a response")
    }

    fn answer(mut self, number: u64, streaming: bool, steps: Vec<Step>, shared: Arc<Shared>) -> Response {
        self.status = Some(200);
        let playing = (self, steps.into_iter(), shared);
        let body = stream::unfold(playing, |(mut watch, mut steps, shared)| async move {
            let piece = next_piece(&mut watch, &mut steps, &shared).await?;
            Some((piece, (watch, steps, shared)))
        });
        let content_type = if streaming {
            "text/event-stream"
        } else {
            "application/json"
        };
        Response::builder()
            .header(header::CONTENT_TYPE, content_type)
            .header(header::CACHE_CONTROL, "no-cache")
            .header("x-request-id", format!("req_{number}"))
            .body(Body::from_stream(body))
            .expect("an answer is a response")
    }
}

impl Drop for CallWatch {
    fn drop(&mut self) {
        self.end(Outcome::CutByClient);
    }
}

/// Goes through the steps up to the next bytes; none at the end of the answer.
async fn next_piece(
    watch: &mut CallWatch,
    steps: &mut std::vec::IntoIter<Step>,
    shared: &Shared,
) -> Option<io::Result<Bytes>> {
    for step in steps {
        match step {
            Step::Send(bytes) => {
                watch.bytes_sent += bytes.len() as u64;
                return Some(Ok(Bytes::from(bytes)));
            }
            Step::Wait(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
            Step::Gate(name) => shared.wait_at_gate(&name).await,
            Step::Hang => std::future::pending().await,
            Step::Cut => {
                // What was sent leaves while nothing new is there to send.
                tokio::time::sleep(Duration::from_millis(10)).await;
                watch.end(Outcome::CutByScript);
                return Some(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
    }
    watch.end(Outcome::Completed);
    None
}

fn call_of(
    wire: Wire,
    path: &str,
    request: &RequestSummary,
    selection: &Selection,
    headers: &HeaderMap,
    raw: &[u8],
    body: &Value,
) -> Call {
    let (rule, turn, unscripted) = match selection {
        Selection::Turn { rule, index, .. } => (Some(rule.clone()), Some(*index), None),
        Selection::Unscripted(why) => (None, None, Some(why.clone())),
    };
    Call {
        number: 0,
        received_unix_us: 0,
        wire,
        path: path.to_owned(),
        model: request.model.clone(),
        streaming: request.streaming,
        message_count: request.message_count,
        tools: request.tools.clone(),
        rule,
        turn,
        unscripted,
        request_hash: hexadecimal(&Sha256::digest(raw)),
        headers: public_headers(headers),
        body: body.clone(),
        said: None,
        end: None,
    }
}

fn public_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let secret = [
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "cookie",
    ];
    let public = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        let shown = if secret.contains(&name.as_str()) {
            "[removed]".to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.as_str().to_owned(), shown)
    };
    headers.iter().map(public).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
