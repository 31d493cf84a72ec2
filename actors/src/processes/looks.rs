//! Looks at all processes of the system, shared: one look answers everybody who asked before it began.
//!
//! A look reads every environment there is. After a crash thousands of runs want to know at once whether anything of
//! them is left; each with looks of its own, they would take minutes.

use super::Part;
use super::marks::{Marked, marked_processes};
use crate::shared_work::SharedWork;
use impresario_policies::domain::RunId;
use std::sync::{Arc, LazyLock};
use tokio::sync::oneshot;

type Seen = Arc<Vec<Marked>>;

/// Those who wait for the next look.
pub(super) struct Looks(Arc<SharedWork<oneshot::Sender<Seen>>>);

/// One for the whole process.
pub(super) static LOOKS: LazyLock<Looks> = LazyLock::new(Looks::new);

impl Looks {
    fn new() -> Self {
        Self(SharedWork::new(look_for_all))
    }

    /// Whether two looks in a row, both begun after this was called, found nothing with the mark of the run, or of this part of it. One alone
    /// may miss a process that was being forked.
    pub(super) async fn find_nothing_of(&self, run: &RunId, part: Option<Part>) -> bool {
        for _ in 0..2 {
            let (asker, seen) = oneshot::channel();
            self.0.ask(asker);
            // A look that broke has seen nothing, and least of all an empty system.
            let Ok(seen) = seen.await else { return false };
            if seen.iter().any(|marked| marked.is_of(run, part)) {
                return false;
            }
        }
        true
    }
}

fn look_for_all(askers: Vec<oneshot::Sender<Seen>>) {
    let seen = Arc::new(marked_processes());
    for asker in askers {
        let _ = asker.send(seen.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_left_of_a_run_when_two_looks_say_so() {
        let looks = Looks::new();
        assert!(
            looks
                .find_nothing_of(&RunId::new(0, fastrand::u64(..)), None)
                .await
        );
        assert_eq!(looks.0.rounds(), 2);
    }
}
