//! The table of runs: what a list shows, and who owns what.

use super::errors::{not_ours, read_failure};
use crate::gateways::UnixMillis;
use crate::journal::{JournalError, Pruned, Retention, RunFilter, RunProgress, RunSummary, RuntimeId};
use impresario_policies::domain::{GroupId, RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

const COLUMNS: &str = "run, owner, generation, state, steps, what, task, host, session, resumes, accepted_at, \
    last_step_at, ended_at, reason, acknowledged, member_of, workspace";

/// The run of that id.
pub(super) fn find(connection: &Connection, run: &RunId) -> Result<Option<RunSummary>, JournalError> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE run = ?1");
    let found = connection
        .prepare_cached(&sql)
        .and_then(|mut select| select.query_row([run.as_str()], |row| Ok(read(row))).optional())
        .map_err(read_failure)?;
    found.transpose()
}

/// The runs that pass `filter`, newest first.
pub(super) fn list(connection: &Connection, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
    let condition = match filter.progress {
        RunProgress::Any => "1",
        RunProgress::Unfinished => "ended_at IS NULL",
        RunProgress::Undelivered => "ended_at IS NOT NULL AND acknowledged = 0",
    };
    select(
        connection,
        condition,
        "DESC",
        |run| filter.wants(run),
        filter.newest,
    )
}

/// The runs that are unfinished or not acknowledged, oldest first.
pub(super) fn list_open(connection: &Connection) -> Result<Vec<RunSummary>, JournalError> {
    select(connection, "acknowledged = 0", "ASC", |_| true, usize::MAX)
}

/// The ids sort by time of acceptance.
fn select(
    connection: &Connection,
    condition: &str,
    direction: &str,
    wants: impl Fn(&RunSummary) -> bool,
    newest: usize,
) -> Result<Vec<RunSummary>, JournalError> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE {condition} ORDER BY run {direction}");
    let mut select = connection.prepare_cached(&sql).map_err(read_failure)?;
    let mut rows = select.query([]).map_err(read_failure)?;
    let mut found = Vec::new();
    while found.len() < newest {
        let Some(row) = rows.next().map_err(read_failure)? else {
            break;
        };
        let run = read(row)?;
        if wants(&run) {
            found.push(run);
        }
    }
    Ok(found)
}

