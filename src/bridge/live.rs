//! What is live of each run and stands in no journal: kept for whoever makes a picture of the run for the host.

use impresario_actors::gateways::{Glimpse, Progress, SystemWallClock, WallClock};
use impresario_policies::domain::RunId;
use impresario_policies::sight::{LiveFacts, Waits};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};

/// Runs of which something is kept; the oldest are forgotten first.
const RUNS_MAX: usize = 1024;

/// Tells of each run that something is heard of for the first time.
pub type LiveRuns = mpsc::UnboundedReceiver<LiveRun>;

/// A run, and what is live of it from now on.
#[derive(Debug)]
pub struct LiveRun {
    /// Which.
    pub run: RunId,
    /// What is heard of it.
    pub live: Live,
}

/// What is heard of a run; one waits for it.
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    facts: Mutex<LiveFacts>,
    changed: Notify,
}

impl Live {
    /// What holds now.
    pub fn now(&self) -> LiveFacts {
        self.facts().clone()
    }

    /// Returns when something changed since the last time.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    fn change(&self, change: impl FnOnce(&mut LiveFacts)) {
        change(&mut self.facts());
        self.0.changed.notify_one();
    }

    fn facts(&self) -> MutexGuard<'_, LiveFacts> {
        self.0.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears what the runtime shows, on the thread of the actors; never waits.
#[derive(Debug, Clone)]
pub(super) struct LiveBook(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    runs: BTreeMap<RunId, Live>,
    begun: mpsc::UnboundedSender<LiveRun>,
}

impl LiveBook {
    pub(super) fn open() -> (Self, LiveRuns) {
        let (begun, live_runs) = mpsc::unbounded_channel();
        let book = Book {
            runs: BTreeMap::new(),
            begun,
        };
        (Self(Arc::new(Mutex::new(book))), live_runs)
    }

    /// A step says itself what is done now; what is done between two steps, nobody else says.
    pub(super) fn progress(&self, progress: &Progress) {
        self.change(&progress.run, |live| {
            live.doing = progress.between_steps.then(|| progress.doing.clone());
            live.until_ms = progress.until.map(|until| until.0);
            live.sub_agent_waits = None;
        });
    }

    pub(super) fn glimpse(&self, glimpse: Glimpse) {
        let waits = glimpse.waits.map(|(what_for, wait)| Waits {
            words: format!("waits for {what_for}"),
            until_ms: Some(
                SystemWallClock
                    .now()
                    .0
                    .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            ),
        });
        self.change(&glimpse.run, |live| {
            live.words = glimpse.words;
            live.sub_agent_waits = waits;
        });
    }

    pub(super) fn words_of(&self, run: &RunId) -> String {
        let known = self.book().runs.get(run).cloned();
        known.map_or_else(String::new, |live| live.now().words)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, run: &RunId, change: impl FnOnce(&mut LiveFacts)) {
        let mut book = self.book();
        if let Some(known) = book.runs.get(run) {
            return known.change(change);
        }
        let live = Live::default();
        live.change(change);
        book.runs.insert(run.clone(), live.clone());
        if book.runs.len() > RUNS_MAX {
            book.runs.pop_first();
        }
        let _ = book.begun.send(LiveRun {
            run: run.clone(),
            live,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_actors::gateways::UnixMillis;
    use std::time::Duration;

    fn progress(doing: &str, between_steps: bool) -> Progress {
        Progress {
            run: RunId::new(1, 1),
            subtask: None,
            at: UnixMillis(0),
            doing: doing.into(),
            tool_calls: 0,
            between_steps,
            until: between_steps.then_some(UnixMillis(9)),
        }
    }

    #[test]
    fn what_is_done_between_steps_lasts_until_the_next_one() {
        let (book, mut runs) = LiveBook::open();
        book.progress(&progress("judging", true));
        let first = runs.try_recv().expect("heard of for the first time");
        let doing = || first.live.now().doing.clone();
        assert_eq!(
            (doing().as_deref(), first.live.now().until_ms),
            (Some("judging"), Some(9))
        );
        book.glimpse(Glimpse {
            run: RunId::new(1, 1),
            words: "well".into(),
            waits: Some(("its provider".into(), Duration::from_secs(1))),
        });
        assert!(first.live.now().sub_agent_waits.is_some());
        book.progress(&progress("briefed", false));
        assert_eq!((doing(), first.live.now().until_ms), (None, None));
        assert_eq!(first.live.now().sub_agent_waits, None);
        assert_eq!(first.live.now().words, "well");
        assert!(runs.try_recv().is_err(), "it is told once");
    }
}
