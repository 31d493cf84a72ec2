//! The table of runs: what a list shows, and who owns what.

use super::checksum::Checksum;
use super::damage::{DamagedRun, Depth};
use super::errors::{not_ours, read_failure};
use crate::gateways::UnixMillis;
use crate::journal::{JournalError, Pruned, Retention, RunFilter, RunProgress, RunSummary, RuntimeId};
use impresario_policies::domain::{GroupId, RunId, SessionId};
use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Transaction, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Those that go into the checksum, in its order.
const COLUMNS: &str = "run, owner, generation, state, steps, what, task, host, session, resumes, accepted_at, \
    last_step_at, ended_at, reason, acknowledged, member_of, workspace";
const COLUMNS_COUNT: usize = 17;
/// Behind them stand the checksum, and why the run is suspected of having lost steps.
const READ: &str = "checksum, suspect";

pub(super) fn find(connection: &Connection, run: &RunId) -> Result<Option<RunSummary>, JournalError> {
    static SQL: LazyLock<String> =
        LazyLock::new(|| format!("SELECT {COLUMNS}, {READ} FROM runs WHERE run = ?1"));
    let found = connection
        .prepare_cached(&SQL)
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
    let wants = |run: &RunSummary| filter.wants(run);
    let condition = match &filter.below {
        Some(root) => format!("{condition} AND {}", is_below(root)),
        None => condition.to_string(),
    };
    select(
        connection,
        &condition,
        "DESC",
        &filter.id_prefix,
        wants,
        filter.newest,
    )
}

/// Ids sort by time, so those that are older than the root are not looked at; an id has letters and digits only.
fn is_below(root: &RunId) -> String {
    format!(
        "run IN (SELECT run FROM steps WHERE run > '{root}' AND sequence = 1 \
         AND json_extract(step, '$.request.terms.tree.root') = '{root}')"
    )
}

/// The runs that are unfinished or not acknowledged, oldest first.
pub(super) fn list_open(connection: &Connection) -> Result<Vec<RunSummary>, JournalError> {
    select(connection, "acknowledged = 0", "ASC", "", |_| true, usize::MAX)
}

/// Comes after every id that begins with what stands before it.
const AFTER_ALL: char = char::MAX;

/// The ids sort by time of acceptance. Whoever asks for one run reads one row, however many there are.
fn select(
    connection: &Connection,
    condition: &str,
    direction: &str,
    id_prefix: &str,
    wants: impl Fn(&RunSummary) -> bool,
    newest: usize,
) -> Result<Vec<RunSummary>, JournalError> {
    let sql = format!(
        "SELECT {COLUMNS}, {READ} FROM runs WHERE run >= ?1 AND run < ?2 AND {condition} ORDER BY run {direction}"
    );
    let mut select = connection.prepare_cached(&sql).map_err(read_failure)?;
    let range = [id_prefix.to_string(), format!("{id_prefix}{AFTER_ALL}")];
    let mut rows = select.query(range).map_err(read_failure)?;
    let mut found = Vec::new();
    while found.len() < newest {
        let Some(row) = rows.next().map_err(read_failure)? else {
            break;
        };
        match read(row) {
            Ok(run) if wants(&run) => found.push(run),
            Ok(_) => {}
            // It is set aside at the next start; the others are none the worse for it.
            Err(JournalError::RunDamaged { run, why }) => tracing::error!(run, why, "run left out"),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The runs whose row is not as it was written.
pub(super) fn find_damaged(connection: &Connection) -> Result<Vec<DamagedRun>, JournalError> {
    let sql = format!("SELECT {COLUMNS}, {READ} FROM runs");
    let mut select = connection.prepare(&sql).map_err(read_failure)?;
    let mut rows = select.query([]).map_err(read_failure)?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next().map_err(read_failure)? {
        if let Err(JournalError::RunDamaged { run, why }) = read(row) {
            damaged.push(DamagedRun { run, why });
        }
    }
    Ok(damaged)
}

/// The ids of those runs, as far as they are any.
pub(super) fn ids(connection: &Connection, depth: Depth) -> Result<Vec<RunId>, JournalError> {
    let condition = match depth {
        Depth::OpenRuns => "acknowledged = 0",
        Depth::AllRuns => "1",
    };
    let sql = format!("SELECT run FROM runs WHERE {condition}");
    let mut select = connection.prepare(&sql).map_err(read_failure)?;
    let found = select
        .query_map([], |row| row.get::<_, String>(0))
        .map_err(read_failure)?;
    Ok(found
        .flatten()
        .filter_map(|run| RunId::try_from(run).ok())
        .collect())
}

/// Notes why steps of the unfinished runs may be lost. It is no part of what was written of them.
pub(super) fn suspect_unfinished(transaction: &Transaction<'_>, why: &str) -> Result<(), JournalError> {
    let sql = "UPDATE runs SET suspect = ?1 WHERE ended_at IS NULL";
    transaction.execute(sql, [why]).map(drop).map_err(read_failure)
}

/// Writes a new run.
pub(super) fn insert(transaction: &Transaction<'_>, run: &RunSummary) -> Result<(), JournalError> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let places = (1..=COLUMNS_COUNT + 1).map(|place| format!("?{place}"));
        let places = places.collect::<Vec<_>>().join(", ");
        format!("INSERT INTO runs ({COLUMNS}, checksum) VALUES ({places})")
    });
    write(transaction, &SQL, run)
}

/// Writes the run as it stands now. The whole row is written anew, so that its checksum is of what is known here, not of
/// what may have been damaged there.
pub(super) fn update(transaction: &Transaction<'_>, run: &RunSummary) -> Result<(), JournalError> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let names = COLUMNS.split(", ").map(str::trim).zip(1..);
        let places = names.skip(1).map(|(name, place)| format!("{name} = ?{place}"));
        let places = places.collect::<Vec<_>>().join(", ");
        let checksum = COLUMNS_COUNT + 1;
        format!("UPDATE runs SET {places}, checksum = ?{checksum} WHERE run = ?1")
    });
    write(transaction, &SQL, run)
}

