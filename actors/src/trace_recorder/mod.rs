//! Writes the trace file of one run when it is about to end.
//!
//! Receives [`WriteTrace`]; asks the journal for the steps. The file is a projection of them, written beside its place and
//! renamed, and named after the run's acceptance, so writing it twice leaves one.

mod file;
mod projection;

use crate::messages::journal::ReadRun;
use crate::messages::run::WriteTrace;
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::RunId;
use impresario_policies::projection::RunProjection;
use std::time::Duration;

const ASK: Duration = Duration::from_secs(30);

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
    fn handle(&mut self, end: WriteTrace, _: &mut Context<Self>) -> Answer<Self, Result<(), String>> {
        Answer::later(write(self.ports.read.clone(), self.run.clone(), end))
    }
}

async fn write(read: Port<ReadRun>, run: RunId, end: WriteTrace) -> Result<(), String> {
    let steps = read
        .ask_again(
            ReadRun {
                run: run.clone(),
                after: 0,
            },
            ASK,
        )
        .await;
    let steps = steps
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let run_so_far = RunProjection::of(&steps);
    let Some(place) = file::place_of(&run_so_far) else {
        return Ok(());
    };
    let text = projection::trace_of(&run, &steps, &run_so_far, &end).to_file_text();
    tokio::task::spawn_blocking(move || file::write(&place, &text))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| format!("write the trace: {error}"))
}
