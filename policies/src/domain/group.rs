//! Runs side by side, and one after the other: what makes several runs one group.

use super::{RunId, RunIdError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Several runs that were accepted together, for ever. Made as a [`RunId`] is made, and it names no run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(RunId);

impl GroupId {
    /// Names a group accepted at `unix_ms`; `chance` tells apart those of one millisecond.
    pub fn new(unix_ms: u64, chance: u64) -> Self {
        Self(RunId::new(unix_ms, chance))
    }

    /// This id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl TryFrom<String> for GroupId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        RunId::try_from(text).map(Self)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run's place in its group. Every member carries what the whole group needs, so that the group is nothing but its
/// members: whoever has their steps can finish it and say what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    /// The group.
    pub group: GroupId,
    /// Which of the sub-tasks, from 0, in the order of the caller.
    pub place: u32,
    /// How many sub-tasks there are.
    pub members: u32,
    /// At most so many of the group work at a time.
    pub concurrency: u32,
    /// From acceptance to the end of the last one.
    pub total: Duration,
    /// The sub-task.
    pub subtask: Subtask,
    /// What the group shows of the answer is cut to so many units; none for no limit.
    pub answer_units_max: Option<usize>,
    /// The group is a chain, and this is its place there; none where all work side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainPlace>,
}

/// A run's place in a chain. Members of one step work side by side, those of the next one when all of them are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainPlace {
    /// Which step, from 0.
    pub step: u32,
    /// How many steps there are.
    pub steps: u32,
    /// What a failure of the step before means.
    pub on_failure: OnFailure,
    /// The run has a total time of its own; else it shares what is left of the chain's with the steps after it.
    pub own_time: bool,
    /// What stands below its task, whatever the step before says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What becomes of a chain when one of its steps fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// No further step begins.
    #[default]
    Stop,
    /// The next step is told of it and begins.
    Collect,
}

/// One of several tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// Tells it apart.
    pub id: String,
    /// What is to be reached.
    pub goal: String,
    /// What it is confined to.
    pub scope: Option<String>,
    /// What to look for.
    pub retrieval_hints: Vec<String>,
    /// What its answer looks like.
    pub output_schema: Option<String>,
    /// Its answer is cut to so many units; none for the common limit, 0 or less for no limit.
    pub output_units_max: Option<i64>,
}

impl Subtask {
    /// A task with an id and a goal, and nothing else said.
    pub fn new(id: impl Into<String>, goal: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            goal: goal.into(),
            ..Self::default()
        }
    }
}
