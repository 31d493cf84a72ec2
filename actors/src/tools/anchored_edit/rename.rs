//! Gives a file another name, so that nothing can get lost: by renaming it, never by writing it anew and removing it,
//! and never over something that is there.

use super::fault::EditFault;
use super::grounds::Grounds;
use super::read::{FileRead, Identity};
use crate::whole_file::sync_directory_of;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where a file goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Where it is: another spelling of its own path.
    WhereItIs,
    /// Where nothing is.
    Free(PathBuf),
    /// Its own name in other capitals, which a file system that does not tell them apart takes for the same.
    OtherCapitals(PathBuf),
}

/// Looks whether a file may go there, before anything is written.
pub(super) fn destination(grounds: &Grounds, read: &FileRead, to: &str) -> Result<Destination, EditFault> {
    let refused = |why: &str| EditFault::NotRenamed {
        to: to.to_string(),
        why: why.to_string(),
    };
    let (directory, name) = grounds.entry(to).map_err(|fault| match fault {
        EditFault::NotFound { .. } => refused("there is no such directory"),
        fault => fault,
    })?;
    let place = directory.join(&name);
    if place == read.path {
        return Ok(Destination::WhereItIs);
    }
    let there = match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Destination::Free(place)),
        Err(error) => return Err(EditFault::of(error, to, "looked at")),
        Ok(there) => there,
    };
    if there.is_symlink() {
        return Err(refused("there is a link of that name"));
    }
    if Identity::of(&there) != read.identity() {
        return Err(refused(
            "something is there already; remove it first, if it may go",
        ));
    }
    match is_in_other_capitals(&read.path, &directory, &name) {
        true => Ok(Destination::OtherCapitals(place)),
        false => Err(refused("it is another name (a hard link) of the same file")),
    }
}

/// The file is found under a name that does not stand in its directory.
fn is_in_other_capitals(path: &Path, directory: &Path, name: &OsStr) -> bool {
    let own = path.file_name().unwrap_or_default();
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let stands_there = || {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name() == name)
    };
    path.parent() == Some(directory) && lower(own) == lower(name) && !stands_there()
}

/// Renames; what came there meanwhile stays, and so does the file.
pub(super) fn rename(read: &FileRead, to: &Destination, asked: &str) -> Result<(), EditFault> {
    let renamed = match to {
        Destination::WhereItIs => return Ok(()),
        Destination::OtherCapitals(place) => std::fs::rename(&read.path, place),
        Destination::Free(place) => rename_to_free(&read.path, place),
    };
    match renamed {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(EditFault::NotRenamed {
                to: asked.to_string(),
                why: "something came there meanwhile".to_string(),
            });
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            return Err(EditFault::NotRenamed {
                to: asked.to_string(),
                why: "it is on another file system; copy it with a shell".to_string(),
            });
        }
        Err(error) => return Err(EditFault::of(error, asked, "renamed")),
    }
    let (Destination::Free(place) | Destination::OtherCapitals(place)) = to else {
        return Ok(());
    };
    let synced = sync_directory_of(place).and_then(|()| sync_directory_of(&read.path));
    synced.map_err(|error| EditFault::of(error, asked, "renamed"))
}

fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Where the file system cannot, a second name is made, which fails where there is one, and the first one goes.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}
