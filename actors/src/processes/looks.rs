//! Looks at all processes of the system, shared: one look answers everybody who asked before it began.
//!
//! A look reads every environment there is. After a crash thousands of runs want to know at once whether anything of
//! them is left; each with looks of its own, they would take minutes.

use super::marks::{Marked, marked_processes};
use impresario_policies::domain::RunId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Those who wait for the next look.
pub(super) struct Looks(Mutex<Waiting>);

struct Waiting {
    askers: Vec<oneshot::Sender<Arc<Vec<Marked>>>>,
    is_looking: bool,
    #[cfg(test)]
    taken: u32,
}

/// One for the whole process.
pub(super) static LOOKS: Looks = Looks::new();

impl Looks {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Waiting {
            askers: Vec::new(),
            is_looking: false,
            #[cfg(test)]
            taken: 0,
        }))
    }

    /// Whether two looks in a row, both begun after this was called, found nothing with the mark of the run. One alone
    /// may miss a process that was being forked.
    pub(super) async fn find_nothing_of(&'static self, run: &RunId) -> bool {
        for _ in 0..2 {
            let Ok(seen) = self.next().await else {
                return false; // a look that broke has seen nothing, and least of all an empty system
            };
            if seen.iter().any(|marked| marked.run == *run) {
                return false;
            }
        }
        true
    }

    fn next(&'static self) -> oneshot::Receiver<Arc<Vec<Marked>>> {
        let (asker, seen) = oneshot::channel();
        let mut waiting = self.lock();
        waiting.askers.push(asker);
        if !std::mem::replace(&mut waiting.is_looking, true) {
            tokio::task::spawn_blocking(|| self.look_until_nobody_waits());
        }
        seen
    }

    fn look_until_nobody_waits(&self) {
        while let Some(askers) = self.take_askers() {
            let seen = Arc::new(marked_processes());
            for asker in askers {
                let _ = asker.send(seen.clone());
            }
        }
    }

    fn take_askers(&self) -> Option<Vec<oneshot::Sender<Arc<Vec<Marked>>>>> {
        let mut waiting = self.lock();
        waiting.is_looking = !waiting.askers.is_empty();
        #[cfg(test)]
        {
            waiting.taken += u32::from(waiting.is_looking);
        }
        waiting.is_looking.then(|| std::mem::take(&mut waiting.askers))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    #[tokio::test]
    async fn a_thousand_who_ask_at_once_share_their_looks() {
        static MANY: Looks = Looks::new();
        let runs = (0..1_000).map(|number| RunId::new(number, fastrand::u64(..))).collect::<Vec<_>>();
        let found = join_all(runs.iter().map(|run| MANY.find_nothing_of(run))).await;
        assert!(found.into_iter().all(|nothing| nothing));
        let taken = MANY.lock().taken;
        assert!((2..=6).contains(&taken), "{taken} looks for a thousand askers");
    }
}
