//! Results that wait for the program: what ended, and what nobody said to have taken.

use super::run::Standing;
use super::{ASK, Outcome, Run, RunFilter, RunProgress, RunSummary, Runtime, RuntimeError};
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{JournalError, Row};
use impresario_actors::messages::journal::{ClaimRun, Commit, ReadClaimable};
use impresario_policies::domain::{RunId, Step};
use std::collections::BTreeSet;

/// When a result counts as taken by a program without a host of its own. A host says so itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acknowledgement {
    /// When [`Run::outcome`] gives it to the program.
    #[default]
    WhenRead,
    /// When the program says so: [`Run::ack`], [`Unread::ack`]. For one that must not lose a result between reading it and
    /// keeping it.
    ByProgram,
}

/// A result that nobody has taken yet. It stays listed, over any number of restarts, until it is acknowledged.
#[derive(Debug, Clone)]
pub struct Unread {
    run: Run,
    summary: RunSummary,
}

impl Unread {
    /// What a list shows of it: how it ended and why, what it was asked.
    pub fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Reads how it ended. It stays unread until [`Self::ack`].
    pub async fn read(&self) -> Result<Outcome, RuntimeError> {
        self.run.look().await
    }

    /// The program has it for good: it is not listed again.
    pub async fn ack(self) -> Result<(), RuntimeError> {
        self.run.ack().await
    }
}

/// Another step of the run may come in between: its trace is looked at after its end.
const TRIES: u32 = 8;

impl Runtime {
    /// The results that nobody has taken, the oldest first: of runs of this program, and of earlier ones that are dead.
    pub async fn unread(&self) -> Result<Vec<Unread>, RuntimeError> {
        let undelivered = RunFilter {
            progress: RunProgress::Undelivered,
            ..RunFilter::default()
        };
        let orphans = self.orphans().await?;
        let defaults = &self.0.defaults;
        let is_ours = |run: &RunSummary| {
            run.host == defaults.host && (run.owner == defaults.runtime || orphans.contains(&run.run))
        };
        let found = self.runs(undelivered).await?.into_iter().rev().filter(is_ours);
        Ok(found
            .map(|summary| Unread {
                run: self.run(summary.run.clone()),
                summary,
            })
            .collect())
    }

    /// The runs that are not over while their runtime is dead.
    pub(super) async fn orphans(&self) -> Result<BTreeSet<RunId>, RuntimeError> {
        let orphans = self
            .ask(|inside| inside.ports.read_claimable.ask_again(ReadClaimable, ASK))
            .await??;
        Ok(orphans.into_iter().map(|orphan| orphan.run.run).collect())
    }

    /// Writes down that the program has the result of a run for good. Asking again does no harm.
    pub(super) async fn acknowledge(&self, run: &RunId) -> Result<(), RuntimeError> {
        match self.standing_at_rest(run).await? {
            Standing::Ended => self.acknowledge_ended(run).await,
            Standing::Told(_) => Err(RuntimeError::NotEnded { run: run.clone() }),
            Standing::Elsewhere(owner) => {
                let run = run.clone();
                Err(RuntimeError::DrivenElsewhere { run, owner })
            }
            Standing::Unattended => Err(RuntimeError::Unattended { run: run.clone() }),
        }
    }

    /// The same for a run that is known to have ended.
    pub(super) async fn acknowledge_ended(&self, run: &RunId) -> Result<(), RuntimeError> {
        let mut last = JournalError::UnknownRun { run: run.clone() };
        for _ in 0..TRIES {
            let Some(found) = self.runs(RunFilter::id_prefix(run.as_str())).await?.pop() else {
                return Err(RuntimeError::NotFound { run: run.clone() });
            };
            if found.acknowledged {
                return Ok(());
            }
            last = match self.write_acknowledgement(found).await {
                Ok(()) => return Ok(()),
                Err(RuntimeError::Journal(
                    error @ (JournalError::Conflict { .. } | JournalError::Gap { .. }),
                )) => error,
                Err(other) => return Err(other),
            };
        }
        Err(last.into())
    }

    async fn write_acknowledgement(&self, found: RunSummary) -> Result<(), RuntimeError> {
        let generation = match found.owner == self.0.defaults.runtime {
            true => found.generation,
            false => self.claim(&found).await?,
        };
        let at = SystemWallClock.now();
        let rows = (found.steps + 1..).zip([Step::Delivered, Step::DeliveryAcknowledged]);
        let rows = rows.map(|(sequence, step)| Row {
            run: found.run.clone(),
            sequence,
            generation,
            at,
            step,
        });
        let commit = Commit { rows: rows.collect() };
        self.ask(move |inside| inside.ports.commit.ask_again(commit, ASK))
            .await??;
        Ok(())
    }

    async fn claim(&self, found: &RunSummary) -> Result<u64, RuntimeError> {
        let claim = ClaimRun {
            run: found.run.clone(),
            generation: found.generation,
        };
        Ok(self
            .ask(move |inside| inside.ports.claim.ask_again(claim, ASK))
            .await??)
    }
}
