//! The file of the log: found without following a link, locked, full at some time, and then one of those before it.
//!
//! Several processes may log into one file. Each line is written at once and behind what is there; who makes the file give
//! way to a new one has it locked, and whoever waited for the lock looks whether the file is still the one of that name.

use super::wire;
use crate::gateways::UnixMillis;
use crate::messages::prompts::LogPrompt;
use impresario_policies::prompt_log::{
    PromptFileDecision, PromptFileFacts, PromptLogSettings, PromptSource, decide_prompt_file, prompt_entry,
    prompt_log_path,
};
use impresario_policies::utc_date::DAY_MS;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many prompts are known for logged; then all of them are forgotten, and each may stand there once more.
const KNOWN_MAX: usize = 4_096;
/// How often a file that somebody else made give way is looked for again.
const TRIES_MAX: usize = 8;
/// How often it is tried to lock the file, and the pause between two tries.
const LOCK_TRIES_MAX: usize = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Nobody's source: in a directory of the workspace that was made for the log.
const KEPT_OUT: &[u8] = b"# System prompts that Impresario logged.\n*\n";

/// What stands in the log of a session: its source, its shape and its digest.
type Known = BTreeSet<(&'static str, String, Option<&'static str>, String)>;

/// Where prompts are logged. Cheap to clone; a clone knows what the others logged.
#[derive(Debug, Clone, Default)]
pub struct PromptFile {
    settings: Arc<PromptLogSettings>,
    known: Arc<Mutex<Known>>,
}

impl PromptFile {
    pub fn new(settings: PromptLogSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            known: Arc::default(),
        }
    }

    /// Whether prompts that are seen there are logged.
    pub fn wants(&self, source: PromptSource) -> bool {
        self.settings.wants(source)
    }

    /// Writes a prompt, unless it stands there already.
    pub(super) fn log(&self, seen: &LogPrompt, now: UnixMillis) -> io::Result<()> {
        let entry = prompt_entry(&seen.prompt);
        let session = seen.session.as_ref().map_or("", |session| session.0.as_str());
        let known = (
            seen.source.word(),
            session.to_string(),
            seen.shape,
            entry.sha256.clone(),
        );
        if self.settings.dedupe && self.known().contains(&known) {
            return Ok(());
        }
        let place = Place::open(&seen.workspace, &self.settings.path)?;
        place.append(&wire::line(seen, &entry, now)?, now, &self.settings)?;
        let mut all = self.known();
        if all.len() >= KNOWN_MAX {
            all.clear();
        }
        all.insert(known);
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A directory that is open, and a name in it.
struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// Below the workspace no link is followed: what lies there may be anybody's. Another place is the person's own.
    fn open(workspace: &Path, path: &str) -> io::Result<Self> {
        let file = prompt_log_path(path, workspace);
        let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let parent = file.parent().unwrap_or(Path::new("/"));
        let workspace = prompt_log_path(".", workspace);
        let directory = match parent.strip_prefix(&workspace) {
            Ok(below) => open_below(
                open_directory(CWD, workspace.as_os_str(), OFlags::empty())?,
                below,
            )?,
            Err(_) => {
                DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
                open_directory(CWD, parent.as_os_str(), OFlags::empty())?
            }
        };
        Ok(Self { directory, name })
    }

    fn append(&self, line: &[u8], now: UnixMillis, settings: &PromptLogSettings) -> io::Result<()> {
        for _ in 0..TRIES_MAX {
            let mut file = self.open_file()?;
            lock(&file)?;
            let there = fstat(&file)?;
            let is_named_so = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|named| (named.st_dev, named.st_ino) == (there.st_dev, there.st_ino));
            if !is_named_so {
                continue;
            }
            let facts = PromptFileFacts {
                bytes: u64::try_from(there.st_size).unwrap_or_default(),
                line_bytes: line.len() as u64,
                written_day: u64::try_from(there.st_mtime).unwrap_or_default() * 1_000 / DAY_MS,
                today: now.0 / DAY_MS,
            };
            match decide_prompt_file(facts, settings) {
                PromptFileDecision::Append => return file.write_all(line),
                PromptFileDecision::GiveWay => self.give_way(settings.files_kept)?,
            }
        }
        Err(io::Error::other("the log of prompts is replaced again and again"))
    }

    /// The file itself, which nobody but its owner may read.
    fn open_file(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(openat(
            &self.directory,
            &self.name,
            flags | OFlags::CLOEXEC,
            PRIVATE,
        )?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other(
                "what is called like the log of prompts is no file",
            ));
        }
        if Mode::from_raw_mode(fstat(&file)?.st_mode) != PRIVATE {
            fchmod(&file, PRIVATE)?;
        }
        Ok(file)
    }

    /// The oldest of those before it goes, and each of the others is one older.
    fn give_way(&self, kept: u32) -> io::Result<()> {
        let numbered = |number: u32| match number {
            0 => self.name.clone(),
            number => {
                let mut name = self.name.clone();
                name.push(format!(".{number}"));
                name
            }
        };
        if kept == 0 {
            return Ok(unlinkat(&self.directory, &self.name, AtFlags::empty())?);
        }
        for number in (0..kept).rev() {
            match renameat(
                &self.directory,
                numbered(number),
                &self.directory,
                numbered(number + 1),
            ) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Who holds it writes a line or renames a few files; whoever holds it for longer is not waited for.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES_MAX {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("somebody holds the log of prompts"))
}

fn open_directory(at: impl std::os::fd::AsFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | flags;
    Ok(openat(at, name, flags, Mode::empty())?)
}

/// Goes down from a directory, making what is missing.
fn open_below(mut directory: OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    let mut was_made = false;
    for part in below.components() {
        let Component::Normal(name) = part else { continue };
        was_made = match mkdirat(&directory, name, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        directory = open_directory(&directory, name, OFlags::NOFOLLOW)?;
    }
    if was_made {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let ignored = openat(&directory, ".gitignore", flags, PRIVATE).map_err(io::Error::from);
        if let Err(error) = ignored.and_then(|file| File::from(file).write_all(KEPT_OUT)) {
            tracing::info!(%error, "logged prompts are not kept out of the repository");
        }
    }
    Ok(directory)
}

#[cfg(test)]
mod tests;
