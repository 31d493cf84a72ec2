//! What SQLite's errors mean to us.

use crate::journal::JournalError;
use rusqlite::ErrorCode;

/// What `error` means.
pub(super) fn read_failure(error: rusqlite::Error) -> JournalError {
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => JournalError::ReadOnly,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => JournalError::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => JournalError::Damaged { why },
        Some(_) => JournalError::Storage { why },
        None => read_other_failure(error, why),
    }
}

/// A value that is not of the type we wrote there is damage too.
fn read_other_failure(error: rusqlite::Error, why: String) -> JournalError {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::InvalidColumnType(..) => JournalError::Damaged { why },
        _ => JournalError::Storage { why },
    }
}

/// A value that cannot have been written by us.
pub(super) fn not_ours(what: &str) -> JournalError {
    JournalError::Damaged {
        why: format!("{what} is not what we wrote"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn check(code: i32, expected: JournalError) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("so it is".into()));
        assert_eq!(read_failure(error), expected);
    }

    #[test]
    fn each_failure_of_the_world_has_its_own_name() {
        check(ffi::SQLITE_FULL, JournalError::DiskFull);
        check(ffi::SQLITE_READONLY, JournalError::ReadOnly);
        check(ffi::SQLITE_READONLY_DIRECTORY, JournalError::ReadOnly);
        check(ffi::SQLITE_BUSY, JournalError::Busy);
        check(
            ffi::SQLITE_CORRUPT,
            JournalError::Damaged {
                why: "so it is".into(),
            },
        );
        check(
            ffi::SQLITE_NOTADB,
            JournalError::Damaged {
                why: "so it is".into(),
            },
        );
        check(
            ffi::SQLITE_IOERR_FSYNC,
            JournalError::Storage {
                why: "so it is".into(),
            },
        );
    }
}
