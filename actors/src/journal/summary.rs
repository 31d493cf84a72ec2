//! What a list of runs shows, kept beside the steps so that nobody reads them all to make a list.

#![warn(missing_docs)]

use super::{Row, RuntimeId};
use crate::gateways::UnixMillis;
use impresario_policies::domain::{GroupId, Reason, RunId, RunState, SessionId, Step, WhatToRun};
use std::path::PathBuf;

/// A task in a summary has at most so many characters.
pub const TASK_CHARACTERS_MAX: usize = 200;

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Which run.
    pub run: RunId,
    /// The runtime that drives it, or drove it last.
    pub owner: RuntimeId,
    /// Rises with every takeover.
    pub generation: u64,
    /// Where it stands.
    pub state: RunState,
    /// How many steps it has.
    pub steps: u64,
    /// Agent or skill.
    pub what: WhatToRun,
    /// How the task begins.
    pub task: String,
    /// The kind of host that asked.
    pub host: String,
    /// The host's session, where it has one.
    pub session: Option<SessionId>,
    /// The parked run this one continues.
    pub resumes: Option<RunId>,
    /// The group it is a member of.
    pub group: Option<GroupId>,
    /// The directory it works in; none where an older version did not note it.
    pub workspace: Option<PathBuf>,
    /// When it was accepted.
    pub accepted_at: UnixMillis,
    /// When its last step was written.
    pub last_step_at: UnixMillis,
    /// When it ended.
    pub ended_at: Option<UnixMillis>,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// The host has the result for good.
    pub acknowledged: bool,
    /// Why the run may have done more than its steps say, where that is suspected.
    pub suspect: Option<String>,
}

impl RunSummary {
    /// A run that begins with `row`; none when that is not its acceptance.
    pub(super) fn begin(row: &Row, owner: &RuntimeId) -> Option<Self> {
        let Step::Accepted { request } = &row.step else {
            return None;
        };
        Some(Self {
            run: row.run.clone(),
            owner: owner.clone(),
            generation: row.generation,
            state: RunState::Accepted,
            steps: 0,
            what: request.what.clone(),
            task: request.task.chars().take(TASK_CHARACTERS_MAX).collect(),
            host: request.origin.host.clone(),
            session: request.origin.session.clone(),
            resumes: request.origin.resumes.clone(),
            group: request.group.as_ref().map(|member| member.group.clone()),
            workspace: Some(request.workspace.clone()),
            accepted_at: row.at,
            last_step_at: row.at,
            ended_at: None,
            reason: None,
            acknowledged: false,
            suspect: None,
        })
    }

    /// Takes the next row into account.
    pub(super) fn add(&mut self, row: &Row) {
        self.steps = row.sequence;
        self.last_step_at = row.at;
        match &row.step {
            Step::Briefed { .. } => self.state = RunState::Briefed,
            Step::Admitted => self.state = RunState::Admitted,
            Step::AttemptStarted { .. } => self.state = RunState::Running,
            Step::AttemptEnded { .. } if self.state == RunState::Running => self.state = RunState::Admitted,
            Step::Answered { .. } => self.state = RunState::Answered,
            Step::Ended { state, reason, .. } => {
                self.state = (*state).into();
                self.ended_at = Some(row.at);
                self.reason = reason.clone();
            }
            Step::DeliveryAcknowledged => self.acknowledged = true,
            Step::Accepted { .. }
            | Step::Judged { .. }
            | Step::PassFailed { .. }
            | Step::QuestionAsked { .. }
            | Step::QuestionAnswered { .. }
            | Step::Routed { .. }
            | Step::WorktreePrepared { .. }
            | Step::PatchTaken { .. }
            | Step::PatchNotTaken { .. }
            | Step::WorktreeCleared
            | Step::WorktreeStays { .. }
            | Step::ModelsConsidered { .. }
            | Step::AttemptActive { .. }
            | Step::ModelCalled { .. }
            | Step::ToolStarted { .. }
            | Step::ToolEnded { .. }
            | Step::ToolIndeterminate { .. }
            | Step::MessageAccepted { .. }
            | Step::MessageDelivered { .. }
            | Step::MessageAnswered { .. }
            | Step::AttemptEnded { .. }
            | Step::GateStarted { .. }
            | Step::GateEnded { .. }
            | Step::GateIndeterminate { .. }
            | Step::ParkRequested { .. }
            | Step::CancelRequested { .. }
            | Step::Observed { .. }
            | Step::Delivered => {}
        }
    }
}

