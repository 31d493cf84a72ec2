//! Looks at files on the disk, aside from the actors and within limits: a receipt is worth a moment, not a wait.

use crate::context::local::HeavyWork;
use crate::gateways::FileLooks;
use async_trait::async_trait;
use impresario_policies::domain::{FileState, NotHashed};
use impresario_policies::receipt::files_to_look_for;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A larger file is not hashed.
pub const HASHED_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// A disk that does not answer sooner is not waited for.
const LOOK_WITHIN: Duration = Duration::from_secs(5);
const CHUNK_BYTES: usize = 64 * 1024;

/// Looks at the disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskLooks {
    heavy_work: HeavyWork,
}

impl DiskLooks {
    pub fn new(heavy_work: HeavyWork) -> Self {
        Self { heavy_work }
    }

    async fn in_time<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let done = tokio::time::timeout(LOOK_WITHIN, self.heavy_work.run(work)).await;
        done.ok()?.ok()
    }
}

#[async_trait(?Send)]
impl FileLooks for DiskLooks {
    async fn look(&self, file: PathBuf) -> FileState {
        let looked = self.in_time(move || state_of(&file)).await;
        looked.unwrap_or(FileState::NotHashed {
            why: NotHashed::TooSlow,
        })
    }

    async fn cited(&self, answer: &str, workspace: &Path) -> Option<BTreeSet<String>> {
        let (answer, workspace) = (answer.to_string(), workspace.to_path_buf());
        self.in_time(move || {
            let files = files_to_look_for(&answer).into_iter();
            files.filter(|file| workspace.join(file).is_file()).collect()
        })
        .await
    }
}

fn state_of(file: &Path) -> FileState {
    match hash(file) {
        Ok(state) => state,
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileState::Absent,
        Err(_) => not_hashed(NotHashed::Unreadable),
    }
}

fn not_hashed(why: NotHashed) -> FileState {
    FileState::NotHashed { why }
}

fn hash(file: &Path) -> io::Result<FileState> {
    // Looked at before it is opened, for opening a device may do something, and after, for it may have been exchanged.
    if !std::fs::metadata(file)?.is_file() {
        return Ok(not_hashed(NotHashed::NoFile));
    }
    let opened = open_without_waiting(file)?;
    if !opened.metadata()?.is_file() {
        return Ok(not_hashed(NotHashed::NoFile));
    }
    // One that grows meanwhile is not followed.
    let mut rest = opened.take(HASHED_BYTES_MAX + 1);
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut bytes = 0;
    loop {
        let read = rest.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        digest.update(&chunk[..read]);
    }
    if bytes > HASHED_BYTES_MAX {
        return Ok(not_hashed(NotHashed::TooLarge));
    }
    let sha256 = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(FileState::Hashed { sha256, bytes })
}

#[cfg(unix)]
fn open_without_waiting(file: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(file)
}

#[cfg(not(unix))]
fn open_without_waiting(file: &Path) -> io::Result<File> {
    File::open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(path: &Path) -> FileState {
        state_of(path)
    }

    #[test]
    fn a_file_is_its_hash() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let file = place.path().join("abc");
        std::fs::write(&file, "abc")?;
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_string();
        assert_eq!(look(&file), FileState::Hashed { sha256, bytes: 3 });
        assert_eq!(look(&place.path().join("nothing")), FileState::Absent);
        assert_eq!(look(place.path()), not_hashed(NotHashed::NoFile));
        Ok(())
    }

    #[test]
    fn what_is_too_large_is_not_hashed() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let file = place.path().join("large");
        File::create(&file)?.set_len(HASHED_BYTES_MAX)?;
        assert!(matches!(
            look(&file),
            FileState::Hashed {
                bytes: HASHED_BYTES_MAX,
                ..
            }
        ));
        File::options()
            .write(true)
            .open(&file)?
            .set_len(HASHED_BYTES_MAX + 1)?;
        assert_eq!(look(&file), not_hashed(NotHashed::TooLarge));
        Ok(())
    }

    /// Whoever opened it would wait for somebody who writes.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_opened() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )?;
        assert_eq!(look(&pipe), not_hashed(NotHashed::NoFile));
        Ok(())
    }
}
