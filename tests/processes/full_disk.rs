//! What a disk without room does to a program that embeds the runtime, with a real limit of the operating system.
//!
//! The limit is one on the size of files that a process may write, which needs no rights and reaches the journal through
//! the same calls as a full disk. It holds for the whole process, so every story is a process of its own.

use crate::audit::Audit;
use impresario::runtime::{
    EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ModelUsage, OfflineOr,
    ReasonCode, Replay, RunFilter, RunState, Step, TerminalState, ToolCall, ToolContext, ToolDefinition,
    async_trait,
};
use impresario::{Run, Runtime, RuntimeError, SubAgent};
use impresario_test_support::waiting::PATIENCE;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;

const STORY: &str = "FULL_DISK_STORY";
/// Longer than any series of quick tries.
const FULL_FOR: Duration = Duration::from_secs(5);

#[test]
fn with_room_again_runs_go_on_and_new_ones_are_taken() {
    tell(
        "full_disk::with_room_again_runs_go_on_and_new_ones_are_taken",
        || async {
            let scene = Scene::start().await;
            let run = scene.spawn("house/asked").await;
            fill_disk();
            scene.refuses_new_ones().await;
            // The tool's start has to be on disk before the tool runs.
            scene.ask.notify_one();
            tokio::time::sleep(FULL_FOR).await;
            assert_eq!(
                scene.calls.load(Ordering::SeqCst),
                0,
                "a tool ran that is not in the journal"
            );
            make_room();
            let outcome = within(run.outcome()).await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
            assert_eq!(outcome.answer.as_deref(), Some("the tool said: counted to 1"));
            assert_eq!(outcome.projection.contradictions, []);
            assert_eq!(outcome.projection.attempts.len(), 1);
            let next = scene.spawn("house/asked").await;
            scene.ask.notify_one();
            let outcome = within(next.outcome()).await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Succeeded);
            within(scene.runtime.shutdown()).await.expect("stopped");
        },
    );
}

#[test]
fn without_room_a_run_ends_within_its_clock_and_its_end_is_written_later() {
    tell(
        "full_disk::without_room_a_run_ends_within_its_clock_and_its_end_is_written_later",
        || async {
            let scene = Scene::start().await;
            // Long enough for the run to be at work before its clock runs out.
            let short = SubAgent::explore("Count.").timeout(Duration::from_secs(10));
            let run = scene.spawn_like(short, "house/asked").await;
            let mut events = run.events();
            fill_disk();
            scene.ask.notify_one();
            let outcome = within(run.outcome()).await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Parked);
            let reason = outcome.reason.expect("a reason");
            assert_eq!(reason.code, ReasonCode::JournalUnwritable, "{}", reason.message);
            assert_eq!(outcome.proof, None, "its end is not in the journal");
            while within(events.next()).await.is_some() {}
            assert!(
                within(run.events().next()).await.is_some(),
                "what is on disk can be read"
            );
            assert_eq!(within(run.cancel("the test")).await, Ok(false));
            // Its room is free: another one does not wait for it, but for the disk.
            scene.refuses_new_ones().await;

            make_room();
            let settled = within(scene.until_settled(&run)).await;
            assert_eq!(settled, (RunState::Parked, Some(ReasonCode::JournalUnwritable)));
            let outcome = within(run.outcome()).await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Parked);
            assert!(outcome.proof.is_some());
            assert_eq!(outcome.projection.contradictions, []);
            let next = scene.spawn("house/asked").await;
            scene.ask.notify_one();
            let outcome = within(next.outcome()).await.expect("an outcome");
            assert_eq!(outcome.state, TerminalState::Succeeded);
            assert_eq!(
                scene.calls.load(Ordering::SeqCst),
                1,
                "a tool ran that is not in the journal"
            );
            within(scene.runtime.shutdown()).await.expect("stopped");
        },
    );
}

#[test]
fn a_cancelled_run_does_not_wait_for_room() {
    tell("full_disk::a_cancelled_run_does_not_wait_for_room", || async {
        let scene = Scene::start().await;
        let run = scene.spawn("house/asked").await;
        fill_disk();
        assert_eq!(within(run.cancel("the test")).await, Ok(true));
        let outcome = within(run.outcome()).await.expect("an outcome");
        let reason = outcome.reason.expect("a reason");
        assert_eq!(reason.code, ReasonCode::JournalUnwritable, "{}", reason.message);
        assert!(
            reason.message.contains("asked to stop by the test"),
            "{}",
            reason.message
        );
        make_room();
        within(scene.until_settled(&run)).await;
        within(scene.runtime.shutdown()).await.expect("stopped");
    });
}

