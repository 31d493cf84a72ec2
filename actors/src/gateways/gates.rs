//! The command that decides whether the answer of a run counts.

use async_trait::async_trait;
use impresario_policies::domain::{Gate, GateEnding, Proof, RunId};
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What is to be run, and for whom.
#[derive(Debug, Clone)]
pub struct GateAsk {
    pub run: RunId,
    pub gate: Gate,
    /// Where the run worked.
    pub directory: PathBuf,
    /// Between being asked to stop and being killed.
    pub grace: Duration,
    /// The run has to end.
    pub stop: CancellationToken,
}

/// What was heard of the command. Nothing of it is left.
#[derive(Debug, Clone, PartialEq)]
pub struct GateReport {
    /// How it ended; none when it was cut off, so that nobody knows what it did.
    pub ending: Option<GateEnding>,
    /// The end of what it printed, redacted.
    pub output: String,
    /// What was observed of its processes.
    pub proof: Proof,
}

/// Runs commands of gates. A future that is dropped leaves nothing running.
#[async_trait(?Send)]
pub trait Gates {
    /// Runs the command to its end, or until it has to stop.
    async fn run(&self, ask: GateAsk) -> GateReport;
}
