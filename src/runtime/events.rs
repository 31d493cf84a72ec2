//! The durable steps of a run as they are written, without gaps and without repetition.

use super::run::Standing;
use super::{Runtime, RuntimeError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use impresario_actors::event_feed::{Announcement, Heard, Listener};
use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// How often the journal is asked about a run that another runtime works on.
const LOOKED_EVERY: Duration = Duration::from_millis(250);

/// A durable step of a run.
pub type RunEvent = RecordedStep;

/// Reads steps from the feed, and from the journal whatever the feed did not bring.
pub struct RunEvents {
    runtime: Runtime,
    run: RunId,
    live: Listener,
    read: VecDeque<RecordedStep>,
    seen: u64,
    begun: bool,
    /// Resolves when nothing more happens to the run here, or when it is worth a look at the journal.
    resting: Option<BoxFuture<'static, Result<Standing, RuntimeError>>>,
    /// What was read is all there is.
    last: bool,
    over: bool,
}

impl fmt::Debug for RunEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunEvents({} after {})", self.run, self.seen)
    }
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
            resting: None,
            last: false,
            over: false,
        }
    }

    /// The next step; none after the terminal one, when no terminal one can be written, when there is no such run, or when
    /// the runtime is gone. A run that another runtime works on is looked at in the journal now and then.
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
            if self.last {
                return None;
            }
            if !self.begun {
                self.begun = true;
                self.catch_up().await?;
                continue;
            }
            let Self {
                resting,
                runtime,
                run,
                live,
                ..
            } = self;
            let resting = resting.get_or_insert_with(|| at_rest(runtime.clone(), run.clone()).boxed());
            tokio::select! {
                biased;
                heard = live.next() => self.heard(heard?).await?,
                standing = resting => self.rested(standing).await?,
            }
        }
    }

    async fn heard(&mut self, heard: Heard) -> Option<()> {
        match heard {
            Heard::Announced(Announcement::Recorded { step, .. }) => {
                if step.sequence == self.seen + 1 {
                    self.read.push_back(step);
                } else if step.sequence > self.seen {
                    self.catch_up().await?;
                }
            }
            // Its standing says so too, as soon as nothing of the run is left.
            Heard::Announced(Announcement::Unwritable { .. }) => {}
            Heard::Missed(_) => self.catch_up().await?,
        }
        Some(())
    }

    /// What was written until now is read once more; a run that is driven elsewhere is asked after again.
    async fn rested(&mut self, standing: Result<Standing, RuntimeError>) -> Option<()> {
        self.resting = None;
        self.catch_up().await?;
        self.last = !matches!(standing, Ok(Standing::Elsewhere(_)));
        Some(())
    }

    async fn catch_up(&mut self) -> Option<()> {
        self.read = self.runtime.steps(&self.run, self.seen).await.ok()?.into();
        Some(())
    }
}

async fn at_rest(runtime: Runtime, run: RunId) -> Result<Standing, RuntimeError> {
    let standing = runtime.standing_at_rest(&run).await;
    if let Ok(Standing::Elsewhere(_)) = &standing {
        tokio::time::sleep(LOOKED_EVERY).await;
    }
    standing
}
