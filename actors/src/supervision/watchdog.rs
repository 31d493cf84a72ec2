//! Notices that the thread of the actors is stuck. The one thread of this layer, started only when asked.

use super::Name;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long is too long.
#[derive(Debug, Clone, Copy)]
pub struct WatchdogSettings {
    /// The thread counts as stalled after this long without a heartbeat.
    pub stalled_after: Duration,
}

impl Default for WatchdogSettings {
    fn default() -> Self {
        Self {
            stalled_after: Duration::from_secs(10),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    /// The thread is stuck.
    Stalled {
        /// No heartbeat for so long.
        silent_for: Duration,
        /// The actor that was at work, if it was one.
        actor: Option<Name>,
    },
    /// The heart beats again.
    Over,
}

/// Watches the thread it was started on until it is dropped.
pub struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    heart: tokio::task::AbortHandle,
}

#[derive(Default)]
struct Shared {
    beats: AtomicU64,
    at_work: Mutex<Option<Name>>,
    over: Mutex<bool>,
    wake: Condvar,
}

thread_local! {
    static WATCHED: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// Lets a watchdog, if there is one, know whose work it is.
pub(super) fn while_busy<T>(actor: &Name, work: impl FnOnce() -> T) -> T {
    let Some(shared) = WATCHED.with_borrow(Option::clone) else {
        return work();
    };
    *lock(&shared.at_work) = Some(actor.clone());
    let output = work();
    *lock(&shared.at_work) = None;
    output
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchdog {
    /// Starts a heart on the current `LocalSet`, and a thread that listens to it. `report` is called on that thread,
    /// once when a stall begins and once when it is over.
    pub fn start(
        settings: WatchdogSettings,
        report: impl FnMut(Stall) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (heart_of, listened_to) = (shared.clone(), shared.clone());
        let thread = std::thread::Builder::new()
            .name("impresario-watchdog".into())
            .spawn(move || listen(&listened_to, settings.stalled_after, report))?;
        WATCHED.set(Some(shared.clone()));
        let beat_every = settings.stalled_after / 4;
        let heart = tokio::task::spawn_local(async move {
            loop {
                heart_of.beats.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(beat_every).await;
            }
        });
        Ok(Self {
            shared,
            thread: Some(thread),
            heart: heart.abort_handle(),
        })
    }
}

fn listen(shared: &Shared, stalled_after: Duration, mut report: impl FnMut(Stall)) {
    let look_every = (stalled_after / 4).max(Duration::from_millis(1));
    let (mut beats, mut since, mut stalled) = (0, Instant::now(), false);
    let mut over = lock(&shared.over);
    while !*over {
        over = shared
            .wake
            .wait_timeout(over, look_every)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        let now = shared.beats.load(Ordering::Relaxed);
        if now != beats {
            (beats, since) = (now, Instant::now());
            if std::mem::take(&mut stalled) {
                report(Stall::Over);
            }
        } else if !stalled && since.elapsed() >= stalled_after {
            stalled = true;
            report(Stall::Stalled {
                silent_for: since.elapsed(),
                actor: lock(&shared.at_work).clone(),
            });
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        WATCHED.set(None);
        self.heart.abort();
        *lock(&self.shared.over) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a report that panicked has been printed
        }
    }
}
