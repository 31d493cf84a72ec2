//! One edit of a file after the other, within this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Who is at which file, or waits for it. One file is one entry, by its real path.
static AT_WORK: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());

/// Does something with a file while nobody else here does.
pub(super) fn alone_at<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    let turn = {
        let mut all = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(path.to_path_buf()).or_default().clone()
    };
    let done = {
        // Whoever panicked there left a whole file behind, as everybody does.
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    };
    drop(turn);
    let mut all = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody else holds it: it is the entry's own.
    all.retain(|_, turn| Arc::strong_count(turn) > 1);
    done
}
