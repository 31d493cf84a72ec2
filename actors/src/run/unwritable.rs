//! A journal that cannot be written: the run waits for it, and ends without it when that takes too long.
//!
//! An ending that cannot be written is told all the same, so that nobody waits for ever and the room goes to others. It
//! is told only after nothing of the run is left, as every ending is. The sub-agent supervisor has it written later.

use super::{ASK, Run, Write};
use crate::journal::JournalError;
use crate::messages::run::{RecordRefused, RunClosed};
use crate::supervision::Context;
use impresario_policies::domain::{AttemptEnding, Reason};
use impresario_policies::unwritable::{
    UnwritableDecision, UnwritableFacts, WriteFailure, decide_unwritable, told_ending, unwritable_reason,
};
use std::time::Duration;
use tokio::time::Instant;

/// A write that failed and is tried again.
pub(super) struct Trouble {
    since: Instant,
    failures: u32,
}

/// Why nothing is written any more.
pub(super) struct GivenUp {
    reason: Reason,
}

impl Write {
    /// Tells whoever waits that the steps are not recorded.
    pub(super) fn refuse(self, refused: &RecordRefused) {
        if let Some(done) = self.done {
            let _ = done.send(Err(refused.clone()));
        }
    }
}

impl Run {
    /// What every step is told once the run has given up.
    pub(super) fn refused_for_good(&self) -> Option<RecordRefused> {
        let given_up = self.given_up.as_ref()?;
        Some(RecordRefused(given_up.reason.message.clone()))
    }

    pub(super) fn not_written(&mut self, write: Write, error: JournalError, ctx: &mut Context<Self>) {
        self.writing = false;
        match decide_unwritable(&self.unwritable_facts(error.write_failure())) {
            UnwritableDecision::TryAgain { after } => self.write_again(write, after, &error, ctx),
            UnwritableDecision::GiveUp => self.give_up(write, &error, ctx),
            UnwritableDecision::LetGo => {
                tracing::warn!(run.id = %self.id, %error, "run is driven elsewhere");
                write.refuse(&RecordRefused(error.to_string()));
                self.rest(ctx);
            }
            UnwritableDecision::Refuse if write.done.is_some() && write.cut_off.is_none() => {
                tracing::warn!(run.id = %self.id, %error, "step refused");
                write.refuse(&RecordRefused(error.to_string()));
                self.write_next(ctx);
                self.move_on(ctx);
            }
            UnwritableDecision::Refuse | UnwritableDecision::StartOver => {
                write.refuse(&RecordRefused(error.to_string()));
                ctx.fail(format!("write a step: {error}"));
            }
        }
    }

    fn unwritable_facts(&mut self, failure: WriteFailure) -> UnwritableFacts {
        let trouble = self.trouble.get_or_insert_with(|| Trouble {
            since: Instant::now(),
            failures: 0,
        });
        trouble.failures = trouble.failures.saturating_add(1);
        let (failures, failed_for) = (trouble.failures, trouble.since.elapsed());
        let has_to_stop = self.stopped_by.is_some()
            || self.facts.must_park.is_some()
            || self.projection.cancel_requested.is_some()
            || self.projection.park_requested.is_some();
        UnwritableFacts {
            failure,
            failures,
            failed_for,
            total: self.request().map_or(ASK, |request| request.clocks.total),
            clock_over: self.facts.total_over || self.facts.group_over,
            has_to_stop,
            has_ended: self.projection.ended.is_some(),
        }
    }

    fn write_again(&mut self, write: Write, after: Duration, error: &JournalError, ctx: &mut Context<Self>) {
        if self.trouble.as_ref().is_some_and(|trouble| trouble.failures == 1) {
            tracing::warn!(run.id = %self.id, %error, "journal not written, the run waits");
        }
        self.writes.push_front(write);
        self.writing = true;
        ctx.spawn_then(tokio::time::sleep(after), |run, (), ctx| {
            run.writing = false;
            run.write_next(ctx);
        });
    }

    fn give_up(&mut self, write: Write, error: &JournalError, ctx: &mut Context<Self>) {
        tracing::error!(run.id = %self.id, %error, "run ends without a journal");
        let trouble = self.trouble.take();
        let failed_for = trouble
            .as_ref()
            .map_or(Duration::ZERO, |trouble| trouble.since.elapsed());
        let reason = unwritable_reason(&error.to_string(), failed_for, self.stopped_by.as_deref());
        self.given_up = Some(GivenUp { reason });
        let refused = RecordRefused(error.to_string());
        write.refuse(&refused);
        self.writes.drain(..).for_each(|write| write.refuse(&refused));
        self.let_attempt_run(Some(AttemptEnding::Cancelled));
        self.let_gate_run(true);
        match (&self.stop_attempt, self.facts.live_attempt) {
            (Some(_), Some(_)) => {}
            // It was to begin once its start was on disk, or is over already.
            (None, _) | (_, None) => self.close_untold(ctx),
        }
    }

    pub(super) fn attempt_is_gone(&mut self, ctx: &mut Context<Self>) {
        self.facts.live_attempt = None;
        self.stop_attempt = None;
        self.close_untold(ctx);
    }

    /// Nothing of the run is left: tells how it ended.
    fn close_untold(&mut self, ctx: &mut Context<Self>) {
        let contain = self.contain();
        ctx.spawn_then(contain, |run, proof, ctx| {
            tracing::debug!(run.id = %run.id, ?proof, "nothing is left of the run");
            run.tell_ending(ctx);
        });
    }

    fn tell_ending(&mut self, ctx: &mut Context<Self>) {
        let Some(given_up) = &self.given_up else { return };
        let reason = given_up.reason.clone();
        let told = match &self.projection.ended {
            // Its end is on disk, and the result is offered again later.
            Some(_) => None,
            None => Some(told_ending(&self.projection, reason.clone())),
        };
        if told.is_some() {
            self.notice_unwritten(&reason);
            self.tools.feed.announce_unwritable(&self.id, &reason.message);
        }
        let (closed, run) = (self.ports.closed.clone(), self.id.clone());
        let closing = async move { closed.ask_again(RunClosed { run, told }, ASK).await };
        ctx.spawn_then(closing, |_, _, ctx| ctx.stop());
    }

    fn notice_unwritten(&self, reason: &Reason) {
        let (why, run) = (&reason.message, &self.id);
        self.notice(|request| format!("{} was stopped. {why} (run {run})", request.what.name()));
    }
}
