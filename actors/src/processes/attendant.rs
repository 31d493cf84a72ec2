//! The runtime's end of one keeper: starts it, hears it, and stands in for it when it dies.
//!
//! One task per keeper owns the socket and the keeper's process from the first moment, so that a caller that goes
//! away half-way leaves nothing behind. A keeper that does not report within its time is killed, and what it held is
//! found by the run's marker and by the keeper's session.

use super::contained::{Asked, ExitFacts, GRACE_UNSAID, ORDERS_MAX, Running, Streams};
use super::marks::{self, Sweep};
use super::spec::{ProcessSpec, StartError};
use super::wire::{self, Failure, Order, Program, ROLE_KEEP, Report};
use super::{KEEPER_MARKER, Mark, descriptors};
use impresario_policies::attempt_ending::PROCESSES_MAX;
use impresario_policies::domain::{Containment, Proof};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// A keeper answers within milliseconds; a machine that swaps needs longer.
const START_WITHIN: Duration = Duration::from_secs(20);
/// What the keeper needs after the grace to kill, reap and sweep on a bad day.
const KILLING_WITHIN: Duration = Duration::from_secs(8);
/// How long a sweep in the keeper's place tries.
const SWEEP_WITHIN: Duration = Duration::from_secs(5);

/// Starts a keeper and the program below it.
pub(super) async fn start(spec: ProcessSpec) -> Result<(Running, Streams), StartError> {
    let order = start_order(&spec)?;
    let (ours, theirs) = StdUnixStream::pair().map_err(system("a socket pair"))?;
    ours.set_nonblocking(true).map_err(system("a socket pair"))?;
    let pipes = Pipes::open()?;
    let keeper = Keeper::spawn(&spec.keeper, &spec.mark(), theirs)?;
    let socket = UnixStream::from_std(ours).map_err(system("a socket pair"))?;

    let (orders, orders_received) = mpsc::channel(ORDERS_MAX);
    let (started, starting) = oneshot::channel();
    let (exited, exit) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    let (read, write) = socket.into_split();
    let attendant = Attendant {
        keeper,
        mark: spec.mark(),
        reports: BufReader::new(read),
        socket: write,
        method: Containment::Keeper,
        started: Some(started),
        exited: Some(exited),
        looks: VecDeque::new(),
        processes: None,
        report: None,
    };
    tokio::spawn(attendant.attend(order, pipes.theirs, orders_received, ended));

    // Dropping `orders` (an error, or a caller that went away) is an order to stop.
    match starting.await.unwrap_or(Err(Refused::Silent("was lost"))) {
        Ok((pid, containment)) => Ok((
            Running {
                pid,
                containment,
                orders,
                exited: exit,
                ended: end,
            },
            pipes.ours,
        )),
        Err(refused) => {
            drop(orders);
            let _ = end.await;
            Err(refused.into_error(&spec))
        }
    }
}

fn start_order(spec: &ProcessSpec) -> Result<Order, StartError> {
    Ok(Order::Start {
        mark: spec.mark().to_string(),
        runtime: rustix::process::getpid().as_raw_nonzero().get(),
        program: Program {
            program: text("the program's path", &spec.program)?,
            arguments: spec.arguments.clone(),
            environment: spec.environment.clone(),
            working_directory: text("the working directory", &spec.working_directory)?,
        },
        containment: spec.containment,
        orphan_grace_ms: GRACE_UNSAID.as_millis() as u64,
        processes_max: PROCESSES_MAX,
    })
}

fn text(what: &'static str, path: &Path) -> Result<String, StartError> {
    let text = path.to_str().map(str::to_string);
    text.ok_or_else(|| StartError::NotText {
        what,
        value: path.display().to_string(),
    })
}

fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { what, source }
}

/// Both ends of the program's three streams.
struct Pipes {
    ours: Streams,
    theirs: [OwnedFd; 3],
}

impl Pipes {
    fn open() -> Result<Self, StartError> {
        Self::try_open().map_err(system("pipes"))
    }

    fn try_open() -> io::Result<Self> {
        let (their_in, our_in) = io::pipe()?;
        let (our_out, their_out) = io::pipe()?;
        let (our_err, their_err) = io::pipe()?;
        let stdin = std::process::ChildStdin::from(OwnedFd::from(our_in));
        let stdout = std::process::ChildStdout::from(OwnedFd::from(our_out));
        let stderr = std::process::ChildStderr::from(OwnedFd::from(our_err));
        Ok(Self {
            ours: Streams {
                stdin: tokio::process::ChildStdin::from_std(stdin)?,
                stdout: tokio::process::ChildStdout::from_std(stdout)?,
                stderr: tokio::process::ChildStderr::from_std(stderr)?,
            },
            theirs: [their_in.into(), their_out.into(), their_err.into()],
        })
    }
}

