//! A disk under one or more simulated runtimes: the product's own journal in a directory that goes with the last of them.
//! It is kept across a simulated restart, and writes fail on request.

use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::{
    Alert, ClaimableRun, JournalError, OverflowContent, OverflowEntry, OverflowListing, Pruned, Retention,
    Row, RunFilter, RunSummary, RuntimeId, RuntimeIdentity, SkillOf, SqliteStore, Store,
};
use impresario_policies::budget::{Scope, Spent};
use impresario_policies::domain::RunId;
use impresario_policies::projection::RecordedStep;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Where it is there, it costs no wear: what a sync is worth is tested with killed processes.
const MEMORY: &str = "/dev/shm";

/// What goes wrong. Commits are counted from 1, those that fail too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFaults {
    /// These commits find no space.
    pub disk_full: Range<u64>,
    /// These commits reach the disk, but the answer is a failure of the disk.
    pub answer_lost: Range<u64>,
}

impl Default for StoreFaults {
    fn default() -> Self {
        Self {
            disk_full: 0..0,
            answer_lost: 0..0,
        }
    }
}

#[derive(Debug, Clone)]
pub struct SimulatedDisk(Arc<Disk>);

#[derive(Debug)]
struct Disk {
    /// Only looks; opened when somebody does.
    looker: Mutex<Option<SqliteStore>>,
    told: Mutex<Told>,
    directory: TempDir,
}

#[derive(Debug, Default)]
struct Told {
    faults: StoreFaults,
    commits: u64,
    faults_injected: u64,
}

impl SimulatedDisk {
    pub fn new() -> Self {
        let in_memory = tempfile::tempdir_in(MEMORY);
        let directory = in_memory.or_else(|_| tempfile::tempdir()).expect("a directory");
        Self(Arc::new(Disk {
            looker: Mutex::default(),
            told: Mutex::default(),
            directory,
        }))
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: StoreFaults) {
        self.told().faults = faults;
    }

    /// How many commits were tried.
    pub fn commits(&self) -> u64 {
        self.told().commits
    }

    /// How many commits met a fault.
    pub fn faults_injected(&self) -> u64 {
        self.told().faults_injected
    }

    fn directory(&self) -> &Path {
        self.0.directory.path()
    }

    /// Opens the journal for a new runtime, which is alive until the store is dropped or closed.
    pub fn open(&self, runtime: &RuntimeIdentity) -> SimulatedStore {
        let opened = SqliteStore::open(self.directory(), runtime).expect("a journal");
        SimulatedStore {
            store: opened.store,
            disk: self.clone(),
        }
    }

    /// What stands on the disk.
    pub fn look<T>(&self, at: impl FnOnce(&mut SqliteStore) -> Result<T, JournalError>) -> T {
        let mut looker = self.0.looker.lock().unwrap_or_else(PoisonError::into_inner);
        let looker = looker.get_or_insert_with(|| {
            let nobody = RuntimeIdentity {
                id: RuntimeId::new(UnixMillis(1), u64::MAX),
                host: "nobody".to_string(),
                session: None,
                started_at: UnixMillis(1),
                process: 1,
            };
            SqliteStore::open(self.directory(), &nobody)
                .expect("a journal")
                .store
        });
        at(looker).expect("rows that can be read")
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal of one simulated runtime.
#[derive(Debug)]
pub struct SimulatedStore {
    store: SqliteStore,
    disk: SimulatedDisk,
}

impl Store for SimulatedStore {
    fn commit_together(&mut self, groups: &[&[Row]]) -> Result<(), JournalError> {
        if groups.iter().all(|rows| rows.is_empty()) {
            return Ok(());
        }
        let (full, lost) = {
            let mut told = self.disk.told();
            told.commits += 1;
            let full = told.faults.disk_full.contains(&told.commits);
            let lost = told.faults.answer_lost.contains(&told.commits);
            told.faults_injected += u64::from(full || lost);
            (full, lost)
        };
        if full {
            return Err(JournalError::DiskFull);
        }
        self.store.commit_together(groups)?;
        match lost {
            false => Ok(()),
            true => Err(JournalError::Storage {
                why: "the disk did not answer".to_string(),
            }),
        }
    }

    fn steps(&mut self, run: &RunId, after: u64) -> Result<Vec<RecordedStep>, JournalError> {
        self.store.steps(run, after)
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        self.store.runs(filter)
    }

    fn spent(
        &mut self,
        scope: &Scope,
        since: UnixMillis,
        assumed_usd_per_million: f64,
    ) -> Result<Spent, JournalError> {
        self.store.spent(scope, since, assumed_usd_per_million)
    }

    fn put_overflow(
        &mut self,
        run: &RunId,
        entry: &OverflowEntry,
        content: &OverflowContent,
    ) -> Result<(), JournalError> {
        self.store.put_overflow(run, entry, content)
    }

    fn overflow(&mut self, run: &RunId, handle: u32) -> Result<Option<OverflowContent>, JournalError> {
        self.store.overflow(run, handle)
    }

    fn overflows(&mut self, run: &RunId) -> Result<OverflowListing, JournalError> {
        self.store.overflows(run)
    }

    fn claimable(&mut self) -> Result<Vec<ClaimableRun>, JournalError> {
        self.store.claimable()
    }

    fn claim(&mut self, run: &RunId, generation: u64) -> Result<u64, JournalError> {
        self.store.claim(run, generation)
    }

    fn last_alert(&mut self, of: &SkillOf) -> Result<Option<Alert>, JournalError> {
        self.store.last_alert(of)
    }

    fn raise_alert(
        &mut self,
        of: &SkillOf,
        alert: &Alert,
        seen: Option<UnixMillis>,
    ) -> Result<bool, JournalError> {
        self.store.raise_alert(of, alert, seen)
    }

    fn prune(&mut self, retention: &Retention) -> Result<Pruned, JournalError> {
        self.store.prune(retention)
    }

    fn close(&mut self) -> Result<(), JournalError> {
        self.store.close()
    }
}
