//! A run as its owner holds it.

use super::{RunEvents, Runtime, RuntimeError};
use impresario_actors::messages::run::AwaitRun;
use impresario_policies::domain::{Proof, Reason, ReasonCode, RunId, TerminalState};
use impresario_policies::projection::RunProjection;
use std::time::Duration;

/// A run is bounded by its own clocks; this only keeps a lost wake-up from lasting for ever.
const OVER_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// A run. Dropping this changes nothing: the run goes on.
#[derive(Debug, Clone)]
pub struct Run {
    runtime: Runtime,
    id: RunId,
}

/// Why there is no outcome.
pub type RunError = RuntimeError;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which run.
    pub run: RunId,
    /// How.
    pub state: TerminalState,
    /// The answer, or what there was of one.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// What was observed of its processes; none when the terminal state could not be written.
    pub proof: Option<Proof>,
    /// The whole story.
    pub projection: RunProjection,
}

impl Run {
    pub(super) fn new(runtime: Runtime, id: RunId) -> Self {
        Self { runtime, id }
    }

    /// Its name, for ever.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Its durable steps, from the first one on, as they are written.
    pub fn events(&self) -> RunEvents {
        RunEvents::new(self.runtime.clone(), self.id.clone())
    }

    /// Cancels it. Returns when the wish is on disk; false when the run is not under way here.
    pub async fn cancel(&self, by: &str) -> Result<bool, RunError> {
        self.runtime.cancel(self.id.clone(), by.to_string()).await
    }

    /// Waits until nothing more will happen, and reads how it ended.
    pub async fn outcome(&self) -> Result<Outcome, RunError> {
        let run = self.id.clone();
        self.runtime
            .ask(move |inside| inside.ports.await_run.ask_again(AwaitRun { run }, OVER_WITHIN))
            .await?;
        let steps = self.runtime.steps(&self.id, 0).await?;
        Ok(outcome_of(self.id.clone(), RunProjection::of(&steps)))
    }
}

fn outcome_of(run: RunId, projection: RunProjection) -> Outcome {
    let answer = projection.answer_or_partial().map(str::to_string);
    let Some(end) = projection.ended.clone() else {
        return Outcome {
            run,
            state: TerminalState::Parked,
            answer,
            reason: Some(unwritten()),
            proof: None,
            projection,
        };
    };
    Outcome {
        run,
        state: end.state,
        answer,
        reason: end.reason,
        proof: Some(end.proof),
        projection,
    }
}

/// What a run without a terminal step in a living runtime means.
fn unwritten() -> Reason {
    Reason {
        code: ReasonCode::JournalUnwritable,
        message:
            "The journal could not be written, so the run was stopped; the next start parks it for good. \
                  Look for a full disk or a read-only state directory."
                .to_string(),
    }
}