#[test]
fn a_shutdown_does_not_wait_for_room() {
    tell("full_disk::a_shutdown_does_not_wait_for_room", || async {
        let scene = Scene::start().await;
        let run = scene.spawn("house/asked").await;
        fill_disk();
        within(scene.runtime.shutdown()).await.expect("stopped");
        make_room();

        let next = scene.restart().await;
        let parked = within(next.run(run.id().clone()).outcome())
            .await
            .expect("an outcome");
        assert_eq!(parked.state, TerminalState::Parked);
        within(next.shutdown()).await.expect("stopped");
    });
}

/// Plays a story in a process of its own, which hears of the limit as an error and not as a signal.
fn tell<Story: Future<Output = ()>>(name: &str, story: impl FnOnce() -> Story) {
    if std::env::var(STORY).is_ok_and(|told| told == name) {
        let tokio = tokio::runtime::Runtime::new().expect("tokio");
        return tokio.block_on(story());
    }
    let ourselves = std::env::current_exe().expect("our own program");
    let told = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(ourselves)
        .arg(name)
        .env(STORY, name)
        .output()
        .expect("a process");
    let said = [told.stdout, told.stderr].concat();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// No file can be written any more; pipes can.
fn fill_disk() {
    limit(Some(1));
}

fn make_room() {
    limit(None);
}

fn limit(bytes_max: Option<u64>) {
    let hard = getrlimit(Resource::Fsize).maximum;
    let limited = Rlimit {
        current: bytes_max.or(hard),
        maximum: hard,
    };
    setrlimit(Resource::Fsize, limited).expect("a limit of our own");
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("it comes to an end")
}

/// A runtime with room for one run, whose model asks for a tool when it is told to.
struct Scene {
    _audit: Audit,
    directory: TempDir,
    runtime: Runtime,
    ask: Arc<Notify>,
    calls: Arc<AtomicU32>,
}

impl Scene {
    async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (ask, calls) = (Arc::new(Notify::new()), Arc::new(AtomicU32::new(0)));
        let runtime = start(&directory, &ask, &calls).await;
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            runtime,
            ask,
            calls,
        }
    }

    async fn restart(&self) -> Runtime {
        start(&self.directory, &self.ask, &self.calls).await
    }

    async fn spawn(&self, model: &str) -> Run {
        self.spawn_like(SubAgent::explore("Count."), model).await
    }

    /// Spawned, and at work.
    async fn spawn_like(&self, like: SubAgent, model: &str) -> Run {
        let sub_agent = like.unjudged().chain([model]).with_tool("count");
        let run = self.runtime.spawn(sub_agent).await.expect("accepted");
        let mut events = run.events();
        while let Some(event) = within(events.next()).await {
            if matches!(event.step, Step::AttemptActive { .. }) {
                return run;
            }
        }
        panic!("the attempt never began");
    }

    async fn refuses_new_ones(&self) {
        let refused = within(self.runtime.spawn(SubAgent::explore("Count.").unjudged())).await;
        let Err(RuntimeError::Refused(reason)) = refused else {
            panic!("expected a refusal, got {refused:?}");
        };
        assert_eq!(reason.code, ReasonCode::JournalUnwritable);
        assert!(reason.message.contains("disk"), "{}", reason.message);
    }

    async fn until_settled(&self, run: &Run) -> (RunState, Option<ReasonCode>) {
        loop {
            let found = self.runtime.runs(RunFilter::id_prefix(run.id().as_str())).await;
            let found = found.expect("a list").pop().expect("the run");
            if found.ended_at.is_some() {
                return (found.state, found.reason.map(|reason| reason.code));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn start(directory: &TempDir, ask: &Arc<Notify>, calls: &Arc<AtomicU32>) -> Runtime {
    Runtime::builder()
        .state_directory(directory.path().join("state"))
        .workspace(directory.path())
        .model(OfflineOr::new(House { asked: ask.clone() }))
        .tool(Counter(calls.clone()))
        .width(1)
        .start()
        .await
        .expect("started")
}

struct House {
    asked: Arc<Notify>,
}

#[async_trait(?Send)]
impl ModelClient for House {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let last = request.messages.last();
        let reply = |text: String, tool_calls| ModelReply {
            text,
            tool_calls,
            usage: ModelUsage::default(),
            served: None,
        };
        if let Some(said) = last.filter(|message| message.role == ModelRole::Tool) {
            return Ok(reply(format!("the tool said: {}", said.text), Vec::new()));
        }
        self.asked.notified().await;
        let call = ToolCall {
            id: "call-1".to_string(),
            tool: "count".to_string(),
            arguments: json!({}),
        };
        Ok(reply(String::new(), vec![call]))
    }
}

struct Counter(Arc<AtomicU32>);

#[async_trait]
impl EmbeddedTool for Counter {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "count".to_string(),
            description: "Counts its calls.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn replay(&self) -> Replay {
        Replay::Unsafe
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<String, String> {
        Ok(format!(
            "counted to {}",
            self.0.fetch_add(1, Ordering::SeqCst) + 1
        ))
    }
}