/// Why there is no program, before it is a sentence.
#[derive(Debug)]
enum Refused {
    Silent(&'static str),
    Failed {
        what: Failure,
        errno: i32,
        note: Option<String>,
    },
}

impl Refused {
    fn into_error(self, spec: &ProcessSpec) -> StartError {
        let (what, errno, note) = match self {
            Self::Silent(what) => {
                return StartError::KeeperSilent {
                    path: spec.keeper.clone(),
                    what,
                };
            }
            Self::Failed { what, errno, note } => (what, errno, note),
        };
        let source = io::Error::from_raw_os_error(errno);
        let program = spec.program.clone();
        match what {
            Failure::WorkingDirectory => StartError::WorkingDirectory {
                path: spec.working_directory.clone(),
                source,
            },
            Failure::Program if source.kind() == io::ErrorKind::NotFound => {
                StartError::ProgramNotFound { program }
            }
            Failure::Program => StartError::ProgramNotExecutable { program, source },
            Failure::Namespace => StartError::NoNamespace {
                why: note.unwrap_or_else(|| source.to_string()),
            },
            Failure::Keeper => StartError::KeeperUnusable {
                path: spec.keeper.clone(),
                source,
            },
        }
    }
}

/// The keeper's process: our child, reaped by us only, after it can hold nothing any more.
struct Keeper {
    child: Child,
    pidfd: AsyncFd<OwnedFd>,
}

impl Keeper {
    fn spawn(path: &Path, mark: &Mark, socket: StdUnixStream) -> Result<Self, StartError> {
        let unusable = |source| StartError::KeeperUnusable {
            path: path.to_path_buf(),
            source,
        };
        let spawned = Command::new(path)
            .arg(ROLE_KEEP)
            .env_clear()
            .env(KEEPER_MARKER, mark.to_string())
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match spawned {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StartError::KeeperMissing {
                    looked_in: places(path),
                });
            }
            Err(error) => return Err(unusable(error)),
        };
        let pidfd = pidfd_open(rustix::process::Pid::from_child(&child), PidfdFlags::NONBLOCK)
            .map_err(io::Error::from)
            .and_then(watched)
            .map_err(system("a pidfd"))?;
        Ok(Self { child, pidfd })
    }

    async fn died_within(&self, patience: Duration) -> bool {
        timeout(patience, self.pidfd.readable()).await.is_ok()
    }

    fn kill(&self) {
        // It may have died by itself; that is what was wanted.
        let _ = pidfd_send_signal(self.pidfd.as_fd(), Signal::KILL);
    }

    /// Only after its death was seen, so that this does not wait. An embedder that reaps everything may be first.
    fn reap(&mut self) {
        let _ = self.child.wait();
    }
}

/// An empty path is what is left of a search that found nothing.
fn places(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return "beside the program or in PATH".to_string();
    }
    format!("at {}", path.display())
}

#[expect(
    deprecated,
    reason = "its successor is unsafe, for types that change their descriptor; an OwnedFd cannot"
)]
fn watched(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(pidfd)
}

type Started = Result<(Option<i32>, Containment), Refused>;

struct Attendant {
    keeper: Keeper,
    mark: Mark,
    reports: BufReader<OwnedReadHalf>,
    socket: OwnedWriteHalf,
    method: Containment,
    started: Option<oneshot::Sender<Started>>,
    exited: Option<oneshot::Sender<ExitFacts>>,
    /// Who waits for a look, in the order in which they asked.
    looks: VecDeque<oneshot::Sender<bool>>,
    /// The keeper found so many processes, more than there may be.
    processes: Option<u32>,
    report: Option<Proof>,
}

impl Attendant {
    async fn attend(
        mut self,
        start: Order,
        streams: [OwnedFd; 3],
        mut orders: mpsc::Receiver<Asked>,
        ended: oneshot::Sender<Proof>,
    ) {
        match timeout(START_WITHIN, self.send_start(&start, streams)).await {
            Ok(Ok(())) => self.listen(&mut orders).await,
            Ok(Err(_)) => self.refuse(Refused::Silent("ended")),
            Err(_) => self.refuse(Refused::Silent("said nothing")),
        }
        let keeper_died = self.report.is_none();
        let proof = self.conclude().await;
        if let Some(exited) = self.exited.take() {
            let _ = exited.send(ExitFacts {
                keeper_died,
                processes: self.processes,
                ..ExitFacts::default()
            });
        }
        let _ = ended.send(proof);
    }

    async fn send_start(&mut self, start: &Order, streams: [OwnedFd; 3]) -> io::Result<()> {
        let line = wire::line_of(start);
        let descriptors = streams.each_ref().map(|stream| stream.as_fd());
        let socket: &UnixStream = self.socket.as_ref();
        let sent = descriptors::send(socket, &line, &descriptors)?;
        drop(streams);
        self.socket.write_all(&line[sent..]).await
    }

