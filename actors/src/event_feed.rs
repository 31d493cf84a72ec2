//! Announces what is on disk to whoever listens, without ever waiting for them.
//!
//! A listener that is too slow misses announcements, is told how many, and reads them from the journal by sequence.
//! A step may be announced twice (after a restart); its run and sequence say so.

use impresario_policies::domain::RunId;
use impresario_policies::projection::RecordedStep;
use tokio::sync::broadcast;

/// So many announcements are kept for slow listeners.
const KEPT_MAX: usize = 1024;

/// Something that listeners may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Announcement {
    /// A step is on disk.
    Recorded {
        /// Whose.
        run: RunId,
        /// What.
        step: RecordedStep,
    },
    /// A run cannot go on because its journal cannot be written; the next start parks it.
    Unwritable {
        /// Which run.
        run: RunId,
        /// The store's words.
        why: String,
    },
}

/// See the module.
#[derive(Debug, Clone)]
pub struct EventFeed(broadcast::Sender<Announcement>);

impl Default for EventFeed {
    fn default() -> Self {
        Self(broadcast::channel(KEPT_MAX).0)
    }
}

impl EventFeed {
    /// Listens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.0.subscribe()
    }

    /// Announces a step that is on disk.
    pub fn announce(&self, run: &RunId, step: &RecordedStep) {
        if self.0.receiver_count() > 0 {
            let _ = self.0.send(Announcement::Recorded {
                run: run.clone(),
                step: step.clone(),
            });
        }
    }

    /// Announces that a run cannot go on.
    pub fn announce_unwritable(&self, run: &RunId, why: &str) {
        let _ = self.0.send(Announcement::Unwritable {
            run: run.clone(),
            why: why.to_string(),
        });
    }
}
