//! Sub-agents of one agent begin alike: the first fills the provider's cache, and the others read it.

use crate::audit::Audit;
use impresario::runtime::{CacheTerms, OfflineOr, ProviderModels, TerminalState};
use impresario::{Runtime, SubAgent};
use impresario_model_server::{Call, ModelServer, Rule, Script, Turn, Usage};
use std::time::Duration;
use tempfile::TempDir;

const MODEL: &str = "anthropic/mock-1";
const SIBLINGS: usize = 4;
const WITHIN: Duration = Duration::from_secs(60);

async fn start(directory: &TempDir, server: &ModelServer) -> Runtime {
    let url = format!("http://127.0.0.1:{}/v1", server.port());
    let models = ProviderModels::new()
        .with_variable("ANTHROPIC_API_KEY", "key-of-the-test-0123456789")
        .with_variable("ANTHROPIC_BASE_URL", &url);
    let builder = Runtime::builder()
        .state_directory(directory.path().join("state"))
        .workspace(directory.path())
        .model(OfflineOr::new(models));
    builder.start().await.expect("started")
}

/// Their answers wait at a gate: none begins before the test has looked.
fn script() -> Script {
    let answer = Turn::text("Nothing there.").behind_gate("answers");
    Script::new()
        .rule(Rule::new("sub-agent").turn(answer).repeat())
        .caching()
}

/// However slow the machine is, the others wait for the first.
fn patient() -> CacheTerms {
    CacheTerms {
        sibling_wait_ms: WITHIN.as_millis() as u64,
        ..CacheTerms::default()
    }
}

fn usage(call: &Call) -> Usage {
    call.said.as_ref().expect("an answer").usage
}

#[tokio::test]
async fn the_first_of_several_fills_the_cache_and_the_others_read_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(directory.path().join("state"));
    let server = ModelServer::start_blocking(script()).expect("a server");
    let runtime = start(&directory, &server).await;
    let mut runs = Vec::new();
    for number in 0..SIBLINGS {
        let task = SubAgent::explore(format!("Look into corner {number}."))
            .unjudged()
            .chain([MODEL]);
        runs.push(runtime.spawn(task.cache(patient())).await.expect("accepted"));
    }
    let ledger = server.ledger().clone();
    let one_came = tokio::task::spawn_blocking(move || ledger.wait_until(WITHIN, |calls| !calls.is_empty()));
    assert!(one_came.await.expect("waited"), "nobody called");
    server.open_gate("answers");
    for run in &runs {
        let outcome = run.outcome().await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    }
    let calls = server.ledger().calls();
    assert_eq!(calls.len(), SIBLINGS);
    let first = usage(&calls[0]);
    let began = &calls[0].body["system"];
    assert!(calls.iter().all(|call| &call.body["system"] == began));
    assert!(first.cache_write >= 1_024 && first.cache_read == 0, "{first:?}");
    // What is behind the shared beginning, the task, is short.
    let shared = first.cache_write - 100;
    for call in &calls[1..] {
        let used = usage(call);
        assert!(used.cache_read * 10 >= shared * 9, "{used:?} of {shared} shared");
    }
    runtime.shutdown().await.expect("shut down");
}
