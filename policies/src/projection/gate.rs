//! The gate of a run, and what its command said.

use super::{Impossible, RunProjection};
use crate::domain::{GateEnding, Proof};

/// One time that the command of a gate was run.
#[derive(Debug, Clone, PartialEq)]
pub struct GateProjection {
    /// From 1.
    pub number: u32,
    /// What was run, in one redacted line.
    pub command: String,
    /// When it began, in milliseconds since 1970.
    pub begun_at_ms: u64,
    /// What became of it.
    pub fate: GateFate,
}

/// What became of the command of a gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateFate {
    /// It began, and nothing was heard of it since.
    InFlight,
    /// It ended.
    Ended {
        /// How.
        ending: GateEnding,
        /// The end of what it printed.
        output: String,
        /// What was observed of its processes.
        proof: Proof,
    },
    /// It was cut off, and nobody knows what it did.
    Indeterminate {
        /// What was observed of its processes.
        proof: Proof,
    },
}

impl GateFate {
    /// What was observed of its processes; none while it is in flight.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Self::InFlight => None,
            Self::Ended { proof, .. } | Self::Indeterminate { proof } => Some(proof),
        }
    }
}

impl RunProjection {
    /// The time that the gate's command was run last.
    pub fn latest_gate(&self) -> Option<&GateProjection> {
        self.gates.last()
    }

    /// The command of the gate has begun and not ended.
    pub fn gate_under_way(&self) -> Option<&GateProjection> {
        self.latest_gate().filter(|gate| gate.fate == GateFate::InFlight)
    }

    /// There is an answer, and nothing more has to be asked whether it counts.
    pub fn answer_counts(&self) -> bool {
        let accepted = self.accepted.as_ref();
        let gate = accepted.and_then(|accepted| accepted.request.terms.gate.as_ref());
        let open =
            |gate: &GateProjection| matches!(&gate.fate, GateFate::Ended { ending, .. } if ending.is_open());
        self.answer.is_some() && (gate.is_none() || self.latest_gate().is_some_and(open))
    }

    pub(super) fn start_gate(&mut self, gate: GateProjection) {
        let expected = self.gates.len() as u32 + 1;
        self.check(self.answer.is_some(), Impossible::GateBeforeAnswer);
        self.check(self.gate_under_way().is_none(), Impossible::GatesOverlap);
        self.check(gate.number == expected, Impossible::GateOutOfOrder { expected });
        self.gates.push(gate);
    }

    pub(super) fn settle_gate(&mut self, number: u32, fate: GateFate) {
        let gate = self.gates.last_mut();
        match gate.filter(|gate| gate.number == number && gate.fate == GateFate::InFlight) {
            Some(gate) => gate.fate = fate,
            None => self.object(Impossible::GateNotInFlight { gate: number }),
        }
    }
}
