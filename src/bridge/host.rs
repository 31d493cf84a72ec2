//! The host as the actors see it, reached over the bridge.

use super::Peer;
use super::connection::AskFailure;
use super::live::LiveBook;
use super::wire::{
    DeliveryOffer, ErrorCode, ModelStanding, ModelsCheck, NoticeLevel, QuestionAnswer, QuestionAsk,
    SessionHasRun, SessionHistory, UiNotice, UiProgress, UiSight,
};
use async_trait::async_trait;
use impresario_actors::gateways::{
    ChatMessage, Delivery, DeliveryReceipt, Glimpse, Host, HostError, Progress,
};
use impresario_policies::domain::{Reason, RunId, SessionId, TerminalState};
use impresario_policies::resumption::{Reader, advise};
use impresario_policies::sight::RunSight;
use impresario_policies::whole_answer::OFFERED_BYTES_MAX;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Runs whose session is remembered; the oldest are forgotten first.
const RUNS_MAX: usize = 4096;

/// What both halves of the bridge know of runs: whose they are, and who waits for an answer about them.
#[derive(Debug, Clone, Default)]
pub(super) struct RunBook(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    sessions: BTreeMap<RunId, SessionId>,
    /// Sessions that take the result of another one, which cannot come back.
    heirs: BTreeMap<RunId, SessionId>,
    questions: BTreeMap<RunId, oneshot::Sender<Option<String>>>,
}

impl RunBook {
    /// Whether somebody waited for this answer.
    pub(super) fn answer(&self, answer: QuestionAnswer) -> bool {
        let waiting = self.pages().questions.remove(&answer.run);
        waiting.is_some_and(|waiting| waiting.send(answer.answer).is_ok())
    }

    /// The run was asked for in this session: only there are its questions asked and its result shown.
    pub(super) fn remember(&self, run: RunId, session: SessionId) {
        let sessions = &mut self.pages().sessions;
        sessions.insert(run, session);
        if sessions.len() > RUNS_MAX {
            sessions.pop_first();
        }
    }

    fn session_of(&self, run: &RunId) -> Option<SessionId> {
        let pages = self.pages();
        pages.heirs.get(run).or_else(|| pages.sessions.get(run)).cloned()
    }

    fn has_heir(&self, run: &RunId) -> bool {
        self.pages().heirs.contains_key(run)
    }

    fn wait_for(&self, run: &RunId) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        self.pages().questions.insert(run.clone(), sender);
        receiver
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pi, or whoever speaks the protocol. Cheap to clone; used from any thread.
///
/// What concerns a run goes to the run's own session only: when another one is open, the host refuses with
/// [`HostError::NobodyThere`], and the result waits.
#[derive(Debug, Clone)]
pub struct PiHost {
    peer: Peer,
    runs: RunBook,
    live: LiveBook,
}

impl PiHost {
    pub(super) fn new(peer: Peer, runs: RunBook, live: LiveBook) -> Self {
        Self { peer, runs, live }
    }

    /// What the sub-agent of a run said last, as far as it was heard here.
    pub fn words_of(&self, run: &RunId) -> String {
        self.live.words_of(run)
    }

    /// Shows a run in the session that asked for it.
    pub fn show_sight(&self, run: RunId, sight: RunSight) {
        self.peer.notify(&UiSight {
            session: self.runs.session_of(&run),
            run,
            sight,
        });
    }

    /// From now on this session takes the result of the run.
    pub fn hand_over(&self, run: RunId, session: SessionId) {
        self.runs.pages().heirs.insert(run, session);
    }

    /// What the host can say of each model; none where it says nothing.
    pub async fn check_models(&self, models: &[String]) -> Option<Vec<ModelStanding>> {
        let asked = ModelsCheck {
            models: models.to_vec(),
        };
        let checked = self.peer.ask(&asked).await.ok()?;
        Some(checked.standings).filter(|standings| standings.len() == models.len())
    }

    /// A notice that is more than good to know.
    pub fn warn(&self, text: String) {
        self.peer.notify(&UiNotice {
            level: NoticeLevel::Warning,
            text,
        });
    }
}

#[async_trait(?Send)]
impl Host for PiHost {
    fn belongs(&self, run: &RunId, session: &SessionId) {
        self.runs.remember(run.clone(), session.clone());
    }

