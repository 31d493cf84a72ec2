//! The journal actor: the port through which everybody reaches the store.
//!
//! Receives the messages of [`crate::messages::journal`], asks nobody, sends nothing. It holds no state, so a restarted
//! one goes on at once; what was in flight is asked again and settled by its sequence number. When the writing thread
//! is gone it fails, for nothing can be promised any more.

use super::{
    Alert, ClaimableRun, Committed, JournalAccess, JournalError, OverflowContent, OverflowListing, Pruned,
    RunSummary, Store,
};
use crate::messages::journal::{
    ClaimRun, Commit, FetchOverflow, KeepOverflow, ListOverflow, Prune, RaiseAlert, ReadAlert, ReadClaimable,
    ReadRun, ReadRuns, ReadSpent,
};
use crate::supervision::{Actor, Answer, Context, Handles, Message};
use impresario_policies::budget::Spent;
use impresario_policies::projection::RecordedStep;

/// The journal, as the other actors know it.
pub struct Journal {
    access: JournalAccess,
}

impl Journal {
    /// A journal over a store.
    pub fn new(access: JournalAccess) -> Self {
        Self { access }
    }

    fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, JournalError> + Send + 'static,
    ) -> Answer<Self, Result<T, JournalError>> {
        Answer::then(self.access.clone().with_store(work), Self::look_at)
    }

    /// Without its writing thread the journal is of no use to anybody.
    fn look_at<T>(
        &mut self,
        outcome: Result<T, JournalError>,
        ctx: &mut Context<Self>,
    ) -> Result<T, JournalError> {
        if let Err(JournalError::Closed) = &outcome {
            ctx.fail("the thread that writes the journal is gone");
        }
        outcome
    }
}

impl Actor for Journal {
    const KIND: &'static str = "journal";
    const HANDLES: &'static [&'static str] = &[
        Commit::NAME,
        ReadRun::NAME,
        ReadRuns::NAME,
        ReadClaimable::NAME,
        ReadSpent::NAME,
        ClaimRun::NAME,
        KeepOverflow::NAME,
        FetchOverflow::NAME,
        ListOverflow::NAME,
        Prune::NAME,
        ReadAlert::NAME,
        RaiseAlert::NAME,
    ];
}

impl Handles<Commit> for Journal {
    fn handle(
        &mut self,
        commit: Commit,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Committed, JournalError>> {
        let written = self.access.clone().commit(commit.rows);
        Answer::then(written, |journal: &mut Self, outcome, ctx| {
            if outcome.is_ok() {
                ctx.progress();
            }
            journal.look_at(outcome, ctx)
        })
    }
}

impl Handles<ReadRun> for Journal {
    fn handle(
        &mut self,
        read: ReadRun,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Vec<RecordedStep>, JournalError>> {
        self.with_store(move |store| store.steps(&read.run, read.after))
    }
}

impl Handles<ReadRuns> for Journal {
    fn handle(
        &mut self,
        read: ReadRuns,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Vec<RunSummary>, JournalError>> {
        self.with_store(move |store| store.runs(&read.filter))
    }
}

impl Handles<ReadSpent> for Journal {
    fn handle(
        &mut self,
        read: ReadSpent,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Spent, JournalError>> {
        self.with_store(move |store| store.spent(&read.scope, read.since, read.assumed_usd_per_million))
    }
}

impl Handles<ReadClaimable> for Journal {
    fn handle(
        &mut self,
        _: ReadClaimable,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Vec<ClaimableRun>, JournalError>> {
        self.with_store(|store| store.claimable())
    }
}

impl Handles<ClaimRun> for Journal {
    fn handle(&mut self, claim: ClaimRun, _: &mut Context<Self>) -> Answer<Self, Result<u64, JournalError>> {
        let claimed = self.access.clone().claim(claim.run, claim.generation);
        Answer::then(claimed, Self::look_at)
    }
}

impl Handles<KeepOverflow> for Journal {
    fn handle(
        &mut self,
        keep: KeepOverflow,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<(), JournalError>> {
        self.with_store(move |store| store.put_overflow(&keep.run, &keep.entry, &keep.content))
    }
}

impl Handles<FetchOverflow> for Journal {
    fn handle(
        &mut self,
        fetch: FetchOverflow,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Option<OverflowContent>, JournalError>> {
        self.with_store(move |store| store.overflow(&fetch.run, fetch.handle))
    }
}

impl Handles<ListOverflow> for Journal {
    fn handle(
        &mut self,
        list: ListOverflow,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<OverflowListing, JournalError>> {
        self.with_store(move |store| store.overflows(&list.run))
    }
}

impl Handles<Prune> for Journal {
    fn handle(&mut self, prune: Prune, _: &mut Context<Self>) -> Answer<Self, Result<Pruned, JournalError>> {
        self.with_store(move |store| store.prune(&prune.retention))
    }
}

impl Handles<ReadAlert> for Journal {
    fn handle(
        &mut self,
        read: ReadAlert,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<Option<Alert>, JournalError>> {
        self.with_store(move |store| store.last_alert(&read.of))
    }
}

impl Handles<RaiseAlert> for Journal {
    fn handle(
        &mut self,
        raise: RaiseAlert,
        _: &mut Context<Self>,
    ) -> Answer<Self, Result<bool, JournalError>> {
        self.with_store(move |store| store.raise_alert(&raise.of, &raise.alert, raise.seen))
    }
}
