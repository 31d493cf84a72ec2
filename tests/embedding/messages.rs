//! A run that is told something while it works: before its next call of the model, once, or never.

use crate::audit::Audit;
use crate::playing::{calls, says, until, within};
use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, Step, TerminalState, async_trait,
};
use impresario::{MessageFate, Run, Runtime, RuntimeError, SubAgent};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{Semaphore, mpsc};

/// Says what it was given, each time it is let; tells what it was asked.
struct Held {
    replies: Mutex<VecDeque<ModelReply>>,
    asked: mpsc::UnboundedSender<Vec<String>>,
    may: Arc<Semaphore>,
}

#[async_trait(?Send)]
impl ModelClient for Held {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let told = request.messages.iter();
        let told = told.filter(|message| message.role == ModelRole::User);
        let told = told.map(|message| message.text.clone()).collect();
        self.asked.send(told).expect("the test listens");
        self.may.acquire().await.expect("open").forget();
        let reply = self.replies.lock().expect("whole").pop_front();
        Ok(reply.expect("a reply"))
    }
}

struct Talk {
    _audit: Audit,
    directory: TempDir,
    runtime: Runtime,
    run: Run,
    asked: mpsc::UnboundedReceiver<Vec<String>>,
    may: Arc<Semaphore>,
}

impl Talk {
    /// Its sub-agent is in its first call of the model.
    async fn begin(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = directory.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        let (sender, asked) = mpsc::unbounded_channel();
        let may = Arc::new(Semaphore::new(0));
        let model = Held {
            replies: Mutex::new(replies.into_iter().collect()),
            asked: sender,
            may: may.clone(),
        };
        let builder = Runtime::builder().state_directory(directory.path().join("state"));
        let builder = builder.workspace(workspace).model(model);
        let runtime = builder.start().await.expect("started");
        let sub_agent = SubAgent::explore("Where is it decided?").unjudged();
        let run = runtime
            .spawn(sub_agent.chain(["house/one"]))
            .await
            .expect("accepted");
        let mut talk = Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            runtime,
            run,
            asked,
            may,
        };
        talk.next_call().await;
        talk
    }

    /// What the sub-agent's model is told next.
    async fn next_call(&mut self) -> Vec<String> {
        within(self.asked.recv()).await.expect("a call of the model")
    }

    fn let_it_say(&self) {
        self.may.add_permits(1);
    }

    async fn ends_with(&self, answer: &str) {
        let outcome = within(self.run.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        assert_eq!(outcome.answer.as_deref(), Some(answer));
        assert_eq!(outcome.projection.contradictions, []);
    }
}

#[tokio::test]
async fn a_run_is_told_before_its_next_call_of_the_model() {
    let mut talk = Talk::begin([calls("a", "ls", json!({})), says("done")]).await;
    let message = within(talk.run.steer("leave src alone")).await.expect("taken");
    assert_eq!(message.fate().await, Ok(MessageFate::Queued));
    talk.let_it_say();
    let told = talk.next_call().await;
    let last = told.last().expect("a message");
    assert!(
        last.contains(&message.id().to_string()) && last.contains("leave src alone"),
        "{last}"
    );
    assert_eq!(within(message.delivered()).await, Ok(MessageFate::Delivered));
    talk.let_it_say();
    talk.ends_with("done").await;
    assert_eq!(message.fate().await, Ok(MessageFate::Delivered));
    talk.runtime.shutdown().await.expect("stopped");
}

#[tokio::test]
async fn what_comes_during_its_last_word_is_heard_too_and_a_question_is_answered() {
    let mut talk = Talk::begin([says("That was it."), says("Half way."), says("All of it.")]).await;
    let question = within(talk.run.ask("how far are you?")).await.expect("taken");
    talk.let_it_say();
    let told = talk.next_call().await;
    assert!(
        told.last().expect("a message").contains("how far are you?"),
        "{told:?}"
    );
    let more = within(talk.run.steer("say all of it")).await.expect("taken");
    talk.let_it_say();
    assert_eq!(within(question.answer()).await, Ok(Some("Half way.".to_string())));
    let told = talk.next_call().await;
    assert!(
        told.last().expect("a message").contains("say all of it"),
        "{told:?}"
    );
    talk.let_it_say();
    talk.ends_with("All of it.").await;
    assert_eq!(question.fate().await, Ok(MessageFate::Answered));
    assert_eq!(more.fate().await, Ok(MessageFate::Delivered));
    talk.runtime.shutdown().await.expect("stopped");
}

