//! What an earlier life left behind: which runs are gone on with here, and which are parked.

use super::{ASK, Adoption, Live, Runs, RunsPorts, RunsTools};
use crate::journal::{ClaimableRun, RunFilter, RunProgress, RunSummary, RuntimeId};
use crate::messages::journal::{ClaimRun, ReadClaimable, ReadRuns};
use crate::messages::run::AdoptDue;
use crate::supervision::{Answer, Context, Handles, Port};
use futures_util::stream::{self, StreamExt};
use impresario_policies::adoption::{AdoptionDecision, AdoptionFacts, decide_adoption};
use impresario_policies::domain::{GroupId, Origin, Reason, RunId};
use std::collections::BTreeSet;
use tokio::sync::oneshot;

/// So many runs of dead runtimes are looked after together: they share looks at the system and writes to the disk.
const TAKEOVERS_AT_ONCE: usize = 256;

impl Handles<AdoptDue> for Runs {
    fn handle(&mut self, _: AdoptDue, _: &mut Context<Self>) -> Answer<Self, ()> {
        let (ports, tools, turn) = (self.ports.clone(), self.tools.clone(), self.adopting.clone());
        // Whoever looked before may have found what has a life here by now, and would contain that.
        let look = async move {
            let turn = turn.lock_owned().await;
            (turn, find_runs_to_adopt(ports, tools).await)
        };
        Answer::then(look, |runs: &mut Self, (_turn, found), ctx| match found {
            Ok(found) => runs.adopt(found, ctx),
            Err(error) => ctx.fail(format!("adopt runs: {error}")),
        })
    }
}

/// A run to go on with here.
pub(super) struct Adopted {
    pub(super) run: RunId,
    pub(super) group: Option<GroupId>,
    pub(super) generation: u64,
    pub(super) must_park: Option<Reason>,
}

/// Those of an earlier incarnation of ours, then those of dead runtimes, whose containment is seen empty before the
/// generation rises.
async fn find_runs_to_adopt(ports: RunsPorts, tools: RunsTools) -> Result<Vec<Adopted>, String> {
    let ours = runs_not_over(&ports.read, &tools.runtime).await?;
    let adopted = ours.into_iter().rev().map(|run| Adopted {
        must_park: still_to_park(&run, &tools),
        run: run.run,
        group: run.group,
        generation: run.generation,
    });
    let mut adopted = adopted.collect::<Vec<_>>();
    let orphans = ports.claimable.ask_again(ReadClaimable, ASK).await;
    let orphans = orphans
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let held = still_held(&orphans, &tools).await;
    let takeovers = orphans
        .into_iter()
        .filter(|orphan| !held.contains(&orphan.run.owner))
        .map(|orphan| take_over(orphan.run, &ports, &tools));
    let mut takeovers = stream::iter(takeovers).buffered(TAKEOVERS_AT_ONCE);
    while let Some(taken) = takeovers.next().await {
        adopted.extend(taken?);
    }
    Ok(adopted)
}

/// The dead runtimes whose workers are not gone. Any of their runs may have been served by one, so all are left alone.
async fn still_held(orphans: &[ClaimableRun], tools: &RunsTools) -> BTreeSet<RuntimeId> {
    let owners: BTreeSet<&RuntimeId> = orphans.iter().map(|orphan| &orphan.run.owner).collect();
    let mut held = BTreeSet::new();
    for owner in owners {
        let proof = (tools.contain_shared)(owner.clone()).await;
        if proof.processes_left > 0 {
            tracing::warn!(runtime.id = %owner, ?proof, "runs left alone: the workers of their runtime are not gone");
            held.insert(owner.clone());
        }
    }
    held
}

