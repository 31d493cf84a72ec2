//! How long an attempt has been silent, and how long it may be.

use crate::gateways::RunnerEvent;
use impresario_policies::domain::{AttemptEnding, Clocks};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// What is known of the silence since the last event.
pub(super) struct Silence {
    pub(super) active: bool,
    pub(super) tools_running: BTreeSet<String>,
    pub(super) retry_wait: Duration,
    pub(super) last_event: Instant,
    pub(super) clock_setting: u64,
    /// How many of its steps wait for the journal: it is not silent, we keep it waiting.
    pub(super) journal_waits: Rc<Cell<u32>>,
}

impl Silence {
    pub(super) fn heard(&mut self, event: &RunnerEvent) {
        self.last_event = Instant::now();
        self.active = true;
        self.retry_wait = Duration::ZERO;
        match event {
            RunnerEvent::ToolStarted { call, .. } => {
                self.tools_running.insert(call.clone());
            }
            RunnerEvent::ToolEnded { call, .. } => {
                self.tools_running.remove(call);
            }
            RunnerEvent::RetryAnnounced { delay, .. } => self.retry_wait = *delay,
            RunnerEvent::Active
            | RunnerEvent::Alive
            | RunnerEvent::Text { .. }
            | RunnerEvent::Called { .. }
            | RunnerEvent::Told { .. }
            | RunnerEvent::Replied { .. }
            | RunnerEvent::Unread { .. }
            | RunnerEvent::Ended(_) => {}
        }
    }

    /// The time in which the journal keeps it waiting does not count.
    pub(super) fn forgive_waiting(&mut self) {
        if self.journal_waits.get() > 0 {
            self.last_event = Instant::now();
        }
    }

    /// How long it may last: a tool has a limit of its own, an announced retry its wait on top.
    pub(super) fn allowed(&self, clocks: &Clocks) -> Duration {
        if !self.active {
            clocks.start_up
        } else if !self.tools_running.is_empty() {
            clocks.tool.max(clocks.inactivity)
        } else {
            clocks.inactivity.saturating_add(self.retry_wait)
        }
    }

    /// The clock that runs: how long, and how the attempt ends when it is over. Two that are as long are not the same.
    pub(super) fn clock(&self, clocks: &Clocks) -> (Duration, AttemptEnding) {
        (self.allowed(clocks), self.ending())
    }

    pub(super) fn ending(&self) -> AttemptEnding {
        if self.active {
            AttemptEnding::Inactivity
        } else {
            AttemptEnding::StartUpSilence
        }
    }
}

/// Something waits for the journal as long as this is there.
pub(super) struct JournalWait(Rc<Cell<u32>>);

impl JournalWait {
    pub(super) fn begin(waits: &Rc<Cell<u32>>) -> Self {
        waits.set(waits.get() + 1);
        Self(waits.clone())
    }
}

impl Drop for JournalWait {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
