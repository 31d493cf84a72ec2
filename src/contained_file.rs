//! Files whose text becomes instructions: read only where they may lie, whatever links lead to.
//!
//! A cloned repository can hold links to anywhere, and a pipe can be called `SKILL.md`. So the way is followed to its
//! end first, the end must lie below a directory that was named, and only a regular file is opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRead {
    #[error("there is no such file")]
    Missing,
    #[error("it is a link that leads out of {outside_of}; put the file itself there")]
    LeadsOut { outside_of: &'static str },
    #[error("it is {what}, not a file")]
    NoFile { what: &'static str },
    #[error("{}", .0.kind())]
    Broken(#[from] io::Error),
}

/// Where a file may lie.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// Below one of these.
    pub(crate) directories: Vec<PathBuf>,
    /// How they are called for a person.
    pub(crate) called: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainedFile {
    pub(crate) path: PathBuf,
    /// At most one byte more than was allowed, which is enough to know.
    pub(crate) text: String,
}

/// Reads at most one byte more than `bytes_max`, if the file lies where it may.
pub(crate) fn read_contained(
    path: &Path,
    bounds: &Bounds,
    bytes_max: usize,
) -> Result<ContainedFile, NotRead> {
    let real = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.symlink_metadata().is_err() => NotRead::Missing,
        _ => NotRead::Broken(error),
    })?;
    let inside = |directory: &PathBuf| {
        directory
            .canonicalize()
            .is_ok_and(|directory| real.starts_with(directory))
    };
    if !bounds.directories.iter().any(inside) {
        return Err(NotRead::LeadsOut {
            outside_of: bounds.called,
        });
    }
    read_itself(real, bytes_max)
}

/// The same for a name in a directory whose real place is known to be within the bounds: only a link has to be followed.
pub(crate) fn read_contained_in(
    directory: &Path,
    name: &str,
    bounds: &Bounds,
    bytes_max: usize,
) -> Result<ContainedFile, NotRead> {
    let path = directory.join(name);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(NotRead::Missing),
        Ok(metadata) if !metadata.is_symlink() => read_itself(path, bytes_max),
        Ok(_) | Err(_) => read_contained(&path, bounds, bytes_max),
    }
}

fn read_itself(real: PathBuf, bytes_max: usize) -> Result<ContainedFile, NotRead> {
    // Looked at before it is opened, for opening a device may do something, and after, for it may have been exchanged.
    refuse_what_is_no_file(&real.symlink_metadata()?)?;
    let file = open_itself(&real)?;
    refuse_what_is_no_file(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(ContainedFile {
        path: real,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn refuse_what_is_no_file(metadata: &std::fs::Metadata) -> Result<(), NotRead> {
    let what = match metadata.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a link",
        _ => "a pipe, a socket or a device",
    };
    Err(NotRead::NoFile { what })
}

/// Opens without following a link that was put there meanwhile, and without waiting for somebody who writes.
#[cfg(unix)]
fn open_itself(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags as i32)
        .open(path)
}

#[cfg(not(unix))]
fn open_itself(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