/// None for a run that is left alone.
async fn take_over(
    summary: RunSummary,
    ports: &RunsPorts,
    tools: &RunsTools,
) -> Result<Option<Adopted>, String> {
    let must_park = match decide_adoption(&adoption_facts(&summary, tools)) {
        AdoptionDecision::GoOn => None,
        AdoptionDecision::Park(reason) => Some(reason),
        AdoptionDecision::Leave => return Ok(None),
    };
    let proof = (tools.contain)(summary.run.clone()).await;
    if proof.processes_left > 0 {
        tracing::warn!(run.id = %summary.run, ?proof, "run left alone: its processes are not gone");
        return Ok(None);
    }
    let claim = ClaimRun {
        run: summary.run.clone(),
        generation: summary.generation,
    };
    let claimed = ports.claim.ask_again(claim, ASK).await;
    match claimed.map_err(|error| error.to_string())? {
        Ok(generation) => Ok(Some(Adopted {
            run: summary.run,
            group: summary.group,
            generation,
            must_park,
        })),
        Err(error) => {
            tracing::info!(run.id = %summary.run, %error, "run not claimed");
            Ok(None)
        }
    }
}

fn adoption_facts(run: &RunSummary, tools: &RunsTools) -> AdoptionFacts {
    let (our_host, open) = (tools.our_host)();
    let ended = run.ended_at.is_some();
    // For a result that it takes, the open session stands in for the one that cannot come back.
    let our_session = match ended && (tools.takes_result)(&run.run) {
        true => run.session.clone(),
        false => open,
    };
    AdoptionFacts {
        origin: Origin {
            host: run.host.clone(),
            session: run.session.clone(),
            resumes: run.resumes.clone(),
        },
        ended,
        suspect: run.suspect.clone(),
        our_host,
        our_session,
        wanted_here: (tools.wanted_here)(&run.run),
    }
}

/// A run that an earlier incarnation of ours took over to park it, and did not get to.
fn still_to_park(run: &RunSummary, tools: &RunsTools) -> Option<Reason> {
    let taken_over = run.generation > 1;
    match decide_adoption(&adoption_facts(run, tools)) {
        AdoptionDecision::Park(reason) if taken_over => Some(reason),
        AdoptionDecision::Park(_) | AdoptionDecision::GoOn | AdoptionDecision::Leave => None,
    }
}

/// The runs of this runtime that have something left to do: to end, or to be delivered.
async fn runs_not_over(read: &Port<ReadRuns>, owner: &RuntimeId) -> Result<Vec<RunSummary>, String> {
    let mut found = Vec::new();
    for progress in [RunProgress::Unfinished, RunProgress::Undelivered] {
        let filter = RunFilter {
            progress,
            owner: Some(owner.clone()),
            ..RunFilter::default()
        };
        let runs = read.ask_again(ReadRuns { filter }, ASK).await;
        found.extend(
            runs.map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?,
        );
    }
    Ok(found)
}

impl Runs {
    fn adopt(&mut self, found: Vec<Adopted>, ctx: &mut Context<Self>) {
        for adopted in found {
            let told = self.tools.told.order_of(&adopted.run);
            let must_park = told.or(adopted.must_park);
            self.take_on(Adopted { must_park, ..adopted }, ctx);
        }
        if let Adoption::UnderWay { awaited_by } = std::mem::replace(&mut self.adoption, Adoption::Done) {
            for awaiting in awaited_by {
                let _ = awaiting.send(());
            }
        }
    }

    /// Resolves when every run of ours that is not over is under way.
    pub(super) fn adoption_done(&mut self) -> impl std::future::Future<Output = ()> + use<> {
        let waiting = match &mut self.adoption {
            Adoption::Done => None,
            Adoption::UnderWay { awaited_by } => {
                let (done, waiting) = oneshot::channel();
                awaited_by.push(done);
                Some(waiting)
            }
        };
        async move {
            if let Some(waiting) = waiting {
                let _ = waiting.await;
            }
        }
    }

    pub(super) fn take_on(&mut self, adopted: Adopted, ctx: &mut Context<Self>) {
        let known = self.live.get(&adopted.run).is_some_and(|live| !live.closed);
        if known {
            return;
        }
        let live = Live {
            generation: adopted.generation,
            group: adopted.group,
            tree: String::new(),
            closed: false,
            parking_tries: u32::from(adopted.must_park.is_some()),
            awaited_by: Vec::new(),
        };
        self.grow(adopted.run, live, false, adopted.must_park, ctx);
    }
}