/// Which runs are wanted. Everything given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFilter {
    /// How far they got.
    pub progress: RunProgress,
    /// Only those of this session of a host.
    pub session: Option<SessionId>,
    /// Only those that this runtime drives.
    pub owner: Option<RuntimeId>,
    /// Only the members of this group.
    pub group: Option<GroupId>,
    /// Only those that sub-agents started below this run.
    pub below: Option<RunId>,
    /// Only those whose id begins so.
    pub id_prefix: String,
    /// At most so many, the newest.
    pub newest: usize,
}

impl Default for RunFilter {
    /// All runs.
    fn default() -> Self {
        Self {
            progress: RunProgress::Any,
            session: None,
            owner: None,
            group: None,
            below: None,
            id_prefix: String::new(),
            newest: usize::MAX,
        }
    }
}

impl RunFilter {
    /// The runs that have not ended.
    pub fn unfinished() -> Self {
        Self {
            progress: RunProgress::Unfinished,
            ..Self::default()
        }
    }

    /// The runs of a group.
    pub fn of_group(group: GroupId) -> Self {
        Self {
            group: Some(group),
            ..Self::default()
        }
    }

    /// The last `newest` runs.
    pub fn newest(newest: usize) -> Self {
        Self {
            newest,
            ..Self::default()
        }
    }

    /// The runs whose id begins with `prefix`; two are enough to know that it is ambiguous.
    pub fn id_prefix(prefix: impl Into<String>) -> Self {
        Self {
            id_prefix: prefix.into(),
            newest: 2,
            ..Self::default()
        }
    }

    /// Whether `run` is wanted, `newest` aside.
    pub(super) fn wants(&self, run: &RunSummary) -> bool {
        let is_far_enough = match self.progress {
            RunProgress::Any => true,
            RunProgress::Unfinished => run.ended_at.is_none(),
            RunProgress::Undelivered => run.ended_at.is_some() && !run.acknowledged,
        };
        is_far_enough
            && self
                .session
                .as_ref()
                .is_none_or(|session| run.session.as_ref() == Some(session))
            && self.owner.as_ref().is_none_or(|owner| run.owner == *owner)
            && self
                .group
                .as_ref()
                .is_none_or(|group| run.group.as_ref() == Some(group))
            && run.run.as_str().starts_with(&self.id_prefix)
    }
}

/// How far a wanted run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunProgress {
    /// However far.
    Any,
    /// It has not ended.
    Unfinished,
    /// It has ended, and the host does not have the result for good.
    Undelivered,
}

/// What is still wanted of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Acknowledged runs that ended before may go.
    pub acknowledged_before: UnixMillis,
    /// Runs that ended before may go even if nobody came for the result.
    pub abandoned_before: UnixMillis,
    /// So many of the newest runs stay, whatever their age.
    pub keep_newest: usize,
}

impl Retention {
    /// Whether `run` may go; `newer_runs` is the number of runs that came after it.
    pub(super) fn lets_go_of(&self, run: &RunSummary, newer_runs: usize) -> bool {
        let Some(ended_at) = run.ended_at else {
            return false;
        };
        let is_old = match run.acknowledged {
            true => ended_at < self.acknowledged_before || ended_at < self.abandoned_before,
            false => ended_at < self.abandoned_before,
        };
        is_old && newer_runs >= self.keep_newest
    }
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many runs.
    pub runs: usize,
    /// How many steps they had.
    pub steps: u64,
    /// How many of the runs had a result that nobody had come for.
    pub abandoned: usize,
}
