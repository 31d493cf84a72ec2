//! A journal in memory for simulations: it commits inline, fails on request, and survives its runtimes as a disk does.

use super::calls::Calls;
use super::overflow::{OverflowContent, OverflowEntry, OverflowListing};
use super::place::{Place, decide_place};
use super::store::{OVERFLOW_BYTES_MAX, Row, Store};
use super::summary::{Pruned, Retention, RunFilter, RunSummary};
use super::{Alert, ClaimableRun, JournalError, RuntimeId, RuntimeIdentity, SkillOf};
use crate::gateways::UnixMillis;
use impresario_policies::domain::{RunId, Step};
use impresario_policies::projection::RecordedStep;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a simulation does to the disk. Commits are counted from 1, those that fail too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFaults {
    /// These commits find no space.
    pub disk_full: Range<u64>,
    /// These commits reach the disk, but the answer is a failure of the disk.
    pub answer_lost: Range<u64>,
}

impl Default for StoreFaults {
    /// None.
    fn default() -> Self {
        Self {
            disk_full: 0..0,
            answer_lost: 0..0,
        }
    }
}

/// The disk under one or more simulated runtimes, alive or dead. Kept across a simulated restart.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<Disk>>);

#[derive(Debug, Default)]
struct Disk {
    runs: BTreeMap<RunId, Run>,
    runtimes: BTreeMap<RuntimeId, RuntimeIdentity>,
    alive: BTreeSet<RuntimeId>,
    alerts: BTreeMap<SkillOf, Alert>,
    faults: StoreFaults,
    commits: u64,
    faults_injected: u64,
}

#[derive(Debug)]
struct Run {
    summary: RunSummary,
    steps: Vec<RecordedStep>,
    calls: Calls,
    /// A deleted entry leaves its handle behind.
    overflows: BTreeMap<u32, (OverflowEntry, Option<OverflowContent>)>,
}

