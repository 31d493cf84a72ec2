//! What keeps the steps. Synchronous: production calls it from one plain thread, a simulation inline.

use super::{
    Alert, ClaimableRun, JournalError, OverflowContent, OverflowEntry, OverflowListing, Pruned, Retention,
    RunFilter, RunSummary, SkillOf,
};
use crate::gateways::UnixMillis;
use impresario_policies::budget::{Scope, Spent};
use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;

/// A step as JSON has at most so many bytes.
pub const STEP_BYTES_MAX: usize = 16 << 20;

/// An overflow entry has at most so many bytes.
pub const OVERFLOW_BYTES_MAX: usize = 64 << 20;

/// One step and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub run: RunId,
    /// Its place in the run, from 1, without gaps.
    pub sequence: u64,
    /// The generation that writes it: 1 for a new run, afterwards what [`Store::claim`] gave.
    pub generation: u64,
    pub at: UnixMillis,
    pub step: Step,
}

impl Row {
    /// This row as a projection reads it.
    pub fn recorded(&self) -> RecordedStep {
        RecordedStep {
            sequence: self.sequence,
            generation: self.generation,
            at_ms: self.at.0,
            step: self.step.clone(),
        }
    }
}

/// The rows are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The sequence of the last of them; 0 when there were none.
    pub through: u64,
}

/// The sequence of the last of `rows`.
pub(super) fn last_sequence(rows: &[Row]) -> u64 {
    rows.last().map_or(0, |row| row.sequence)
}

/// What keeps the steps of runs, for one runtime. Whatever is answered with `Ok` is on disk.
pub trait Store: Send {
    /// Writes all of these rows or none. A row that stands already, with an equal step, counts as written.
    fn commit_together(&mut self, groups: &[&[Row]]) -> Result<(), JournalError>;

    /// The same for the rows of one who asks.
    fn commit(&mut self, rows: &[Row]) -> Result<(), JournalError> {
        self.commit_together(&[rows])
    }

    /// The steps of `run` after the place `after`, in order.
    fn steps(&mut self, run: &RunId, after: u64) -> Result<Vec<RecordedStep>, JournalError>;

    /// The runs that pass `filter`, newest first.
    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError>;

    /// What the calls of models since then took in a scope; a million tokens without a price count as so many dollars.
    fn spent(
        &mut self,
        scope: &Scope,
        since: UnixMillis,
        assumed_usd_per_million: f64,
    ) -> Result<Spent, JournalError>;

    /// Keeps `content` under `entry`'s handle until the run ends. An equal entry that stands already counts as written.
    fn put_overflow(
        &mut self,
        run: &RunId,
        entry: &OverflowEntry,
        content: &OverflowContent,
    ) -> Result<(), JournalError>;

    /// What was kept under the handle; none when it was never there, was deleted, or went with the end of the run.
    fn overflow(&mut self, run: &RunId, handle: u32) -> Result<Option<OverflowContent>, JournalError>;

    /// What is kept for the run.
    fn overflows(&mut self, run: &RunId) -> Result<OverflowListing, JournalError>;

    /// The unfinished or unacknowledged runs whose runtime is dead, oldest first.
    fn claimable(&mut self) -> Result<Vec<ClaimableRun>, JournalError>;

    /// Makes this runtime the owner of `run`, if its runtime is still dead and its generation still `generation`.
    /// Gives the new generation. Whoever calls this has seen the old containment empty.
    fn claim(&mut self, run: &RunId, generation: u64) -> Result<u64, JournalError>;

    /// The same for several runs, each with an answer of its own.
    fn claim_all(&mut self, claims: &[(RunId, u64)]) -> Vec<Result<u64, JournalError>> {
        let claims = claims.iter();
        claims
            .map(|(run, generation)| self.claim(run, *generation))
            .collect()
    }

    /// When a person was last told that this skill stopped working.
    fn last_alert(&mut self, of: &SkillOf) -> Result<Option<Alert>, JournalError>;

    /// Remembers that a person is told now, if nobody else told them since `seen`; says whether it stands. The same
    /// run's alert stands again.
    fn raise_alert(
        &mut self,
        of: &SkillOf,
        alert: &Alert,
        seen: Option<UnixMillis>,
    ) -> Result<bool, JournalError>;

    /// Forgets what `retention` no longer wants kept.
    fn prune(&mut self, retention: &Retention) -> Result<Pruned, JournalError>;

    /// Lets go of everything in order. Runs that are not acknowledged can be claimed by others from here on.
    fn close(&mut self) -> Result<(), JournalError>;
}
