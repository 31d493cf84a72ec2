//! Is the file we write still the one that stands in the state directory?
//!
//! A file that was removed or replaced can be written for ever without an error, and whoever starts next finds nothing of
//! it. So after each commit, before anybody is told of it, it is looked whether the name still leads to the file.

use super::open::companion;
use crate::journal::JournalError;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The journal and its log as they were when they were opened.
#[derive(Debug)]
pub(super) struct OpenFiles {
    journal: OpenFile,
    log: OpenFile,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFiles {
    /// Looks at what was opened a moment ago, under the lock under which nobody moves it.
    pub(super) fn look(journal: &Path) -> io::Result<Self> {
        Ok(Self {
            journal: OpenFile::look(journal.to_path_buf())?,
            log: OpenFile::look(companion(journal, "-wal"))?,
        })
    }

    /// Fails when one of them is no longer where it was.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        [&self.journal, &self.log]
            .into_iter()
            .try_for_each(OpenFile::check)
    }
}

impl OpenFile {
    fn look(path: PathBuf) -> io::Result<Self> {
        let metadata = std::fs::metadata(&path)?;
        Ok(Self {
            path,
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    fn check(&self) -> Result<(), JournalError> {
        let what = match std::fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => return Ok(()),
            Ok(_) => "replaced by another file",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "removed",
            // It cannot be seen just now, which says nothing of it.
            Err(_) => return Ok(()),
        };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Err(JournalError::Vanished {
            why: format!("{name} was {what} while it was in use"),
        })
    }
}