fn write(transaction: &Transaction<'_>, sql: &str, run: &RunSummary) -> Result<(), JournalError> {
    let values = values_of(run)?;
    let checksum = Checksum::of(values.iter().map(|value| match value {
        ToSqlOutput::Borrowed(value) => *value,
        ToSqlOutput::Owned(value) => ValueRef::from(value),
        // None of ours is of another kind.
        _ => ValueRef::Null,
    }));
    let checksum = ToSqlOutput::from(checksum);
    transaction
        .prepare_cached(sql)
        .and_then(|mut write| write.execute(params_from_iter(values.iter().chain([&checksum]))))
        .map_err(read_failure)?;
    Ok(())
}

/// In the order of the columns.
fn values_of(run: &RunSummary) -> Result<[ToSqlOutput<'_>; COLUMNS_COUNT], JournalError> {
    let number = |number: u64| ToSqlOutput::from(i64::try_from(number).unwrap_or(i64::MAX));
    fn optional(text: Option<&str>) -> ToSqlOutput<'_> {
        text.map_or(ToSqlOutput::from(Null), ToSqlOutput::from)
    }
    let reason = run.reason.as_ref().map(json).transpose()?;
    let workspace = run.workspace.as_ref();
    let workspace = workspace.map(|workspace| workspace.to_string_lossy().into_owned());
    Ok([
        run.run.as_str().into(),
        run.owner.as_str().into(),
        number(run.generation),
        word(&run.state)?.into(),
        number(run.steps),
        json(&run.what)?.into(),
        run.task.as_str().into(),
        run.host.as_str().into(),
        optional(run.session.as_ref().map(|session| session.0.as_str())),
        optional(run.resumes.as_ref().map(RunId::as_str)),
        number(run.accepted_at.0),
        number(run.last_step_at.0),
        run.ended_at.map_or(ToSqlOutput::from(Null), |at| number(at.0)),
        reason.map_or(ToSqlOutput::from(Null), ToSqlOutput::from),
        i64::from(run.acknowledged).into(),
        optional(run.group.as_ref().map(GroupId::as_str)),
        workspace.map_or(ToSqlOutput::from(Null), ToSqlOutput::from),
    ])
}

/// Gives the run to another owner, if nothing changed in between.
pub(super) fn change_owner(
    transaction: &Transaction<'_>,
    run: &RunSummary,
    owner: &RuntimeId,
    generation: u64,
) -> Result<(), JournalError> {
    let taken_over = RunSummary {
        owner: owner.clone(),
        generation,
        ..run.clone()
    };
    update(transaction, &taken_over)
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

/// One row that cannot be read is damage to one run; anything else concerns the whole file.
fn read(row: &rusqlite::Row<'_>) -> Result<RunSummary, JournalError> {
    #[cfg(test)]
    ROWS_READ.set(ROWS_READ.get() + 1);
    let damaged = |why: String| JournalError::RunDamaged {
        run: match row.get_ref(0) {
            Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(_) | Err(_) => String::new(),
        },
        why,
    };
    let columns = (0..COLUMNS_COUNT)
        .map(|column| row.get_ref(column))
        .collect::<Result<Vec<_>, _>>();
    let found = Checksum::of(columns.map_err(read_failure)?);
    match row.get::<_, Option<i64>>(COLUMNS_COUNT).map_err(read_failure)? {
        Some(written) if written != found => Err(damaged("its row is not as it was written".to_string())),
        Some(_) | None => read_columns(row).map_err(|error| match error {
            JournalError::Damaged { why } => damaged(why),
            other => other,
        }),
    }
}

#[cfg(test)]
thread_local! {
    pub(super) static ROWS_READ: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn read_columns(row: &rusqlite::Row<'_>) -> Result<RunSummary, JournalError> {
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
        suspect: optional_text(18)?,
    })
}

pub(super) fn json(value: &impl Serialize) -> Result<String, JournalError> {
    serde_json::to_string(value).map_err(|error| JournalError::Storage {
        why: error.to_string(),
    })
}

pub(super) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, JournalError> {
    serde_json::from_str(text).map_err(|_| not_ours("a run"))
}

/// One word without quotes, so that a person can read the table.
fn word(value: &impl Serialize) -> Result<String, JournalError> {
    Ok(json(value)?.trim_matches('"').to_string())
}

fn read_word<T: DeserializeOwned>(text: String) -> Result<T, JournalError> {
    serde_json::from_value(serde_json::Value::String(text)).map_err(|_| not_ours("a state"))
}
