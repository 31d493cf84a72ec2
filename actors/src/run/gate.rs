//! The gate of a run: its command is on disk before it begins, and what it said before anything follows from it.

use super::Run;
use crate::gateways::{GateAsk, GateReport};
use crate::supervision::Context;
use impresario_policies::domain::{Gate, Proof, Step};
use impresario_policies::gate::gate_words;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

impl Run {
    pub(super) fn try_gate(&mut self, number: u32, ctx: &mut Context<Self>) {
        let Some(gate) = self.gate().cloned() else { return };
        let started = Step::GateStarted {
            gate: number,
            command: gate_words(&gate),
        };
        self.facts.live_gate = Some(number);
        self.record_then(
            vec![started],
            Box::new(move |run, ctx| run.start_gate(number, gate, ctx)),
            ctx,
        );
    }

    fn gate(&self) -> Option<&Gate> {
        self.request()?.terms.gate.as_ref()
    }

    fn start_gate(&mut self, number: u32, gate: Gate, ctx: &mut Context<Self>) {
        let (Some(directory), Some(request)) = (self.works_in(), self.request()) else {
            return;
        };
        let stop = CancellationToken::new();
        let ask = GateAsk {
            run: self.id.clone(),
            gate,
            directory,
            grace: request.clocks.grace,
            stop: stop.clone(),
        };
        self.stop_gate = Some(stop);
        let gates = self.tools.gates.clone();
        ctx.spawn_then(async move { gates.run(ask).await }, move |run, report, ctx| {
            run.gate_over(number, report, ctx);
        });
    }

    /// Its worktree, else where the person works.
    fn works_in(&self) -> Option<PathBuf> {
        let own = self.projection.worktree.as_ref();
        let own = own.map(|own| own.worktree.workspace.clone());
        own.or_else(|| Some(self.request()?.workspace.clone()))
    }

    fn gate_over(&mut self, number: u32, report: GateReport, ctx: &mut Context<Self>) {
        self.facts.live_gate = None;
        self.stop_gate = None;
        let GateReport {
            ending,
            output,
            proof,
        } = report;
        let step = match ending {
            Some(ending) => Step::GateEnded {
                gate: number,
                ending,
                output,
                proof,
            },
            None => Step::GateIndeterminate { gate: number, proof },
        };
        self.record(vec![step], ctx);
    }

    pub(super) fn let_gate_run(&mut self, stop: bool) {
        if let (true, Some(token)) = (stop, &self.stop_gate) {
            token.cancel();
        }
    }

    pub(super) fn settle_lost_gate(&mut self, number: u32, ctx: &mut Context<Self>) {
        let contain = self.contain();
        self.effect(contain, ctx, move |run, proof, ctx| {
            run.record(vec![Step::GateIndeterminate { gate: number, proof }], ctx);
        });
    }

    /// What is proven of the attempt and of the gate that were last.
    pub(super) fn proof_of_last(&self) -> Option<Proof> {
        let of_attempt = match self.projection.latest_attempt() {
            Some(last) => last.ended.as_ref().map(|ended| ended.proof.clone()),
            None => Some(Proof::NOTHING_STARTED),
        };
        let of_gate = self.projection.latest_gate().and_then(|gate| gate.fate.proof());
        match of_gate {
            Some(of_gate) => of_attempt.map(|proof| proof.and(of_gate.clone())),
            None => of_attempt,
        }
    }
}
