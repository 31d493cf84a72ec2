//! A file as it is before the edit: a regular one, of a size that is edited, read once.

use super::fault::EditFault;
use crate::whole_file::open_itself;
use rustix::fs::{Access, access};
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A larger file is not edited: no source is, and the model could not read it either.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// What stands in a file, and whose it is.
#[derive(Debug)]
pub(super) struct FileRead {
    /// Its real place.
    pub(super) path: PathBuf,
    /// As it was asked for.
    pub(super) asked: String,
    pub(super) file: File,
    pub(super) metadata: Metadata,
    pub(super) bytes: Vec<u8>,
}

impl FileRead {
    pub(super) fn identity(&self) -> Identity {
        Identity::of(&self.metadata)
    }

    /// Whether another process wrote the file or put another one into its place.
    pub(super) fn is_as_it_was(&self) -> bool {
        holds(&self.path, self.identity(), &self.bytes)
    }
}

/// Whether this file lies at `path` with these bytes.
pub(super) fn holds(path: &Path, identity: Identity, bytes: &[u8]) -> bool {
    let read = || -> io::Result<bool> {
        let mut file = open_itself(path)?;
        let metadata = file.metadata()?;
        if Identity::of(&metadata) != identity || metadata.len() != bytes.len() as u64 {
            return Ok(false);
        }
        Ok(read_at_most(&mut file, bytes.len() as u64)? == bytes)
    };
    read().unwrap_or(false)
}

/// Reads a file at its real place. Nothing but a regular file is opened: opening a pipe waits, opening a device may do
/// something.
pub(super) fn read_file(path: PathBuf, asked: &str) -> Result<FileRead, EditFault> {
    let broken = |error| EditFault::of(error, asked, "read");
    refuse_what_is_no_file(path.symlink_metadata().map_err(broken)?.file_type(), asked)?;
    let mut file = open_itself(&path).map_err(broken)?;
    let metadata = file.metadata().map_err(broken)?;
    // It may have been exchanged in between.
    refuse_what_is_no_file(metadata.file_type(), asked)?;
    let bytes = read_at_most(&mut file, FILE_BYTES_MAX).map_err(broken)?;
    let length = metadata.len().max(bytes.len() as u64);
    if length > FILE_BYTES_MAX {
        return Err(EditFault::TooLarge {
            path: asked.to_string(),
            bytes: length,
            bytes_max: FILE_BYTES_MAX,
        });
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(EditFault::Utf16 {
            path: asked.to_string(),
        });
    }
    Ok(FileRead {
        path,
        asked: asked.to_string(),
        file,
        metadata,
        bytes,
    })
}

/// Refuses what must not be written: a file that is protected, and one that has other names.
pub(super) fn check_writable(read: &FileRead) -> Result<(), EditFault> {
    access(&read.path, Access::WRITE_OK)
        .map_err(|error| EditFault::of(error.into(), &read.asked, "written"))?;
    match read.metadata.nlink() {
        ..=1 => Ok(()),
        names => Err(EditFault::HardLinked {
            path: read.asked.clone(),
            names,
        }),
    }
}

pub(super) fn refuse_what_is_no_file(kind: FileType, asked: &str) -> Result<(), EditFault> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a link",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(EditFault::NoFile {
        path: asked.to_string(),
        what,
    })
}

/// One byte more than may be, which is enough to know.
fn read_at_most(file: &mut File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes =
        Vec::with_capacity(usize::try_from(file.metadata()?.len().min(bytes_max) + 1).unwrap_or_default());
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
