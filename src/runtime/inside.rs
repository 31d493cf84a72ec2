//! The thread on which everything lives, and the channel into it.

use super::RuntimeError;
use super::sub_agent::Defaults;
use crate::wiring::Ports;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use impresario_actors::event_feed::{EventFeed, Listener};
use impresario_actors::gateways::{Entropy, SystemEntropy, SystemWallClock, WallClock};
use impresario_actors::runs::WaitingLine;
use impresario_actors::supervision::Root;
use impresario_policies::domain::RunId;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// So many commands wait for the thread; more callers wait before it.
pub(super) const COMMANDS_AHEAD_MAX: usize = 256;
/// How long an ordered stop of the whole tree may take.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// What a command finds inside.
#[derive(Clone)]
pub(super) struct Inside {
    pub(super) ports: Ports,
}

/// What is seen of the inside without asking anybody there.
pub(super) struct Seen {
    /// Announces durable steps.
    pub(super) feed: EventFeed,
    /// Who waits for room.
    pub(super) line: WaitingLine,
}

/// Work that a caller outside wants done inside.
pub(super) type Command = Box<dyn FnOnce(Inside) -> LocalBoxFuture<'static, ()> + Send>;

/// The thread, as it is seen from outside.
pub(super) struct Thread {
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    stopped: Mutex<Option<std::thread::JoinHandle<()>>>,
    seen: Seen,
    pub(super) defaults: Defaults,
}

impl Thread {
    pub(super) fn new(
        commands: mpsc::Sender<Command>,
        thread: std::thread::JoinHandle<()>,
        seen: Seen,
        defaults: Defaults,
    ) -> Self {
        Self {
            commands: Mutex::new(Some(commands)),
            stopped: Mutex::new(Some(thread)),
            seen,
            defaults,
        }
    }

    pub(super) fn new_run_id(&self) -> RunId {
        RunId::new(SystemWallClock.now().0, SystemEntropy.next())
    }

    pub(super) fn listen_to(&self, run: &RunId) -> Listener {
        self.seen.feed.listen_to(run)
    }

    pub(super) fn before(&self, run: &RunId) -> Option<usize> {
        self.seen.line.before(run)
    }

    /// Has `work` done inside and waits for what it gives.
    pub(super) async fn call<T, Work>(
        &self,
        work: impl FnOnce(&Inside) -> Work + Send + 'static,
    ) -> Result<T, RuntimeError>
    where
        T: Send + 'static,
        Work: Future<Output = T> + 'static,
    {
        let (done, result) = oneshot::channel();
        let command: Command = Box::new(move |inside| {
            let work = work(&inside);
            async move {
                let _ = done.send(work.await);
            }
            .boxed_local()
        });
        let commands = lock(&self.commands).clone().ok_or(RuntimeError::Gone)?;
        commands.send(command).await.map_err(|_| RuntimeError::Gone)?;
        drop(commands);
        result.await.map_err(|_| RuntimeError::Gone)
    }

    /// Lets the thread end and waits for it.
    pub(super) async fn stop(&self) -> Result<(), RuntimeError> {
        drop(lock(&self.commands).take());
        let Some(thread) = lock(&self.stopped).take() else {
            return Ok(());
        };
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        match joined {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(RuntimeError::Inside("its thread panicked".to_string())),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Thread")
    }
}

/// What a panic left there is still whole: nothing is done while it is held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Serves commands until nobody can send any more or the tree has ended; then stops the tree in order.
pub(super) async fn serve(root: Root, inside: Inside, mut commands: mpsc::Receiver<Command>) {
    loop {
        tokio::select! {
            biased;
            exit = root.wait() => {
                tracing::error!(%exit, "the tree gave up");
                return;
            }
            command = commands.recv() => match command {
                Some(command) => {
                    tokio::task::spawn_local(command(inside.clone()));
                }
                None => break,
            },
        }
    }
    let exit = root.shutdown(STOP_WITHIN).await;
    tracing::debug!(%exit, "the tree was stopped");
}
