//! Who drives a run: one runtime, which holds an operating-system lock on a file for as long as it lives.
//!
//! The lock belongs to the open file description, so it goes when the process goes, however it goes, and two runtimes
//! in one process exclude each other too. Only its runtime ever creates a lock file, and it has the lock before anybody
//! can learn of the file; others only look whether it is free.

use super::RunSummary;
use crate::gateways::UnixMillis;
use impresario_policies::domain::{RunId, SessionId};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// One runtime, for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuntimeId(RunId);

impl RuntimeId {
    /// Names a runtime started at `at`; `chance` tells apart those of one millisecond.
    pub fn new(at: UnixMillis, chance: u64) -> Self {
        Self(RunId::new(at.0, chance))
    }

    /// This id as text, safe in a path.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The mark of what this runtime keeps for its runs together, where a run's own id stands elsewhere.
    pub fn mark(&self) -> &RunId {
        &self.0
    }

    /// The id that has this text; none when no id has it.
    pub(super) fn from_text(text: String) -> Option<Self> {
        RunId::try_from(text).ok().map(Self)
    }
}

impl std::fmt::Display for RuntimeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A runtime as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeIdentity {
    pub id: RuntimeId,
    /// The kind of its host: `cli`, `pi`, `embedder`.
    pub host: String,
    /// The host's session when the runtime started, where it has one.
    pub session: Option<SessionId>,
    pub started_at: UnixMillis,
    pub process: u32,
}

/// A run whose runtime is dead. Whether to take it over is the caller's to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimableRun {
    /// The run; its `generation` is what [`super::Store::claim`] wants.
    pub run: RunSummary,
    /// The runtime that owned it; none when its record is gone.
    pub owner: Option<RuntimeIdentity>,
}

/// The lock of a living runtime. Freed when dropped.
#[derive(Debug)]
pub(super) struct RuntimeLock {
    file: File,
    path: PathBuf,
}

impl Drop for RuntimeLock {
    /// A child of this process has the open file too, from its fork until it runs its own program. Closing ours would
    /// leave the lock with it; unlocking frees it for everybody.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl RuntimeLock {
    /// Takes the lock of a new runtime.
    pub(super) fn take(directory: &Path, runtime: &RuntimeId) -> io::Result<Self> {
        let path = lock_path(directory, runtime);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.try_lock()?;
        Ok(Self { file, path })
    }

    /// Frees the lock and removes its file, for a runtime that leaves nothing behind.
    pub(super) fn remove(self) {
        // A file that stays is removed by the next start, which finds its lock free.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The lock of a dead runtime, which we found free.
#[derive(Debug)]
pub(super) struct DeadRuntime {
    _file: Option<File>,
    path: PathBuf,
}

impl DeadRuntime {
    /// Removes the lock file of a runtime that nothing refers to any more.
    pub(super) fn forget(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Looks whether a runtime is dead. None while it is alive, and when nobody can tell.
pub(super) fn find_dead(directory: &Path, runtime: &RuntimeId) -> Option<DeadRuntime> {
    let path = lock_path(directory, runtime);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(DeadRuntime { _file: None, path });
        }
        Err(_) => return None,
    };
    // Shared, so that two runtimes that look at once do not take each other for the owner.
    match file.try_lock_shared() {
        Ok(()) => Some(DeadRuntime {
            _file: Some(file),
            path,
        }),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

/// Whether any runtime with a lock file in `directory` is alive.
pub(super) fn is_any_alive(directory: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(runtime) = name
            .strip_suffix(LOCK_SUFFIX)
            .map(str::to_string)
            .and_then(RuntimeId::from_text)
        else {
            continue;
        };
        if find_dead(directory, &runtime).is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

const LOCK_SUFFIX: &str = ".lock";

fn lock_path(directory: &Path, runtime: &RuntimeId) -> PathBuf {
    directory.join(format!("{runtime}{LOCK_SUFFIX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a child has it between its fork and its own program: the same open file.
    #[test]
    fn a_dropped_lock_is_free_although_a_child_still_has_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let runtime = RuntimeId::new(UnixMillis(1), 1);
        let lock = RuntimeLock::take(directory.path(), &runtime).expect("a lock");
        let of_a_child = lock.file.try_clone().expect("the same open file");
        assert!(find_dead(directory.path(), &runtime).is_none(), "it lives");
        drop(lock);
        assert!(find_dead(directory.path(), &runtime).is_some(), "it is gone");
        drop(of_a_child);
    }
}
