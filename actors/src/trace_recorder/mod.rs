//! Keeps the trace of one run when it is about to end, and looks at it when the person has the result.
//!
//! Receives [`WriteTrace`] and [`ObserveRun`]; asks the journal for the steps and for the last warning, tells the host
//! what the person should read. The trace is a projection of the steps, and its shelf keeps one for a run, so both may
//! be asked again.

mod observe;
mod projection;

use crate::event_log::log_event;
use crate::gateways::{TracePlace, TraceShelf, WallClock};
use crate::messages::journal::{RaiseAlert, ReadAlert, ReadRun};
use crate::messages::run::{ObserveRun, Observed, WriteTrace};
use crate::messages::session::ShowNotice;
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use impresario_policies::domain::RunId;
use impresario_policies::projection::{RecordedStep, RunProjection};
use impresario_policies::router_log;
use impresario_policies::trace_file::{Trace, trace_path};
use std::rc::Rc;
use std::time::Duration;

const ASK: Duration = Duration::from_secs(30);

/// Whom the trace recorder reaches.
#[derive(Clone)]
pub struct TracePorts {
    pub read: Port<ReadRun>,
    /// When the person was last warned.
    pub last_alert: Port<ReadAlert>,
    /// That the person is warned now.
    pub raise_alert: Port<RaiseAlert>,
    pub notice: Port<ShowNotice>,
}

/// What the trace recorder uses that is no actor.
#[derive(Clone)]
pub struct TraceTools {
    pub shelf: Rc<dyn TraceShelf>,
    /// For the time of the end.
    pub clock: Rc<dyn WallClock>,
}

pub struct TraceRecorder {
    run: RunId,
    ports: TracePorts,
    tools: TraceTools,
}

impl Actor for TraceRecorder {
    const KIND: &'static str = "trace";
    const HANDLES: &'static [&'static str] = &["WriteTrace", "ObserveRun"];
}

impl TraceRecorder {
    /// The recorder of `run`.
    pub fn new(run: RunId, ports: TracePorts, tools: TraceTools) -> Self {
        Self { run, ports, tools }
    }
}

impl Handles<WriteTrace> for TraceRecorder {
    fn handle(&mut self, end: WriteTrace, _: &mut Context<Self>) -> Answer<Self, Result<(), String>> {
        let (read, run, tools) = (self.ports.read.clone(), self.run.clone(), self.tools.clone());
        Answer::later(async move {
            let steps = steps_of(&read, &run).await?;
            let so_far = RunProjection::of(&steps);
            let Some(place) = place_of(&so_far) else {
                return Ok(());
            };
            let now = tools.clock.now();
            let trace = projection::trace_of(&run, &steps, &so_far, &end, now);
            keep(&tools, &place, trace).await
        })
    }
}

impl Handles<ObserveRun> for TraceRecorder {
    fn handle(&mut self, ask: ObserveRun, _: &mut Context<Self>) -> Answer<Self, Result<Observed, String>> {
        let (ports, tools) = (self.ports.clone(), self.tools.clone());
        Answer::later(observe::observe(ports, tools, self.run.clone(), ask))
    }
}

async fn steps_of(read: &Port<ReadRun>, run: &RunId) -> Result<Vec<RecordedStep>, String> {
    let ask = ReadRun {
        run: run.clone(),
        after: 0,
    };
    let steps = read
        .ask_again(ask, ASK)
        .await
        .map_err(|error| error.to_string())?;
    steps.map_err(|error| error.to_string())
}

/// None for a run that leaves no trace file.
fn place_of(run: &RunProjection) -> Option<TracePlace> {
    let request = &run.accepted.as_ref()?.request;
    Some(TracePlace {
        workspace: request.workspace.clone(),
        directory: request.trace_directory.clone()?,
    })
}

async fn keep(tools: &TraceTools, place: &TracePlace, trace: Trace) -> Result<(), String> {
    let kept = tools.shelf.keep(place, trace.clone()).await;
    let name = kept.map_err(|error| format!("write the trace: {error}"))?;
    let path = trace_path(&place.directory, &name);
    log_event(&router_log::trace_written(&trace, &path));
    Ok(())
}
