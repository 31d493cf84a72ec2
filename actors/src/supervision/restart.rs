//! What is remembered about the restarts of one child. Whether there is a next one is a policy.

use super::incarnation::Incarnation;
use super::{Exit, Restart, SupervisorSettings};
use impresario_policies::restart::{RestartDecision, RestartFacts, RestartSettings, decide_restart};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How one life of a child ended.
pub(super) struct Ended {
    pub(super) life: u64,
    pub(super) exit: Exit,
    pub(super) progressed: bool,
    pub(super) up_for: Duration,
}

impl Ended {
    pub(super) fn new(incarnation: &Incarnation, exit: Exit) -> Self {
        Self {
            life: incarnation.number,
            exit,
            progressed: incarnation.progressed.get(),
            up_for: incarnation.since.elapsed(),
        }
    }

    /// It did not come up.
    pub(super) fn at_start(life: u64, exit: Exit) -> Self {
        Self {
            life,
            exit,
            progressed: false,
            up_for: Duration::ZERO,
        }
    }
}

#[derive(Default)]
pub(super) struct RestartHistory {
    restarts: VecDeque<Instant>,
    without_progress: u32,
    failures_in_a_row: u32,
}

impl RestartHistory {
    /// Takes in how the last life went: progress and a long life make up for earlier failures.
    pub(super) fn observe(&mut self, ended: &Ended, settings: &SupervisorSettings) {
        if ended.progressed {
            *self = Self::default();
        }
        if ended.up_for >= settings.backoff.settled_after {
            self.failures_in_a_row = 0;
        }
    }

    /// How many restarts still count.
    pub(super) fn in_period(&mut self, period: Duration) -> u32 {
        let now = Instant::now();
        while self
            .restarts
            .front()
            .is_some_and(|restart| now.duration_since(*restart) > period)
        {
            self.restarts.pop_front();
        }
        u32::try_from(self.restarts.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn decide(
        &self,
        exit: &Exit,
        kind: Restart,
        restarts_in_period: u32,
        chance: u32,
        settings: &SupervisorSettings,
    ) -> RestartDecision {
        let facts = RestartFacts {
            exit: exit.kind(),
            kind,
            restarts_in_period,
            restarts_without_progress: self.without_progress,
            failures_in_a_row: self.failures_in_a_row,
            chance,
        };
        let settings = RestartSettings {
            intensity: settings.intensity,
            without_progress_max: settings.without_progress_max,
            backoff: settings.backoff.clone(),
        };
        decide_restart(&facts, &settings)
    }

    pub(super) fn restarted(&mut self) {
        self.restarts.push_back(Instant::now());
        self.without_progress = self.without_progress.saturating_add(1);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
    }
}
