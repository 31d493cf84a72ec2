//! Which workspaces a person trusts, for the command line. Kept in the state directory, for its owner only.
//!
//! In Pi, Pi's own trust of the project counts instead (see `docs/adr/0024-trust-is-asked-for.md`).

mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) use wire::TrustEntry;

const FILE: &str = "trust.json";
const LOCK: &str = "trust.lock";
/// More than a person ever decides on.
const ENTRIES_MAX: usize = 10_000;
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What of a workspace trust is about, from the workspace.
const BROUGHT_ALONG: [&str; 3] = [".pi/settings.json", ".pi/skills", ".agents/skills"];

/// Why what is remembered cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    #[error("use {file}: {why}")]
    File { file: PathBuf, why: io::Error },
    /// It is not what we wrote.
    #[error("read {file}: {why}. Until it is mended or removed, no workspace is trusted")]
    Damaged {
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// What of a workspace a person has to trust.
pub(crate) fn brought_along(workspace: &Path) -> Vec<&'static str> {
    let is_there = |place: &&str| workspace.join(place).symlink_metadata().is_ok();
    BROUGHT_ALONG.into_iter().filter(is_there).collect()
}

/// What a person said of workspaces.
#[derive(Debug, Clone)]
pub(crate) struct TrustBook {
    directory: PathBuf,
}

impl TrustBook {
    /// The one in this state directory, which has to be there.
    pub(crate) fn of(state_directory: &Path) -> Self {
        Self {
            directory: state_directory.to_path_buf(),
        }
    }

    /// What was said of this very directory. One above it says nothing of it: what is cloned into a trusted directory is
    /// somebody else's again.
    pub(crate) fn remembered(&self, workspace: &Path) -> Result<Option<bool>, TrustError> {
        let entries = self.list()?;
        let found = entries.iter().find(|entry| entry.directory == workspace);
        Ok(found.map(|entry| entry.trusted))
    }

    /// Everything that was said, by directory.
    pub(crate) fn list(&self) -> Result<Vec<TrustEntry>, TrustError> {
        let file = self.directory.join(FILE);
        let text = match read_bounded(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(TrustError::File { file, why }),
        };
        wire::read(&text).map_err(|why| TrustError::Damaged { file, why })
    }

    /// Notes what was said of a directory.
    pub(crate) fn remember(&self, workspace: &Path, trusted: bool, at_ms: u64) -> Result<(), TrustError> {
        self.change(|entries| {
            entries.retain(|entry| entry.directory != workspace);
            entries.push(TrustEntry {
                directory: workspace.to_path_buf(),
                trusted,
                at_ms,
            });
        })
    }

    /// Forgets what was said of a directory, and says whether there was anything.
    pub(crate) fn forget(&self, workspace: &Path) -> Result<bool, TrustError> {
        let mut was_there = false;
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.directory != workspace);
            was_there = entries.len() < before;
        })?;
        Ok(was_there)
    }

    /// Two commands at once must not lose what the other one noted, and a reader never sees half a file.
    fn change(&self, change: impl FnOnce(&mut Vec<TrustEntry>)) -> Result<(), TrustError> {
        let unusable = |name: &str| {
            let file = self.directory.join(name);
            move |why| TrustError::File { file, why }
        };
        let lock = private(&self.directory.join(LOCK)).map_err(unusable(LOCK))?;
        lock.lock().map_err(unusable(LOCK))?;
        let mut entries = self.list()?;
        change(&mut entries);
        entries.sort_by(|one, other| one.directory.cmp(&other.directory));
        entries.truncate(ENTRIES_MAX);
        let written = self.directory.join(format!("{FILE}.new"));
        let write = || {
            let mut file = private(&written)?;
            file.set_len(0)?;
            file.write_all(wire::to_text(&entries).as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&written, self.directory.join(FILE))
        };
        write().map_err(unusable(FILE))
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if file.metadata()?.len() > FILE_BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_said_holds_for_that_directory_until_it_is_taken_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let book = TrustBook::of(directory.path());
        let (one, below) = (Path::new("/src/one"), Path::new("/src/one/vendor"));
        assert_eq!(book.remembered(one).expect("read"), None);
        book.remember(one, true, 1).expect("noted");
        book.remember(Path::new("/src/two"), false, 2).expect("noted");
        assert_eq!(book.remembered(one).expect("read"), Some(true));
        assert_eq!(book.remembered(below).expect("read"), None);
        book.remember(one, false, 3).expect("noted");
        assert_eq!(book.remembered(one).expect("read"), Some(false));
        assert!(book.forget(one).expect("forgotten"));
        assert!(!book.forget(one).expect("nothing to forget"));
        assert_eq!(book.list().expect("read").len(), 1);
        let mode = std::fs::metadata(directory.path().join(FILE))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_book_trusts_nobody_and_is_not_written_over() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join(FILE), "[{").expect("a file");
        let book = TrustBook::of(directory.path());
        assert!(matches!(
            book.remembered(Path::new("/x")),
            Err(TrustError::Damaged { .. })
        ));
        assert!(book.remember(Path::new("/x"), true, 1).is_err());
        assert_eq!(
            std::fs::read_to_string(directory.path().join(FILE)).expect("the file"),
            "[{"
        );
    }
}
