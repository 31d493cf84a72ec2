//! What the journal is asked. Every one of them may be asked again: what stands already counts as done.

use crate::gateways::UnixMillis;
use crate::journal::{
    Alert, ClaimableRun, Committed, JournalError, OverflowContent, OverflowEntry, OverflowListing, Pruned,
    Retention, Row, RunFilter, RunSummary, SkillOf,
};
use crate::message;
use impresario_policies::budget::{Scope, Spent};
use impresario_policies::domain::RunId;
use impresario_policies::projection::RecordedStep;
use std::sync::Arc;

/// Writes all of these rows or none; answered when they are on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Usually of one run.
    pub rows: Arc<[Row]>,
}
message!(impl Commit -> Result<Committed, JournalError>);

/// Reads the steps of a run after the place `after`, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRun {
    pub run: RunId,
    /// 0 for all.
    pub after: u64,
}
message!(impl ReadRun -> Result<Vec<RecordedStep>, JournalError>);

/// Lists runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRuns {
    pub filter: RunFilter,
}
message!(impl ReadRuns -> Result<Vec<RunSummary>, JournalError>);

/// Adds up what was spent in a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSpent {
    pub scope: Scope,
    /// Calls before do not count.
    pub since: UnixMillis,
    /// What a million tokens without a price count as, in US dollars.
    pub assumed_usd_per_million: f64,
}
message!(impl ReadSpent -> Result<Spent, JournalError>);

/// Lists the runs whose runtime is dead, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadClaimable;
message!(impl ReadClaimable -> Result<Vec<ClaimableRun>, JournalError>);

/// Makes such a run ours, and gives the new generation. Whoever asks has seen its containment empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRun {
    pub run: RunId,
    /// The generation it was seen with.
    pub generation: u64,
}
message!(impl ClaimRun -> Result<u64, JournalError>);

/// Keeps a tool's result aside until the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepOverflow {
    pub run: RunId,
    /// Under which handle, and what it is.
    pub entry: OverflowEntry,
    pub content: OverflowContent,
}
message!(impl KeepOverflow -> Result<(), JournalError>);

/// Reads what was kept under a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOverflow {
    pub run: RunId,
    /// The number in the handle.
    pub handle: u32,
}
message!(impl FetchOverflow -> Result<Option<OverflowContent>, JournalError>);

/// Lists what is kept for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOverflow {
    pub run: RunId,
}
message!(impl ListOverflow -> Result<OverflowListing, JournalError>);

/// Forgets what is no longer wanted kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prune {
    pub retention: Retention,
}
message!(impl Prune -> Result<Pruned, JournalError>);

/// Asks when a person was last told that a skill stopped working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAlert {
    pub of: SkillOf,
}
message!(impl ReadAlert -> Result<Option<Alert>, JournalError>);

/// Remembers that a person is told now; answered with whether it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaiseAlert {
    pub of: SkillOf,
    /// When, and after which run.
    pub alert: Alert,
    /// When they were last told, as far as the asker knows.
    pub seen: Option<UnixMillis>,
}
message!(impl RaiseAlert -> Result<bool, JournalError>);
