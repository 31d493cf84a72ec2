//! Announces what is on disk to whoever listens, without ever waiting for them.
//!
//! Who listens to one run is woken for that run only, and who wants to know which runs there are is woken when one begins
//! or ends: what a step costs does not depend on how many runs or listeners there are.
//! A listener that is too slow misses announcements, is told how many, and reads them from the journal by sequence.
//! A step may be announced twice (after a restart); its run and sequence say so.

use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// So many announcements are kept for a slow listener.
const KEPT_MAX: usize = 1024;

/// Something that listeners may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Announcement {
    /// A step is on disk.
    Recorded { run: RunId, step: RecordedStep },
    /// A run cannot go on because its journal cannot be written; the next start parks it.
    Unwritable { run: RunId, why: String },
}

#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "taken apart as soon as it is heard, and never kept"
)]
pub enum Heard {
    Announced(Announcement),
    /// It was too slow for so many of them; those it had not taken yet follow.
    Missed(u64),
}

#[derive(Debug, Clone, Default)]
pub struct EventFeed(Arc<Mutex<Desk>>);

#[derive(Debug, Default)]
struct Desk {
    to_lives: Vec<Line>,
    to_one: BTreeMap<RunId, Vec<Line>>,
    numbers_given: u64,
}

/// The way to one listener.
#[derive(Debug)]
struct Line {
    number: u64,
    announcements: mpsc::Sender<Announcement>,
    missed: Arc<AtomicU64>,
}

/// Hears announcements from when it was made until it is dropped.
#[derive(Debug)]
pub struct Listener {
    /// The run it listens to; none for the lives of all.
    run: Option<RunId>,
    number: u64,
    announcements: mpsc::Receiver<Announcement>,
    missed: Arc<AtomicU64>,
    desk: Arc<Mutex<Desk>>,
}

impl EventFeed {
    /// Listens from now on for the beginnings and ends of all runs. One that is adopted begins here too.
    pub fn listen_to_lives(&self) -> Listener {
        self.connect(None)
    }

    /// Listens to one run from now on.
    pub fn listen_to(&self, run: &RunId) -> Listener {
        self.connect(Some(run.clone()))
    }

    fn connect(&self, run: Option<RunId>) -> Listener {
        let (sender, announcements) = mpsc::channel(KEPT_MAX);
        let missed = Arc::new(AtomicU64::new(0));
        let mut desk = lock(&self.0);
        desk.numbers_given += 1;
        let number = desk.numbers_given;
        desk.lines_of(run.as_ref()).push(Line {
            number,
            announcements: sender,
            missed: missed.clone(),
        });
        Listener {
            run,
            number,
            announcements,
            missed,
            desk: self.0.clone(),
        }
    }

    /// Announces a step that is on disk.
    pub fn announce(&self, run: &RunId, step: &RecordedStep) {
        let announcement = || Announcement::Recorded {
            run: run.clone(),
            step: step.clone(),
        };
        self.tell(run, is_of_a_life(&step.step), announcement);
    }

    /// Announces that a run cannot go on.
    pub fn announce_unwritable(&self, run: &RunId, why: &str) {
        let announcement = || Announcement::Unwritable {
            run: run.clone(),
            why: why.to_string(),
        };
        self.tell(run, true, announcement);
    }

    fn tell(&self, run: &RunId, is_of_a_life: bool, announcement: impl Fn() -> Announcement) {
        let desk = lock(&self.0);
        let to_one = desk.to_one.get(run).into_iter().flatten();
        let to_lives = desk.to_lives.iter().filter(|_| is_of_a_life);
        for line in to_lives.chain(to_one) {
            line.tell(announcement());
        }
    }
}

fn is_of_a_life(step: &Step) -> bool {
    matches!(
        step,
        Step::Accepted { .. } | Step::Ended { .. } | Step::Delivered | Step::DeliveryAcknowledged
    )
}

