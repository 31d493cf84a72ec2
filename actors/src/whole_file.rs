//! Files that are written whole: beside their place, on the disk, and then put there. Whoever looks sees what was there
//! before or all of what is there now; whoever dies on the way leaves a file that is known for what it is.

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// What is not whole yet is called so, beside its place.
pub const UNFINISHED: &str = ".impresario-unfinished-";

/// What is left for a person to look at is called so.
const KEPT: &str = ".impresario-kept-";

/// Attributes of a file, all names or one value, that are taken along.
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

/// A new file beside the one whose place it will take. Dropped, it is gone.
///
/// It is locked as long as it is written, so that [`sweep`] leaves it alone.
#[derive(Debug)]
pub struct Unfinished {
    file: NamedTempFile,
}

impl Unfinished {
    /// An empty file in this directory that only its owner can read.
    pub fn within(directory: &Path) -> io::Result<Self> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let file = Builder::new()
                .prefix(UNFINISHED)
                .rand_bytes(16)
                .tempfile_in(directory)?;
            // Between its creation and the lock somebody who sweeps may have taken it for a dead one.
            if lock(file.as_file()) && file.as_file().metadata()?.nlink() > 0 {
                return Ok(Self { file });
            }
        }
        Err(io::Error::other("files that were being written were removed"))
    }

    /// Gives it mode, owner and group of another file, and of its attributes those that its owner may set.
    pub fn make_like(&self, other: &File, metadata: &Metadata) -> io::Result<()> {
        let (own, file) = (self.file.as_file().metadata()?, self.file.as_file());
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            fchown(file, Some(metadata.uid()), Some(metadata.gid()))?;
        }
        copy_attributes(other, file);
        // After the owner, for a new owner takes away what the mode says of whom a program runs as.
        file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))
    }

    /// Sets its mode.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file
            .as_file()
            .set_permissions(Permissions::from_mode(mode & 0o7777))
    }

    /// Writes all of it, and waits until it is on the disk.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.as_file().sync_all()
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What it is now.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.as_file().metadata()
    }

    /// Leaves what lies there under a name that nobody sweeps.
    pub fn keep(self) -> io::Result<PathBuf> {
        let name = self
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .replace(UNFINISHED, KEPT);
        let kept = self.path().with_file_name(name);
        self.file.persist_noclobber(&kept)?;
        Ok(kept)
    }

    /// Puts it into its place, where it takes that of whatever is there.
    pub fn put(self, place: &Path) -> io::Result<()> {
        self.file.persist(place)?;
        sync_directory_of(place)
    }
}

/// Writes a file whole. One that is there keeps its mode; another one has this mode.
pub fn write_whole(file: &Path, bytes: &[u8], mode_when_new: u32) -> io::Result<()> {
    let mut new = Unfinished::within(directory_of(file))?;
    new.set_mode(std::fs::metadata(file).map_or(mode_when_new, |there| there.mode()))?;
    new.write(bytes)?;
    new.put(file)
}

/// Removes what dead processes left unfinished in a directory. What somebody still writes is locked, and stays.
pub fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = open_itself(&entry.path())
            && lock(&file)
        {
            // What cannot be removed is tried again with the next one.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What was renamed or removed in the directory of a file is so after a loss of power, too.
pub fn sync_directory_of(file: &Path) -> io::Result<()> {
    File::open(directory_of(file))?.sync_all()
}

/// Opens a file for reading without following a link that was put there, and without waiting for somebody who writes.
pub fn open_itself(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags as i32)
        .open(path)
}

/// Locks a file unless somebody else has; where files cannot be locked, nobody has.
pub(crate) fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) | None => Path::new("."),
    }
}

/// A file system without attributes has none to copy, and others belong to the system.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0_u8; ATTRIBUTE_BYTES_MAX];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else {
        return;
    };
    let ours = |name: &&[u8]| name.starts_with(b"user.") || *name == b"system.posix_acl_access";
    for name in names[..length].split(|byte| *byte == 0).filter(ours) {
        let mut value = vec![0_u8; ATTRIBUTE_BYTES_MAX];
        if let Ok(length) = fgetxattr(from, name, value.as_mut_slice()) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_whole_and_keeps_its_mode() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("f");
        write_whole(&file, b"one", 0o640).expect("written");
        let mode = || fs::metadata(&file).expect("there").mode() & 0o7777;
        assert_eq!(
            (fs::read(&file).expect("there"), mode()),
            (b"one".to_vec(), 0o640)
        );
        fs::set_permissions(&file, Permissions::from_mode(0o604)).expect("a mode");
        write_whole(&file, b"two", 0o640).expect("written");
        assert_eq!(
            (fs::read(&file).expect("there"), mode()),
            (b"two".to_vec(), 0o604)
        );
        assert_eq!(names(place.path()), ["f"]);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_is_written_stays() {
        let place = tempfile::tempdir().expect("a directory");
        let left = place.path().join(format!("{UNFINISHED}left"));
        fs::write(&left, "half").expect("a file");
        fs::write(place.path().join("f"), "whole").expect("a file");
        let alive = Unfinished::within(place.path()).expect("a file");
        sweep(place.path());
        let alive_name = alive
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert_eq!(names(place.path()), [alive_name, "f".to_string()]);
        drop(alive);
        assert_eq!(names(place.path()), ["f"]);
    }
}
