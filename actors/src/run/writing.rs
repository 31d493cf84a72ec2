//! Steps on their way to the journal: one write at a time, announced when it is on disk.

use super::{ASK, Run, Then, Write};
use crate::journal::Row;
use crate::messages::journal::{Commit, ReadRun};
use crate::messages::run::RecordRefused;
use crate::supervision::Context;
use impresario_policies::domain::{AttemptNumber, Caller, Step};
use impresario_policies::projection::{RecordedStep, RunProjection};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

impl Run {
    pub(super) fn load(&mut self, ctx: &mut Context<Self>) {
        let (read, run) = (self.ports.read.clone(), self.id.clone());
        ctx.spawn_then(
            async move { read.ask_again(ReadRun { run, after: 0 }, ASK).await },
            |run, reply, ctx| match reply {
                Ok(Ok(steps)) => run.loaded_with(steps, ctx),
                Ok(Err(error)) => ctx.fail(format!("read the run: {error}")),
                Err(error) => ctx.fail(format!("read the run: {error:?}")),
            },
        );
    }

    pub(super) fn loaded_with(&mut self, steps: Vec<RecordedStep>, ctx: &mut Context<Self>) {
        for recorded in &steps {
            self.tools.feed.announce(&self.id, recorded);
        }
        self.projection = RunProjection::of(&steps);
        self.loaded = true;
        let runner = self
            .request()
            .and_then(|request| (self.tools.runner)(&request.runner));
        self.facts.can_resume = runner.is_some_and(|runner| runner.can_resume());
        self.set_group_clock(ctx);
        self.write_next(ctx);
        self.move_on(ctx);
    }

    pub(super) fn record(&mut self, steps: Vec<Step>, ctx: &mut Context<Self>) {
        self.push_write(Write::of(steps), ctx);
    }

    pub(super) fn record_then(&mut self, steps: Vec<Step>, then: Then, ctx: &mut Context<Self>) {
        let write = Write {
            then: Some(then),
            ..Write::of(steps)
        };
        self.push_write(write, ctx);
    }

    pub(super) fn record_and_answer(
        &mut self,
        steps: Vec<Step>,
        done: oneshot::Sender<Result<(), RecordRefused>>,
        ctx: &mut Context<Self>,
    ) {
        let write = Write {
            done: Some(done),
            ..Write::of(steps)
        };
        self.push_write(write, ctx);
    }

    /// The end of an attempt: which of its calls were cut off is known when all that it said is on disk.
    pub(super) fn record_end_of(
        &mut self,
        attempt: AttemptNumber,
        steps: Vec<Step>,
        done: Option<oneshot::Sender<Result<(), RecordRefused>>>,
        ctx: &mut Context<Self>,
    ) {
        let write = Write {
            cut_off: Some(attempt),
            done,
            ..Write::of(steps)
        };
        self.push_write(write, ctx);
    }

    pub(super) fn push_write(&mut self, write: Write, ctx: &mut Context<Self>) {
        if let Some(refused) = self.refused_for_good() {
            return write.refuse(&refused);
        }
        self.writes.push_back(write);
        self.write_next(ctx);
    }

    /// One write at a time, so that every step knows its sequence.
    pub(super) fn write_next(&mut self, ctx: &mut Context<Self>) {
        if self.writing || !self.loaded || self.given_up.is_some() {
            return;
        }
        let Some(mut write) = self.writes.pop_front() else {
            return;
        };
        self.writing = true;
        let first_try = write.cut_off.filter(|_| write.rows.is_none());
        let cut_off = first_try
            .map(|attempt| self.files_cut_off(attempt))
            .unwrap_or_default();
        if cut_off.is_empty() {
            return self.commit(write, ctx);
        }
        let files = self.tools.files.clone();
        let looking = async move {
            let mut seen = BTreeMap::new();
            for (call, file) in cut_off {
                seen.insert(call, files.look(file).await);
            }
            seen
        };
        ctx.spawn_then(looking, move |run, seen, ctx| {
            write.seen = seen;
            run.commit(write, ctx);
        });
    }

