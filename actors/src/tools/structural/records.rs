//! Records of replacements: what every file was, on disk before the first of them changes.
//!
//! A record is a directory with a number: `manifest.json`, `changes.patch`, and what each file was. It is there whole or
//! not at all. `applied` in it says that all files changed, `undone` that none is changed any more; with neither, the
//! process died in between, and whoever comes next takes back what it did.

use super::apply::{Step, replace_file, sha256};
use super::files::at;
use super::replace::Change;
use super::wire::{Manifest, ManifestFile, read_manifest, write_manifest};
use crate::whole_file::sweep;
use impresario_policies::structural::records::{Record, Restoring, choose_forgotten, decide_restoring};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MANIFEST: &str = "manifest.json";
const PATCH: &str = "changes.patch";
const APPLIED: &str = "applied";
const UNDONE: &str = "undone";
/// A record that is not whole yet.
const UNFINISHED: &str = ".new";
/// No manifest that is written here is larger.
const MANIFEST_BYTES_MAX: u64 = 16_000_000;

/// All records of this user, held: one replacement is made at a time.
pub(super) struct Records {
    directory: PathBuf,
    _held: File,
}

/// So long the lock is waited for.
const LOCKED_WITHIN: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

impl Records {
    /// Makes the directory where it is missing.
    pub(super) fn open(directory: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| {
            format!(
                "The records of replacements cannot be used: {}.",
                at(directory, &error)
            )
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(failed)?;
        let lock = directory.join("lock");
        let held = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(lock)
            .map_err(failed)?;
        let mut waited = Duration::ZERO;
        loop {
            match held.try_lock() {
                Ok(()) => break,
                // A program that is being started has our lock, too, until it runs: that is no other replacement.
                Err(TryLockError::WouldBlock) if waited < LOCKED_WITHIN => {
                    std::thread::sleep(LOCK_PAUSE);
                    waited += LOCK_PAUSE;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(
                        "Another replacement is being made at this moment. Call again when it is done."
                            .to_string(),
                    );
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        let records = Self {
            directory: directory.to_path_buf(),
            _held: held,
        };
        records.remove_unfinished().map_err(failed)?;
        Ok(records)
    }

    fn remove_unfinished(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            numbers.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u64>().ok()),
            );
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Takes back what was cut off. Says which files somebody changed since: they are left as they are.
    pub(super) fn recover(&self) -> Result<Vec<String>, String> {
        let failed = |error: io::Error| {
            format!(
                "The records of replacements cannot be read: {}.",
                at(&self.directory, &error)
            )
        };
        let mut told = Vec::new();
        for number in self.numbers().map_err(failed)? {
            let record = self.record(number);
            if !record.is_applied() && !record.is_undone() {
                told.extend(record.take_back()?);
            }
        }
        Ok(told)
    }

    /// The record of this number, if that replacement is made and not taken back.
    pub(super) fn applied(&self, number: &str) -> Result<RecordDirectory, String> {
        let unknown = || format!("There is no replacement {number:?} that could be taken back.");
        let number: u64 = number.trim().parse().map_err(|_| unknown())?;
        let record = self.record(number);
        if record.is_undone() {
            return Err(format!("Replacement {number} is taken back already."));
        }
        match record.is_applied() {
            true => Ok(record),
            false => Err(unknown()),
        }
    }

    fn record(&self, number: u64) -> RecordDirectory {
        RecordDirectory {
            number,
            directory: self.directory.join(number.to_string()),
        }
    }

    /// Writes down what every file was. Nothing is changed before this returns.
    pub(super) fn begin(&self, changes: &[Change]) -> Result<RecordDirectory, String> {
        let made = self.make_room().and_then(|number| {
            let record = self.record(number);
            record.write(changes, &self.directory.join(format!("{number}{UNFINISHED}")))?;
            sync(&self.directory)?;
            Ok(record)
        });
        made.map_err(|error| {
            format!(
                "Nothing is changed: a way back cannot be kept in {}.",
                at(&self.directory, &error)
            )
        })
    }

    /// Forgets the oldest; the number of the next one.
    fn make_room(&self) -> io::Result<u64> {
        let numbers = self.numbers()?;
        let mut records = Vec::new();
        for number in &numbers {
            let bytes = self.record(*number).bytes()?;
            records.push(Record {
                number: *number,
                bytes,
            });
        }
        for number in choose_forgotten(records) {
            fs::remove_dir_all(self.record(number).directory)?;
        }
        Ok(numbers.last().map_or(1, |last| last + 1))
    }
}

/// One record.
pub(super) struct RecordDirectory {
    pub(super) number: u64,
    directory: PathBuf,
}

impl RecordDirectory {
    pub(super) fn patch(&self) -> PathBuf {
        self.directory.join(PATCH)
    }

    fn is_applied(&self) -> bool {
        self.directory.join(APPLIED).exists()
    }

    fn is_undone(&self) -> bool {
        self.directory.join(UNDONE).exists()
    }

    fn bytes(&self) -> io::Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(&self.directory)? {
            bytes += entry?.metadata()?.len();
        }
        Ok(bytes)
    }

    fn write(&self, changes: &[Change], unfinished: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(unfinished)?;
        let files = changes.iter().map(|change| ManifestFile {
            path: change.path.clone(),
            old: sha256(change.old.as_bytes()),
            new: sha256(change.new.as_bytes()),
        });
        let manifest = write_manifest(&Manifest {
            files: files.collect(),
        });
        write_synced(&unfinished.join(MANIFEST), &manifest.map_err(io::Error::other)?)?;
        let patch: String = changes.iter().map(|change| change.patch.as_str()).collect();
        write_synced(&unfinished.join(PATCH), patch.as_bytes())?;
        for (place, change) in changes.iter().enumerate() {
            write_synced(&unfinished.join(old_name(place)), change.old.as_bytes())?;
        }
        sync(unfinished)?;
        fs::rename(unfinished, &self.directory)
    }

    pub(super) fn manifest(&self) -> Result<Manifest, String> {
        let file = self.directory.join(MANIFEST);
        let unreadable =
            |why: String| format!("The record of replacement {} cannot be read: {why}.", self.number);
        let length = fs::metadata(&file)
            .map_err(|error| unreadable(at(&file, &error)))?
            .len();
        if length > MANIFEST_BYTES_MAX {
            return Err(unreadable(format!("its manifest has {length} bytes")));
        }
        let bytes = fs::read(&file).map_err(|error| unreadable(at(&file, &error)))?;
        read_manifest(&bytes).map_err(unreadable)
    }

    /// What a file was, if it still is what the manifest says of it.
    pub(super) fn old(&self, place: usize, file: &ManifestFile) -> Result<Vec<u8>, String> {
        let kept = self.directory.join(old_name(place));
        let bytes = fs::read(&kept).map_err(|error| at(&kept, &error))?;
        match sha256(&bytes) == file.old {
            true => Ok(bytes),
            false => Err(format!("{} is damaged", kept.display())),
        }
    }

    pub(super) fn mark_applied(&self) -> Result<(), String> {
        self.mark(APPLIED)
    }

    pub(super) fn mark_undone(&self) -> Result<(), String> {
        self.mark(UNDONE)
    }

    fn mark(&self, as_what: &str) -> Result<(), String> {
        let marked = write_synced(&self.directory.join(as_what), b"").and_then(|()| sync(&self.directory));
        marked.map_err(|error| at(&self.directory, &error))
    }

    /// From here on it is cut off if it does not end: whoever comes next takes it back.
    pub(super) fn unmark_applied(&self) -> Result<(), String> {
        let removed = fs::remove_file(self.directory.join(APPLIED)).and_then(|()| sync(&self.directory));
        removed.map_err(|error| at(&self.directory, &error))
    }

    /// Makes every file what it was, unless somebody made something else of it.
    fn take_back(&self) -> Result<Vec<String>, String> {
        let manifest = self.manifest()?;
        let mut told = Vec::new();
        for (place, file) in manifest.files.iter().enumerate() {
            if let Some(directory) = file.path.parent() {
                sweep(directory);
            }
            let now = match fs::read(&file.path) {
                Ok(bytes) => Some(sha256(&bytes)),
                Err(_) => None,
            };
            match decide_restoring(now.as_deref(), &file.old, &file.new) {
                Restoring::Leave => {}
                Restoring::Tell => told.push(format!(
                    "{} (what it was is {})",
                    file.path.display(),
                    self.directory.join(old_name(place)).display()
                )),
                Restoring::Write => {
                    let step = Step {
                        path: file.path.clone(),
                        from: file.new.clone(),
                        to: self.old(place, file)?,
                    };
                    replace_file(&step)?;
                }
            }
        }
        self.mark_undone()?;
        Ok(told)
    }
}

fn old_name(place: usize) -> String {
    format!("old-{place}")
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
