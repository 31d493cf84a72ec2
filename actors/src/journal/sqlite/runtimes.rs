//! The table of runtimes, and taking over the runs of dead ones.

use super::errors::read_failure;
use super::runs;
use crate::gateways::UnixMillis;
use crate::journal::ownership::find_dead;
use crate::journal::{ClaimableRun, JournalError, RuntimeId, RuntimeIdentity};
use impresario_policies::domain::{RunId, SessionId};
use rusqlite::{Connection, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Makes a runtime known.
pub(super) fn register(transaction: &Transaction<'_>, runtime: &RuntimeIdentity) -> Result<(), JournalError> {
    let sql = "INSERT INTO runtimes (id, host, session, started_at, process) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![
        runtime.id.as_str(),
        runtime.host,
        runtime.session.as_ref().map(|session| &session.0),
        runtime.started_at.0,
        runtime.process,
    ];
    transaction.execute(sql, values).map_err(read_failure)?;
    Ok(())
}

/// Forgets a runtime that leaves no open run behind, and says whether it did.
pub(super) fn retire(transaction: &Transaction<'_>, runtime: &RuntimeId) -> Result<bool, JournalError> {
    let sql = "DELETE FROM runtimes WHERE id = ?1 \
        AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = ?1 AND acknowledged = 0)";
    let forgotten = transaction
        .execute(sql, [runtime.as_str()])
        .map_err(read_failure)?;
    Ok(forgotten > 0)
}

/// Forgets every dead runtime that left no open run behind, with its lock file.
pub(super) fn forget_dead(
    transaction: &Transaction<'_>,
    locks: &Path,
    us: &RuntimeId,
) -> Result<(), JournalError> {
    for runtime in list(transaction)?.into_keys() {
        if runtime == *us {
            continue;
        }
        let Some(dead) = find_dead(locks, &runtime) else {
            continue;
        };
        if retire(transaction, &runtime)? {
            dead.forget();
        }
    }
    Ok(())
}

/// The open runs whose runtime is dead.
pub(super) fn claimable(
    connection: &Connection,
    locks: &Path,
    us: &RuntimeId,
) -> Result<Vec<ClaimableRun>, JournalError> {
    let runs = runs::list_open(connection)?;
    let others: BTreeSet<RuntimeId> = runs
        .iter()
        .map(|run| run.owner.clone())
        .filter(|owner| owner != us)
        .collect();
    let dead: BTreeSet<RuntimeId> = others
        .into_iter()
        .filter(|owner| find_dead(locks, owner).is_some())
        .collect();
    let runtimes = list(connection)?;
    let claimable = runs.into_iter().filter(|run| dead.contains(&run.owner));
    Ok(claimable
        .map(|run| ClaimableRun {
            owner: runtimes.get(&run.owner).cloned(),
            run,
        })
        .collect())
}

/// Makes `us` the owner of `run` and raises its generation.
pub(super) fn claim(
    transaction: &Transaction<'_>,
    locks: &Path,
    us: &RuntimeId,
    run: &RunId,
    generation: u64,
) -> Result<u64, JournalError> {
    let Some(standing) = runs::find(transaction, run)? else {
        return Err(JournalError::UnknownRun { run: run.clone() });
    };
    // Asked again after the answer was lost.
    if standing.owner == *us && standing.generation == generation + 1 {
        return Ok(standing.generation);
    }
    if standing.owner == *us || standing.generation != generation {
        return Err(JournalError::ClaimLost { run: run.clone() });
    }
    if find_dead(locks, &standing.owner).is_none() {
        return Err(JournalError::OwnerAlive {
            run: run.clone(),
            owner: standing.owner,
        });
    }
    let next = generation + 1;
    runs::change_owner(transaction, &standing, us, next)?;
    Ok(next)
}

fn list(connection: &Connection) -> Result<BTreeMap<RuntimeId, RuntimeIdentity>, JournalError> {
    let sql = "SELECT id, host, session, started_at, process FROM runtimes";
    let mut select = connection.prepare_cached(sql).map_err(read_failure)?;
    let mut rows = select.query([]).map_err(read_failure)?;
    let mut runtimes = BTreeMap::new();
    while let Some(row) = rows.next().map_err(read_failure)? {
        // Nobody needs a row that cannot be read: its runs are found by their own.
        match read(row) {
            Ok(Some(runtime)) => drop(runtimes.insert(runtime.id.clone(), runtime)),
            Ok(None) | Err(_) => tracing::error!("a runtime's row cannot be read"),
        }
    }
    Ok(runtimes)
}

fn read(row: &rusqlite::Row<'_>) -> Result<Option<RuntimeIdentity>, rusqlite::Error> {
    let Some(id) = RuntimeId::from_text(row.get(0)?) else {
        return Ok(None);
    };
    Ok(Some(RuntimeIdentity {
        id,
        host: row.get(1)?,
        session: row.get::<_, Option<String>>(2)?.map(SessionId),
        started_at: UnixMillis(row.get(3)?),
        process: row.get(4)?,
    }))
}
