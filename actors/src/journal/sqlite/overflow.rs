//! The table of overflow entries. Earlier versions deleted single ones and left their handles behind, so that no handle
//! ever means two things.

use super::KeptAside;
use super::errors::{not_ours, read_failure};
use super::runs;
use crate::gateways::UnixMillis;
use crate::journal::store::OVERFLOW_BYTES_MAX;
use crate::journal::{JournalError, OverflowContent, OverflowEntry, OverflowListing};
use impresario_policies::domain::RunId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

pub(super) fn put(
    transaction: &Transaction<'_>,
    run: &RunId,
    entry: &OverflowEntry,
    content: &OverflowContent,
) -> Result<(), JournalError> {
    if content.len() > OVERFLOW_BYTES_MAX {
        return Err(JournalError::TooLarge {
            bytes: content.len(),
            bytes_max: OVERFLOW_BYTES_MAX,
        });
    }
    let Some(summary) = runs::find(transaction, run)? else {
        return Err(JournalError::UnknownRun { run: run.clone() });
    };
    if summary.ended_at.is_some() {
        return Err(JournalError::AlreadyEnded {
            run: run.clone(),
            sequence: summary.steps,
        });
    }
    if let Some(standing) = content_or_tombstone(transaction, run, entry.handle)? {
        let is_equal = standing.as_deref() == Some(content);
        let conflict = JournalError::OverflowConflict {
            run: run.clone(),
            handle: entry.handle,
        };
        return if is_equal { Ok(()) } else { Err(conflict) };
    }
    let sql = "INSERT INTO overflows (run, handle, server, tool, at, bytes, content) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![
        run.as_str(),
        entry.handle,
        entry.server,
        entry.tool,
        entry.at.0,
        entry.bytes,
        content.as_ref(),
    ];
    transaction
        .prepare_cached(sql)
        .and_then(|mut insert| insert.execute(values))
        .map_err(read_failure)?;
    Ok(())
}

pub(super) fn get(
    connection: &Connection,
    run: &RunId,
    handle: u32,
) -> Result<Option<OverflowContent>, JournalError> {
    let standing = content_or_tombstone(connection, run, handle)?;
    Ok(standing.flatten().map(OverflowContent::from))
}

fn content_or_tombstone(
    connection: &Connection,
    run: &RunId,
    handle: u32,
) -> Result<Option<Option<String>>, JournalError> {
    let sql = "SELECT content FROM overflows WHERE run = ?1 AND handle = ?2";
    connection
        .prepare_cached(sql)
        .and_then(|mut select| {
            select
                .query_row(params![run.as_str(), handle], |row| row.get(0))
                .optional()
        })
        .map_err(read_failure)
}

pub(super) fn list(connection: &Connection, run: &RunId) -> Result<OverflowListing, JournalError> {
    list_rows(connection, run).map_err(read_failure)
}

fn list_rows(connection: &Connection, run: &RunId) -> Result<OverflowListing, rusqlite::Error> {
    let mut listing = OverflowListing {
        entries: Vec::new(),
        next_handle: 1,
    };
    let sql = "SELECT handle, server, tool, at, bytes, content IS NULL FROM overflows WHERE run = ?1 ORDER BY handle";
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query([run.as_str()])?;
    while let Some(row) = rows.next()? {
        let handle: u32 = row.get(0)?;
        listing.next_handle = handle.saturating_add(1);
        let is_tombstone: bool = row.get(5)?;
        if is_tombstone {
            continue;
        }
        listing.entries.push(OverflowEntry {
            handle,
            server: row.get(1)?,
            tool: row.get(2)?,
            at: UnixMillis(row.get(3)?),
            bytes: row.get(4)?,
        });
    }
    Ok(listing)
}

/// The runs that keep something, newest first: their ids sort by time.
pub(super) fn sums(connection: &Connection, newest: u32) -> Result<Vec<KeptAside>, JournalError> {
    let sql = "SELECT run, count(*), sum(bytes) FROM overflows WHERE content IS NOT NULL \
        GROUP BY run ORDER BY run DESC LIMIT ?1";
    let mut select = connection.prepare_cached(sql).map_err(read_failure)?;
    let mut rows = select.query([newest]).map_err(read_failure)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(read_failure)? {
        let run: String = row.get(0).map_err(read_failure)?;
        found.push(KeptAside {
            run: RunId::try_from(run).map_err(|_| not_ours("a run's id"))?,
            entries: row.get(1).map_err(read_failure)?,
            bytes: row.get(2).map_err(read_failure)?,
        });
    }
    Ok(found)
}

/// What was kept goes with the end of the run.
pub(super) fn forget_run(transaction: &Transaction<'_>, run: &RunId) -> Result<(), JournalError> {
    let sql = "DELETE FROM overflows WHERE run = ?1";
    transaction
        .prepare_cached(sql)
        .and_then(|mut delete| delete.execute([run.as_str()]))
        .map_err(read_failure)?;
    Ok(())
}
