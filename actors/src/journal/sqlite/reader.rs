//! Looking into the journal without being a runtime: nothing is written, claimed or adopted.

use super::errors::read_failure;
use super::{JOURNAL_FILE, model_calls, overflow, runs, schema};
use crate::gateways::UnixMillis;
use crate::journal::{JournalError, OpenError, OverflowContent, OverflowListing, RunFilter, RunSummary};
use impresario_policies::costs::Cost;
use impresario_policies::domain::RunId;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A journal that is only read.
#[derive(Debug)]
pub struct JournalReader {
    connection: Connection,
}

/// What a run has kept aside, in sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAside {
    pub run: RunId,
    pub entries: u64,
    /// How large they are together.
    pub bytes: u64,
}

impl JournalReader {
    /// Opens the journal in the state directory; none where there is none yet.
    pub fn open(directory: &Path) -> Result<Option<Self>, OpenError> {
        let path = directory.join(JOURNAL_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let storage = |error: rusqlite::Error| OpenError::Storage {
            path: path.clone(),
            source: read_failure(error),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(storage)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(storage)?;
        let found: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(storage)?;
        match schema::read_version(found) {
            // Made a moment ago, and still without tables.
            schema::Version::Known if found == 0 => Ok(None),
            schema::Version::Newer(found) => Err(OpenError::NewerSchema {
                path: path.clone(),
                found,
                known: schema::SCHEMA_NEWEST,
            }),
            schema::Version::Known if found < i64::from(schema::SCHEMA_NEWEST) => {
                bring_up_to_date(&path)?;
                Ok(Some(Self { connection }))
            }
            // What is impossible is put right by whoever opens it to write.
            schema::Version::Known | schema::Version::Impossible => Ok(Some(Self { connection })),
        }
    }

    /// The runs that pass `filter`, newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        runs::list(&self.connection, filter)
    }

    /// What calls of models took since then, by day, by whom and by model; the newest day first.
    pub fn costs(&self, since: UnixMillis) -> Result<Vec<Cost>, JournalError> {
        model_calls::costs(&self.connection, since)
    }

    /// The runs that keep something aside, newest first, at most so many.
    pub fn keeping(&self, newest: u32) -> Result<Vec<KeptAside>, JournalError> {
        overflow::sums(&self.connection, newest)
    }

    /// What is kept for the run.
    pub fn overflows(&self, run: &RunId) -> Result<OverflowListing, JournalError> {
        overflow::list(&self.connection, run)
    }

    /// What was kept under the handle, if it still is.
    pub fn overflow(&self, run: &RunId, handle: u32) -> Result<Option<OverflowContent>, JournalError> {
        overflow::get(&self.connection, run, handle)
    }
}

/// An older layout lacks what is read here; nothing else of it changes.
fn bring_up_to_date(path: &Path) -> Result<(), OpenError> {
    let storage = |source| OpenError::Storage {
        path: path.to_path_buf(),
        source,
    };
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|error| storage(read_failure(error)))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .map_err(|error| storage(read_failure(error)))?;
    schema::migrate(&mut connection).map_err(|error| {
        storage(JournalError::Storage {
            why: error.to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_was_kept_yet_there_is_nothing_to_read() {
        let place = tempfile::tempdir().expect("a directory");
        assert!(JournalReader::open(place.path()).expect("no error").is_none());
        assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn what_is_no_journal_is_refused_and_not_touched() {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(
            place.path().join(JOURNAL_FILE),
            "not a database at all, but long enough",
        )
        .expect("a file");
        assert!(JournalReader::open(place.path()).is_err());
    }
}
