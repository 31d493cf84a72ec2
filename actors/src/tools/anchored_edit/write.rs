//! Puts an edited file into the place of the old one: all of it, or none, and only of the one that was read.
//!
//! The new file is written beside the old one and is on the disk before they change places. Where the file system can
//! exchange two files in one step, the old one is still there afterwards: if it is not what was read, because somebody
//! wrote it in that very moment, it goes back, and so it does when what was written cannot be read back.

use super::fault::EditFault;
use super::read::{FileRead, Identity, check_writable, holds};
use crate::whole_file::{Unfinished, lock, sweep, sync_directory_of};
use impresario_policies::anchored_edit::first_difference;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// Reads a file after it was written, to see whether it is what was meant.
pub trait ReadBack {
    /// All bytes of a file.
    fn read_back(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Reads it where it lies.
#[derive(Debug, Clone, Copy, Default)]
pub struct FromDisk;

impl ReadBack for FromDisk {
    fn read_back(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

/// Writes `bytes` into the place of the file that was read.
pub(super) fn replace(read: &FileRead, bytes: &[u8], read_back: &dyn ReadBack) -> Result<(), EditFault> {
    replace_by(exchange, read, bytes, read_back)
}

/// The same with what the file system has for an exchange of two files in one step.
fn replace_by(
    exchange: impl FnOnce(&Path, &Path) -> Result<(), Errno>,
    read: &FileRead,
    bytes: &[u8],
    read_back: &dyn ReadBack,
) -> Result<(), EditFault> {
    check_writable(read)?;
    let broken = |error| EditFault::of(error, &read.asked, "written");
    let directory = read.path.parent().unwrap_or(Path::new("/"));
    sweep(directory);
    let mut new = Unfinished::within(directory).map_err(broken)?;
    new.make_like(&read.file, &read.metadata)
        .map_err(|error| EditFault::Denied {
            path: read.asked.clone(),
            action: "written",
            why: format!("the new file could not be given the mode and owner of the old one ({error})"),
        })?;
    new.write(bytes).map_err(broken)?;
    let identity = Identity::of(&new.metadata().map_err(broken)?);
    if !read.is_as_it_was() {
        return Err(changed(read));
    }
    // What dead processes leave is swept: the old file, which will lie there for a moment, is not.
    lock(&read.file);
    match exchange(new.path(), &read.path) {
        Ok(()) => {
            settle(read, bytes, new, identity, read_back)?;
            sync_directory_of(&read.path).map_err(broken)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            new.put(&read.path).map_err(broken)?;
            verify_or_write_back(read, bytes, read_back)
        }
        Err(error) => Err(broken(error.into())),
    }
}

/// The new file is in its place and the old one lies where that was written. Either this is as it shall be, or both go
/// back.
fn settle(
    read: &FileRead,
    bytes: &[u8],
    new: Unfinished,
    identity: Identity,
    read_back: &dyn ReadBack,
) -> Result<(), EditFault> {
    if !holds(new.path(), read.identity(), &read.bytes) {
        return Err(match exchange_back(new.path(), &read.path, identity) {
            Ok(()) => changed(read),
            Err(error) => {
                // What somebody else wrote lies there still, and is theirs.
                let kept = new.keep();
                tracing::error!(file = %read.path.display(), ?kept, "a file that was changed meanwhile was not put back");
                EditFault::of(error, &read.asked, "put back")
            }
        });
    }
    let there = match read_back.read_back(&read.path) {
        Ok(there) => there,
        Err(error) => {
            if lies_at(&read.path, identity) {
                exchange_back(new.path(), &read.path, identity)
                    .map_err(|error| EditFault::of(error, &read.asked, "put back"))?;
            }
            return Err(EditFault::of(error, &read.asked, "read back"));
        }
    };
    match first_difference(bytes, &there) {
        None => Ok(()),
        // Somebody else wrote it since. That is no fault of ours, and not ours to take back.
        Some(_) if !lies_at(&read.path, identity) => Err(changed(read)),
        Some(difference) => Err(EditFault::Unverified {
            path: read.asked.clone(),
            difference: Box::new(difference),
            is_rolled_back: exchange_back(new.path(), &read.path, identity).is_ok(),
        }),
    }
}

/// Without an exchange in one step the old file is gone, and its bytes are written again.
fn verify_or_write_back(read: &FileRead, bytes: &[u8], read_back: &dyn ReadBack) -> Result<(), EditFault> {
    let there = read_back.read_back(&read.path);
    let there = there.map_err(|error| EditFault::of(error, &read.asked, "read back"))?;
    let Some(difference) = first_difference(bytes, &there) else {
        return Ok(());
    };
    Err(EditFault::Unverified {
        path: read.asked.clone(),
        difference: Box::new(difference),
        is_rolled_back: write_again(read).is_ok(),
    })
}

/// Puts the bytes that were read into a file of the same name, mode and owner.
pub(super) fn write_again(read: &FileRead) -> io::Result<()> {
    let mut old = Unfinished::within(read.path.parent().unwrap_or(Path::new("/")))?;
    old.make_like(&read.file, &read.metadata)?;
    old.write(&read.bytes)?;
    old.put(&read.path)
}

fn changed(read: &FileRead) -> EditFault {
    EditFault::Changed {
        path: read.asked.clone(),
    }
}

fn exchange(one: &Path, other: &Path) -> Result<(), Errno> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
}

/// Puts both back. If the place has been given to a third file meanwhile, that is the newest and stays there.
fn exchange_back(aside: &Path, place: &Path, ours: Identity) -> io::Result<()> {
    exchange(aside, place)?;
    if !lies_at(aside, ours) {
        exchange(aside, place)?;
    }
    sync_directory_of(place)
}

fn lies_at(path: &Path, identity: Identity) -> bool {
    path.symlink_metadata()
        .is_ok_and(|there| Identity::of(&there) == identity)
}

#[cfg(test)]
mod tests {
    use super::super::read::read_file;
    use super::*;
    use std::fs;

    struct Misread;

    impl ReadBack for Misread {
        fn read_back(&self, _path: &Path) -> io::Result<Vec<u8>> {
            Ok(b"x".to_vec())
        }
    }

    fn without_exchange(read_back: &dyn ReadBack) -> (Result<(), EditFault>, Vec<u8>, usize) {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("f");
        fs::write(&file, "old").expect("a file");
        let read = read_file(file.clone(), "f").expect("read");
        let replaced = replace_by(|_, _| Err(Errno::INVAL), &read, b"new", read_back);
        let left = fs::read_dir(place.path()).expect("a directory").count();
        (replaced, fs::read(&file).expect("there"), left)
    }

    #[test]
    fn a_file_system_without_an_exchange_has_the_old_file_or_the_new_one_too() {
        let (replaced, there, left) = without_exchange(&FromDisk);
        assert!(replaced.is_ok(), "{replaced:?}");
        assert_eq!((there, left), (b"new".to_vec(), 1));
        let (replaced, there, left) = without_exchange(&Misread);
        assert!(
            matches!(
                replaced,
                Err(EditFault::Unverified {
                    is_rolled_back: true,
                    ..
                })
            ),
            "{replaced:?}"
        );
        assert_eq!((there, left), (b"old".to_vec(), 1));
    }

    #[test]
    fn what_was_written_meanwhile_goes_back() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("f");
        fs::write(&file, "old").expect("a file");
        let read = read_file(file.clone(), "f").expect("read");
        // Somebody else writes in the moment before both change places.
        let meddled = |one: &Path, other: &Path| {
            fs::write(other, "theirs").expect("written");
            exchange(one, other)
        };
        let replaced = replace_by(meddled, &read, b"new", &FromDisk);
        assert!(matches!(replaced, Err(EditFault::Changed { .. })), "{replaced:?}");
        assert_eq!(fs::read(&file).expect("there"), b"theirs");
        assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 1);
    }
}
