//! What is known of the runs that are written to, so that a step need not read its run and its calls first.
//!
//! Only this connection writes to runs of this runtime while it lives. Should anybody else have written to the file since
//! (another runtime, a person, whoever set a damaged run aside), each run is read again before its next step.

use super::errors::read_failure;
use super::{runs, steps};
use crate::journal::calls::Calls;
use crate::journal::{JournalError, RunSummary};
use impresario_policies::domain::RunId;
use rusqlite::Transaction;
use std::collections::BTreeMap;

/// Of more runs only those are remembered that have tool calls: they are at work, and theirs are dear to read again.
pub(super) const RUNS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct KnownRuns {
    runs: BTreeMap<RunId, KnownRun>,
    /// With so many it is looked whom to forget.
    forgets_at: usize,
    /// SQLite's word for the state of the file; it changes when another connection commits.
    version: Option<i64>,
}

/// A run as it stands in the file, or will with the transaction under way.
#[derive(Debug)]
pub(super) struct KnownRun {
    pub(super) summary: RunSummary,
    /// Its tool calls; none until a step concerns one.
    calls: Option<Calls>,
    /// Somebody else wrote to the file since the row was read.
    is_old: bool,
}

impl KnownRun {
    pub(super) fn begin(summary: RunSummary) -> Self {
        Self {
            summary,
            calls: Some(Calls::default()),
            is_old: false,
        }
    }

    /// The calls of the run; read from the file when it is the first time that somebody asks.
    pub(super) fn calls(&mut self, transaction: &Transaction<'_>) -> Result<&mut Calls, JournalError> {
        let calls = match self.calls.take() {
            Some(calls) => calls,
            None => steps::read_calls(transaction, &self.summary.run)?,
        };
        Ok(self.calls.insert(calls))
    }

    fn has_calls(&self) -> bool {
        self.calls.as_ref().is_some_and(|calls| !calls.is_empty())
    }

    /// No call begins or ends any more.
    pub(super) fn forget_calls(&mut self) {
        self.calls = None;
    }
}

impl KnownRuns {
    /// Looks whether somebody else wrote to the file. Holds for as long as the transaction, which keeps others out.
    pub(super) fn look(&mut self, transaction: &Transaction<'_>) -> Result<(), JournalError> {
        let version = transaction
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut pragma| pragma.query_row([], |row| row.get(0)))
            .map_err(read_failure)?;
        if self.version.replace(version) != Some(version) {
            self.runs.values_mut().for_each(|run| run.is_old = true);
        }
        Ok(())
    }

    /// Takes out the run as it stands; none when there is no such run.
    pub(super) fn take(
        &mut self,
        transaction: &Transaction<'_>,
        run: &RunId,
    ) -> Result<Option<KnownRun>, JournalError> {
        match self.runs.remove(run) {
            Some(known) if !known.is_old => Ok(Some(known)),
            old => {
                let found = runs::find(transaction, run)?;
                Ok(found.map(|summary| KnownRun {
                    calls: old.filter(|old| old.summary == summary).and_then(|old| old.calls),
                    summary,
                    is_old: false,
                }))
            }
        }
    }

    /// Puts a run back with what was added to it.
    pub(super) fn put(&mut self, known: KnownRun) {
        if self.runs.len() >= self.forgets_at.max(RUNS_MAX) {
            self.runs.retain(|_, known| known.has_calls());
            self.forgets_at = self.runs.len() * 2;
        }
        self.runs.insert(known.summary.run.clone(), known);
    }

    /// The run has to be read again.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.runs.remove(run);
    }
}
