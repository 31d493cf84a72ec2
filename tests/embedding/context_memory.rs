//! What a sub-agent sees of a result above its ceiling, what it can read of it, and that nothing of it stays: with the
//! embedded runner, and with the journal's file itself.

use crate::audit::Audit;
use crate::playing::{calls, run, says, until, within};
use impresario::chaos::{Plan, When};
use impresario::runtime::{
    EmbeddedTool, ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, OverflowSettings, ReasonCode,
    Step, TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::{Run, Runtime, RuntimeBuilder, SubAgent};
use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::Retention;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// The lowest ceiling that a settings file may name.
const CEILING: u64 = 1_000;
const NEEDLE: &str = "the needle in it";
const BLOCKED_RETRIEVAL: &str =
    "Result too large. Please refine your codebase-retrieval query to be more specific.";

/// What the scripted model does next.
#[derive(Debug, Clone)]
enum Act {
    Call(&'static str, Value),
    Say(&'static str),
    Hang,
    Fail,
}

fn grows(bytes: usize) -> Act {
    Act::Call("grow", json!({ "bytes": bytes }))
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_ceiling_stand_handle_size_and_preview_and_the_rest_can_be_read_to_its_end() {
    let stage = Stage::new([
        grows(5_000),
        Act::Call("overflow_list", json!({})),
        Act::Call(
            "overflow_read",
            json!({ "id": "overflow_1", "offset": 0, "limit": 3_000 }),
        ),
        Act::Call(
            "overflow_read",
            json!({ "id": "overflow_1", "offset": 3_000, "limit": 3_000 }),
        ),
        Act::Call(
            "overflow_search",
            json!({ "id": "overflow_1", "query": "NEEDLE" }),
        ),
        Act::Say("done"),
    ]);
    stage.answers(stage.sub_agent()).await;
    let whole = grown(5_000);
    let seen = stage.results();
    let shown = &seen[0];
    assert!(shown.len() as u64 <= CEILING, "{} bytes", shown.len());
    for word in [
        "5,000 bytes",
        "overflow_1",
        "overflow_read",
        "characters are not shown",
    ] {
        assert!(shown.contains(word), "{word:?} is not in {shown}");
    }
    let listed: Value = serde_json::from_str(&seen[1]).expect("a list");
    assert_eq!(listed[0]["byteLength"], 5_000);
    assert_eq!(listed[0]["toolName"], "grow");
    let pages: Vec<Value> = seen[2..4]
        .iter()
        .map(|page| serde_json::from_str(page).expect("a page"))
        .collect();
    assert_eq!(pages[0]["eof"], false);
    assert_eq!(pages[0]["nextOffset"], 3_000);
    assert_eq!(pages[1]["eof"], true);
    let read: String = pages.iter().filter_map(|page| page["content"].as_str()).collect();
    assert_eq!(read, whole);
    let found: Value = serde_json::from_str(&seen[4]).expect("places");
    assert_eq!(found["found"], 1);
    assert_eq!(
        found["places"][0]["offset"],
        whole.find(NEEDLE).expect("it is there") + 4
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_its_own_ceiling() {
    let stage = Stage::new([
        grows(1_500),
        Act::Call("codebase-retrieval", json!({ "query": "restart crashed actor" })),
        Act::Say("done"),
    ]);
    let sub_agent = stage
        .sub_agent()
        .tool_ceiling("grow", 2_000)
        .tool_ceiling("codebase-retrieval", 1_100);
    stage.answers(sub_agent).await;
    let seen = stage.results();
    assert_eq!(seen[0], grown(1_500), "below its own ceiling");
    assert!(
        seen[1].contains("overflow_1") && seen[1].len() <= 1_100,
        "{}",
        seen[1]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_memory_the_sub_agent_is_asked_for_less_and_has_no_tool_to_read_on() {
    let asks = Act::Call("codebase-retrieval", json!({ "query": "restart crashed actor" }));
    let stage = Stage::new([asks, grows(5_000), Act::Say("done")]);
    let off = OverflowSettings {
        enabled: false,
        ..OverflowSettings::default()
    };
    stage.answers(stage.sub_agent().context_memory(off)).await;
    let seen = stage.results();
    assert_eq!(seen[0], BLOCKED_RETRIEVAL);
    assert!(
        seen[1].starts_with("Result too large: 5,000 bytes"),
        "{}",
        seen[1]
    );
    let offered = stage.offered();
    assert!(
        !offered.iter().any(|tool| tool.starts_with("overflow_")),
        "{offered:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_memory_refuses_and_keeps_what_it_has() {
    for full in [
        OverflowSettings {
            entries_max: 1,
            ..OverflowSettings::default()
        },
        OverflowSettings {
            bytes_max: 9_999,
            ..OverflowSettings::default()
        },
    ] {
        let stage = Stage::new([
            grows(5_000),
            grows(5_000),
            Act::Call("overflow_read", json!({ "id": "overflow_1", "limit": 6 })),
            Act::Say("done"),
        ]);
        stage.answers(stage.sub_agent().context_memory(full)).await;
        let seen = stage.results();
        assert!(seen[0].contains("overflow_1"), "{}", seen[0]);
        assert!(seen[1].starts_with("Result too large"), "{}", seen[1]);
        assert!(seen[2].contains(&grown(5_000)[..6]), "{}", seen[2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn so_much_of_start_and_end_is_shown_as_is_set() {
    let stage = Stage::new([grows(5_000), Act::Say("done")]);
    let short = OverflowSettings {
        preview_head_units: 30,
        preview_tail_units: 20,
        ..OverflowSettings::default()
    };
    stage.answers(stage.sub_agent().context_memory(short)).await;
    let (seen, whole) = (&stage.results()[0], grown(5_000));
    let preview = format!("{}\n... <middle omitted> ...\n{}", &whole[..30], &whole[4_980..]);
    assert!(seen.contains(&preview), "{seen}");
    assert!(seen.contains("4,950 characters are not shown"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_survives_the_death_of_its_actor() {
    let stage = Stage::new([
        grows(5_000),
        Act::Call("overflow_read", json!({ "id": "overflow_1", "limit": 6 })),
        Act::Say("done"),
    ]);
    let plan = Plan::AtBoundary {
        kind: "overflow".to_string(),
        message: "ReadOverflow".to_string(),
        when: When::Before,
        nth: 1,
    };
    let (tell, told) = tokio::sync::oneshot::channel();
    let builder = stage.builder().chaos(plan).when_chaos_ended(move |record| {
        let _ = tell.send(record);
    });
    let runtime = builder.start().await.expect("started");
    let outcome = run(&runtime, stage.sub_agent()).await;
    assert_eq!(outcome.answer.as_deref(), Some("done"), "{:?}", outcome.reason);
    runtime.shutdown().await.expect("stopped");
    assert_eq!(told.await.expect("a record").kills.len(), 1, "it was killed");
    assert!(
        stage.results()[1].contains(&grown(5_000)[..6]),
        "{:?}",
        stage.results()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_a_run_that_succeeded_or_failed() {
    for (last, state) in [
        (Act::Say("done"), TerminalState::Succeeded),
        (Act::Fail, TerminalState::Failed),
    ] {
        let stage = Stage::new([grows(5_000), last]);
        let runtime = stage.start().await;
        let outcome = run(&runtime, stage.sub_agent()).await;
        assert_eq!(outcome.state, state, "{:?}", outcome.reason);
        assert_eq!(stage.results().len(), 1, "it was kept before that");
        assert_eq!(stage.kept(), 0);
        runtime.shutdown().await.expect("stopped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_a_run_that_was_cancelled() {
    let stage = Stage::new([grows(5_000), Act::Hang]);
    let runtime = stage.start().await;
    let run = stage.spawn_and_keep(&runtime).await;
    assert_eq!(stage.kept(), 1);
    run.cancel("somebody").await.expect("cancelled");
    let outcome = within(run.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
    assert_eq!(stage.kept(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_a_parked_run_and_whoever_goes_on_is_told() {
    let stage = Stage::new([
        grows(5_000),
        Act::Hang,
        Act::Call("overflow_read", json!({ "id": "overflow_1" })),
        Act::Say("done"),
    ]);
    let runtime = stage.start().await;
    let run = stage.spawn_and_keep(&runtime).await;
    assert_eq!(stage.kept(), 1);
    runtime.shutdown().await.expect("stopped");
    assert_eq!(stage.kept(), 0);

    let next = stage.start().await;
    let parked = within(next.run(run.id().clone()).outcome())
        .await
        .expect("an outcome");
    assert_eq!(parked.state, TerminalState::Parked);
    stage.skip(Act::Hang);
    let resumed = next.resume(run.id()).await.expect("accepted");
    let outcome = within(resumed.outcome()).await.expect("an outcome");
    assert_eq!(outcome.answer.as_deref(), Some("done"), "{:?}", outcome.reason);
    let read = stage.results().pop().expect("a result");
    assert!(read.contains("Unknown overflow handle: overflow_1"), "{read}");
    assert!(read.contains("again"), "it says what to do: {read}");
    assert_eq!(stage.kept(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_of_a_run_still_says_what_was_kept_until_it_is_pruned() {
    let stage = Stage::new([grows(5_000), Act::Fail]);
    let runtime = stage.start().await;
    let outcome = run(&runtime, stage.sub_agent()).await;
    assert_eq!(
        outcome.reason.map(|reason| reason.code),
        Some(ReasonCode::Authentication)
    );
    let steps = runtime.steps(&outcome.run, 0).await.expect("steps");
    let handles: Vec<_> = steps
        .iter()
        .filter_map(|recorded| match &recorded.step {
            Step::ToolEnded { overflow, bytes, .. } => Some((overflow.clone(), *bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(
        handles,
        [(Some("overflow_1".to_string()), 5_000)],
        "the story stays"
    );
    assert_eq!(stage.kept(), 0);
    let everything = Retention {
        acknowledged_before: UnixMillis(u64::MAX / 2),
        abandoned_before: UnixMillis(u64::MAX / 2),
        keep_newest: 0,
    };
    runtime.prune(everything).await.expect("pruned");
    assert_eq!((stage.kept(), stage.rows("steps")), (0, 0));
}

/// A model with a script, a tool that gives much, and the journal's file.
struct Stage {
    _audit: Audit,
    directory: TempDir,
    acts: Arc<Mutex<Vec<Act>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Stage {
    fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = directory.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        let line = "/// Brings a crashed actor back: restart_crashed_actor.\n";
        std::fs::write(workspace.join("revival.rs"), line.repeat(60)).expect("a file");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            acts: Arc::new(Mutex::new(acts.into_iter().collect())),
            requests: Arc::default(),
        }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    fn builder(&self) -> RuntimeBuilder {
        let (acts, requests) = (self.acts.clone(), self.requests.clone());
        Runtime::builder()
            .state_directory(self.state())
            .workspace(self.directory.path().join("workspace"))
            .tool(Grow)
            .model(Scripted { acts, requests })
    }

    async fn start(&self) -> Runtime {
        self.builder().start().await.expect("started")
    }

    fn sub_agent(&self) -> SubAgent {
        SubAgent::explore("What is in it?")
            .unjudged()
            .chain(["house/model"])
            .with_tool("grow")
            .result_ceiling(CEILING)
    }

    async fn answers(&self, sub_agent: SubAgent) {
        let runtime = self.start().await;
        let outcome = run(&runtime, sub_agent).await;
        assert_eq!(outcome.answer.as_deref(), Some("done"), "{:?}", outcome.reason);
        runtime.shutdown().await.expect("stopped");
    }

    /// A run that goes on after its first result was kept.
    async fn spawn_and_keep(&self, runtime: &Runtime) -> Run {
        let run = runtime.spawn(self.sub_agent()).await.expect("accepted");
        until(&run, |step| matches!(step, Step::ToolEnded { .. })).await;
        run
    }

    /// Takes an act out of the script.
    fn skip(&self, act: Act) {
        let mut acts = self.acts.lock().expect("the script");
        acts.retain(|known| std::mem::discriminant(known) != std::mem::discriminant(&act));
    }

    /// What the model saw of the tools, in order.
    fn results(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("the requests");
        let last = requests.last().expect("a request");
        let results = last.messages.iter();
        results
            .filter(|message| message.role == ModelRole::Tool)
            .map(|message| message.text.clone())
            .collect()
    }

    fn offered(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("the requests");
        requests[0].tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// How many results stand in the journal's file.
    fn kept(&self) -> i64 {
        self.rows("overflows")
    }

    fn rows(&self, table: &str) -> i64 {
        let file = self.state().join("journal.sqlite");
        let journal = rusqlite::Connection::open(file).expect("the journal");
        let count = journal.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0));
        count.expect("a number")
    }
}

struct Scripted {
    acts: Arc<Mutex<Vec<Act>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

#[async_trait(?Send)]
impl ModelClient for Scripted {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let said = |message: &&impresario::runtime::ModelMessage| message.role == ModelRole::Assistant;
        let turn = request.messages.iter().filter(said).count();
        self.requests.lock().expect("the requests").push(request);
        let act = self.acts.lock().expect("the script").get(turn).cloned();
        match act {
            Some(Act::Call(tool, arguments)) => Ok(calls(&format!("call-{turn}"), tool, arguments)),
            Some(Act::Say(text)) => Ok(says(text)),
            Some(Act::Hang) => std::future::pending().await,
            Some(Act::Fail) | None => Err(ModelError::Authentication("no such key".to_string())),
        }
    }
}

/// So many bytes, no two lines alike, with a needle near the end.
fn grown(bytes: usize) -> String {
    let lines = (0..).map(|number| format!("line {number}\n"));
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() > bytes - 100 {
            break;
        }
        text.push_str(&line);
    }
    text.push_str(NEEDLE);
    let rest = bytes - text.len();
    text + &".".repeat(rest)
}

struct Grow;

#[async_trait]
impl EmbeddedTool for Grow {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "grow".to_string(),
            description: "Gives so many bytes.".to_string(),
            parameters: json!({ "type": "object", "properties": { "bytes": { "type": "integer" } } }),
        }
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<String, String> {
        Ok(grown(arguments["bytes"].as_u64().unwrap_or(0) as usize))
    }
}