    fn show(&self, progress: Progress) {
        self.live.progress(&progress);
        self.peer.notify(&UiProgress {
            session: self.runs.session_of(&progress.run),
            doing: progress.line(),
            run: progress.run,
            tool_calls: progress.tool_calls,
            at_ms: progress.at.0,
        });
    }

    fn glimpse(&self, glimpse: Glimpse) {
        self.live.glimpse(glimpse);
    }

    fn notice(&self, text: String) {
        self.peer.notify(&UiNotice {
            level: NoticeLevel::Info,
            text,
        });
    }

    async fn ask(&self, run: &RunId, question: String) -> Result<String, HostError> {
        let answer = self.runs.wait_for(run);
        let ask = QuestionAsk {
            run: run.clone(),
            session: self.runs.session_of(run),
            question,
        };
        let shown = self.peer.ask(&ask).await.map_err(host_error)?;
        if !shown.shown {
            return Err(HostError::NobodyThere);
        }
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => Err(HostError::Dismissed),
                Err(_asked_again) => Err(HostError::Refused("the question was asked again".into())),
            },
            () = self.peer.gone() => Err(HostError::Gone),
        }
    }

    async fn history(&self, messages_max: usize) -> Result<Vec<ChatMessage>, HostError> {
        let messages_max = u32::try_from(messages_max).unwrap_or(u32::MAX);
        let history = self
            .peer
            .ask(&SessionHistory { messages_max })
            .await
            .map_err(host_error)?;
        Ok(history.messages)
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        let run = delivery.run;
        let offer = DeliveryOffer {
            session: self.runs.session_of(&run),
            earlier_session: self.runs.has_heir(&run),
            run: run.clone(),
            state: delivery.state,
            answer: delivery.answer.map(|answer| cut_to_fit(&run, answer)),
            reason: delivery
                .reason
                .map(|reason| with_advice(&run, delivery.state, reason)),
            stopped_early: delivery.stopped_early,
            about: delivery.about.map(Into::into),
            sight: delivery.sight,
            changes: delivery.changes.map(|changes| (*changes).into()),
            receipt: delivery.receipt,
            whole: delivery.whole,
            chain: delivery.chain.map(|chain| chain.to_string()),
        };
        Ok(self.peer.ask(&offer).await.map_err(host_error)?.receipt)
    }

    async fn has(&self, run: &RunId) -> Result<bool, HostError> {
        let ask = SessionHasRun {
            run: run.clone(),
            session: self.runs.session_of(run),
        };
        Ok(self.peer.ask(&ask).await.map_err(host_error)?.has)
    }
}

/// A reason is read in several places; what can be done about it depends on the place.
fn with_advice(run: &RunId, state: TerminalState, mut reason: Reason) -> Reason {
    if let Some(advice) = advise(run, state, Some(reason.code), Reader::Pi) {
        reason.message = format!("{} {advice}", reason.message);
    }
    reason
}

fn host_error(failure: AskFailure) -> HostError {
    match failure {
        AskFailure::Gone => HostError::Gone,
        AskFailure::Error(error) if error.code == ErrorCode::NobodyThere.number() => HostError::NobodyThere,
        AskFailure::Error(error) => HostError::Refused(error.message),
        other => HostError::Refused(other.to_string()),
    }
}

/// What is too long for a line is cut where a character ends, and says so.
fn cut_to_fit(run: &RunId, mut answer: String) -> String {
    if answer.len() <= OFFERED_BYTES_MAX {
        return answer;
    }
    let bytes = answer.len();
    answer.truncate(answer.floor_char_boundary(OFFERED_BYTES_MAX));
    answer.push_str(&format!(
        "\n\n[cut here: the whole answer has {bytes} bytes; `impresario runs show {run} --answer` prints it]"
    ));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_cut_between_characters_and_says_so() {
        let answer = cut_to_fit(&RunId::new(1, 1), "é".repeat(OFFERED_BYTES_MAX));
        assert!(answer.len() < OFFERED_BYTES_MAX + 200);
        assert!(answer.contains("2097152 bytes"));
    }

    #[test]
    fn an_answer_that_fits_is_left_alone() {
        assert_eq!(cut_to_fit(&RunId::new(1, 1), "fine".into()), "fine");
    }
}
