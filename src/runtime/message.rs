//! Telling a run something while it is under way, here or in another process, and learning what became of it.

use super::builder::enclosing_run;
use super::run::Run;
use super::{Runtime, RuntimeError, wish};
use impresario_actors::gateways::{Entropy, SystemEntropy};
use impresario_actors::messages::run::{TellReply, TellRun};
use impresario_policies::domain::{MessageId, MessageKind, Reason, ReasonCode, RunId, RunMessage};
use impresario_policies::projection::{MessageFate, RunProjection};
use impresario_policies::run_messages::{MessageDecision, decide_message};
use std::time::Duration;

const ASK: Duration = Duration::from_secs(60);
/// The process that drives a run looks for messages several times a second.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// How often the journal is asked whether it did.
const LOOKED_EVERY: Duration = Duration::from_millis(50);

/// A message to a run. Dropping this changes nothing: the message is on its way.
#[derive(Debug, Clone)]
pub struct SentMessage {
    run: Run,
    id: MessageId,
}

impl SentMessage {
    pub(super) fn new(run: Run, id: MessageId) -> Self {
        Self { run, id }
    }

    /// Its name, for ever.
    pub fn id(&self) -> &MessageId {
        &self.id
    }

    /// What became of it so far.
    pub async fn fate(&self) -> Result<MessageFate, RuntimeError> {
        let run = self.run.projection().await?;
        let message = run.message(&self.id);
        let fate = message.map(|message| run.fate_of(message));
        fate.ok_or_else(|| RuntimeError::NotFound {
            run: self.run.id().clone(),
        })
    }

    /// Waits until the sub-agent has it, or the run ended before. A sub-agent that calls this is refused where the run waits
    /// for its own ([`ReasonCode::WaitCycle`](super::ReasonCode::WaitCycle)), as it is by [`Self::answer`].
    pub async fn delivered(&self) -> Result<MessageFate, RuntimeError> {
        self.run.runtime().refuse_wait_cycle(self.run.id()).await?;
        self.until(|fate| fate != MessageFate::Queued).await?;
        self.fate().await
    }

    /// Waits for what the sub-agent says next, where [`Run::ask`] asked for that; none when the run ended without a word.
    pub async fn answer(&self) -> Result<Option<String>, RuntimeError> {
        self.run.runtime().refuse_wait_cycle(self.run.id()).await?;
        self.until(|fate| matches!(fate, MessageFate::Answered | MessageFate::Expired))
            .await?;
        let run = self.run.projection().await?;
        let answered = run.message(&self.id).and_then(|message| message.answered.clone());
        Ok(answered.map(|(answer, _)| answer))
    }

    /// Waits until nothing more becomes of it: a question is answered or its run is over, anything else is delivered or has
    /// expired. What the sub-agent said to a question.
    pub(crate) async fn settled(&self) -> Result<Option<String>, RuntimeError> {
        let run = self.run.projection().await?;
        let known = run.message(&self.id);
        match known.map(|known| known.message.kind) {
            Some(MessageKind::Ask) => self.answer().await,
            Some(MessageKind::Steer) => self.delivered().await.map(|_| None),
            None => Err(RuntimeError::NotFound {
                run: self.run.id().clone(),
            }),
        }
    }

