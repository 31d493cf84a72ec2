//! Where the journal, nested sessions, scratch directories and logs are kept.

use impresario_policies::domain::RunId;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateDirectoryError {
    /// Neither `XDG_STATE_HOME` nor `HOME` says where.
    #[error("find the state directory: set HOME or XDG_STATE_HOME, or give --state-directory")]
    Unknown,
    /// It cannot be made ready.
    #[error("prepare the state directory {path}: {why}")]
    Unusable {
        /// Which.
        path: PathBuf,
        /// The system's words.
        why: io::Error,
    },
}

/// `$XDG_STATE_HOME/impresario`, else `$HOME/.local/state/impresario`.
pub fn state_directory() -> Result<PathBuf, StateDirectoryError> {
    let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Ok(base.ok_or(StateDirectoryError::Unknown)?.join("impresario"))
}

/// Where git worktrees, their patches and their entries are kept, in a state directory.
pub(crate) fn worktrees(state_directory: &Path) -> PathBuf {
    state_directory.join("worktrees")
}

/// Where answers are kept whole that are cut for whoever asked.
pub(crate) fn answers(state_directory: &Path) -> PathBuf {
    state_directory.join("answers")
}

/// Where it is kept what files were before code in them was replaced.
pub(crate) fn replacements(state_directory: &Path) -> PathBuf {
    state_directory.join("replacements")
}

/// Where the processes of detached runs write, in a state directory.
pub(crate) fn logs(state_directory: &Path) -> PathBuf {
    state_directory.join("logs")
}

/// Where the process of this run writes.
pub(crate) fn log_of(state_directory: &Path, run: &RunId) -> PathBuf {
    logs(state_directory).join(format!("{run}.log"))
}

/// The directory of the indexes of what can be used, in that of all indexes.
pub(crate) const CAPABILITIES: &str = "capabilities";

/// The same of the anchors of sessions.
pub(crate) const SESSIONS: &str = "sessions";

/// The directory of what MCP servers said they have, in that of all indexes.
pub(crate) const SERVER_LISTS: &str = "mcp-servers";

/// Where indexes are kept, which can be made anew at any time: `$XDG_CACHE_HOME/impresario`, else
/// `$HOME/.cache/impresario`. Beside the state, where that was put in a place of its own.
pub(crate) fn cache_directory(state_directory: Option<&Path>) -> Option<PathBuf> {
    if let Some(state_directory) = state_directory {
        return Some(state_directory.join("cache"));
    }
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(base?.join("impresario"))
}

fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Makes a directory that only its owner can look into.
pub(crate) fn make_private(path: &Path) -> Result<(), StateDirectoryError> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let unusable = |why| StateDirectoryError::Unusable {
        path: path.to_path_buf(),
        why,
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(unusable)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(unusable)
}
