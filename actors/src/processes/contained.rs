//! A program that is held: what its owner can do with it.

use super::{ProcessSpec, StartError};
use futures_util::FutureExt;
use futures_util::future::Shared;
use impresario_policies::domain::{Containment, Proof};
use std::time::Duration;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

#[cfg(target_os = "linux")]
use super::attendant as platform;
#[cfg(not(target_os = "linux"))]
use super::process_group as platform;

/// How long everything has between being asked to end and being killed when nobody said: after a drop, or when the
/// runtime died.
pub(super) const GRACE_UNSAID: Duration = Duration::from_secs(1);

/// A look takes a millisecond; a keeper on a machine that swaps needs longer.
const LOOKING_WITHIN: Duration = Duration::from_secs(3);

/// More orders than this at once say the same thing.
pub(super) const ORDERS_MAX: usize = 8;

/// How the program itself ended. Never decides alone how an attempt ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitFacts {
    /// Its exit code, where it had one and somebody saw it.
    pub code: Option<i32>,
    /// The signal it died of, where it did and somebody saw it.
    pub signal: Option<i32>,
    /// The keeper died, so that nobody saw how it ended.
    pub keeper_died: bool,
    /// It had so many processes, more than it may, and was killed with all of them.
    pub processes: Option<u32>,
}

/// The program's three streams.
#[derive(Debug)]
pub struct Streams {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// What is known of a program once it runs.
#[derive(Debug)]
pub(super) struct Running {
    pub pid: Option<i32>,
    pub containment: Containment,
    pub orders: mpsc::Sender<Asked>,
    pub exited: oneshot::Receiver<ExitFacts>,
    pub ended: oneshot::Receiver<Proof>,
}

/// What the owner of a program asks of whoever attends to it. Nobody left to ask means: stop it.
#[derive(Debug)]
pub(super) enum Asked {
    /// Stop it, with this grace.
    Stop(Duration),
    /// Say whether anything but the program itself is left.
    Look(oneshot::Sender<bool>),
}

/// The end of a program, for whoever waits for it without owning it.
pub type Ending = Shared<oneshot::Receiver<Proof>>;

/// A program that runs below a keeper. Dropping it stops everything it started, without waiting.
///
/// Needs a tokio runtime with I/O and time; it may be any of the embedder's threads.
#[derive(Debug)]
pub struct ContainedProcess {
    pid: Option<i32>,
    containment: Containment,
    orders: mpsc::Sender<Asked>,
    exited: Shared<oneshot::Receiver<ExitFacts>>,
    ended: Ending,
}

impl ContainedProcess {
    /// Starts a program; returns when its `exec` has succeeded.
    ///
    /// When the returned future is dropped half-way, nothing is left running.
    pub async fn start(spec: ProcessSpec) -> Result<(Self, Streams), StartError> {
        let (running, streams) = platform::start(spec).await?;
        let process = Self {
            pid: running.pid,
            containment: running.containment,
            orders: running.orders,
            exited: running.exited.shared(),
            ended: running.ended.shared(),
        };
        Ok((process, streams))
    }

    /// The program's process id, as this process sees it; none when it ended before it could be seen. For logs:
    /// signals go through [`stop`](Self::stop).
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// Waits until the program itself ended. What it left behind is being stopped then; [`ended`](Self::ended) says
    /// when that is over.
    pub async fn exited(&self) -> ExitFacts {
        self.exited.clone().await.unwrap_or_default()
    }

    /// Waits until nothing of it is left, however that came about.
    pub async fn ended(&self) -> Proof {
        self.ended.clone().await.unwrap_or_else(|_| self.nobody_looked())
    }

    /// Stops it and everything it started: asks with SIGTERM, waits at most `grace`, freezes, kills, sweeps. May be
    /// called again, also at the same time; the shortest grace counts.
    pub async fn stop(&self, grace: Duration) -> Proof {
        // A full or closed queue means that it is being stopped, or has ended, already.
        let _ = self.orders.try_send(Asked::Stop(grace));
        self.ended().await
    }

    /// Resolves with what was observed when nothing of it is left; with an error where nobody could look.
    pub fn ending(&self) -> Ending {
        self.ended.clone()
    }

    /// Whether there is nothing but the program itself below its keeper, which freezes it while it looks: so nothing
    /// can be on its way into being. A keeper that does not answer, or cannot look, has not seen that.
    pub async fn is_alone(&self) -> bool {
        let (reply, alone) = oneshot::channel();
        let asked = self.orders.try_send(Asked::Look(reply)).is_ok();
        asked
            && timeout(LOOKING_WITHIN, alone)
                .await
                .is_ok_and(|alone| alone.unwrap_or(false))
    }

    /// The tokio runtime went away under the attendant. Claiming nothing is the only true thing left.
    fn nobody_looked(&self) -> Proof {
        Proof {
            method: self.containment,
            no_children: false,
            processes_left: u32::from(!self.orders.is_closed()),
        }
    }
}
