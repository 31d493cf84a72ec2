//! The durable steps of a run as they are written, without gaps and without repetition.

use super::Runtime;
use impresario_actors::event_feed::{Announcement, Heard, Listener};
use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;
use std::collections::VecDeque;

/// A durable step of a run.
pub type RunEvent = RecordedStep;

/// Reads steps from the feed, and from the journal whatever the feed did not bring.
#[derive(Debug)]
pub struct RunEvents {
    runtime: Runtime,
    run: RunId,
    live: Listener,
    read: VecDeque<RecordedStep>,
    seen: u64,
    begun: bool,
    over: bool,
}

impl RunEvents {
    pub(super) fn new(runtime: Runtime, run: RunId) -> Self {
        let live = runtime.0.listen_to(&run);
        Self {
            runtime,
            run,
            live,
            read: VecDeque::new(),
            seen: 0,
            begun: false,
            over: false,
        }
    }

    /// The next step; none after the terminal one, or when the runtime is gone.
    pub async fn next(&mut self) -> Option<RunEvent> {
        loop {
            if self.over {
                return None;
            }
            if let Some(step) = self.read.pop_front() {
                self.seen = step.sequence;
                self.over = matches!(step.step, Step::Ended { .. });
                return Some(step);
            }
            if !self.begun {
                self.begun = true;
                self.catch_up().await?;
                continue;
            }
            match self.live.next().await? {
                Heard::Announced(Announcement::Recorded { step, .. }) => {
                    if step.sequence == self.seen + 1 {
                        self.read.push_back(step);
                    } else if step.sequence > self.seen {
                        self.catch_up().await?;
                    }
                }
                Heard::Announced(Announcement::Unwritable { .. }) => self.over = true,
                Heard::Missed(_) => self.catch_up().await?,
            }
        }
    }

    async fn catch_up(&mut self) -> Option<()> {
        self.read = self.runtime.steps(&self.run, self.seen).await.ok()?.into();
        Some(())
    }
}
