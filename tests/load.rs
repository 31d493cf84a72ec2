//! What a program can rely on when many runs come at once.

mod audit;

use audit::Audit;
use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, ModelUsage, RunFilter, RunState, TerminalState,
    async_trait,
};
use impresario::{Runtime, SubAgent};
use std::path::Path;

/// More than a mailbox, its line and the channel into the runtime hold together.
const AT_ONCE: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn all_who_spawn_at_once_are_accepted_and_hear_how_it_ended() {
    let place = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(place.path());
    let runtime = started(place.path(), 50).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_parks_all_who_wait() {
    const WAITING: usize = 1_000;
    let place = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(place.path());
    let runtime = started(place.path(), 2).await;
    let spawned = (0..WAITING).map(|_| {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.spawn(question("silent")).await })
    });
    for accepted in spawned.collect::<Vec<_>>() {
        accepted.await.expect("no panic").expect("accepted");
    }
    runtime.shutdown().await.expect("stopped");
    let runtime = started(place.path(), 2).await;
    let all = RunFilter {
        newest: usize::MAX,
        ..RunFilter::default()
    };
    let runs = runtime.runs(all).await.expect("a list");
    let parked = runs.iter().filter(|run| run.state == RunState::Parked);
    assert_eq!((parked.count(), runs.len()), (WAITING, WAITING));
    runtime.shutdown().await.expect("stopped");
}

async fn started(directory: &Path, width: usize) -> Runtime {
    let runtime = Runtime::builder()
        .state_directory(directory)
        .workspace("/")
        .width(width)
        .model(Sure);
    runtime.start().await.expect("started")
}

fn question(model: &str) -> SubAgent {
    SubAgent::explore("What is the answer?").unjudged().chain([model])
}

/// A model that answers at once, or not at all.
struct Sure;

#[async_trait(?Send)]
impl ModelClient for Sure {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        if request.model == "silent" {
            return std::future::pending().await;
        }
        Ok(ModelReply {
            text: "42".to_string(),
            tool_calls: Vec::new(),
            usage: ModelUsage::default(),
            served: None,
        })
    }
}