    /// Until the keeper closes its end, which is the last thing it does.
    async fn listen(&mut self, orders: &mut mpsc::Receiver<Asked>) {
        let mut owned = true;
        let mut stopping = false;
        let mut give_up_at = Instant::now() + START_WITHIN;
        let mut line = Vec::new();
        loop {
            let limited = self.started.is_some() || stopping;
            tokio::select! { biased;
                read = next_line(&mut self.reports, &mut line) => match read {
                    Ok(true) => {
                        self.hear(&line);
                        line.clear();
                    }
                    Ok(false) | Err(_) => return self.refuse(Refused::Silent("ended")),
                },
                order = orders.recv(), if owned => {
                    owned = order.is_some();
                    let grace = match order {
                        Some(Asked::Look(reply)) => {
                            self.order_look(reply).await;
                            continue;
                        }
                        Some(Asked::Stop(grace)) => grace,
                        None => GRACE_UNSAID,
                    };
                    let give_up = Instant::now() + grace + KILLING_WITHIN;
                    give_up_at = if stopping { give_up_at.min(give_up) } else { give_up };
                    stopping = true;
                    self.order_stop(grace).await;
                }
                () = tokio::time::sleep_until(give_up_at), if limited => break,
            }
        }
        self.refuse(Refused::Silent("said nothing"));
    }

    fn hear(&mut self, line: &[u8]) {
        match wire::message_in(line) {
            Ok(Report::Started {
                pid,
                containment,
                note,
            }) => {
                self.method = containment;
                if let Some(note) = note {
                    tracing::info!(%note, "a process is not held better");
                }
                if let Some(started) = self.started.take() {
                    let _ = started.send(Ok((pid, containment)));
                }
            }
            Ok(Report::Failed { what, errno, note }) => self.refuse(Refused::Failed { what, errno, note }),
            Ok(Report::Exited { code, signal }) => {
                if let Some(exited) = self.exited.take() {
                    let _ = exited.send(ExitFacts {
                        code,
                        signal,
                        processes: self.processes,
                        ..ExitFacts::default()
                    });
                }
            }
            Ok(Report::Looked { alone }) => {
                if let Some(asker) = self.looks.pop_front() {
                    // The asker may have gone meanwhile.
                    let _ = asker.send(alone);
                }
            }
            Ok(Report::Overrun { processes }) => self.processes = Some(processes),
            Ok(Report::Empty {
                method,
                no_children,
                killed,
                processes_left,
            }) => {
                tracing::debug!(run.id = %self.mark.run, killed, processes_left, "keeper is empty");
                self.report = Some(Proof {
                    method,
                    no_children,
                    processes_left,
                });
            }
            Err(error) => tracing::warn!(run.id = %self.mark.run, %error, "keeper said something unreadable"),
        }
    }

    async fn order_look(&mut self, reply: oneshot::Sender<bool>) {
        self.looks.push_back(reply);
        self.order(&Order::Look).await;
    }

    async fn order_stop(&mut self, grace: Duration) {
        self.order(&Order::Stop {
            grace_ms: grace.as_millis() as u64,
        })
        .await;
    }

    async fn order(&mut self, order: &Order) {
        let line = wire::line_of(order);
        // A frozen keeper fills the socket at worst; the time to give up runs. A dead one ends the reading.
        let _ = timeout(Duration::from_millis(100), self.socket.write_all(&line)).await;
    }

    fn refuse(&mut self, refused: Refused) {
        if let Some(started) = self.started.take() {
            let _ = started.send(Err(refused));
        }
    }

    /// Sees the keeper gone, and looks for itself where the keeper did not report.
    async fn conclude(&mut self) -> Proof {
        let patience = if self.report.is_some() {
            KILLING_WITHIN
        } else {
            Duration::ZERO
        };
        if !self.keeper.died_within(patience).await {
            self.keeper.kill();
            self.keeper.died_within(KILLING_WITHIN).await;
        }
        let proof = match self.report.take() {
            Some(proof) => proof,
            None => self.sweep_for_the_keeper().await,
        };
        self.keeper.reap();
        proof
    }

    /// The keeper is dead and not yet reaped, so its session's number cannot have been given to anybody else.
    async fn sweep_for_the_keeper(&self) -> Proof {
        let sweep = Sweep {
            run: self.mark.run.clone(),
            part: Some(self.mark.part),
            session: Some(self.keeper.child.id() as i32),
        };
        let swept = tokio::task::spawn_blocking(move || marks::sweep(&sweep, SWEEP_WITHIN)).await;
        let processes_left = swept.map_or(1, |report| report.processes_left);
        Proof {
            method: self.method,
            no_children: false,
            processes_left,
        }
    }
}

/// Reads up to a line feed; false at the end, and for a line over the limit. Goes on where it was interrupted.
async fn next_line(reader: &mut BufReader<OwnedReadHalf>, line: &mut Vec<u8>) -> io::Result<bool> {
    let room = (wire::LINE_BYTES_MAX - line.len()) as u64;
    reader.take(room).read_until(b'\n', line).await?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(true);
    }
    Ok(false)
}