#[tokio::test]
async fn what_no_sub_agent_heard_has_expired_with_its_run() {
    let talk = Talk::begin([]).await;
    let message = within(talk.run.ask("how far are you?")).await.expect("taken");
    talk.run.cancel("the test").await.expect("cancelled");
    assert_eq!(within(message.delivered()).await, Ok(MessageFate::Expired));
    assert_eq!(within(message.answer()).await, Ok(None));
    let late = within(talk.run.steer("too late")).await;
    let Err(RuntimeError::MessageRefused(reason)) = late else {
        panic!("{late:?}")
    };
    assert!(reason.message.contains("ended already: cancelled"), "{reason:?}");
    talk.runtime.shutdown().await.expect("stopped");
}

#[tokio::test]
async fn another_runtime_tells_a_run_by_the_one_that_drives_it() {
    let mut talk = Talk::begin([calls("a", "ls", json!({})), says("done")]).await;
    let other = Runtime::builder().state_directory(talk.directory.path().join("state"));
    let other = other.start().await.expect("started");
    let message = other.run(talk.run.id().clone());
    let message = within(message.steer("from elsewhere")).await.expect("taken");
    assert_eq!(message.fate().await, Ok(MessageFate::Queued));
    let refused = within(other.run(talk.run.id().clone()).steer(" ")).await;
    assert!(
        matches!(refused, Err(RuntimeError::MessageRefused(_))),
        "{refused:?}"
    );
    talk.let_it_say();
    let told = talk.next_call().await;
    assert!(
        told.last().expect("a message").contains("from elsewhere"),
        "{told:?}"
    );
    assert_eq!(within(message.delivered()).await, Ok(MessageFate::Delivered));
    talk.let_it_say();
    talk.ends_with("done").await;
    let left = std::fs::read_dir(talk.directory.path().join("state/wishes")).expect("it is there");
    assert_eq!(left.count(), 0, "nothing lies about");
    other.shutdown().await.expect("stopped");
    talk.runtime.shutdown().await.expect("stopped");
}

/// The second attempt has a conversation of its own: what the first one was told is told there too.
#[tokio::test]
async fn a_conversation_that_begins_anew_has_what_the_run_was_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(directory.path().join("state"));
    let (sender, mut asked) = mpsc::unbounded_channel();
    let may = Arc::new(Semaphore::new(0));
    let model = Falls(Held {
        replies: Mutex::new(VecDeque::from([says("First."), says("done")])),
        asked: sender,
        may: may.clone(),
    });
    let builder = Runtime::builder().state_directory(directory.path().join("state"));
    let builder = builder.workspace(directory.path()).model(model);
    let runtime = builder.start().await.expect("started");
    let sub_agent = SubAgent::explore("Where is it decided?").unjudged();
    let sub_agent = sub_agent
        .chain(["house/one", "house/two"])
        .tries_per_model(1, Duration::from_millis(1));
    let run = runtime.spawn(sub_agent).await.expect("accepted");
    within(asked.recv()).await.expect("a call");
    let message = within(run.steer("leave src alone")).await.expect("taken");
    may.add_permits(1);
    // The second call of the first model is refused for good, and the next model begins from nothing.
    until(
        &run,
        |step| matches!(step, Step::MessageDelivered { attempt, .. } if attempt.0 == 2),
    )
    .await;
    may.add_permits(1);
    let outcome = within(run.outcome()).await.expect("an outcome");
    assert_eq!(outcome.answer.as_deref(), Some("done"));
    let known = outcome.projection.message(message.id()).expect("it is known");
    assert_eq!(known.delivered.expect("delivered").0.0, 2);
    assert_eq!(outcome.projection.contradictions, []);
    let mut last = Vec::new();
    while let Ok(told) = asked.try_recv() {
        last = told;
    }
    let told = last
        .iter()
        .filter(|text| text.contains("leave src alone"))
        .count();
    assert_eq!(told, 1, "{last:?}");
    runtime.shutdown().await.expect("stopped");
}

/// Its first model is gone for good once it was told something.
struct Falls(Held);

#[async_trait(?Send)]
impl ModelClient for Falls {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let told = request
            .messages
            .iter()
            .any(|message| message.text.contains("leave src alone"));
        if told && request.model == "house/one" {
            return Err(ModelError::Unavailable("gone".to_string()));
        }
        self.0.complete(request).await
    }
}
