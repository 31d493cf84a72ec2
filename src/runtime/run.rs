//! A run as its owner holds it.

use super::{RunEvents, Runtime, RuntimeError};
use impresario_actors::journal::{RunFilter, RuntimeId};
use impresario_actors::messages::run::{AwaitRun, Awaited};
use impresario_policies::domain::{Proof, Reason, RunId, TerminalState, WholeAnswer};
use impresario_policies::json_reply::read_as;
use impresario_policies::projection::RunProjection;
use impresario_policies::receipt::Receipt;
use impresario_policies::unwritable::ToldEnding;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;

/// A run is bounded by its own clocks; this only keeps a lost wake-up from lasting for ever.
const OVER_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// So often it is looked whether a run of a dead runtime can be taken over, and the pause between two looks.
const ADOPTION_TRIES: u32 = 20;
const ADOPTION_PAUSE: Duration = Duration::from_millis(100);

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
    /// Where all of it is, where it is cut; it goes when its run is forgotten.
    pub whole: Option<WholeAnswer>,
    /// Why it did not succeed.
    pub reason: Option<Reason>,
    /// What was observed of its processes; none while the terminal state could not be written to the journal.
    pub proof: Option<Proof>,
    /// The whole story.
    pub projection: RunProjection,
}

impl Outcome {
    /// The answer of a sub-agent that was [asked for a form](super::SubAgent::answer_schema).
    ///
    /// # Errors
    /// There is no answer, or it is no such value.
    pub fn answer_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        read_as(self.answer.as_deref().unwrap_or_default())
    }

    /// All of the answer, or of what there was of one, however long it is. Waits for the disk where it is cut.
    ///
    /// # Errors
    /// It is cut, and what is missing was not kept or is gone: its run was forgotten, or room was needed for newer ones.
    pub fn whole_answer(&self) -> io::Result<String> {
        match &self.whole {
            None => Ok(self.answer.clone().unwrap_or_default()),
            Some(WholeAnswer::Kept { file, .. }) => std::fs::read_to_string(file),
            Some(WholeAnswer::Lost { why, .. }) => Err(io::Error::other(why.clone())),
        }
    }

    /// What it proves: files, commands, tools, models and money as the runtime saw them, and what the answer says that
    /// they do not bear out.
    pub fn receipt(&self) -> Receipt {
        Receipt::of(&self.projection)
    }
}

impl Run {
    pub(super) fn new(runtime: Runtime, id: RunId) -> Self {
        Self { runtime, id }
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
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

    /// Waits until the run has ended, and reads how.
    ///
    /// An error means that nobody here can say how it ends: see [`RuntimeError::NotFound`],
    /// [`RuntimeError::DrivenElsewhere`] and [`RuntimeError::Unattended`]. Right after a start this waits until it is known
    /// what an earlier runtime left behind.
    ///
    /// In a program without a host of its own the result counts as taken with this, unless
    /// [`RuntimeBuilder::acknowledgement`](super::RuntimeBuilder::acknowledgement) says otherwise.
    pub async fn outcome(&self) -> Result<Outcome, RunError> {
        let outcome = self.look().await?;
        let is_written = outcome.projection.ended.is_some();
        let is_to_take = self.runtime.0.defaults.taken_when_read && is_written;
        if is_to_take
            && !outcome.projection.acknowledged
            && let Err(error) = self.runtime.acknowledge_ended(&self.id).await
        {
            tracing::warn!(run.id = %self.id, %error, "result stays unread");
        }
        Ok(outcome)
    }

    /// The program has the result for good: [`Runtime::unread`] does not list it again.
    pub async fn ack(&self) -> Result<(), RunError> {
        self.runtime.acknowledge(&self.id).await
    }

    /// Reads how it ended, and leaves it unread.
    pub(super) async fn look(&self) -> Result<Outcome, RunError> {
        let standing = self.runtime.standing_at_rest(&self.id).await?;
        let steps = self.runtime.steps(&self.id, 0).await?;
        let projection = RunProjection::of(&steps);
        let run = self.id.clone();
        match (standing, projection.ended.is_some()) {
            (_, true) | (Standing::Ended, _) => outcome_of(run, projection),
            (Standing::Told(ending), false) => Ok(told_outcome(run, ending, projection)),
            (Standing::Elsewhere(owner), false) => Err(RuntimeError::DrivenElsewhere { run, owner }),
            (Standing::Unattended, false) => Err(RuntimeError::Unattended { run }),
        }
    }
}

/// Where a run stands on which nothing is done here.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// Its end is in the journal.
    Ended,
    /// It ended here, and its end is not in the journal yet.
    Told(ToldEnding),
    /// Another runtime, which is alive, drives it.
    Elsewhere(RuntimeId),
    /// Its runtime is dead, and nobody here may go on with it.
    Unattended,
}

impl Runtime {
    /// Waits until nothing is done for the run here, and says where it stands then.
    pub(super) async fn standing_at_rest(&self, run: &RunId) -> Result<Standing, RuntimeError> {
        for tries_left in (0..ADOPTION_TRIES).rev() {
            let awaited = AwaitRun { run: run.clone() };
            let awaited = self
                .ask(move |inside| inside.ports.await_run.ask_again(awaited, OVER_WITHIN))
                .await?;
            if let Awaited::Told(ending) = awaited {
                return Ok(Standing::Told(ending));
            }
            let Some(summary) = self.runs(RunFilter::id_prefix(run.as_str())).await?.pop() else {
                return Err(RuntimeError::NotFound { run: run.clone() });
            };
            if summary.ended_at.is_some() {
                return Ok(Standing::Ended);
            }
            if summary.owner == self.0.defaults.runtime {
                // Between two lives of its actors.
                tokio::time::sleep(ADOPTION_PAUSE).await;
                continue;
            }
            if !self.orphans().await?.contains(run) {
                return Ok(Standing::Elsewhere(summary.owner));
            }
            if tries_left > 0 {
                // What a dead runtime started may take a moment to be gone.
                self.adopt().await?;
                tokio::time::sleep(ADOPTION_PAUSE).await;
            }
        }
        Ok(Standing::Unattended)
    }
}

fn outcome_of(run: RunId, projection: RunProjection) -> Result<Outcome, RunError> {
    let Some(end) = projection.ended.clone() else {
        let why = format!("run {run} has ended, and its steps do not say how");
        return Err(RuntimeError::Inside(why));
    };
    Ok(Outcome {
        run,
        state: end.state,
        answer: projection.answer_or_partial().map(str::to_string),
        whole: projection.whole_answer().cloned(),
        reason: end.reason,
        proof: Some(end.proof),
        projection,
    })
}

fn told_outcome(run: RunId, ending: ToldEnding, projection: RunProjection) -> Outcome {
    Outcome {
        run,
        state: ending.state,
        answer: projection.answer_or_partial().map(str::to_string),
        whole: projection.whole_answer().cloned(),
        reason: ending.reason,
        proof: None,
        projection,
    }
}
