//! The table of alerts: one row for a skill of a workspace.

use super::errors::{not_ours, read_failure};
use crate::gateways::UnixMillis;
use crate::journal::alert::REMEMBERED;
use crate::journal::{Alert, JournalError, SkillOf};
use impresario_policies::domain::RunId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

pub(super) fn last(connection: &Connection, of: &SkillOf) -> Result<Option<Alert>, JournalError> {
    let sql = "SELECT at, run FROM alerts WHERE workspace = ?1 AND skill = ?2";
    let standing = connection
        .prepare_cached(sql)
        .and_then(|mut select| {
            let row = select.query_row(params![of.workspace, of.skill], |row| {
                Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?))
            });
            row.optional()
        })
        .map_err(read_failure)?;
    let Some((at, run)) = standing else {
        return Ok(None);
    };
    let run = RunId::try_from(run).map_err(|_| not_ours("the run of an alert"))?;
    Ok(Some(Alert {
        at: UnixMillis(at),
        run,
    }))
}

pub(super) fn raise(
    transaction: &Transaction<'_>,
    of: &SkillOf,
    alert: &Alert,
    seen: Option<UnixMillis>,
) -> Result<bool, JournalError> {
    let standing = last(transaction, of)?;
    if !alert.may_follow(standing.as_ref(), seen) {
        return Ok(false);
    }
    let forgotten = alert.at.0.saturating_sub(REMEMBERED.as_millis() as u64);
    let write = || {
        transaction
            .prepare_cached("DELETE FROM alerts WHERE at < ?1")?
            .execute([forgotten])?;
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO alerts (workspace, skill, at, run) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![of.workspace, of.skill, alert.at.0, alert.run.as_str()])
    };
    write().map_err(read_failure)?;
    Ok(true)
}
