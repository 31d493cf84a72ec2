//! A wish from another process that a run be cancelled: a file named after the run, which the run's owner looks for.

use super::inside::Inside;
use impresario_actors::event_feed::{Announcement, Heard, Listener};
use impresario_actors::messages::run::{CancelReply, CancelRun};
use impresario_policies::domain::{RunId, Step};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often an owner looks, while any run is under way.
const LOOKED_EVERY: Duration = Duration::from_millis(250);
const ASK: Duration = Duration::from_secs(60);
const CANCEL: &str = "cancel-";

pub(super) fn wishes(state_directory: &Path) -> PathBuf {
    state_directory.join("wishes")
}

fn file_of(wishes: &Path, run: &RunId) -> PathBuf {
    wishes.join(format!("{CANCEL}{run}"))
}

pub(super) fn leave(wishes: &Path, run: &RunId) -> io::Result<()> {
    std::fs::write(file_of(wishes, run), "")
}

/// Takes a wish back, if it is still there.
pub(super) fn take_back(wishes: &Path, run: &RunId) {
    let _ = std::fs::remove_file(file_of(wishes, run));
}

/// Looks for wishes while any run is under way here, spawned or adopted, and does what they say.
pub(super) async fn heed(inside: Inside, wishes: PathBuf, mut steps: Listener) {
    let mut under_way = BTreeSet::new();
    let mut look = tokio::time::interval(LOOKED_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = look.tick(), if !under_way.is_empty() => {
                for run in wished(&wishes) {
                    cancel(&inside, &wishes, run).await;
                }
            }
            heard = steps.next() => match heard {
                Some(Heard::Announced(announced)) => note(&mut under_way, announced),
                // Whoever's end was missed costs a look now and then, no more.
                Some(Heard::Missed(_)) => {}
                None => return,
            },
        }
    }
}

fn note(under_way: &mut BTreeSet<RunId>, announced: Announcement) {
    match announced {
        Announcement::Recorded { run, step } => match step.step {
            Step::Ended { .. } | Step::Delivered | Step::DeliveryAcknowledged => {
                under_way.remove(&run);
            }
            _ => {
                under_way.insert(run);
            }
        },
        Announcement::Unwritable { run, .. } => {
            under_way.remove(&run);
        }
    }
}

/// The runs that somebody wishes cancelled; another runtime's are among them.
fn wished(wishes: &Path) -> Vec<RunId> {
    let entries = std::fs::read_dir(wishes).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| RunId::try_from(name.strip_prefix(CANCEL)?.to_string()).ok())
        .collect()
}

async fn cancel(inside: &Inside, wishes: &Path, run: RunId) {
    let by = "`impresario runs cancel`".to_string();
    let cancel = CancelRun { run: run.clone(), by };
    match inside.ports.cancel.ask_again(cancel, ASK).await {
        Ok(CancelReply::Cancelling) => take_back(wishes, &run),
        Ok(CancelReply::NotUnderWay) => {}
        Err(error) => tracing::warn!(run.id = %run, %error, "wish to cancel not heeded"),
    }
}