    /// Follows the run until this holds, or until it is over.
    async fn until(&self, holds: impl Fn(MessageFate) -> bool) -> Result<(), RuntimeError> {
        let mut events = self.run.events();
        let mut run = RunProjection::default();
        while let Some(event) = events.next().await {
            run.add(&event);
            if run
                .message(&self.id)
                .is_some_and(|message| holds(run.fate_of(message)))
            {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Run {
    /// Tells the sub-agent something: it has it before its next call of the model, and goes on with its task. Returns when
    /// the message is on disk, from where it reaches the sub-agent after a crash too, unless the run ends before
    /// ([`SentMessage::delivered`] says so). Works for runs that another process drives as well.
    pub async fn steer(&self, text: impl Into<String>) -> Result<SentMessage, RuntimeError> {
        self.tell(MessageKind::Steer, text.into(), "the program".to_string())
            .await
    }

    /// The same with a question: [`SentMessage::answer`] is what the sub-agent says next. It answers from where it stands and
    /// goes on.
    pub async fn ask(&self, question: impl Into<String>) -> Result<SentMessage, RuntimeError> {
        self.tell(MessageKind::Ask, question.into(), "the program".to_string())
            .await
    }

    pub(crate) async fn tell(
        &self,
        kind: MessageKind,
        text: String,
        by: String,
    ) -> Result<SentMessage, RuntimeError> {
        let id = MessageId::new(SystemEntropy.next());
        let message = RunMessage {
            id: id.clone(),
            kind,
            text,
            by,
            from: enclosing_run(),
        };
        self.runtime().tell(self.id(), message).await?;
        Ok(SentMessage::new(self.clone(), id))
    }

    /// A message that was sent before.
    pub(crate) fn message(&self, id: MessageId) -> SentMessage {
        SentMessage::new(self.clone(), id)
    }

    /// Where it stands.
    pub(super) async fn projection(&self) -> Result<RunProjection, RuntimeError> {
        Ok(RunProjection::of(&self.runtime().steps(self.id(), 0).await?))
    }
}

impl Runtime {
    /// Returns when the message is in the journal.
    async fn tell(&self, run: &RunId, message: RunMessage) -> Result<(), RuntimeError> {
        self.refuse_speaking_upwards(run).await?;
        if message.kind == MessageKind::Ask {
            self.refuse_wait_cycle(run).await?;
        }
        let tell = TellRun {
            run: run.clone(),
            message: message.clone(),
        };
        let told = self
            .ask(move |inside| inside.ports.tell.ask_again(tell, ASK))
            .await?;
        match told {
            TellReply::Taken => Ok(()),
            TellReply::Refused(reason) => Err(RuntimeError::MessageRefused(reason)),
            TellReply::NotYet => Err(RuntimeError::Busy),
            TellReply::NotUnderWay => self.tell_elsewhere(run, message).await,
        }
    }

    /// By the process that drives the run, wherever that is.
    async fn tell_elsewhere(&self, run: &RunId, message: RunMessage) -> Result<(), RuntimeError> {
        self.may_tell(run, &message).await?;
        if self.cut_off_runs().await?.contains(run) {
            return Err(refused(format!(
                "Nobody drives run {run}: its runtime is gone. It takes messages when it goes on (`impresario runs resume \
                 {run}`, or when its session is opened again)."
            )));
        }
        let wishes = &self.0.defaults.wishes;
        wish::leave_message(wishes, run, &message)
            .map_err(|error| RuntimeError::Inside(format!("leave the message: {error}")))?;
        let taken = async {
            while wish::message_waits(wishes, run, &message.id) {
                tokio::time::sleep(LOOKED_EVERY).await;
            }
        };
        let taken = tokio::time::timeout(TAKEN_WITHIN, taken).await;
        wish::take_message_back(wishes, run, &message.id);
        // The journal has the last word: whoever took it says so there first.
        let standing = self.may_tell(run, &message).await?;
        match (standing, taken) {
            (MessageDecision::TakenBefore, _) => Ok(()),
            (_, Ok(())) => Err(refused(format!(
                "Run {run} did not take the message. Send it again."
            ))),
            (_, Err(_)) => Err(refused(format!(
                "Nobody took the message within {} s: the process that drives run {run} is busy or gone. `impresario runs show \
                 {run}` says how it stands.",
                TAKEN_WITHIN.as_secs()
            ))),
        }
    }

    /// An error where the run takes no such message.
    async fn may_tell(&self, run: &RunId, message: &RunMessage) -> Result<MessageDecision, RuntimeError> {
        let steps = self.steps(run, 0).await?;
        if steps.is_empty() {
            return Err(RuntimeError::NotFound { run: run.clone() });
        }
        match decide_message(&RunProjection::of(&steps), message) {
            MessageDecision::Refuse(reason) => Err(RuntimeError::MessageRefused(reason)),
            standing => Ok(standing),
        }
    }
}

fn refused(message: String) -> RuntimeError {
    RuntimeError::MessageRefused(Reason {
        code: ReasonCode::MessageRefused,
        message,
    })
}
