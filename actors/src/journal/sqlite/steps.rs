//! Writing and reading steps.

use super::checksum::Checksum;
use super::errors::{not_ours, read_failure};
use super::known::{KnownRun, KnownRuns};
use super::{model_calls, runs};
use crate::journal::calls::{self, Calls};
use crate::journal::place::{Place, decide_place};
use crate::journal::store::STEP_BYTES_MAX;
use crate::journal::{JournalError, Row, RunSummary, RuntimeId};
use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::BTreeMap;

/// The steps of `rows` as JSON, before any transaction begins.
pub(super) fn write_all(rows: &[&Row]) -> Result<Vec<String>, JournalError> {
    rows.iter().map(|row| write(&row.step)).collect()
}

fn write(step: &Step) -> Result<String, JournalError> {
    let text = serde_json::to_string(step).map_err(|error| JournalError::Storage {
        why: error.to_string(),
    })?;
    if text.len() > STEP_BYTES_MAX {
        return Err(JournalError::TooLarge {
            bytes: text.len(),
            bytes_max: STEP_BYTES_MAX,
        });
    }
    Ok(text)
}

/// Writes all of `rows`, whose steps as JSON are `texts`.
pub(super) fn insert_all(
    transaction: &Transaction<'_>,
    writer: &RuntimeId,
    known: &mut KnownRuns,
    rows: &[&Row],
    texts: &[String],
) -> Result<(), JournalError> {
    known.look(transaction)?;
    let mut changed: BTreeMap<&RunId, KnownRun> = BTreeMap::new();
    for (row, text) in rows.iter().zip(texts) {
        let standing = match changed.remove(&row.run) {
            Some(run) => Some(run),
            None => known.take(transaction, &row.run)?,
        };
        let run = insert(transaction, writer, standing, row, text)?;
        changed.insert(&row.run, run);
    }
    for (_, run) in changed {
        runs::update(transaction, &run.summary)?;
        known.put(run);
    }
    Ok(())
}

/// Writes one row, and gives its run as it stands then.
fn insert(
    transaction: &Transaction<'_>,
    writer: &RuntimeId,
    standing: Option<KnownRun>,
    row: &Row,
    text: &str,
) -> Result<KnownRun, JournalError> {
    let place = decide_place(standing.as_ref().map(|run| &run.summary), row, writer)?;
    let begun = || match RunSummary::begin(row, writer) {
        Some(run) => runs::insert(transaction, &run).map(|()| KnownRun::begin(run)),
        None => Err(JournalError::NotAccepted { run: row.run.clone() }),
    };
    let mut run = standing.map_or_else(begun, Ok)?;
    if place == Place::Taken {
        check_equal(transaction, row, text)?;
        return Ok(run);
    }
    if calls::concerns(&row.step) {
        run.calls(transaction)?.check(row)?;
    }
    let sql =
        "INSERT INTO steps (run, sequence, generation, at, step, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let checksum = checksum_of(row, text);
    let values = params![
        row.run.as_str(),
        row.sequence,
        row.generation,
        row.at.0,
        text,
        checksum
    ];
    transaction
        .prepare_cached(sql)
        .and_then(|mut insert| insert.execute(values))
        .map_err(read_failure)?;
    run.summary.add(row);
    match &row.step {
        Step::ModelCalled { call } => model_calls::insert(transaction, &run.summary, row, call)?,
        Step::AttemptEnded {
            attempt, used: None, ..
        } => model_calls::insert_lost(transaction, &run.summary, row, *attempt)?,
        _ => {}
    }
    if matches!(row.step, Step::Ended { .. }) {
        super::overflow::forget_run(transaction, &row.run)?;
        run.forget_calls();
    }
    Ok(run)
}

/// A step that cannot be read is no call.
pub(super) fn read_calls(transaction: &Transaction<'_>, run: &RunId) -> Result<Calls, JournalError> {
    let sql = "SELECT step FROM steps WHERE run = ?1 AND step LIKE '%\"step\":\"tool_%' ORDER BY sequence";
    let mut select = transaction.prepare_cached(sql).map_err(read_failure)?;
    let mut rows = select.query(params![run.as_str()]).map_err(read_failure)?;
    let mut calls = Calls::default();
    while let Some(row) = rows.next().map_err(read_failure)? {
        let text = row.get_ref(0).map_err(read_failure)?;
        let step = text
            .as_str()
            .ok()
            .and_then(|text| serde_json::from_str::<Step>(text).ok());
        if let Some(step) = step {
            calls.add(&step);
        }
    }
    Ok(calls)
}

