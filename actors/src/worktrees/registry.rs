//! The registry of worktrees: a directory with an entry for each run, written whole, one writer at a time.

use super::git::broken;
use super::wire::{WorktreeEntry, read_entry, write_entry};
use crate::gateways::WorktreeError;
use impresario_policies::domain::RunId;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// More than this is no entry of ours.
const ENTRY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Where worktrees, their patches and their entries are.
#[derive(Debug, Clone)]
pub(super) struct Registry(pub(super) PathBuf);

/// The place of one run, held until this is dropped. A process that dies lets go of it.
pub(super) struct Place {
    pub(super) run: RunId,
    home: PathBuf,
    _held: File,
}

impl Registry {
    /// Waits until nobody else works on the worktree of this run.
    pub(super) fn hold(&self, run: &RunId) -> Result<Place, WorktreeError> {
        fs::create_dir_all(&self.0).map_err(broken)?;
        let lock = self.0.join(format!("{run}.lock"));
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(lock);
        let held = file.map_err(broken)?;
        held.lock().map_err(broken)?;
        Ok(Place {
            run: run.clone(),
            home: self.0.clone(),
            _held: held,
        })
    }

    /// The runs that have an entry, the newest first.
    pub(super) fn runs(&self) -> Vec<RunId> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let runs = names.filter_map(|name| RunId::try_from(name.strip_suffix(".json")?.to_string()).ok());
        let mut runs: Vec<RunId> = runs.collect();
        runs.sort_unstable_by(|one, other| other.cmp(one));
        runs
    }

    /// Reads an entry without holding its place: it is written whole.
    pub(super) fn read(&self, run: &RunId) -> Result<Option<WorktreeEntry>, WorktreeError> {
        read(&self.0.join(format!("{run}.json")))
    }
}

fn read(file: &Path) -> Result<Option<WorktreeEntry>, WorktreeError> {
    let length = match fs::metadata(file) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(error)),
    };
    let unreadable = |why: String| WorktreeError(format!("{} cannot be read: {why}", file.display()));
    if length > ENTRY_BYTES_MAX {
        return Err(unreadable("it is too large".to_string()));
    }
    let text = fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    read_entry(&text).map(Some).map_err(unreadable)
}

impl Place {
    fn named(&self, ending: &str) -> PathBuf {
        self.home.join(format!("{}.{ending}", self.run))
    }

    /// Where the worktree of this run is made.
    pub(super) fn tree(&self) -> PathBuf {
        self.home.join(self.run.as_str())
    }

    pub(super) fn patch(&self) -> PathBuf {
        self.named("patch")
    }

    /// What git knew of the files when they were made: it saves reading those that nobody touched.
    pub(super) fn index(&self) -> PathBuf {
        self.named("index")
    }

    /// An empty directory for what a single call needs.
    pub(super) fn scratch(&self) -> Result<PathBuf, WorktreeError> {
        let scratch = self.named("tmp");
        remove(&scratch)?;
        fs::create_dir(&scratch).map_err(broken)?;
        Ok(scratch)
    }

    pub(super) fn clean(&self) {
        // What stays is removed with the next use.
        let _ = remove(&self.named("tmp"));
    }

    pub(super) fn read(&self) -> Result<Option<WorktreeEntry>, WorktreeError> {
        read(&self.named("json"))
    }

    /// On disk when this returns.
    pub(super) fn write(&self, entry: &WorktreeEntry) -> Result<(), WorktreeError> {
        let write = || -> std::io::Result<()> {
            let new = self.named("json.new");
            let mut file = File::create(&new)?;
            file.write_all(write_entry(entry).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.named("json"))?;
            self.sync()
        };
        write().map_err(broken)
    }

    /// What was renamed here is there after a loss of power too.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        File::open(&self.home)?.sync_all()
    }

    /// Forgets the run: there is nothing left to find.
    pub(super) fn forget(&self) -> Result<(), WorktreeError> {
        for file in [
            self.patch(),
            self.index(),
            self.named("tmp"),
            self.named("json"),
            self.named("lock"),
        ] {
            remove(&file)?;
        }
        Ok(())
    }
}

/// A file, a link, or a directory with everything in it; nothing is fine too.
pub(super) fn remove(path: &Path) -> Result<(), WorktreeError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WorktreeError(format!(
            "{} cannot be removed: {error}",
            path.display()
        ))),
        Ok(()) | Err(_) => Ok(()),
    }
}
