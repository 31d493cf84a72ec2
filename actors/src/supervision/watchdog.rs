//! Notices that the thread of the actors is stuck. The one thread of this layer, started only when asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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

/// What a watchdog reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// No heartbeat for so long.
    Stalled(Duration),
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
    over: Mutex<bool>,
    wake: Condvar,
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
    let mut over = shared.over.lock().unwrap_or_else(PoisonError::into_inner);
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
            report(Stall::Stalled(since.elapsed()));
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.heart.abort();
        *self.shared.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a report that panicked has been printed
        }
    }
}
