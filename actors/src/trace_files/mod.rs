//! The trace files of a workspace: found, read, written whole, and forgotten when there are too many.
//!
//! The directory belongs to the person and may hold anything. Only regular files are opened, links are not followed, and
//! everything read has a limit. What is not a trace is left alone and named.

mod forget;
mod read;
mod shelf;
mod write;

pub use read::{FoundTrace, TracesFound, Unreadable};
pub use shelf::FileShelf;

use std::io;
use std::path::{Path, PathBuf};

/// More entries of the directory are not looked at.
const ENTRIES_MAX: usize = 20_000;

/// A directory of traces that lies inside its workspace.
#[derive(Debug, Clone)]
pub struct TraceFiles {
    directory: PathBuf,
}

impl TraceFiles {
    /// The directory `below` a workspace; none where nothing is there yet.
    pub fn open(workspace: &Path, below: &str) -> io::Result<Option<Self>> {
        let directory = match workspace.join(below).canonicalize() {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !directory.starts_with(workspace.canonicalize()?) {
            return Err(io::Error::other("the trace directory leads out of the workspace"));
        }
        Ok(Some(Self { directory }))
    }

    /// The same, made where it is missing.
    pub fn create(workspace: &Path, below: &str) -> io::Result<Self> {
        std::fs::create_dir_all(workspace.join(below))?;
        let opened = Self::open(workspace, below)?;
        opened.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// The names that may be traces.
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.directory)?.take(ENTRIES_MAX);
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| name.ends_with(".json")).collect())
    }
}
