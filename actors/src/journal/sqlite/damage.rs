//! Rows that cannot be what we wrote are set aside run by run, so that one of them does not keep all others from being
//! read. Nothing is deleted: they stand in tables of their own, as they were.

use super::errors::read_failure;
use super::{runs, steps};
use crate::gateways::UnixMillis;
use crate::journal::JournalError;
use impresario_policies::domain::RunId;
use rusqlite::{Connection, Transaction, params};

/// A run whose rows are damaged. What can be read of it is kept in the tables `damaged_runs` and `damaged_steps`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "run {run} cannot be read any more ({why}); its rows are kept in the tables damaged_runs and damaged_steps of the \
     journal, and nothing goes on with it"
)]
pub struct DamagedRun {
    /// The run, as its row names it.
    pub run: String,
    pub why: String,
}

/// Which runs have their steps looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Of the runs that somebody will go on with or wants to read.
    OpenRuns,
    AllRuns,
}

/// Finds damaged runs. What cannot be read at all is told by whoever needs it.
pub(super) fn find_damaged(connection: &Connection, depth: Depth) -> Vec<DamagedRun> {
    let mut damaged = runs::find_damaged(connection).unwrap_or_default();
    for run in runs::ids(connection, depth).unwrap_or_default() {
        let is_known = damaged.iter().any(|found| found.run == run.as_str());
        if !is_known {
            damaged.extend(find_damaged_steps(connection, &run));
        }
    }
    damaged
}

pub(super) fn set_aside(
    transaction: &Transaction<'_>,
    damaged: &[DamagedRun],
    now: UnixMillis,
) -> Result<(), JournalError> {
    damaged
        .iter()
        .try_for_each(|run| move_aside(transaction, run, now))
        .map_err(read_failure)
}

/// A page that cannot be read at all is told by whoever needs it: what stands on it cannot be moved either.
fn find_damaged_steps(connection: &Connection, run: &RunId) -> Option<DamagedRun> {
    match steps::check(connection, run) {
        Err(JournalError::RunDamaged { run, why }) => Some(DamagedRun { run, why }),
        Ok(()) | Err(_) => None,
    }
}

fn move_aside(
    transaction: &Transaction<'_>,
    damaged: &DamagedRun,
    now: UnixMillis,
) -> Result<(), rusqlite::Error> {
    let copies = [
        "INSERT INTO damaged_runs SELECT ?2, ?3, * FROM runs WHERE CAST(run AS TEXT) = ?1",
        "INSERT INTO damaged_steps SELECT ?2, ?3, * FROM steps WHERE run = ?1",
    ];
    for sql in copies {
        transaction.execute(sql, params![damaged.run, now.0, damaged.why])?;
    }
    for table in ["steps", "overflows", "runs"] {
        transaction.execute(
            &format!("DELETE FROM {table} WHERE CAST(run AS TEXT) = ?1"),
            [&damaged.run],
        )?;
    }
    Ok(())
}
