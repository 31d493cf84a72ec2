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

use std::io::{self, Write};
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
        let directory = workspace.join(below);
        let is_new = !directory.exists();
        std::fs::create_dir_all(&directory)?;
        let opened = Self::open(workspace, below)?;
        let opened = opened.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        if is_new {
            opened.keep_out_of_repository();
        }
        Ok(opened)
    }

    /// Traces are nobody's source: a directory that we made ourselves keeps itself out of the repository around it. One
    /// that was there already is left as the person has it.
    fn keep_out_of_repository(&self) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.directory.join(".gitignore"));
        if let Err(error) = file.and_then(|mut file| file.write_all(b"# Traces of Impresario.\n*\n")) {
            tracing::info!(%error, "traces not kept out of the repository");
        }
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
