//! A wish from another process that a run be cancelled: a file named after the run, which the run's owner looks for.

use super::inside::Inside;
use impresario_actors::messages::run::{AwaitRun, CancelRun};
use impresario_policies::domain::RunId;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often an owner looks, while the run is under way.
const LOOKED_EVERY: Duration = Duration::from_millis(250);
const ASK: Duration = Duration::from_secs(60);
/// A run is bounded by its own clocks; this only bounds the looking.
const LOOKED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Where wishes are left.
pub(super) fn wishes(state_directory: &Path) -> PathBuf {
    state_directory.join("wishes")
}

fn file_of(wishes: &Path, run: &RunId) -> PathBuf {
    wishes.join(format!("cancel-{run}"))
}

/// Leaves a wish.
pub(super) fn leave(wishes: &Path, run: &RunId) -> io::Result<()> {
    std::fs::write(file_of(wishes, run), "")
}

/// Takes a wish back, if it is still there.
pub(super) fn take_back(wishes: &Path, run: &RunId) {
    let _ = std::fs::remove_file(file_of(wishes, run));
}

/// Looks for a wish until the run is over, and does what it says.
pub(super) async fn heed(inside: Inside, wishes: PathBuf, run: RunId) {
    let awaited = AwaitRun { run: run.clone() };
    let over = inside.ports.await_run.ask_again(awaited, LOOKED_FOR);
    tokio::pin!(over);
    loop {
        tokio::select! {
            biased;
            _ = &mut over => break,
            () = tokio::time::sleep(LOOKED_EVERY) => {}
        }
        if file_of(&wishes, &run).exists() {
            let by = "`impresario runs cancel`".to_string();
            let cancel = CancelRun { run: run.clone(), by };
            if let Err(error) = inside.ports.cancel.ask_again(cancel, ASK).await {
                tracing::warn!(run.id = %run, %error, "wish to cancel not heeded");
            }
            break;
        }
    }
    take_back(&wishes, &run);
}
