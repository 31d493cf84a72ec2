//! Files of rules that did not change since they were read are not read again.

use crate::contained_file::{ContainedFile, NotRead};
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_policies::guidance::{RuleFile, RuleMark};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many files are kept in mind, and of each so much.
const KEPT_MAX: usize = 256;
const KEPT_BYTES_MAX: usize = 128 * 1024;
/// What is changed again within one tick of the clock of files looks as before: only an older change is the last one.
const SETTLED_AFTER_MS: u64 = 2_000;

/// A file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct KnownFile {
    /// Where it lies when links are followed.
    pub(crate) real: PathBuf,
    pub(crate) rules: RuleFile,
}

#[derive(Debug, Default)]
pub(crate) struct KnownFiles(BTreeMap<PathBuf, (Stamp, KnownFile)>);

/// What changes when a file does: which one it is, its size, when it was changed in any way.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    bytes: u64,
    changed: (i64, i64),
}

impl KnownFiles {
    /// The file as it is now; `read` is asked where that is not known.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        read: impl FnOnce() -> Result<ContainedFile, NotRead>,
    ) -> Result<KnownFile, NotRead> {
        let stamp = stamp_of(path);
        if let (Some(now), Some((then, file))) = (&stamp, self.0.get(path))
            && now == then
        {
            return Ok(file.clone());
        }
        self.0.remove(path);
        let file = known(path, read()?);
        let settled = stamp.filter(|stamp| is_settled(stamp) && file.rules.text.len() <= KEPT_BYTES_MAX);
        if let Some(stamp) = settled {
            if self.0.len() >= KEPT_MAX {
                self.0.clear();
            }
            self.0.insert(path.to_path_buf(), (stamp, file.clone()));
        }
        Ok(file)
    }
}

fn known(path: &Path, file: ContainedFile) -> KnownFile {
    let digest = Sha256::digest(file.text.as_bytes());
    let mark = RuleMark {
        path: path.to_path_buf(),
        hash: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    KnownFile {
        real: file.path,
        rules: RuleFile {
            mark,
            text: file.text,
        },
    }
}

fn is_settled(stamp: &Stamp) -> bool {
    let changed_ms = u64::try_from(stamp.changed.0)
        .unwrap_or(u64::MAX)
        .saturating_mul(1_000);
    changed_ms.saturating_add(1_000 + SETTLED_AFTER_MS) < SystemWallClock.now().0
}

/// None for what is no plain file: where a link leads changes without it.
fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.is_file().then(|| Stamp {
        file: (metadata.dev(), metadata.ino()),
        bytes: metadata.len(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_it_is(path: &Path) -> Result<ContainedFile, NotRead> {
        Ok(ContainedFile {
            path: path.to_path_buf(),
            text: std::fs::read_to_string(path)?,
        })
    }

    /// Whatever the clock of files makes of it: what was written last is what is read.
    #[test]
    fn a_file_that_changes_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("AGENTS.md");
        let mut files = KnownFiles::default();
        for number in 0..50 {
            let text = format!("{number:02}");
            std::fs::write(&path, &text).unwrap();
            let file = files.read(&path, || as_it_is(&path)).unwrap();
            assert_eq!(file.rules.text, text);
        }
        assert!(files.0.is_empty(), "nothing of it is old enough to be relied on");
    }

    #[test]
    fn a_file_that_is_as_it_was_is_not_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("AGENTS.md");
        std::fs::write(&path, "tabs").unwrap();
        let file = known(&path, as_it_is(&path).unwrap());
        let stamp = stamp_of(&path).unwrap();
        let mut files = KnownFiles(BTreeMap::from([(path.clone(), (stamp, file))]));
        let again = files.read(&path, || Err(NotRead::Missing)).unwrap();
        assert_eq!(again.rules.text, "tabs");
        std::fs::write(&path, "spaces").unwrap();
        let changed = files.read(&path, || as_it_is(&path)).unwrap();
        assert_eq!(changed.rules.text, "spaces");
        std::fs::remove_file(&path).unwrap();
        assert!(files.read(&path, || Err(NotRead::Missing)).is_err());
    }
}