    fn commit(&mut self, mut write: Write, ctx: &mut Context<Self>) {
        let rows = write.rows.take().unwrap_or_else(|| self.rows_of(&mut write));
        let commit = Commit { rows: rows.clone() };
        let port = self.ports.commit.clone();
        let reply = async move { port.ask_again(commit, ASK).await };
        ctx.spawn_then(reply, move |run, reply, ctx| match reply {
            Ok(Ok(_)) => run.written(write, &rows, ctx),
            Ok(Err(error)) => {
                write.rows = Some(rows);
                run.not_written(write, error, ctx);
            }
            Err(error) => ctx.fail(format!("reach the journal: {error:?}")),
        });
    }

    /// The steps at the place that is theirs: nothing else is written until they are.
    fn rows_of(&self, write: &mut Write) -> Arc<[Row]> {
        let at = self.tools.clock.now();
        let cut_off = write
            .cut_off
            .map(|attempt| self.cut_off_tools(attempt, &write.seen));
        let steps = cut_off.into_iter().flatten().chain(write.steps.drain(..));
        let sequences = self.projection.next_sequence()..;
        sequences
            .zip(steps)
            .map(|(sequence, step)| Row {
                run: self.id.clone(),
                sequence,
                generation: self.generation,
                at,
                step,
            })
            .collect()
    }

    pub(super) fn written(&mut self, write: Write, rows: &[Row], ctx: &mut Context<Self>) {
        self.writing = false;
        self.trouble = None;
        ctx.progress();
        for recorded in rows.iter().map(Row::recorded) {
            self.projection.add(&recorded);
            self.tools.feed.announce(&self.id, &recorded);
            self.tell(&recorded);
            self.hear(&recorded.step);
        }
        if let Some(done) = write.done {
            let _ = done.send(Ok(()));
        }
        if let Some(then) = write.then {
            then(self, ctx);
        }
        self.write_next(ctx);
        self.move_on(ctx);
    }

    /// An attempt that says a second time that it is active has said nothing new; nor has one that goes on with a
    /// conversation and finds a message or an answer there.
    pub(super) fn is_said_already(&self, step: &Step) -> bool {
        let attempts = || self.projection.attempts.iter().rev();
        match step {
            Step::AttemptActive { attempt } => {
                attempts().any(|known| known.number == *attempt && known.active)
            }
            Step::MessageDelivered { message, attempt } => {
                let goes_on = attempts().any(|known| known.number == *attempt && known.resumes_session);
                let known = self.projection.message(message);
                known
                    .and_then(|known| known.delivered)
                    .is_some_and(|(by, _)| by == *attempt || goes_on)
            }
            Step::MessageAnswered { message, .. } => {
                let known = self.projection.message(message);
                known.is_some_and(|known| known.answered.is_some())
            }
            _ => false,
        }
    }

    /// Only the attempt that is live may add to the journal, and no tool begins in a run that is to stop.
    pub(super) fn may_record(&self, step: &Step) -> Result<(), RecordRefused> {
        let attempt = match step {
            Step::AttemptActive { attempt }
            | Step::MessageDelivered { attempt, .. }
            | Step::MessageAnswered { attempt, .. }
            | Step::ToolEnded { attempt, .. } => *attempt,
            Step::ModelCalled { call } => match call.by {
                Caller::SubAgent { attempt } => attempt,
                Caller::Actor { .. } | Caller::Judge { .. } => {
                    return Err(RecordRefused("only the run itself records this step".into()));
                }
            },
            Step::ToolStarted { attempt, .. } if self.stop_sent.is_none() => *attempt,
            Step::ToolStarted { .. } => return Err(RecordRefused("the run is being stopped".into())),
            _ => return Err(RecordRefused("only the run itself records this step".into())),
        };
        match self.facts.live_attempt == Some(attempt) {
            true => Ok(()),
            false => Err(RecordRefused(format!("attempt {attempt} is over"))),
        }
    }
}
