//! What a nested Pi is started with and cannot change afterwards: a run is served by a worker of an equal launch only.

use super::LookedAt;
use super::environment::agent_directory;
use crate::gateways::AttemptRequest;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Read by Pi from the user's agent directory.
const USER_FILES: [&str; 5] = [
    "settings.json",
    "auth.json",
    "models.json",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];
/// Read by Pi from the workspace, by some versions whether or not it is trusted.
const WORKSPACE_FILES: [&str; 3] = [".pi/settings.json", ".pi/SYSTEM.md", ".pi/APPEND_SYSTEM.md"];

/// Everything a worker was started with, but for its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    /// The Pi, as its file was.
    pub pi: LookedAt,
    /// Without the session, which can be changed. The model is among them: changing it afterwards writes the user's
    /// settings.
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub working_directory: PathBuf,
    /// The files of the user and the workspace that Pi read, as they were before.
    pub files: Vec<(PathBuf, Option<Version>)>,
}

/// Tells one content of a file from the next without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

impl Version {
    fn of(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        Some(Self {
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            length: metadata.len(),
        })
    }
}

impl Launch {
    /// Whether everything on disk is as it was.
    pub(super) fn is_current(&self) -> bool {
        let same = |(file, version): &(PathBuf, Option<Version>)| Version::of(file) == *version;
        self.pi.is_current() && self.files.iter().all(same)
    }
}

/// The files that Pi reads when it starts, as they are.
pub(super) fn files_read(
    request: &AttemptRequest,
    ours: &BTreeMap<String, String>,
) -> Vec<(PathBuf, Option<Version>)> {
    let agent = agent_directory(ours);
    let of_user = USER_FILES
        .iter()
        .filter_map(|name| Some(agent.as_ref()?.join(name)));
    let of_workspace = WORKSPACE_FILES.iter().map(|name| request.workspace.join(name));
    let files = of_user.chain(of_workspace);
    files.map(|file| (file.clone(), Version::of(&file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_again_is_another_version() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("settings.json");
        let before = Version::of(&file);
        fs::write(&file, "{}").expect("written");
        let first = Version::of(&file);
        fs::write(&file, "{ }").expect("written");
        assert_eq!(before, None);
        assert_ne!(Version::of(&file), first);
    }
}
