//! What a program can rely on when many runs come at once.

use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, ModelUsage, TerminalState, async_trait,
};
use impresario::{Runtime, SubAgent};

/// More than a mailbox, its line and the channel into the runtime hold together.
const AT_ONCE: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn all_who_spawn_at_once_are_accepted_and_hear_how_it_ended() {
    let place = tempfile::tempdir().expect("a directory");
    let runtime = Runtime::builder()
        .state_directory(place.path())
        .workspace("/")
        .width(50)
        .model(Sure)
        .start()
        .await
        .expect("started");
    let spawned = (0..AT_ONCE).map(|_| {
        let runtime = runtime.clone();
        tokio::spawn(async move {
            let question = SubAgent::explore("What is the answer?")
                .unjudged()
                .chain(["sure"]);
            runtime.spawn(question).await
        })
    });
    let mut runs = Vec::new();
    for accepted in spawned.collect::<Vec<_>>() {
        runs.push(accepted.await.expect("no panic").expect("accepted"));
    }
    let outcomes = runs
        .into_iter()
        .map(|run| tokio::spawn(async move { run.outcome().await }));
    for outcome in outcomes.collect::<Vec<_>>() {
        let outcome = outcome.await.expect("no panic").expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        assert_eq!(outcome.answer.as_deref(), Some("42"));
    }
    runtime.shutdown().await.expect("stopped");
}

/// A model that answers at once.
struct Sure;

#[async_trait(?Send)]
impl ModelClient for Sure {
    async fn complete(&self, _: ModelRequest) -> Result<ModelReply, ModelError> {
        Ok(ModelReply {
            text: "42".to_string(),
            tool_calls: Vec::new(),
            usage: ModelUsage::default(),
        })
    }
}