/// Writes a new run.
pub(super) fn insert(transaction: &Transaction<'_>, run: &RunSummary) -> Result<(), JournalError> {
    let sql = format!(
        "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    );
    let values = params![
        run.run.as_str(),
        run.owner.as_str(),
        run.generation,
        word(&run.state)?,
        run.steps,
        json(&run.what)?,
        run.task,
        run.host,
        run.session.as_ref().map(|session| &session.0),
        run.resumes.as_ref().map(RunId::as_str),
        run.accepted_at.0,
        run.last_step_at.0,
        run.ended_at.map(|at| at.0),
        run.reason.as_ref().map(json).transpose()?,
        run.acknowledged,
        run.group.as_ref().map(GroupId::as_str),
        run.workspace
            .as_ref()
            .map(|workspace| workspace.to_string_lossy()),
    ];
    transaction
        .prepare_cached(&sql)
        .and_then(|mut insert| insert.execute(values))
        .map_err(read_failure)?;
    Ok(())
}

/// Writes what can change in a run, its owner and generation aside.
pub(super) fn update(transaction: &Transaction<'_>, run: &RunSummary) -> Result<(), JournalError> {
    let sql = "UPDATE runs SET state = ?2, steps = ?3, last_step_at = ?4, ended_at = ?5, reason = ?6, \
        acknowledged = ?7 WHERE run = ?1";
    let values = params![
        run.run.as_str(),
        word(&run.state)?,
        run.steps,
        run.last_step_at.0,
        run.ended_at.map(|at| at.0),
        run.reason.as_ref().map(json).transpose()?,
        run.acknowledged,
    ];
    transaction
        .prepare_cached(sql)
        .and_then(|mut update| update.execute(values))
        .map_err(read_failure)?;
    Ok(())
}

/// Gives the run to another owner, if nothing changed in between.
pub(super) fn change_owner(
    transaction: &Transaction<'_>,
    run: &RunSummary,
    owner: &RuntimeId,
    generation: u64,
) -> Result<(), JournalError> {
    let sql = "UPDATE runs SET owner = ?2, generation = ?3 WHERE run = ?1";
    let values = params![run.run.as_str(), owner.as_str(), generation];
    transaction
        .prepare_cached(sql)
        .and_then(|mut update| update.execute(values))
        .map_err(read_failure)?;
    Ok(())
}

/// Forgets the runs that `retention` lets go of.
pub(super) fn prune(transaction: &Transaction<'_>, retention: &Retention) -> Result<Pruned, JournalError> {
    let mut pruned = Pruned::default();
    let runs = list(transaction, &RunFilter::default())?;
    for (newer_runs, run) in runs.iter().enumerate() {
        if !retention.lets_go_of(run, newer_runs) {
            continue;
        }
        forget(transaction, run).map_err(read_failure)?;
        pruned.runs += 1;
        pruned.steps += run.steps;
        pruned.abandoned += usize::from(!run.acknowledged);
    }
    Ok(pruned)
}

fn forget(transaction: &Transaction<'_>, run: &RunSummary) -> Result<(), rusqlite::Error> {
    let tables = [
        "DELETE FROM steps WHERE run = ?1",
        "DELETE FROM overflows WHERE run = ?1",
        "DELETE FROM runs WHERE run = ?1",
    ];
    for sql in tables {
        transaction.prepare_cached(sql)?.execute([run.run.as_str()])?;
    }
    Ok(())
}

fn read(row: &rusqlite::Row<'_>) -> Result<RunSummary, JournalError> {
    let text = |column: usize| row.get::<_, String>(column).map_err(read_failure);
    let optional_text = |column: usize| row.get::<_, Option<String>>(column).map_err(read_failure);
    let number = |column: usize| row.get::<_, u64>(column).map_err(read_failure);
    let run_id = |text: String| RunId::try_from(text).map_err(|_| not_ours("a run id"));
    Ok(RunSummary {
        run: run_id(text(0)?)?,
        owner: RuntimeId::from_text(text(1)?).ok_or_else(|| not_ours("an owner"))?,
        generation: number(2)?,
        state: read_word(text(3)?)?,
        steps: number(4)?,
        what: read_json(&text(5)?)?,
        task: text(6)?,
        host: text(7)?,
        session: optional_text(8)?.map(SessionId),
        resumes: optional_text(9)?.map(run_id).transpose()?,
        accepted_at: UnixMillis(number(10)?),
        last_step_at: UnixMillis(number(11)?),
        ended_at: row
            .get::<_, Option<u64>>(12)
            .map_err(read_failure)?
            .map(UnixMillis),
        reason: optional_text(13)?.as_deref().map(read_json).transpose()?,
        acknowledged: row.get(14).map_err(read_failure)?,
        group: optional_text(15)?
            .map(GroupId::try_from)
            .transpose()
            .map_err(|_| not_ours("a group"))?,
        workspace: optional_text(16)?.map(PathBuf::from),
    })
}

fn json(value: &impl Serialize) -> Result<String, JournalError> {
    serde_json::to_string(value).map_err(|error| JournalError::Storage {
        why: error.to_string(),
    })
}

fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, JournalError> {
    serde_json::from_str(text).map_err(|_| not_ours("a run"))
}

/// One word without quotes, so that a person can read the table.
fn word(value: &impl Serialize) -> Result<String, JournalError> {
    Ok(json(value)?.trim_matches('"').to_string())
}

fn read_word<T: DeserializeOwned>(text: String) -> Result<T, JournalError> {
    serde_json::from_value(serde_json::Value::String(text)).map_err(|_| not_ours("a state"))
}
