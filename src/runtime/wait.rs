//! A sub-agent that wants to wait for a run, or to tell it something: looks first who waits for the sub-agent's own run.

use super::builder::enclosing_run;
use super::{Runtime, RuntimeError};
use impresario_actors::journal::RunFilter;
use impresario_policies::domain::{GroupId, Reason, RunId};
use impresario_policies::wait_cycle::{
    RUNS_LOOKED_AT_MAX, Wait, Waiter, parent_of, speaks_upwards, unseen_wait, wait_cycle, waiters_of,
    waits_now,
};
use std::collections::{BTreeMap, VecDeque};

impl Runtime {
    /// The run whose sub-agent called this program.
    pub(crate) fn within() -> Option<RunId> {
        enclosing_run()
    }

    /// An error where this was called by a sub-agent whose own run the other one waits for.
    pub(super) async fn refuse_wait_cycle(&self, run: &RunId) -> Result<(), RuntimeError> {
        let Some(within) = enclosing_run() else {
            return Ok(());
        };
        match self.path_between(run, &within).await? {
            Some(path) => Err(refused(wait_cycle(&within, &path))),
            None => Ok(()),
        }
    }

    /// The same for a wait that is in no journal: only a run below its own is sure not to wait for the one that waits.
    pub(crate) async fn refuse_unseen_wait(&self, run: &RunId) -> Result<(), RuntimeError> {
        let Some(within) = enclosing_run() else {
            return Ok(());
        };
        self.refuse_wait_cycle(run).await?;
        match self.stands_below(run, &within).await? {
            true => Ok(()),
            false => Err(refused(unseen_wait(&within, run))),
        }
    }

    /// An error where a sub-agent speaks to its own run or to one above it: they hear its answer.
    pub(super) async fn refuse_speaking_upwards(&self, run: &RunId) -> Result<(), RuntimeError> {
        let Some(within) = enclosing_run() else {
            return Ok(());
        };
        match *run == within || self.stands_below(&within, run).await? {
            true => Err(refused(speaks_upwards(&within, run))),
            false => Ok(()),
        }
    }

    /// How `from` waits for `to`, link by link; none where it does not.
    async fn path_between(&self, from: &RunId, to: &RunId) -> Result<Option<Vec<Waiter>>, RuntimeError> {
        if from == to {
            return Ok(Some(Vec::new()));
        }
        // Each run that waits for `to`, with the run that it waits for.
        let mut behind = BTreeMap::<RunId, (Waiter, RunId)>::new();
        let mut line = VecDeque::from([to.clone()]);
        while let Some(waited_for) = line.pop_front() {
            for waiter in self.who_waits_for(&waited_for).await? {
                let run = waiter.run.clone();
                if run == *to || behind.contains_key(&run) || behind.len() >= RUNS_LOOKED_AT_MAX {
                    continue;
                }
                behind.insert(run.clone(), (waiter, waited_for.clone()));
                line.push_back(run);
            }
        }
        let mut path = Vec::new();
        let mut next = from.clone();
        while let Some((waiter, waited_for)) = behind.remove(&next) {
            path.push(waiter);
            next = waited_for;
        }
        Ok((!path.is_empty()).then_some(path))
    }

    async fn who_waits_for(&self, run: &RunId) -> Result<Vec<Waiter>, RuntimeError> {
        let waited_for = self.run(run.clone()).projection().await?;
        let mut waiters = waiters_of(&waited_for);
        let accepted = waited_for.accepted.as_ref();
        if let Some(member) = accepted.and_then(|accepted| accepted.request.group.as_ref()) {
            waiters.extend(self.other_members(&member.group, run).await?);
        }
        let mut now = Vec::new();
        for waiter in waiters {
            let projection = self.run(waiter.run.clone()).projection().await?;
            if waits_now(&projection, &waited_for, &waiter.wait) {
                now.push(waiter);
            }
        }
        Ok(now)
    }

    async fn other_members(&self, group: &GroupId, but: &RunId) -> Result<Vec<Waiter>, RuntimeError> {
        let members = self.runs(RunFilter::of_group(group.clone())).await?.into_iter();
        let others = members.filter(|member| member.run != *but);
        let wait = Wait::StepBefore;
        Ok(others
            .map(|member| Waiter {
                run: member.run,
                wait: wait.clone(),
            })
            .collect())
    }

    /// Whether a sub-agent of `above`, or one below it, started `run`.
    async fn stands_below(&self, run: &RunId, above: &RunId) -> Result<bool, RuntimeError> {
        let mut next = run.clone();
        for _ in 0..RUNS_LOOKED_AT_MAX {
            let Some(parent) = parent_of(&self.run(next).projection().await?) else {
                return Ok(false);
            };
            if parent == *above {
                return Ok(true);
            }
            next = parent;
        }
        Ok(false)
    }
}

fn refused(reason: Reason) -> RuntimeError {
    RuntimeError::MessageRefused(reason)
}
