//! How the journal actor reaches the store: the writing thread in production, inline in a simulation.

use super::store::last_sequence;
use super::{Committed, JournalError, Row, Store, WriterHandle};
use impresario_policies::domain::RunId;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The way to a store. A restarted journal actor gets the same one.
#[derive(Clone)]
pub struct JournalAccess(Way);

#[derive(Clone)]
enum Way {
    Thread(WriterHandle),
    Inline(Rc<RefCell<Inline>>),
}

/// A thread's answer would be invisible to a paused clock, so a simulation has the work done at once and only the
/// answer comes later.
struct Inline {
    store: Box<dyn Store>,
    delays: fastrand::Rng,
    delay_max: Duration,
}

impl Inline {
    fn delay(&mut self) -> Duration {
        let micros = u64::try_from(self.delay_max.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.delays.u64(0..=micros))
    }
}

impl JournalAccess {
    /// Asks the writing thread.
    pub fn thread(handle: WriterHandle) -> Self {
        Self(Way::Thread(handle))
    }

    /// Does the work inline and answers after a delay of at most `delay_max` that follows from `seed`.
    pub fn inline(store: impl Store + 'static, seed: u64, delay_max: Duration) -> Self {
        let delays = fastrand::Rng::with_seed(seed);
        Self(Way::Inline(Rc::new(RefCell::new(Inline {
            store: Box::new(store),
            delays,
            delay_max,
        }))))
    }

    /// Writes all of `rows` or none, and returns when they are on disk.
    pub(super) async fn commit(self, rows: Arc<[Row]>) -> Result<Committed, JournalError> {
        match self.0 {
            // The thread writes these together with what else waits.
            Way::Thread(handle) => handle.commit(rows).await,
            Way::Inline(inline) => {
                let through = last_sequence(&rows);
                Self::inline_work(&inline, |store| store.commit(&rows)).await?;
                Ok(Committed { through })
            }
        }
    }

    /// Makes this runtime the owner of a run.
    pub(super) async fn claim(self, run: RunId, generation: u64) -> Result<u64, JournalError> {
        match self.0 {
            // The thread does these together with what else waits.
            Way::Thread(handle) => handle.claim(run, generation).await,
            Way::Inline(inline) => Self::inline_work(&inline, |store| store.claim(&run, generation)).await,
        }
    }

    /// Does `work` with the store, after everything that was asked before.
    pub(super) async fn with_store<T: Send + 'static>(
        self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        match self.0 {
            Way::Thread(handle) => handle.with_store(work).await,
            Way::Inline(inline) => Self::inline_work(&inline, work).await,
        }
    }

    async fn inline_work<T>(
        inline: &RefCell<Inline>,
        work: impl FnOnce(&mut dyn Store) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let (outcome, delay) = {
            let mut inline = inline.borrow_mut();
            (work(&mut *inline.store), inline.delay())
        };
        tokio::time::sleep(delay).await;
        outcome
    }
}
