//! How many work at a time, as a program sets it and as its settings do: on the real tree, with the embedded runner.

use crate::audit::Audit;
use crate::playing::{says, within};
use impresario::runtime::{
    AdmissionTerms, ModelClient, ModelError, ModelReply, ModelRequest, OfflineOr, TerminalState, async_trait,
};
use impresario::{Runtime, RuntimeBuilder, SubAgent};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// Answers when it is told to; knows how many calls of each provider were under way at a time.
#[derive(Clone)]
struct Counting {
    go: Arc<Semaphore>,
    now: Arc<Mutex<BTreeMap<String, usize>>>,
    most: Arc<Mutex<BTreeMap<String, usize>>>,
    began: tokio::sync::mpsc::UnboundedSender<String>,
}

#[async_trait(?Send)]
impl ModelClient for Counting {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let provider = request.model.split('/').next().unwrap_or_default().to_string();
        {
            let mut now = self.now.lock().expect("unpoisoned");
            let (mut most, count) = (self.most.lock().expect("unpoisoned"), now.entry(provider.clone()));
            let count = count.or_default();
            *count += 1;
            let known = most.entry(provider.clone()).or_default();
            *known = (*known).max(*count);
        }
        let _ = self.began.send(provider.clone());
        let allowed = self.go.acquire().await.expect("open");
        allowed.forget();
        *self.now.lock().expect("unpoisoned").entry(provider).or_default() -= 1;
        Ok(says("the answer"))
    }
}

struct Stage {
    _audit: Audit,
    _directory: TempDir,
    models: Counting,
    began: tokio::sync::mpsc::UnboundedReceiver<String>,
    runtime: Runtime,
}

impl Stage {
    async fn with(set: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (sender, began) = tokio::sync::mpsc::unbounded_channel();
        let models = Counting {
            go: Arc::new(Semaphore::new(0)),
            now: Arc::default(),
            most: Arc::default(),
            began: sender,
        };
        let builder = Runtime::builder()
            .state_directory(directory.path().join("state"))
            .workspace(directory.path())
            .model(OfflineOr::new(models.clone()));
        Self {
            _audit: Audit::of(directory.path().join("state")),
            runtime: set(builder).start().await.expect("started"),
            _directory: directory,
            models,
            began,
        }
    }

    /// The providers of the next calls that begin.
    async fn begin(&mut self, count: usize) -> Vec<String> {
        let mut began = Vec::new();
        for _ in 0..count {
            began.push(within(self.began.recv()).await.expect("a call"));
        }
        began.sort();
        began
    }

    fn most(&self, provider: &str) -> usize {
        let most = self.models.most.lock().expect("unpoisoned");
        most.get(provider).copied().unwrap_or(0)
    }
}

fn on(model: &str, width: u32, provider_width: u32) -> SubAgent {
    let terms = AdmissionTerms {
        width,
        provider_width,
        ..AdmissionTerms::default()
    };
    SubAgent::explore("Look.")
        .unjudged()
        .chain([model])
        .admission(terms)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_provider_holds_up_nobody_who_calls_another() {
    let mut stage = Stage::with(|builder| builder).await;
    let mut runs = Vec::new();
    for model in ["a/one", "a/two", "a/one", "b/three"] {
        let run = stage.runtime.spawn(on(model, 8, 1)).await.expect("accepted");
        runs.push(run);
    }
    assert_eq!(stage.begin(2).await, ["a", "b"]);
    stage.models.go.add_permits(4);
    for run in runs {
        let outcome = within(run.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    }
    assert_eq!(stage.most("a"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_program_says_of_the_width_holds_over_what_is_set() {
    let mut stage = Stage::with(|builder| builder.width(3)).await;
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(stage.runtime.spawn(on("a/one", 1, 0)).await.expect("accepted"));
    }
    stage.begin(3).await;
    stage.models.go.add_permits(4);
    for run in runs {
        within(run.outcome()).await.expect("an outcome");
    }
    assert_eq!(stage.most("a"), 3);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn without_free_memory_they_work_one_after_the_other() {
    let mut stage = Stage::with(|builder| builder).await;
    let terms = AdmissionTerms {
        width: 8,
        memory_kept_free: u64::MAX / 2,
        ..AdmissionTerms::default()
    };
    let mut runs = Vec::new();
    for _ in 0..3 {
        let sub_agent = on("a/one", 8, 0).admission(terms);
        runs.push(stage.runtime.spawn(sub_agent).await.expect("accepted"));
    }
    stage.begin(1).await;
    stage.models.go.add_permits(3);
    for run in runs {
        let outcome = within(run.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    }
    assert_eq!(stage.most("a"), 1);
}
