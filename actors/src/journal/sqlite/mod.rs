//! The journal in SQLite: write-ahead log, synced at every commit, shared by the runtimes of one user.

mod alerts;
mod checksum;
mod damage;
mod errors;
#[cfg(test)]
mod hostile_tests;
mod identity;
mod known;
mod lost;
mod model_calls;
mod open;
mod overflow;
mod reader;
mod runs;
mod runtimes;
mod schema;
mod steps;
#[cfg(test)]
mod tests;

pub use damage::DamagedRun;
pub use lost::LostCommits;
pub use open::{Opened, SetAside};
pub use reader::{JournalReader, KeptAside};

use super::ownership::RuntimeLock;
use super::{
    Alert, ClaimableRun, JournalError, OverflowContent, OverflowEntry, OverflowListing, Pruned, Retention,
    Row, RunFilter, RunSummary, RuntimeId, SkillOf, Store,
};
use crate::gateways::UnixMillis;
use errors::read_failure;
use identity::OpenFiles;
use impresario_policies::budget::{Scope, Spent};
use impresario_policies::domain::RunId;
use impresario_policies::projection::RecordedStep;
use known::KnownRuns;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::PathBuf;

/// The journal file in the state directory.
pub const JOURNAL_FILE: &str = "journal.sqlite";

/// The journal of one runtime, in a file that it shares with others.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    runtime: RuntimeId,
    /// Where the lock files are.
    runtimes: PathBuf,
    /// Where it is written that the file should be looked at closely.
    suspicion: PathBuf,
    /// The runs that were written to.
    known: KnownRuns,
    /// Watched, so that nothing is told to be on disk that nobody will find there.
    files: OpenFiles,
    /// Freed on close, or with the process.
    lock: Option<RuntimeLock>,
}

impl SqliteStore {
    /// Runs `work` in one transaction that can write, and remembers when the file turns out to be damaged.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &RuntimeId) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let outcome = write_to(&mut self.connection, &self.runtime, work);
        let outcome = outcome.and_then(|done| self.files.check().map(|()| done));
        self.remember_damage(outcome)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, JournalError>) -> Result<T, JournalError> {
        self.remember_damage(work(&self.connection))
    }

    fn remember_damage<T>(&self, outcome: Result<T, JournalError>) -> Result<T, JournalError> {
        if let Err(JournalError::Damaged { .. } | JournalError::RunDamaged { .. }) = &outcome {
            // When even this cannot be written, the next start looks at the file as it always does.
            let _ = std::fs::write(&self.suspicion, "");
        }
        outcome
    }
}

fn write_to<T>(
    connection: &mut Connection,
    runtime: &RuntimeId,
    work: impl FnOnce(&Transaction<'_>, &RuntimeId) -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(read_failure)?;
    let done = work(&transaction, runtime)?;
    transaction.commit().map_err(read_failure)?;
    Ok(done)
}

impl Store for SqliteStore {
    fn commit_together(&mut self, groups: &[&[Row]]) -> Result<(), JournalError> {
        let rows = groups.iter().copied().flatten().collect::<Vec<_>>();
        if rows.is_empty() {
            return Ok(());
        }
        let texts = steps::write_all(&rows)?;
        let mut known = std::mem::take(&mut self.known);
        let written = self
            .write(|transaction, runtime| steps::insert_all(transaction, runtime, &mut known, &rows, &texts));
        if written.is_err() {
            // What was not written must not be remembered; the file says what stands.
            rows.iter().for_each(|row| known.forget(&row.run));
        }
        self.known = known;
        written
    }

    fn steps(&mut self, run: &RunId, after: u64) -> Result<Vec<RecordedStep>, JournalError> {
        self.read(|connection| steps::read_after(connection, run, after))
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        self.read(|connection| runs::list(connection, filter))
    }

    fn spent(
        &mut self,
        scope: &Scope,
        since: UnixMillis,
        assumed_usd_per_million: f64,
    ) -> Result<Spent, JournalError> {
        self.read(|connection| model_calls::spent(connection, scope, since, assumed_usd_per_million))
    }

    fn put_overflow(
        &mut self,
        run: &RunId,
        entry: &OverflowEntry,
        content: &OverflowContent,
    ) -> Result<(), JournalError> {
        self.write(|transaction, _| overflow::put(transaction, run, entry, content))
    }

    fn overflow(&mut self, run: &RunId, handle: u32) -> Result<Option<OverflowContent>, JournalError> {
        self.read(|connection| overflow::get(connection, run, handle))
    }

    fn overflows(&mut self, run: &RunId) -> Result<OverflowListing, JournalError> {
        self.read(|connection| overflow::list(connection, run))
    }

    fn claimable(&mut self) -> Result<Vec<ClaimableRun>, JournalError> {
        self.read(|connection| runtimes::claimable(connection, &self.runtimes, &self.runtime))
    }

    fn claim(&mut self, run: &RunId, generation: u64) -> Result<u64, JournalError> {
        self.known.forget(run);
        let locks = self.runtimes.clone();
        self.write(|transaction, runtime| runtimes::claim(transaction, &locks, runtime, run, generation))
    }

    /// One transaction for all: each would wait for the disk by itself.
    fn claim_all(&mut self, claims: &[(RunId, u64)]) -> Vec<Result<u64, JournalError>> {
        claims.iter().for_each(|(run, _)| self.known.forget(run));
        let locks = self.runtimes.clone();
        let together = self.write(|transaction, runtime| {
            let mut answers = Vec::new();
            for (run, generation) in claims {
                match runtimes::claim(transaction, &locks, runtime, run, *generation) {
                    Err(error) if error.is_of_the_world() => return Err(error),
                    answer => answers.push(answer),
                }
            }
            Ok(answers)
        });
        together.unwrap_or_else(|error| claims.iter().map(|_| Err(error.clone())).collect())
    }

    fn last_alert(&mut self, of: &SkillOf) -> Result<Option<Alert>, JournalError> {
        self.read(|connection| alerts::last(connection, of))
    }

    fn raise_alert(
        &mut self,
        of: &SkillOf,
        alert: &Alert,
        seen: Option<UnixMillis>,
    ) -> Result<bool, JournalError> {
        self.write(|transaction, _| alerts::raise(transaction, of, alert, seen))
    }

    fn prune(&mut self, retention: &Retention) -> Result<Pruned, JournalError> {
        self.known = KnownRuns::default();
        self.write(|transaction, _| {
            model_calls::prune(transaction, retention)?;
            runs::prune(transaction, retention)
        })
    }

    fn close(&mut self) -> Result<(), JournalError> {
        let Some(lock) = self.lock.take() else {
            return Ok(());
        };
        let left_nothing = self.write(runtimes::retire)?;
        if left_nothing {
            lock.remove();
        }
        Ok(())
    }
}