impl Desk {
    fn lines_of(&mut self, run: Option<&RunId>) -> &mut Vec<Line> {
        match run {
            Some(run) => self.to_one.entry(run.clone()).or_default(),
            None => &mut self.to_lives,
        }
    }

    fn disconnect(&mut self, run: Option<&RunId>, number: u64) {
        let lines = self.lines_of(run);
        lines.retain(|line| line.number != number);
        if let (true, Some(run)) = (lines.is_empty(), run) {
            self.to_one.remove(run);
        }
    }
}

impl Line {
    fn tell(&self, announcement: Announcement) {
        match self.announcements.try_send(announcement) {
            // The listener has something to take, and looks at this first when it comes for more.
            Err(TrySendError::Full(_)) => drop(self.missed.fetch_add(1, Ordering::AcqRel)),
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }
}

impl Listener {
    /// What is heard next; waits for it.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.missed.swap(0, Ordering::AcqRel) {
            0 => self.announcements.recv().await.map(Heard::Announced),
            missed => Some(Heard::Missed(missed)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.desk).disconnect(self.run.as_ref(), self.number);
    }
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Wake, Waker};

    fn run(number: u64) -> RunId {
        RunId::new(number, 0)
    }

    fn step(sequence: u64) -> RecordedStep {
        RecordedStep {
            sequence,
            generation: 1,
            at_ms: 0,
            step: Step::Delivered,
        }
    }

    /// Counts how often somebody was woken.
    #[derive(Default)]
    struct Woken(AtomicU64);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(listener: &mut Listener, woken: &Arc<Woken>) -> Poll<Option<Heard>> {
        let waker = Waker::from(woken.clone());
        pin!(listener.next()).poll(&mut Context::from_waker(&waker))
    }

    fn sequence_of(heard: Poll<Option<Heard>>) -> Option<u64> {
        match heard {
            Poll::Ready(Some(Heard::Announced(Announcement::Recorded { step, .. }))) => Some(step.sequence),
            _ => None,
        }
    }

    /// What a step costs must not depend on how many listen to other runs.
    #[test]
    fn a_step_wakes_those_who_listen_to_its_run_and_nobody_else() {
        const RUNS: u64 = 1_000;
        let feed = EventFeed::default();
        let woken = Arc::new(Woken::default());
        let mut listeners = (0..RUNS)
            .map(|number| feed.listen_to(&run(number)))
            .collect::<Vec<_>>();
        for listener in &mut listeners {
            assert!(poll(listener, &woken).is_pending());
        }
        feed.announce(&run(7), &step(1));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(sequence_of(poll(&mut listeners[7], &woken)), Some(1));
        assert!(poll(&mut listeners[8], &woken).is_pending());
    }

    #[test]
    fn who_is_too_slow_is_told_how_much_it_missed() {
        let feed = EventFeed::default();
        let woken = Arc::new(Woken::default());
        let mut listener = feed.listen_to(&run(1));
        let announced = KEPT_MAX as u64 + 3;
        for sequence in 1..=announced {
            feed.announce(&run(1), &step(sequence));
        }
        assert_eq!(poll(&mut listener, &woken), Poll::Ready(Some(Heard::Missed(3))));
        assert_eq!(sequence_of(poll(&mut listener, &woken)), Some(1));
    }

    #[test]
    fn who_listens_to_lives_hears_beginnings_and_ends_and_who_is_gone_leaves_nothing_behind() {
        let feed = EventFeed::default();
        let woken = Arc::new(Woken::default());
        let (mut lives, one) = (feed.listen_to_lives(), feed.listen_to(&run(1)));
        let admitted = RecordedStep {
            step: Step::Admitted,
            ..step(1)
        };
        feed.announce(&run(1), &admitted);
        assert!(poll(&mut lives, &woken).is_pending());
        feed.announce(&run(2), &step(2));
        assert_eq!(sequence_of(poll(&mut lives, &woken)), Some(2));
        drop((lives, one));
        let desk = lock(&feed.0);
        assert!(desk.to_lives.is_empty() && desk.to_one.is_empty());
    }
}
