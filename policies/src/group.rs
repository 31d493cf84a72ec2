//! What do the runs of a group add up to?
//!
//! A group is nothing but its members: each carries its place, so the result is read from their steps alone, whoever
//! finished them. A run that resumes another stands in its place.

#![warn(missing_docs)]

use crate::chain::chain_text;
use crate::compat::trim;
use crate::domain::{GroupMember, Reason, RunId, RunState, TerminalState};
use crate::output_sanitizer::{SanitizerSettings, sanitize_output};
use crate::parallel::{WorkerResult, clip_output, synthesize};
use crate::projection::RunProjection;
use crate::stopped::StoppedReason;
use std::collections::BTreeMap;

/// A group, as the steps of its runs say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupProjection {
    /// One for each sub-task that has a run, in the order of the caller.
    pub members: Vec<MemberProjection>,
}

/// One sub-task of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberProjection {
    /// The run that has it; the last one where it was resumed.
    pub run: RunId,
    /// Its place, and what it is.
    pub member: GroupMember,
    /// Where its run stands.
    pub state: RunState,
    /// What came of it; none before its end.
    pub result: Option<MemberResult>,
}

/// What came of one sub-task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberResult {
    /// How its run ended.
    pub state: TerminalState,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// What the group shows of it.
    pub worker: WorkerResult,
}

impl GroupProjection {
    /// Adds up the runs of one group. Runs of no group are passed over.
    pub fn of(runs: impl IntoIterator<Item = (RunId, RunProjection)>) -> Self {
        let mut places: BTreeMap<u32, MemberProjection> = BTreeMap::new();
        for (run, projection) in runs {
            let Some(member) = member_of(&projection) else {
                continue;
            };
            let stands = places.get(&member.place);
            if stands.is_some_and(|stands| stands.run > run) {
                continue;
            }
            let member = MemberProjection {
                run,
                state: projection.state(),
                result: member_result(&projection, &member),
                member,
            };
            places.insert(member.member.place, member);
        }
        Self {
            members: places.into_values().collect(),
        }
    }

    /// Every sub-task has come to an end.
    pub fn is_over(&self) -> bool {
        self.members.iter().all(|member| member.result.is_some())
    }

    /// How the group as a whole ended: as its worst member did; none before.
    pub fn state(&self) -> Option<TerminalState> {
        let ended = self
            .members
            .iter()
            .map(|member| member.result.as_ref().map(|result| result.state));
        let ended = ended.collect::<Option<Vec<TerminalState>>>()?;
        let worst_first = [
            TerminalState::Cancelled,
            TerminalState::Parked,
            TerminalState::Failed,
        ];
        let worst = worst_first.into_iter().find(|state| ended.contains(state));
        Some(worst.unwrap_or(TerminalState::Succeeded))
    }

    /// What the group says, in the order of the caller whatever ended first. What has not ended is left out.
    pub fn synthesis(&self) -> String {
        if self.members.iter().any(|member| member.member.chain.is_some()) {
            return chain_text(&self.members);
        }
        let results = self.members.iter().filter_map(|member| member.result.as_ref());
        let workers = results.map(|result| result.worker.clone()).collect::<Vec<_>>();
        synthesize(&workers)
    }
}

fn member_of(run: &RunProjection) -> Option<GroupMember> {
    run.accepted.as_ref()?.request.group.clone()
}

fn member_result(run: &RunProjection, member: &GroupMember) -> Option<MemberResult> {
    let end = run.ended.as_ref()?;
    let stopped = StoppedReason::of(end.state, end.reason.as_ref());
    let (text, truncated) = clip_output(&words_of(run), member.answer_units_max);
    let keeps_its_words =
        stopped == StoppedReason::Completed || (stopped.is_early() && !trim(&text).is_empty());
    let message = || end.reason.as_ref().map(|reason| reason.message.clone());
    Some(MemberResult {
        state: end.state,
        reason: end.reason.clone(),
        worker: WorkerResult {
            id: member.subtask.id.clone(),
            goal: member.subtask.goal.clone(),
            text,
            truncated,
            stopped_reason: stopped.word().to_string(),
            error: (!keeps_its_words).then(|| message().unwrap_or_default()),
        },
    })
}

/// The reviewed answer; else what there was of one, reviewed alike.
fn words_of(run: &RunProjection) -> String {
    if let Some(answer) = &run.answer {
        return answer.clone();
    }
    let partial = run.answer_or_partial().unwrap_or_default();
    match &run.accepted {
        Some(accepted) => sanitize_output(partial, &SanitizerSettings::from(&*accepted.request))
            .text
            .into_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