/// As the columns of the row are read back.
fn checksum_of(row: &Row, text: &str) -> i64 {
    let number = |number: u64| ValueRef::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    Checksum::of([
        ValueRef::Text(row.run.as_str().as_bytes()),
        number(row.sequence),
        number(row.generation),
        number(row.at.0),
        ValueRef::Text(text.as_bytes()),
    ])
}

fn check_equal(transaction: &Transaction<'_>, row: &Row, text: &str) -> Result<(), JournalError> {
    let sql = "SELECT step FROM steps WHERE run = ?1 AND sequence = ?2";
    let values = params![row.run.as_str(), row.sequence];
    let standing: Option<String> = transaction
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row(values, |found| found.get(0)).optional())
        .map_err(read_failure)?;
    let standing = standing.ok_or_else(|| not_ours("the number of steps"))?;
    // Another version may have written the same step with other spacing or order.
    let is_equal =
        standing == text || serde_json::from_str::<Step>(&standing).is_ok_and(|step| step == row.step);
    match is_equal {
        true => Ok(()),
        false => Err(JournalError::Conflict {
            run: row.run.clone(),
            sequence: row.sequence,
        }),
    }
}

/// Reads the steps after the place `after`.
pub(super) fn read_after(
    connection: &Connection,
    run: &RunId,
    after: u64,
) -> Result<Vec<RecordedStep>, JournalError> {
    let mut steps = Vec::new();
    walk(connection, run, after, |row| {
        steps.push(read(run, row)?);
        Ok(())
    })?;
    Ok(steps)
}

/// Looks whether every step of the run is as it was written.
pub(super) fn check(connection: &Connection, run: &RunId) -> Result<(), JournalError> {
    walk(connection, run, 0, |row| check_row(run, row))
}

fn walk(
    connection: &Connection,
    run: &RunId,
    after: u64,
    mut visit: impl FnMut(&rusqlite::Row<'_>) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let sql = "SELECT run, sequence, generation, at, step, checksum FROM steps \
        WHERE run = ?1 AND sequence > ?2 ORDER BY sequence";
    let mut select = connection.prepare_cached(sql).map_err(read_failure)?;
    let mut rows = select.query(params![run.as_str(), after]).map_err(read_failure)?;
    while let Some(row) = rows.next().map_err(read_failure)? {
        visit(row)?;
    }
    Ok(())
}

fn check_row(run: &RunId, row: &rusqlite::Row<'_>) -> Result<(), JournalError> {
    let columns = (0..5)
        .map(|column| row.get_ref(column))
        .collect::<Result<Vec<_>, _>>();
    let columns = columns.map_err(read_failure)?;
    let written = row.get::<_, Option<i64>>(5).map_err(read_failure)?;
    let found = Checksum::of(columns.iter().copied());
    match written {
        Some(written) if written != found => Err(JournalError::RunDamaged {
            run: run.to_string(),
            why: match columns.get(1) {
                Some(ValueRef::Integer(sequence)) => format!("step {sequence} is not as it was written"),
                _ => "a step is not as it was written".to_string(),
            },
        }),
        Some(_) | None => Ok(()),
    }
}

fn read(run: &RunId, row: &rusqlite::Row<'_>) -> Result<RecordedStep, JournalError> {
    check_row(run, row)?;
    let sequence = row.get(1).map_err(read_failure)?;
    let text = row.get_ref(4).map_err(read_failure)?;
    let text = text.as_str().map_err(|_| not_ours("a step"))?;
    let unreadable = |error: serde_json::Error| JournalError::Unreadable {
        run: run.clone(),
        sequence,
        why: error.to_string(),
    };
    Ok(RecordedStep {
        sequence,
        generation: row.get(2).map_err(read_failure)?,
        at_ms: row.get(3).map_err(read_failure)?,
        step: serde_json::from_str(text).map_err(unreadable)?,
    })
}
