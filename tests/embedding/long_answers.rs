//! Answers that are longer than what whoever asked is given.

use crate::audit::Audit;
use crate::playing::{run, says};
use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, OfflineOr, Retention, TerminalState, UnixMillis,
    WholeAnswer, async_trait,
};
use impresario::{Outcome, Runtime, SubAgent};
use tempfile::TempDir;

/// Says the same to everybody.
#[derive(Clone)]
struct Says(String);

#[async_trait(?Send)]
impl ModelClient for Says {
    async fn complete(&self, _: ModelRequest) -> Result<ModelReply, ModelError> {
        Ok(says(&self.0))
    }
}

fn report() -> String {
    let lines = (1..=60_000).map(|number| format!("Line {number} of it.\n"));
    format!("It begins.\n{}It ends.", lines.collect::<String>())
}

async fn start(directory: &TempDir, words: &str) -> Runtime {
    let builder = Runtime::builder()
        .state_directory(directory.path().join("state"))
        .workspace(directory.path())
        .model(OfflineOr::new(Says(words.to_string())));
    builder.start().await.expect("started")
}

async fn answered(runtime: &Runtime) -> Outcome {
    let asked = SubAgent::explore("Tell me everything.")
        .unjudged()
        .chain(["house/a"]);
    let outcome = run(runtime, asked).await;
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    outcome
}

#[tokio::test]
async fn an_answer_that_is_cut_is_whole_in_a_file_until_its_run_is_forgotten() {
    let directory = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(directory.path().join("state"));
    let report = report();
    let runtime = start(&directory, &report).await;
    let outcome = answered(&runtime).await;
    let shown = outcome.answer.as_deref().expect("an answer");
    assert!(shown.len() < 130_000 && shown.starts_with("It begins.") && shown.ends_with("It ends."));
    assert_eq!(outcome.whole_answer().expect("it is there"), report);
    let Some(WholeAnswer::Kept { file, bytes }) = &outcome.whole else {
        panic!("it is kept: {:?}", outcome.whole);
    };
    assert_eq!(*bytes, report.len() as u64);
    // Another life of the runtime knows of it, and forgets nothing that is in the journal.
    runtime.shutdown().await.expect("stopped");
    let runtime = start(&directory, &report).await;
    let again = runtime
        .run(outcome.run.clone())
        .outcome()
        .await
        .expect("an outcome");
    assert_eq!(again.whole_answer().expect("it is there"), report);
    let ended = again.projection.ended.as_ref().expect("it ended");
    let later = UnixMillis(ended.at_ms + 60_000);
    let retention = Retention {
        acknowledged_before: later,
        abandoned_before: later,
        keep_newest: 0,
    };
    assert_eq!(runtime.prune(retention).await.expect("pruned").runs, 1);
    assert!(!file.exists(), "it went with its run");
    assert!(again.whole_answer().is_err());
    runtime.shutdown().await.expect("stopped");
}

#[tokio::test]
async fn an_answer_that_is_not_cut_is_all_there_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(directory.path().join("state"));
    let runtime = start(&directory, "It is short.").await;
    let outcome = answered(&runtime).await;
    assert_eq!(outcome.whole, None);
    assert_eq!(outcome.whole_answer().expect("it is there"), "It is short.");
    let kept = std::fs::read_dir(directory.path().join("state/answers")).expect("a directory");
    assert_eq!(kept.count(), 0);
    runtime.shutdown().await.expect("stopped");
}
