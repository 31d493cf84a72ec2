//! Why a file was not edited.

use impresario_policies::anchored_edit::{Difference, EditError, error_words};
use std::io;
use thiserror::Error;

/// Why nothing was changed, or what was changed was taken back.
#[derive(Debug, Error)]
pub enum EditFault {
    /// The edits cannot be made.
    #[error(transparent)]
    Refused(#[from] EditError),
    /// The path leads out.
    #[error("{path} is outside the workspace; files there are not edited")]
    Outside {
        /// As it was asked for.
        path: String,
    },
    /// There is no such file.
    #[error("{path} does not exist; hashline_edit changes files that are there, write makes new ones")]
    NotFound {
        /// As it was asked for.
        path: String,
    },
    /// It is something else than a file.
    #[error("{path} is {what}, not a file")]
    NoFile {
        /// As it was asked for.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// Permissions do not allow it.
    #[error("{path} may not be {action}: {why}")]
    Denied {
        /// As it was asked for.
        path: String,
        /// What was to be done.
        action: &'static str,
        /// Why not.
        why: String,
    },
    /// More than is edited.
    #[error("{path} has {bytes} bytes; at most {bytes_max} are edited")]
    TooLarge {
        /// As it was asked for.
        path: String,
        /// How large.
        bytes: u64,
        /// What is allowed.
        bytes_max: u64,
    },
    /// Its letters have two bytes each.
    #[error("{path} is text in UTF-16, whose lines cannot be edited; convert it to UTF-8 first")]
    Utf16 {
        /// As it was asked for.
        path: String,
    },
    /// It has several names, and another one may belong to somebody else.
    #[error(
        "{path} has {names} names (hard links), and an edit would change the file under all of them. Give it its own copy first (cp -p FILE FILE.new && mv FILE.new FILE), or edit it with a shell if all of them are meant"
    )]
    HardLinked {
        /// As it was asked for.
        path: String,
        /// How many.
        names: u64,
    },
    /// Somebody else wrote it meanwhile.
    #[error(
        "{path} was changed by another process while it was edited; nothing of this edit is in it. Read it again"
    )]
    Changed {
        /// As it was asked for.
        path: String,
    },
    /// What is on the disk is not what was written.
    #[error("{path}: what was written differs from what was meant in line {}, column {} (offset {}): {:?} instead of {:?}. {}", difference.line, difference.column, difference.offset, difference.actual, difference.intended, rolled_back(*.is_rolled_back))]
    Unverified {
        /// As it was asked for.
        path: String,
        /// Where.
        difference: Box<Difference>,
        /// What was there before is there again.
        is_rolled_back: bool,
    },
    /// It does not get the other name.
    #[error("it is not renamed to {to}: {why}")]
    NotRenamed {
        /// The new path, as it was asked for.
        to: String,
        /// Why not.
        why: String,
    },
    /// A call that wants two things at once.
    #[error("{0}")]
    Contradiction(&'static str),
    /// Nobody waits for it any more.
    #[error("the call was cancelled before anything was written")]
    Cancelled,
    /// The file system did not do it.
    #[error("{path} could not be {action}: {error}")]
    Broken {
        /// As it was asked for.
        path: String,
        /// What was to be done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

fn rolled_back(is_rolled_back: bool) -> &'static str {
    match is_rolled_back {
        true => "What was there before is there again",
        false => "What was there before could not be put back: look at the file",
    }
}

impl EditFault {
    /// The word that stands before what is said, by which a model knows the fault.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.code(),
            Self::Outside { .. } => "E_OUTSIDE",
            Self::NotFound { .. } => "E_NOT_FOUND",
            Self::NoFile { .. } => "E_NOT_A_FILE",
            Self::Denied { .. } => "E_DENIED",
            Self::TooLarge { .. } => "E_TOO_LARGE",
            Self::Utf16 { .. } => "E_NOT_UTF8",
            Self::HardLinked { .. } => "E_HARD_LINKED",
            Self::Changed { .. } => "E_CHANGED",
            Self::Unverified { .. } => "E_VERIFY_FAILED",
            Self::NotRenamed { .. } => "E_NOT_RENAMED",
            Self::Contradiction(_) => "E_INVALID_PATCH",
            Self::Cancelled => "E_CANCELLED",
            Self::Broken { .. } => "E_WRITE_FAILED",
        }
    }

    /// What a model is told: at most 1 200 units.
    pub fn words(&self) -> String {
        error_words(self.code(), &self.to_string())
    }

    /// What the file system said, in the words of this tool.
    pub(super) fn of(error: io::Error, path: &str, action: &'static str) -> Self {
        let path = path.to_string();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Denied {
                path,
                action,
                why: "the permissions of the file or of a directory above it do not allow it".to_string(),
            },
            io::ErrorKind::NotADirectory => Self::NoFile {
                path,
                what: "below something that is no directory",
            },
            _ => Self::Broken { path, action, error },
        }
    }
}
