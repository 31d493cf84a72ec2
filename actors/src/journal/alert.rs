//! When a person was last told that a skill stopped working.

use crate::gateways::UnixMillis;
use impresario_policies::domain::RunId;
use std::time::Duration;

/// The longest time for which somebody may want not to be told again.
pub(super) const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The skill of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillOf {
    pub workspace: String,
    pub skill: String,
}

/// A person was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    pub at: UnixMillis,
    pub run: RunId,
}

impl Alert {
    /// Whether this may stand after `standing`, for whoever saw that somebody was last told at `seen`.
    pub(super) fn may_follow(&self, standing: Option<&Self>, seen: Option<UnixMillis>) -> bool {
        let is_itself = standing.is_some_and(|standing| standing.run == self.run);
        is_itself || standing.map(|standing| standing.at) == seen
    }
}