impl SimulatedDisk {
    /// An empty disk without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: StoreFaults) {
        self.disk().faults = faults;
    }

    /// How many commits were tried.
    pub fn commits(&self) -> u64 {
        self.disk().commits
    }

    /// How many commits met a fault.
    pub fn faults_injected(&self) -> u64 {
        self.disk().faults_injected
    }

    /// Opens the journal for a new runtime, which is alive until the store is dropped or closed.
    pub fn open(&self, runtime: &RuntimeIdentity) -> SimulatedStore {
        let mut disk = self.disk();
        disk.runtimes.insert(runtime.id.clone(), runtime.clone());
        disk.alive.insert(runtime.id.clone());
        SimulatedStore {
            disk: self.clone(),
            runtime: runtime.id.clone(),
        }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal of one simulated runtime.
#[derive(Debug)]
pub struct SimulatedStore {
    disk: SimulatedDisk,
    runtime: RuntimeId,
}

impl Drop for SimulatedStore {
    fn drop(&mut self) {
        self.disk.disk().alive.remove(&self.runtime);
    }
}

impl Store for SimulatedStore {
    fn commit_together(&mut self, groups: &[&[Row]]) -> Result<(), JournalError> {
        if groups.iter().all(|rows| rows.is_empty()) {
            return Ok(());
        }
        let mut disk = self.disk.disk();
        disk.commits += 1;
        if disk.faults.disk_full.contains(&disk.commits) {
            disk.faults_injected += 1;
            return Err(JournalError::DiskFull);
        }
        disk.write_all(groups, &self.runtime)?;
        if disk.faults.answer_lost.contains(&disk.commits) {
            disk.faults_injected += 1;
            return Err(JournalError::Storage {
                why: "the disk did not answer".to_string(),
            });
        }
        Ok(())
    }

    fn steps(&mut self, run: &RunId, after: u64) -> Result<Vec<RecordedStep>, JournalError> {
        let disk = self.disk.disk();
        let steps = disk.runs.get(run).map_or(&[][..], |run| &run.steps);
        Ok(steps
            .iter()
            .filter(|step| step.sequence > after)
            .cloned()
            .collect())
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        let disk = self.disk.disk();
        let newest_first = disk.runs.values().rev().map(|run| &run.summary);
        Ok(newest_first
            .filter(|run| filter.wants(run))
            .take(filter.newest)
            .cloned()
            .collect())
    }

    fn put_overflow(
        &mut self,
        run: &RunId,
        entry: &OverflowEntry,
        content: &OverflowContent,
    ) -> Result<(), JournalError> {
        if content.len() > OVERFLOW_BYTES_MAX {
            return Err(JournalError::TooLarge {
                bytes: content.len(),
                bytes_max: OVERFLOW_BYTES_MAX,
            });
        }
        let mut disk = self.disk.disk();
        let Some(found) = disk.runs.get_mut(run) else {
            return Err(JournalError::UnknownRun { run: run.clone() });
        };
        if found.summary.ended_at.is_some() {
            return Err(JournalError::AlreadyEnded {
                run: run.clone(),
                sequence: found.summary.steps,
            });
        }
        let (_, standing) = found
            .overflows
            .entry(entry.handle)
            .or_insert_with(|| (entry.clone(), Some(content.clone())));
        if standing.as_ref() == Some(content) {
            return Ok(());
        }
        Err(JournalError::OverflowConflict {
            run: run.clone(),
            handle: entry.handle,
        })
    }

    fn overflow(&mut self, run: &RunId, handle: u32) -> Result<Option<OverflowContent>, JournalError> {
        let disk = self.disk.disk();
        let standing = disk.runs.get(run).and_then(|run| run.overflows.get(&handle));
        Ok(standing.and_then(|(_, content)| content.clone()))
    }

    fn overflows(&mut self, run: &RunId) -> Result<OverflowListing, JournalError> {
        let disk = self.disk.disk();
        let Some(run) = disk.runs.get(run) else {
            return Ok(OverflowListing {
                entries: Vec::new(),
                next_handle: 1,
            });
        };
        let highest = run.overflows.keys().next_back().copied().unwrap_or(0);
        let kept = run.overflows.values().filter(|(_, content)| content.is_some());
        let entries = kept.map(|(entry, _)| entry.clone()).collect();
        Ok(OverflowListing {
            entries,
            next_handle: highest.saturating_add(1),
        })
    }

    fn delete_overflow(&mut self, run: &RunId, handle: u32) -> Result<bool, JournalError> {
        let mut disk = self.disk.disk();
        let standing = disk
            .runs
            .get_mut(run)
            .and_then(|run| run.overflows.get_mut(&handle));
        Ok(standing.and_then(|(_, content)| content.take()).is_some())
    }

    fn claimable(&mut self) -> Result<Vec<ClaimableRun>, JournalError> {
        let disk = self.disk.disk();
        let open = disk
            .runs
            .values()
            .map(|run| &run.summary)
            .filter(|run| !run.acknowledged);
        let orphans = open.filter(|run| !disk.alive.contains(&run.owner) && run.owner != self.runtime);
        let claimable = orphans.map(|run| ClaimableRun {
            owner: disk.runtimes.get(&run.owner).cloned(),
            run: run.clone(),
        });
        Ok(claimable.collect())
    }

    fn claim(&mut self, run: &RunId, generation: u64) -> Result<u64, JournalError> {
        let mut disk = self.disk.disk();
        let Disk { runs, alive, .. } = &mut *disk;
        let Some(found) = runs.get_mut(run) else {
            return Err(JournalError::UnknownRun { run: run.clone() });
        };
        let summary = &mut found.summary;
        if summary.owner == self.runtime && summary.generation == generation + 1 {
            return Ok(summary.generation);
        }
        if summary.owner == self.runtime || summary.generation != generation {
            return Err(JournalError::ClaimLost { run: run.clone() });
        }
        if alive.contains(&summary.owner) {
            return Err(JournalError::OwnerAlive {
                run: run.clone(),
                owner: summary.owner.clone(),
            });
        }
        summary.owner = self.runtime.clone();
        summary.generation += 1;
        Ok(summary.generation)
    }

    fn last_alert(&mut self, of: &SkillOf) -> Result<Option<Alert>, JournalError> {
        Ok(self.disk.disk().alerts.get(of).cloned())
    }

    fn raise_alert(
        &mut self,
        of: &SkillOf,
        alert: &Alert,
        seen: Option<UnixMillis>,
    ) -> Result<bool, JournalError> {
        let mut disk = self.disk.disk();
        if !alert.may_follow(disk.alerts.get(of), seen) {
            return Ok(false);
        }
        disk.alerts.insert(of.clone(), alert.clone());
        Ok(true)
    }

    fn prune(&mut self, retention: &Retention) -> Result<Pruned, JournalError> {
        let mut disk = self.disk.disk();
        let newest_first = disk.runs.values().rev().map(|run| &run.summary).enumerate();
        let going = newest_first.filter(|(newer_runs, run)| retention.lets_go_of(run, *newer_runs));
        let going: Vec<RunSummary> = going.map(|(_, run)| run.clone()).collect();
        let mut pruned = Pruned::default();
        for run in going {
            disk.runs.remove(&run.run);
            pruned.runs += 1;
            pruned.steps += run.steps;
            pruned.abandoned += usize::from(!run.acknowledged);
        }
        Ok(pruned)
    }

    fn close(&mut self) -> Result<(), JournalError> {
        self.disk.disk().alive.remove(&self.runtime);
        Ok(())
    }
}

impl Disk {
    /// Writes all rows, or takes back those it wrote.
    fn write_all(&mut self, groups: &[&[Row]], writer: &RuntimeId) -> Result<(), JournalError> {
        let mut before: BTreeMap<RunId, Option<RunSummary>> = BTreeMap::new();
        for row in groups.iter().copied().flatten() {
            let standing = self.runs.get(&row.run).map(|run| run.summary.clone());
            before.entry(row.run.clone()).or_insert(standing);
            if let Err(error) = self.write(row, writer) {
                self.take_back(before);
                return Err(error);
            }
        }
        let rows = groups.iter().copied().flatten();
        let ended = rows.filter(|row| matches!(row.step, Step::Ended { .. }));
        for row in ended {
            if let Some(run) = self.runs.get_mut(&row.run) {
                run.overflows.clear();
            }
        }
        Ok(())
    }

    fn write(&mut self, row: &Row, writer: &RuntimeId) -> Result<(), JournalError> {
        let standing = self.runs.get(&row.run);
        let place = decide_place(standing.map(|run| &run.summary), row, writer)?;
        if place == Place::Taken {
            let is_equal = standing.is_some_and(|run| run.has(row));
            let conflict = JournalError::Conflict {
                run: row.run.clone(),
                sequence: row.sequence,
            };
            return if is_equal { Ok(()) } else { Err(conflict) };
        }
        if let (Place::Begins, Some(summary)) = (place, RunSummary::begin(row, writer)) {
            let begun = Run {
                summary,
                steps: Vec::new(),
                calls: Calls::default(),
                overflows: BTreeMap::new(),
            };
            self.runs.insert(row.run.clone(), begun);
        }
        if let Some(run) = self.runs.get_mut(&row.run) {
            run.calls.check(row)?;
            run.steps.push(row.recorded());
            run.summary.add(row);
        }
        Ok(())
    }

    fn take_back(&mut self, before: BTreeMap<RunId, Option<RunSummary>>) {
        for (id, summary) in before {
            let Some(summary) = summary else {
                self.runs.remove(&id);
                continue;
            };
            if let Some(run) = self.runs.get_mut(&id) {
                run.steps.retain(|step| step.sequence <= summary.steps);
                run.calls = Calls::of(run.steps.iter().map(|step| &step.step));
                run.summary = summary;
            }
        }
    }
}

impl Run {
    fn has(&self, row: &Row) -> bool {
        let place = usize::try_from(row.sequence - 1).ok();
        place
            .and_then(|place| self.steps.get(place))
            .is_some_and(|standing| standing.step == row.step)
    }
}
