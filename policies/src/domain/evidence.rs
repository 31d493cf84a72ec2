//! What the runtime saw of a tool call besides its text: which file, which command, what became of it. Never what the
//! model says.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What a call of a tool is about, as its arguments say. Kept with its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "does")]
pub enum CallTarget {
    /// It reads a file.
    Reads {
        /// The file, when the call began.
        file: FileSeen,
    },
    /// It changes a file.
    Changes {
        /// The file, before.
        file: FileSeen,
    },
    /// It runs a command, which may read and change whatever it likes.
    Runs {
        /// In one redacted line, bounded.
        command: String,
    },
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Below the workspace where it lies there, else as it is; `/` between the parts.
    pub path: String,
    /// What it was.
    pub state: FileState,
}

/// What a file was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum FileState {
    /// There was none.
    Absent,
    /// Its content, as a hash.
    Hashed {
        /// In hexadecimal digits.
        sha256: String,
        /// How large it was.
        bytes: u64,
    },
    /// There was something, and nobody looked at its content.
    NotHashed {
        /// Why not.
        why: NotHashed,
    },
}

impl FileState {
    /// That of a file with this content.
    pub fn of(content: &[u8]) -> Self {
        let digest = Sha256::digest(content);
        let sha256 = digest.iter().fold(String::with_capacity(64), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        Self::Hashed {
            sha256,
            bytes: content.len() as u64,
        }
    }

    /// The hash of its content, where somebody looked at it.
    pub fn sha256(&self) -> Option<&str> {
        match self {
            Self::Hashed { sha256, .. } => Some(sha256),
            Self::Absent | Self::NotHashed { .. } => None,
        }
    }
}

/// Why a file was not hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotHashed {
    /// It is larger than what is hashed.
    TooLarge,
    /// It is a directory, a pipe or a device.
    NoFile,
    /// It could not be read.
    Unreadable,
    /// The disk did not answer in time.
    TooSlow,
    /// The attempt has looked at as many files as it may.
    TooMany,
}

/// What was seen of a call when it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallEvidence {
    /// With what its command exited; none where nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What the file that it changes was afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<FileState>,
    /// Files that a tool of ours says it changed, besides the one that its arguments name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<FileChanged>,
    /// It changed so many more.
    #[serde(skip_serializing_if = "is_zero")]
    pub changed_besides: u32,
    /// Files that its result names, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// The result names more of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub names_more: bool,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a run did, as the runtime saw it, up to some moment. What it says of files and commands is bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Files that it read with tools that say which, in order of the first look.
    pub read: Vec<FileSeen>,
    /// Files that it read and that are not in the list.
    pub read_besides: u32,
    /// Files that it changed with tools that say which, in order of the first change.
    pub changed: Vec<FileChanged>,
    /// Files that it changed and that are not in the list.
    pub changed_besides: u32,
    /// Commands, in order; the newest where there are many.
    pub commands: Vec<CommandRun>,
    /// Commands before those.
    pub commands_before: u32,
    /// Tools, in order of their first call.
    pub tools: Vec<ToolUse>,
    /// It ran commands or tools that may have changed more files than those in the list.
    pub may_have_changed_more: bool,
    /// Files that results of its tools named: it saw something of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Files whose names it saw in a list, and nothing else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
    /// Results named more files than are known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub named_more: bool,
}

/// A file that was changed, from the first change to the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanged {
    /// As in [`FileSeen`].
    pub path: String,
    /// What it was before the first change.
    pub before: FileState,
    /// What it was after the last one; none where the change was cut off.
    pub after: Option<FileState>,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// In one redacted line, bounded.
    pub command: String,
    /// With what it exited; none where nobody knows.
    pub exit_code: Option<i32>,
    /// It was stopped, or cut off: nobody waited for its end.
    pub cut_off: bool,
}

/// How often a tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// How often it began.
    pub calls: u32,
    /// How often it said that it failed.
    pub failed: u32,
    /// How often nobody knows what became of it.
    pub cut_off: u32,
}

/// Something that an answer says and that what the runtime saw does not bear out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "flag")]
pub enum Flag {
    /// It answers about the workspace, and no tool call of it succeeded.
    NothingLookedAt,
    /// It names a file of which it saw nothing.
    CitedUnread {
        /// As it is written in the answer.
        path: String,
        /// The line that it names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// There is no such file.
        missing: bool,
    },
    /// It says that tests pass, and ran none.
    TestsNotRun {
        /// Its own words.
        claim: String,
    },
    /// It says that tests pass, and the last command that ran some failed.
    TestsFailed {
        /// Its own words.
        claim: String,
        /// The command.
        command: String,
        /// With what it exited.
        exit_code: i32,
    },
}
