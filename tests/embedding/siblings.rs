//! Sub-agents of one agent begin alike: the first fills the provider's cache, and the others read it.

use crate::audit::Audit;
use impresario::runtime::{CacheTerms, OfflineOr, ProviderModels, TerminalState};
use impresario::{Runtime, SubAgent};
use impresario_model_server::{ModelServer, Rule, Script, Turn, Usage};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::time::sleep;

const MODEL: &str = "anthropic/mock-1";
const SIBLINGS: usize = 4;
/// However slow the machine is, nobody gives up waiting before this.
const WITHIN: Duration = Duration::from_secs(60);

/// A runtime on a server whose answers wait at a gate: none begins before the test has looked.
struct Stage {
    server: ModelServer,
    runtime: Runtime,
    directory: TempDir,
}

impl Stage {
    async fn set() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let answer = Turn::text("Nothing there.").behind_gate("answers");
        let script = Script::new().rule(Rule::new("sub-agent").turn(answer).repeat());
        let server = ModelServer::start_blocking(script.caching()).expect("a server");
        let url = format!("http://127.0.0.1:{}/v1", server.port());
        let models = ProviderModels::new()
            .with_variable("ANTHROPIC_API_KEY", "key-of-the-test-0123456789")
            .with_variable("ANTHROPIC_BASE_URL", &url);
        let builder = Runtime::builder()
            .state_directory(directory.path().join("state"))
            .workspace(directory.path())
            .model(OfflineOr::new(models));
        let runtime = builder.start().await.expect("started");
        Self {
            server,
            runtime,
            directory,
        }
    }

    /// So many have asked the model, and so many wait for one that has: nobody is on the way any more.
    async fn see(&self, asked: usize, waiting: u64) {
        let deadline = Instant::now() + WITHIN;
        loop {
            let calls = self.server.ledger().calls().len();
            let counted = self.runtime.count_plans().await.expect("counted");
            if calls + counted.waiting as usize == SIBLINGS {
                assert_eq!((calls, counted.waiting), (asked, waiting));
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{calls} asked, {} wait",
                counted.waiting
            );
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// What the requests of siblings are charged that wait so long; first `asked` of them come, and the others wait.
    async fn charged(self, wait: Duration, asked: usize) -> Vec<Usage> {
        let _audit = Audit::of(self.directory.path().join("state"));
        let terms = CacheTerms {
            sibling_wait_ms: wait.as_millis() as u64,
            ..CacheTerms::default()
        };
        let mut runs = Vec::new();
        for number in 0..SIBLINGS {
            let task = SubAgent::explore(format!("Look into corner {number}."));
            let task = task.unjudged().chain([MODEL]).cache(terms);
            runs.push(self.runtime.spawn(task).await.expect("accepted"));
        }
        self.see(asked, (SIBLINGS - asked) as u64).await;
        self.server.open_gate("answers");
        for run in &runs {
            let outcome = run.outcome().await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        }
        self.runtime.shutdown().await.expect("shut down");
        let calls = self.server.ledger().calls();
        let began = &calls[0].body["system"];
        assert!(calls.iter().all(|call| &call.body["system"] == began));
        let said = calls.iter().map(|call| call.said.as_ref().expect("an answer"));
        said.map(|said| said.usage).collect()
    }
}

#[tokio::test]
async fn the_first_of_several_fills_the_cache_and_the_others_read_it() {
    let charged = Stage::set().await.charged(WITHIN, 1).await;
    let (first, others) = charged.split_first().expect("charged");
    assert!(first.cache_write >= 1_024 && first.cache_read == 0, "{first:?}");
    // What is behind the shared beginning, the task, is short.
    let shared = first.cache_write - 100;
    assert_eq!(others.len(), SIBLINGS - 1);
    for used in others {
        assert!(used.cache_read * 10 >= shared * 9, "{used:?} of {shared} shared");
    }
}

#[tokio::test]
async fn where_nobody_waits_everybody_pays_for_the_beginning() {
    let charged = Stage::set().await.charged(Duration::ZERO, SIBLINGS).await;
    assert!(charged.iter().all(|used| used.cache_read == 0), "{charged:?}");
}
