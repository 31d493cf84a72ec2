//! Calls of models beside their steps: what was spent, and on what. They outlive the run they belong to.

use super::errors::{not_ours, read_failure};
use super::runs::{json, read_json};
use crate::gateways::UnixMillis;
use crate::journal::{JournalError, Retention, Row, RunSummary};
use impresario_policies::budget::{Scope, Spent};
use impresario_policies::costs::Cost;
use impresario_policies::domain::{AttemptNumber, Caller, ModelCall, ModelUsage};
use impresario_policies::utc_date::DAY_MS;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

const KEPT_MS: u64 = 396 * DAY_MS;

pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: &RunSummary,
    row: &Row,
    call: &ModelCall,
) -> Result<(), JournalError> {
    let counted = match call.used {
        Some(_) => Counted::Told,
        None => Counted::Reckoned,
    };
    let part = match call.by {
        Caller::Actor { .. } => "actor",
        Caller::Judge { .. } => "judge",
        Caller::SubAgent { .. } => "sub_agent",
    };
    let write = Written {
        part,
        requested: &call.requested,
        served: call.served.as_deref(),
        counted,
        took: call.counted(),
    };
    write.into_place(transaction, run, row)
}

/// Notes that an attempt ended of which nobody can tell what its last call took.
pub(super) fn insert_lost(
    transaction: &Transaction<'_>,
    run: &RunSummary,
    row: &Row,
    attempt: AttemptNumber,
) -> Result<(), JournalError> {
    let Some(model) = model_of(transaction, row, attempt)? else {
        return Ok(());
    };
    let write = Written {
        part: "sub_agent",
        requested: &model,
        served: None,
        counted: Counted::Lost,
        took: ModelUsage::default(),
    };
    write.into_place(transaction, run, row)
}

fn model_of(
    transaction: &Transaction<'_>,
    row: &Row,
    attempt: AttemptNumber,
) -> Result<Option<String>, JournalError> {
    let sql = "SELECT json_extract(step, '$.model') FROM steps WHERE run = ?1 \
        AND step LIKE '{\"step\":\"attempt_started\"%' AND json_extract(step, '$.attempt') = ?2";
    transaction
        .prepare_cached(sql)
        .and_then(|mut select| {
            select
                .query_row(params![row.run.as_str(), attempt.0], |row| row.get(0))
                .optional()
        })
        .map_err(read_failure)
}

/// How the column `counted` says where the numbers come from.
#[derive(Clone, Copy)]
enum Counted {
    /// Cut off: what was set aside for it.
    Reckoned = 0,
    /// By the provider.
    Told = 1,
    /// It is no call but an attempt that was lost; nobody knows whether a call was under way.
    Lost = 2,
}

/// A row, beside what its run and its step say.
struct Written<'a> {
    part: &'static str,
    requested: &'a str,
    served: Option<&'a str>,
    counted: Counted,
    took: ModelUsage,
}

impl Written<'_> {
    fn into_place(
        self,
        transaction: &Transaction<'_>,
        run: &RunSummary,
        row: &Row,
    ) -> Result<(), JournalError> {
        let sql = "INSERT OR REPLACE INTO model_calls (run, sequence, at, what, session, member_of, part, requested, \
            served, counted, input, output, cache_read, cache_write, usd) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        let tokens = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let values = params![
            row.run.as_str(),
            row.sequence,
            row.at.0,
            json(&run.what)?,
            run.session.as_ref().map(|session| session.0.as_str()),
            run.group.as_ref().map(|group| group.as_str()),
            self.part,
            self.requested,
            self.served,
            self.counted as u8,
            tokens(self.took.input),
            tokens(self.took.output),
            tokens(self.took.cache_read),
            tokens(self.took.cache_write),
            self.took.cost_usd,
        ];
        transaction
            .prepare_cached(sql)
            .and_then(|mut insert| insert.execute(values))
            .map_err(read_failure)?;
        Ok(())
    }
}

/// What the calls since then took in a scope.
pub(super) fn spent(
    connection: &Connection,
    scope: &Scope,
    since: UnixMillis,
    assumed_usd_per_million: f64,
) -> Result<Spent, JournalError> {
    let (condition, value) = match scope {
        Scope::Tree(group) => ("member_of = ?3", group.as_str()),
        Scope::Session(session) => ("session = ?3", session.0.as_str()),
        Scope::Day => ("?3 = ''", ""),
    };
    let tokens = "(input + output + cache_read + cache_write)";
    let sql = format!(
        "SELECT total(coalesce(usd, {tokens} * ?1 / 1000000.0)), total({tokens}) FROM model_calls \
        WHERE at >= ?2 AND {condition}"
    );
    let values = params![assumed_usd_per_million, since.0, value];
    connection
        .prepare_cached(&sql)
        .and_then(|mut select| {
            select.query_row(values, |row| {
                Ok(Spent {
                    usd: row.get(0)?,
                    tokens: row.get::<_, f64>(1)? as u64,
                })
            })
        })
        .map_err(read_failure)
}

/// By day, by whom and by model; the newest day first, the dearest first.
pub(super) fn costs(connection: &Connection, since: UnixMillis) -> Result<Vec<Cost>, JournalError> {
    let sql = "SELECT at / ?2, what, requested, sum(counted < 2), sum(input), sum(output), sum(cache_read), \
        sum(cache_write), sum(usd), sum(usd IS NULL AND counted < 2), sum(counted = 0), sum(counted = 2) \
        FROM model_calls WHERE at >= ?1 GROUP BY 1, 2, 3 ORDER BY 1 DESC, total(usd) DESC, 2, 3";
    let mut select = connection.prepare_cached(sql).map_err(read_failure)?;
    let mut rows = select.query(params![since.0, DAY_MS]).map_err(read_failure)?;
    let mut costs = Vec::new();
    while let Some(row) = rows.next().map_err(read_failure)? {
        costs.push(read(row)?);
    }
    Ok(costs)
}

fn read(row: &rusqlite::Row<'_>) -> Result<Cost, JournalError> {
    let what: String = row.get(1).map_err(read_failure)?;
    let columns = || {
        Ok(Cost {
            day: Some(row.get(0)?),
            what: Some(read_json(&what).map_err(|_| rusqlite::Error::InvalidQuery)?),
            model: Some(row.get(2)?),
            calls: row.get(3)?,
            used: ModelUsage {
                input: row.get(4)?,
                output: row.get(5)?,
                cache_read: row.get(6)?,
                cache_write: row.get(7)?,
                cost_usd: row.get(8)?,
            },
            unpriced: row.get(9)?,
            estimated: row.get(10)?,
            attempts_lost: row.get(11)?,
        })
    };
    columns().map_err(|_: rusqlite::Error| not_ours("a call of a model"))
}

/// Forgets what is so old that nobody asks for it, a year and a month older than runs that may go.
pub(super) fn prune(transaction: &Transaction<'_>, retention: &Retention) -> Result<(), JournalError> {
    let runs_before = retention.acknowledged_before.min(retention.abandoned_before);
    let before = runs_before.0.saturating_sub(KEPT_MS);
    transaction
        .execute(
            "DELETE FROM model_calls WHERE at < ?1",
            [i64::try_from(before).unwrap_or(i64::MAX)],
        )
        .map(drop)
        .map_err(read_failure)
}
