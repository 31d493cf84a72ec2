//! The place of a run in a chain: it waits for the steps before it by looking into the journal when one of them ends.

use super::{ASK, Run};
use crate::event_feed::{Announcement, EventFeed, Heard, Listener};
use crate::journal::RunFilter;
use crate::messages::journal::{ReadRun, ReadRuns};
use crate::supervision::{Context, Port};
use futures_util::FutureExt;
use futures_util::future::select_all;
use impresario_policies::chain::{EarlierMember, StepFacts};
use impresario_policies::domain::{GroupId, Reason, ReasonCode, RunId, Step};
use impresario_policies::group::GroupProjection;
use impresario_policies::projection::RunProjection;
use std::collections::BTreeMap;
use std::time::Duration;

impl Run {
    pub(super) fn await_earlier_steps(&mut self, ctx: &mut Context<Self>) {
        let Some(member) = self.request().and_then(|request| request.group.as_ref()) else {
            return;
        };
        let look = Look {
            read: self.ports.read.clone(),
            list: self.ports.list.clone(),
            feed: self.tools.feed.clone(),
            group: member.group.clone(),
            step: member.chain.as_ref().map_or(0, |place| place.step),
            known: BTreeMap::new(),
        };
        self.effect(look.until_over(), ctx, |run, seen, ctx| match seen {
            Ok(earlier) => {
                let left = run.left_of_group().unwrap_or_default();
                run.facts.chain = Some(StepFacts { earlier, left });
            }
            Err(NotSeen::Unwritable(why)) => {
                run.facts.must_park = Some(Reason {
                    code: ReasonCode::JournalUnwritable,
                    message: format!("The step before this one could not write its journal: {why}"),
                });
            }
            Err(NotSeen::Unread(why)) => ctx.fail(format!("read the chain: {why}")),
        });
    }

    /// Of the total time of its group, which counts from acceptance.
    pub(super) fn left_of_group(&self) -> Option<Duration> {
        let accepted = self.projection.accepted.as_ref()?;
        let member = accepted.request.group.as_ref()?;
        let spent = self.tools.clock.now().0.saturating_sub(accepted.at_ms);
        Some(member.total.saturating_sub(Duration::from_millis(spent)))
    }
}

/// Why it is not known how the steps before stand.
enum NotSeen {
    Unread(String),
    Unwritable(String),
}

/// A look at a chain from one of its steps.
struct Look {
    read: Port<ReadRun>,
    list: Port<ReadRuns>,
    feed: EventFeed,
    group: GroupId,
    step: u32,
    /// What was read, of runs of this step and later ones only that they are.
    known: BTreeMap<RunId, Option<RunProjection>>,
}

impl Look {
    async fn until_over(mut self) -> Result<Vec<EarlierMember>, NotSeen> {
        if self.step == 0 {
            return Ok(Vec::new());
        }
        loop {
            let runs = self.members().await?;
            // Before the look, so that an end in between is heard.
            let mut listeners = self.listeners(&runs);
            for run in runs {
                self.look_at(run).await?;
            }
            let earlier = self.earlier();
            let before = earlier.iter().filter(|member| member.step + 1 == self.step);
            if before.clone().all(|member| member.ended.is_some()) {
                return Ok(earlier);
            }
            let ends = listeners
                .iter_mut()
                .map(|listener| next_end(listener).boxed_local());
            let ends = ends.collect::<Vec<_>>();
            if ends.is_empty() {
                return Err(NotSeen::Unread(
                    "a step is under way that nobody announces".to_string(),
                ));
            }
            if let Some(why) = select_all(ends).await.0 {
                return Err(NotSeen::Unwritable(why));
            }
        }
    }

    async fn members(&self) -> Result<Vec<RunId>, NotSeen> {
        let filter = RunFilter::of_group(self.group.clone());
        let listed = self.list.ask_again(ReadRuns { filter }, ASK).await;
        let listed = listed
            .map_err(|error| NotSeen::Unread(error.to_string()))?
            .map_err(|error| NotSeen::Unread(error.to_string()))?;
        Ok(listed.into_iter().map(|run| run.run).collect())
    }

    fn listeners(&self, runs: &[RunId]) -> Vec<Listener> {
        let heard = runs.iter().filter(|run| self.may_change(run));
        heard.map(|run| self.feed.listen_to(run)).collect()
    }

    fn may_change(&self, run: &RunId) -> bool {
        match self.known.get(run) {
            None => true,
            Some(None) => false,
            Some(Some(projection)) => projection.ended.is_none(),
        }
    }

    async fn look_at(&mut self, run: RunId) -> Result<(), NotSeen> {
        if !self.may_change(&run) {
            return Ok(());
        }
        let steps = self.read.ask_again(
            ReadRun {
                run: run.clone(),
                after: 0,
            },
            ASK,
        );
        let steps = steps
            .await
            .map_err(|error| NotSeen::Unread(error.to_string()))?
            .map_err(|error| NotSeen::Unread(error.to_string()))?;
        let projection = RunProjection::of(&steps);
        let is_earlier = step_of(&projection).is_some_and(|step| step < self.step);
        self.known.insert(run, is_earlier.then_some(projection));
        Ok(())
    }

    fn earlier(&self) -> Vec<EarlierMember> {
        let runs = self.known.iter();
        let runs = runs.filter_map(|(run, projection)| Some((run.clone(), projection.clone()?)));
        let group = GroupProjection::of(runs);
        let members = group.members.iter();
        members
            .filter_map(|member| EarlierMember::of(member, self.step))
            .collect()
    }
}

fn step_of(run: &RunProjection) -> Option<u32> {
    let member = run.accepted.as_ref()?.request.group.as_ref()?;
    Some(member.chain.as_ref()?.step)
}

/// Waits for the end of a run, or for what may have been one; says why where its journal cannot be written.
async fn next_end(listener: &mut Listener) -> Option<String> {
    loop {
        match listener.next().await {
            Some(Heard::Announced(Announcement::Recorded { step, .. })) => {
                if matches!(step.step, Step::Ended { .. }) {
                    return None;
                }
            }
            Some(Heard::Announced(Announcement::Unwritable { why, .. })) => return Some(why),
            Some(Heard::Missed(_)) | None => return None,
        }
    }
}
