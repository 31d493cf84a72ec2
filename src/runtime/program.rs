//! Models and hosts of the program, each call on a thread of the program's own.
//!
//! What comes back from there has limits: one reply cannot fill the memory of everybody.

use async_trait::async_trait;
use impresario_actors::gateways::{
    ChatMessage, Delivery, DeliveryReceipt, Glimpse, Host, HostError, ModelClient, ModelError, ModelReply,
    ModelRequest, Progress, TextDeltas,
};
use impresario_actors::program::{CallLost, ProgramThreads};
use impresario_policies::domain::{RunId, SessionId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A model as threads may share it.
pub(super) type SharedModel = Arc<dyn ModelClient + Send + Sync>;
/// A host as threads may share it.
pub(super) type SharedHost = Arc<dyn Host + Send + Sync>;

/// Text and arguments of one reply, together.
const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What a model says of a failure, in bytes; the rest is cut.
const WHY_BYTES_MAX: usize = 4 * 1024;
/// What was shown to a host that is busy; what is beyond is dropped.
const SHOWN_AHEAD_MAX: usize = 1024;

/// Calls the program's model.
pub(super) struct ProgramModel {
    model: SharedModel,
    threads: ProgramThreads,
}

impl ProgramModel {
    pub(super) fn new(model: SharedModel, threads: ProgramThreads) -> Self {
        Self { model, threads }
    }
}

#[async_trait(?Send)]
impl ModelClient for ProgramModel {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let (nobody, _) = mpsc::channel(1);
        self.stream(request, nobody).await
    }

    /// On our own thread: it is only asked what it is.
    fn marks_prompts(&self, model: &str) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.model.marks_prompts(model))).unwrap_or(false)
    }

    async fn stream(&self, request: ModelRequest, text: TextDeltas) -> Result<ModelReply, ModelError> {
        let model = Arc::clone(&self.model);
        let reply = self
            .threads
            .call(move || async move { bounded(model.stream(request, text).await) });
        reply
            .await
            .unwrap_or_else(|lost| Err(ModelError::Unavailable(format!("the program's model: {lost}"))))
    }
}

fn bounded(reply: Result<ModelReply, ModelError>) -> Result<ModelReply, ModelError> {
    let reply = reply.map_err(short)?;
    let arguments = reply
        .tool_calls
        .iter()
        .map(|call| call.arguments.to_string().len());
    let bytes = reply.text.len() + arguments.sum::<usize>();
    if bytes > REPLY_BYTES_MAX {
        return Err(ModelError::Unavailable(format!(
            "its reply has {bytes} bytes; {REPLY_BYTES_MAX} are the most that one reply may have"
        )));
    }
    Ok(reply)
}

fn short(error: ModelError) -> ModelError {
    let cut = |mut why: String| {
        why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
        why
    };
    match error {
        ModelError::Unavailable(why) => ModelError::Unavailable(cut(why)),
        ModelError::RateLimited(why) => ModelError::RateLimited(cut(why)),
        ModelError::Authentication(why) => ModelError::Authentication(cut(why)),
        ModelError::ContextOverflow(why) => ModelError::ContextOverflow(cut(why)),
        ModelError::UnknownModel(why) => ModelError::UnknownModel(cut(why)),
        ModelError::Refused(why) => ModelError::Refused(cut(why)),
    }
}

/// Speaks to the program's host. What is shown goes over one thread, in its order; whatever waits for an answer waits
/// until that has been shown, and has a thread of its own.
pub(super) struct ProgramHost {
    host: SharedHost,
    threads: ProgramThreads,
    shown: mpsc::Sender<Shown>,
}

/// What a host is told without an answer.
enum Shown {
    Belongs(RunId, SessionId),
    Progress(Progress),
    Glimpse(Glimpse),
    Notice(String),
    /// Everything before this has been shown.
    UpToHere(oneshot::Sender<()>),
}

impl ProgramHost {
    pub(super) fn new(host: SharedHost, threads: ProgramThreads) -> Self {
        let (shown, receiver) = mpsc::channel(SHOWN_AHEAD_MAX);
        let shows = Arc::clone(&host);
        threads.keep_busy(move || show_all(&*shows, receiver));
        Self { host, threads, shown }
    }

    fn tell(&self, what: Shown) {
        if self.shown.try_send(what).is_err() {
            tracing::debug!("the host is behind; something was not shown");
        }
    }

    async fn answer<T, F>(&self, ask: impl FnOnce(SharedHost) -> F + Send + 'static) -> Result<T, HostError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, HostError>>,
    {
        let (told, shown) = oneshot::channel();
        let _ = self.shown.send(Shown::UpToHere(told)).await;
        let _ = shown.await;
        let host = Arc::clone(&self.host);
        let answer = self.threads.call(move || ask(host)).await;
        answer.unwrap_or_else(|lost| match lost {
            CallLost::Panicked(_) => Err(HostError::Refused(lost.to_string())),
            CallLost::Stopped => Err(HostError::Gone),
        })
    }
}

/// Until nobody can say any more.
fn show_all(host: &(dyn Host + Send + Sync), mut shown: mpsc::Receiver<Shown>) {
    while let Some(what) = shown.blocking_recv() {
        let show = AssertUnwindSafe(|| match what {
            Shown::Belongs(run, session) => host.belongs(&run, &session),
            Shown::Progress(progress) => host.show(progress),
            Shown::Glimpse(glimpse) => host.glimpse(glimpse),
            Shown::Notice(text) => host.notice(text),
            Shown::UpToHere(told) => drop(told.send(())),
        });
        if std::panic::catch_unwind(show).is_err() {
            tracing::error!("the program's host panicked; it is shown what comes next");
        }
    }
}

#[async_trait(?Send)]
impl Host for ProgramHost {
    fn belongs(&self, run: &RunId, session: &SessionId) {
        self.tell(Shown::Belongs(run.clone(), session.clone()));
    }

    fn show(&self, progress: Progress) {
        self.tell(Shown::Progress(progress));
    }

    fn glimpse(&self, glimpse: Glimpse) {
        self.tell(Shown::Glimpse(glimpse));
    }

    fn notice(&self, text: String) {
        self.tell(Shown::Notice(text));
    }

    async fn ask(&self, run: &RunId, question: String) -> Result<String, HostError> {
        let run = run.clone();
        self.answer(move |host| async move { host.ask(&run, question).await })
            .await
    }

    async fn history(&self, messages_max: usize) -> Result<Vec<ChatMessage>, HostError> {
        self.answer(move |host| async move { host.history(messages_max).await })
            .await
    }

    async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
        self.answer(move |host| async move { host.deliver(delivery).await })
            .await
    }

    async fn has(&self, run: &RunId) -> Result<bool, HostError> {
        let run = run.clone();
        self.answer(move |host| async move { host.has(&run).await }).await
    }
}
