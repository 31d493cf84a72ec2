//! What a Rust program that embeds the runtime can rely on.

use crate::audit::Audit;
use crate::playing::{self, calls, run, until, within};
use impresario::chaos::{self, Plan, When};
use impresario::runtime::{
    Acknowledgement, AgentDefinition, AttemptEnding, EmbeddedTool, ModelClient, ModelError, ModelReply,
    ModelRequest, ModelRole, ModelUsage, OfflineOr, ReasonCode, Replay, RunEvents, RunFilter, Step,
    TerminalState, ToolContext, ToolDefinition, async_trait,
};
use impresario::skills::SpawnSettings;
use impresario::{
    AgentFiles, Outcome, Run, Runtime, RuntimeBuilder, RuntimeError, SubAgent, SubAgentGroup, Subtask,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

#[test]
fn handles_go_wherever_the_program_wants_them() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<Runtime>();
    shared::<Run>();
    shared::<Outcome>();
    shared::<RuntimeError>();
    shared::<SubAgent>();
    sent::<RuntimeBuilder>();
    sent::<RunEvents>();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_sub_agents_answer_a_program_with_many_threads() {
    let place = Place::new();
    let runtime = place.start().await;
    let spawned = (0..3).map(|_| {
        let (runtime, workspace) = (runtime.clone(), place.workspace());
        tokio::spawn(async move {
            let question = SubAgent::explore("How does a crashed actor come back?").workspace(workspace);
            let run = runtime.spawn(question).await.expect("accepted");
            let seen = sequence_of(run.events()).await;
            (run.outcome().await.expect("an outcome"), seen)
        })
    });
    for answered in spawned.collect::<Vec<_>>() {
        let (outcome, seen) = answered.await.expect("no panic");
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        let answer = outcome.answer.expect("an answer");
        assert!(answer.contains("revival.rs#L"), "{answer}");
        assert_eq!(outcome.proof.expect("a proof").processes_left, 0);
        let without_gaps = (1..=seen.len() as u64).collect::<Vec<_>>();
        assert_eq!(seen, without_gaps);
    }
    runtime.shutdown().await.expect("stopped");
}

/// A program that names no servers has an agent that asks them: it does without.
#[tokio::test]
async fn a_built_in_agent_does_without_the_tools_that_the_program_lacks() {
    let place = Place::new();
    let own = AgentDefinition::new("scout", "Look around.").tools(["read", "web_fetch"]);
    let runtime = place.builder().agent(own).start().await.expect("started");
    let question =
        SubAgent::new("librarian", "How does a crashed actor come back?").workspace(place.workspace());
    let outcome = run(&runtime, question).await;
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
    let accepted = outcome.projection.accepted.as_ref().expect("accepted");
    let tools = &accepted.request.tools;
    let has = |tool: &str| tools.iter().any(|name| name == tool);
    assert!(has("glob") && has("read"), "{:?}", tools);
    assert!(!has("web_fetch"), "{:?}", tools);
    // Who names such a tool itself is told.
    let refused = runtime
        .spawn(SubAgent::new("scout", "Look.").workspace(place.workspace()))
        .await;
    let told = refused.expect_err("it has no such tool").to_string();
    assert!(told.contains("has no tool called web_fetch"), "{told}");
    runtime.shutdown().await.expect("stopped");
}

/// Named or given, an agent of the program is what its definition says; what is said for one run wins.
#[tokio::test]
async fn a_program_defines_an_agent_of_its_own() {
    let place = Place::new();
    let scout = AgentDefinition::new("scout", "Find it, and say where.")
        .tools(["read", "grep"])
        .models(["house/full", "house/sure"])
        .total_timeout(Duration::from_secs(77));
    let builder = place.builder().agent(scout.clone());
    let runtime = builder.start().await.expect("started");
    let accepted = async |sub_agent: SubAgent| {
        let sub_agent = sub_agent.unjudged().tries_per_model(1, Duration::from_millis(1));
        let outcome = run(&runtime, sub_agent).await;
        assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
        let models = outcome.projection.attempts.iter();
        let models = models.map(|attempt| attempt.model.clone()).collect::<Vec<_>>();
        let request = outcome
            .projection
            .accepted
            .as_ref()
            .expect("accepted")
            .request
            .clone();
        (models, request)
    };

    let (models, named) = accepted(SubAgent::new("scout", "Look.")).await;
    assert_eq!(models, ["house/full", "house/sure"]);
    assert_eq!(named.instructions, "Find it, and say where.");
    assert_eq!(named.tools, ["grep", "read"]);
    assert_eq!(named.clocks.total, Duration::from_secs(77));
    let (_, given) = accepted(SubAgent::defined(scout, "Look.")).await;
    assert_eq!(given, named);

    let by_hand = SubAgent::new("scout", "Look.")
        .chain(["house/sure"])
        .tools(["find"]);
    let (models, said) = accepted(by_hand.timeout(Duration::from_secs(55))).await;
    assert_eq!(models, ["house/sure"]);
    assert_eq!(said.tools, ["find"]);
    assert_eq!(said.clocks.total, Duration::from_secs(55));

    let nobody = runtime.spawn(SubAgent::new("scuot", "Look.")).await;
    let Err(RuntimeError::Refused(reason)) = nobody else {
        panic!("nobody is called so");
    };
    let hint = "Did you mean \"scout\"? There are: explore, general, librarian, oracle, reviewer, scout.";
    assert!(reason.message.contains(hint), "{}", reason.message);
    runtime.shutdown().await.expect("stopped");
}

/// One list for all: of the program, built in, of files; the first of a name is meant.
#[tokio::test]
async fn a_program_names_agents_of_files_where_it_says_whose_count() {
    let place = Place::new();
    let file = |path: &str, name: &str| {
        let file = place.path().join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        let text = format!("name: {name}\ndescription: d\nsystem_prompt: From {path}.\n");
        std::fs::write(file, text).expect("a file");
    };
    file("home/.pi/agent/sub-agents/a.yaml", "scout");
    file("home/.pi/agent/sub-agents/b.yaml", "keeper");
    file("workspace/.pi/sub-agents/a.yaml", "scout");
    file("workspace/.pi/sub-agents/b.yaml", "own");
    let told = async |files: AgentFiles, name: &str| {
        let skills = SpawnSettings {
            home: Some(place.path().join("home")),
            agent_directory: None,
            ..SpawnSettings::default()
        };
        let builder = place.builder().skills(skills).agent_files(files);
        let own = AgentDefinition::new("own", "From the program.");
        let runtime = builder.agent(own).start().await.expect("started");
        let like = SubAgent::new(name, "Look.")
            .unjudged()
            .workspace(place.workspace());
        let group = SubAgentGroup::like(like).subtask(Subtask::new("only", "Look."));
        let told = match runtime.parallel(group).await {
            Ok(group) => {
                let ended = group.runs()[0].outcome().await.expect("an outcome");
                let accepted = ended.projection.accepted.as_ref().expect("accepted");
                accepted.request.instructions.clone()
            }
            Err(RuntimeError::Refused(reason)) => reason.message,
            Err(error) => panic!("{error}"),
        };
        runtime.shutdown().await.expect("stopped");
        told
    };
    let scout = async |files| told(files, "scout").await;
    let nobody = scout(AgentFiles::None).await;
    assert!(nobody.contains("no agent called \"scout\""), "{nobody}");
    assert_eq!(
        scout(AgentFiles::OfUser).await,
        "From home/.pi/agent/sub-agents/a.yaml."
    );
    let all = AgentFiles::OfUserAndWorkspace;
    assert_eq!(scout(all).await, "From workspace/.pi/sub-agents/a.yaml.");
    assert_eq!(
        told(all, "keeper").await,
        "From home/.pi/agent/sub-agents/b.yaml."
    );
    assert_eq!(told(all, "own").await, "From the program.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_model_is_followed_by_the_next_of_the_chain() {
    let place = Place::new();
    let runtime = place.start().await;
    let sub_agent = SubAgent::explore("What is the answer?")
        .unjudged()
        .chain(["house/full", "house/sure"])
        .tries_per_model(2, Duration::from_millis(1));
    let outcome = run(&runtime, sub_agent).await;
    assert_eq!(outcome.answer.as_deref(), Some("42"));
    let tried = outcome.projection.attempts.iter();
    let tried = tried.map(|attempt| {
        (
            attempt.model.as_str(),
            attempt.ended.as_ref().map(|end| end.ending),
        )
    });
    assert_eq!(
        tried.collect::<Vec<_>>(),
        [
            ("house/full", Some(AttemptEnding::Unavailable)),
            ("house/full", Some(AttemptEnding::Unavailable)),
            ("house/sure", Some(AttemptEnding::Answered)),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_used_is_in_its_outcome_attempt_by_attempt() {
    let place = Place::new();
    let counter = Counter {
        calls: Arc::default(),
        replay: Replay::Safe,
    };
    let runtime = place.builder().tool(counter).start().await.expect("started");
    let sub_agent = SubAgent::explore("Count.")
        .unjudged()
        .chain(["house/full", "house/counting"])
        .tries_per_model(1, Duration::from_millis(1))
        .with_tool("count");
    let outcome = run(&runtime, sub_agent).await;
    let attempts = outcome.projection.attempts.iter();
    let used = attempts.map(|attempt| attempt.ended.as_ref().and_then(|end| end.used));
    let of_two_calls = ModelUsage {
        input: 200,
        output: 20,
        cost_usd: Some(0.5),
        ..ModelUsage::default()
    };
    assert_eq!(
        used.collect::<Vec<_>>(),
        [Some(ModelUsage::default()), Some(of_two_calls)]
    );
    let of_run = outcome.projection.used();
    assert_eq!((of_run.counted, of_run.attempts_uncounted), (of_two_calls, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_the_offline_model_does_not_pose_as_another() {
    let place = Place::new();
    let runtime = Runtime::builder()
        .state_directory(place.path().join("state"))
        .workspace(place.workspace())
        .start()
        .await
        .expect("started");
    let question = "How does a crashed actor come back?";
    let outcome = run(&runtime, SubAgent::explore(question).chain(["house/sure"])).await;
    assert_eq!(outcome.state, TerminalState::Failed, "{:?}", outcome.answer);
    let reason = outcome.reason.expect("a reason");
    assert!(reason.message.contains("house/sure"), "{}", reason.message);
    let outcome = run(&runtime, SubAgent::explore(question)).await;
    assert_eq!(outcome.state, TerminalState::Succeeded, "{:?}", outcome.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_model_meets_the_clock_the_program_set() {
    let place = Place::new();
    let runtime = place.start().await;
    let sub_agent = SubAgent::explore("What is the last digit of pi?")
        .unjudged()
        .chain(["house/silent"])
        .timeout(Duration::from_millis(200));
    let outcome = run(&runtime, sub_agent).await;
    assert_eq!(outcome.state, TerminalState::Failed);
    let reason = outcome.reason.expect("a reason");
    assert_eq!(reason.code, ReasonCode::TotalTimeout, "{}", reason.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_program_is_called_once_and_its_replay_flag_is_on_disk() {
    for replay in [Replay::Safe, Replay::Unsafe] {
        let place = Place::new();
        let calls = Arc::new(AtomicU32::new(0));
        let counter = Counter {
            calls: calls.clone(),
            replay,
        };
        let runtime = place.builder().tool(counter).start().await.expect("started");
        let sub_agent = SubAgent::explore("Count.")
            .unjudged()
            .chain(["house/counting"])
            .with_tool("count");
        let outcome = run(&runtime, sub_agent).await;
        assert_eq!(outcome.answer.as_deref(), Some("the tool said: counted to 1"));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let steps = runtime.steps(&outcome.run, 0).await.expect("steps");
        let declared = steps.into_iter().find_map(|recorded| match recorded.step {
            Step::ToolStarted { tool, replay, .. } if tool == "count" => Some(replay),
            _ => None,
        });
        assert_eq!(declared, Some(replay));
        runtime.shutdown().await.expect("stopped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_was_not_offered_is_not_called() {
    let place = Place::new();
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Counter {
        calls: calls.clone(),
        replay: Replay::Safe,
    };
    let runtime = place.builder().tool(counter).start().await.expect("started");
    let sub_agent = SubAgent::explore("Count.").unjudged().chain(["house/counting"]);
    let outcome = run(&runtime, sub_agent).await;
    assert_eq!(outcome.state, TerminalState::Succeeded);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_says_who_cancelled_it() {
    let place = Place::new();
    let runtime = place.start().await;
    let run = place.spawn_silent(&runtime).await;
    assert_eq!(run.cancel("the program").await, Ok(true));
    let outcome = within(run.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
    let reason = outcome.reason.expect("a reason");
    assert!(reason.message.contains("the program"), "{}", reason.message);
    assert_eq!(run.cancel("the program").await, Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_accepted_is_refused_and_leaves_nothing_behind() {
    let place = Place::new();
    let runtime = place.start().await;
    let refused = runtime.spawn(SubAgent::new("explorer", "Look.")).await;
    let Err(RuntimeError::Refused(reason)) = refused else {
        panic!("expected a refusal, got {refused:?}");
    };
    assert_eq!(reason.code, ReasonCode::UnknownAgent);
    assert!(reason.message.contains("explore"), "{}", reason.message);
    let refused = runtime.spawn(SubAgent::explore("Look.").runner("nobody")).await;
    assert!(matches!(refused, Err(RuntimeError::Refused(_))), "{refused:?}");
    assert_eq!(runs_of(&runtime).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runtimes_with_their_own_directories_know_nothing_of_each_other() {
    let (here, there) = (Place::new(), Place::new());
    let (one, other) = (here.start().await, there.start().await);
    let first = run(&one, sure()).await;
    let second = run(&other, sure()).await;
    assert_eq!(runs_of(&one).await, [first.run.to_string()]);
    assert_eq!(runs_of(&other).await, [second.run.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runtimes_share_a_directory_and_each_drives_its_own_runs() {
    let place = Place::new();
    let (one, other) = (place.start().await, place.start().await);
    let silent = place.spawn_silent(&one).await;
    let outcome = run(&other, sure()).await;
    assert_eq!(outcome.answer.as_deref(), Some("42"));

    other.adopt().await.expect("looked for runs of the dead");
    assert_eq!(
        other.run(silent.id().clone()).cancel("the other").await,
        Ok(false)
    );
    let listed = runs_of(&one).await;
    assert_eq!(listed.len(), 2);
    assert_eq!(listed, runs_of(&other).await);

    other.shutdown().await.expect("stopped");
    assert_eq!(silent.cancel("its own").await, Ok(true));
    let outcome = within(silent.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_parks_what_is_under_way_and_every_handle_knows() {
    let place = Place::new();
    let runtime = place.start().await;
    let run = place.spawn_silent(&runtime).await;
    let clone = runtime.clone();
    within(runtime.shutdown()).await.expect("stopped");
    assert_eq!(clone.spawn(sure()).await.err(), Some(RuntimeError::Gone));
    assert_eq!(run.cancel("somebody").await, Err(RuntimeError::Gone));
    assert_eq!(
        within(clone.shutdown()).await,
        Ok(()),
        "a second shutdown has nothing to do"
    );

    let next = place.start().await;
    let parked = within(next.run(run.id().clone()).outcome())
        .await
        .expect("an outcome");
    assert_eq!(parked.state, TerminalState::Parked);
    assert_eq!(
        parked.reason.map(|reason| reason.code),
        Some(ReasonCode::HostGone)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_is_resumed_as_a_new_run_that_names_it() {
    let place = Place::new();
    let runtime = place.start().await;
    let parked = place.spawn_silent(&runtime).await.id().clone();
    runtime.shutdown().await.expect("stopped");

    let next = place.start().await;
    let resumed = next.resume(&parked).await.expect("accepted");
    assert_ne!(*resumed.id(), parked);
    let accepted = resumed.events().next().await.expect("a step");
    let Step::Accepted { request } = accepted.step else {
        panic!("expected the acceptance, got {accepted:?}");
    };
    assert_eq!(request.origin.resumes, Some(parked));
    resumed.cancel("the test").await.expect("cancelled");
    within(resumed.outcome()).await.expect("an outcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_last_handle_stops_the_runtime_and_the_next_start_parks_its_run() {
    let place = Place::new();
    let (gone, is_gone) = oneshot::channel();
    let model = OfflineOr::new(House {
        gone: Some(Gone(Some(gone))),
    });
    let runtime = place.builder().model(model).start().await.expect("started");
    let run = place.spawn_silent(&runtime).await;
    let id = run.id().clone();
    let clone = runtime.clone();
    drop((runtime, run));
    assert_eq!(
        runs_of(&clone).await,
        [id.to_string()],
        "a handle is left, so it lives"
    );

    drop(clone);
    within(is_gone).await.expect("what lived on its thread is gone");

    let parked = loop {
        let next = place.start().await;
        let outcome = within(next.run(id.clone()).outcome()).await;
        next.shutdown().await.expect("stopped");
        match outcome {
            Ok(outcome) => break outcome,
            // Its thread is gone before its hold on the journal is.
            Err(RuntimeError::DrivenElsewhere { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(parked.state, TerminalState::Parked);
    assert_eq!(
        parked.reason.map(|reason| reason.code),
        Some(ReasonCode::RuntimeGone)
    );
}

#[test]
fn the_runtime_outlives_the_tokio_runtime_that_started_it() {
    let place = Place::new();
    let tokio = || tokio::runtime::Runtime::new().expect("tokio");
    let started_on = tokio();
    let runtime = started_on.block_on(place.start());
    started_on.shutdown_background();
    let outcome = tokio().block_on(run(&runtime, sure()));
    assert_eq!(outcome.answer.as_deref(), Some("42"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_killed_on_purpose_costs_no_step_of_the_chain_and_breaks_no_promise() {
    let place = Place::new();
    let plan = Plan::AtBoundary {
        kind: "attempt".to_string(),
        message: "RunnerSaid".to_string(),
        when: When::Before,
        nth: 1,
    };
    let runtime = place.builder().chaos(plan).start().await.expect("started");
    let outcome = run(&runtime, sure()).await;
    assert_eq!(outcome.answer.as_deref(), Some("42"));
    let endings = outcome.projection.attempts.iter();
    let endings = endings.filter_map(|attempt| attempt.ended.as_ref().map(|end| end.ending));
    assert_eq!(
        endings.collect::<Vec<_>>(),
        [AttemptEnding::Lost, AttemptEnding::Answered]
    );
    runtime.shutdown().await.expect("stopped");
    let evidence = chaos::evidence_of(place.path().join("state")).expect("evidence");
    assert_eq!(chaos::audit(&evidence), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_on_a_real_clock_breaks_no_promise() {
    let place = Place::new();
    let plan = Plan::Seeded {
        seed: 11,
        per_mille: 60,
        // More of one run's attempts in a row would park it (P8).
        kills_max: 4,
    };
    let (tell, told) = oneshot::channel();
    let builder = place.builder().chaos(plan).when_chaos_ended(move |record| {
        let _ = tell.send(record);
    });
    let runtime = builder.start().await.expect("started");
    for _ in 0..3 {
        let outcome = run(&runtime, sure()).await;
        assert_eq!(outcome.answer.as_deref(), Some("42"), "{:?}", outcome.reason);
    }
    runtime.shutdown().await.expect("stopped");
    let record = within(told).await.expect("a record");
    assert!(!record.kills.is_empty(), "nobody was killed");
    let evidence = chaos::evidence_of(place.path().join("state")).expect("evidence");
    assert_eq!(chaos::audit(&evidence), []);
}

/// A state directory and a workspace of one's own.
struct Place {
    _audit: Audit,
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let workspace = directory.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        let text = "/// Brings a crashed actor back.\npub fn restart_crashed_actor() {}\n";
        std::fs::write(workspace.join("revival.rs"), text).expect("a file");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn workspace(&self) -> std::path::PathBuf {
        self.path().join("workspace")
    }

    fn builder(&self) -> RuntimeBuilder {
        Runtime::builder()
            .state_directory(self.path().join("state"))
            .workspace(self.workspace())
            .model(OfflineOr::new(House { gone: None }))
    }

    async fn start(&self) -> Runtime {
        self.builder().start().await.expect("started")
    }

    /// A run whose model never answers, at work.
    async fn spawn_silent(&self, runtime: &Runtime) -> Run {
        let silent = SubAgent::explore("What is the last digit of pi?")
            .unjudged()
            .chain(["house/silent"]);
        let run = runtime.spawn(silent).await.expect("accepted");
        until(&run, |step| matches!(step, Step::AttemptActive { .. })).await;
        run
    }
}

fn sure() -> SubAgent {
    SubAgent::explore("What is the answer?")
        .unjudged()
        .chain(["house/sure"])
}

/// The sequence numbers of a run's events, to its end.
async fn sequence_of(mut events: RunEvents) -> Vec<u64> {
    let mut seen = Vec::new();
    while let Some(event) = within(events.next()).await {
        seen.push(event.sequence);
    }
    seen
}

async fn runs_of(runtime: &Runtime) -> Vec<String> {
    let all = RunFilter {
        newest: 10,
        ..RunFilter::default()
    };
    let runs = runtime.runs(all).await.expect("a list");
    runs.into_iter().map(|run| run.run.to_string()).collect()
}

/// Models by name: one is full, one never answers, one is sure, one calls a tool first.
struct House {
    gone: Option<Gone>,
}

/// Says that it was dropped.
struct Gone(Option<oneshot::Sender<()>>);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.take().map(|gone| gone.send(()));
    }
}

#[async_trait(?Send)]
impl ModelClient for House {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let _ = &self.gone;
        match request.model.as_str() {
            "house/sure" => Ok(says("42")),
            "house/counting" => Ok(count_first(&request)),
            "house/silent" => std::future::pending().await,
            _ => Err(ModelError::Unavailable("the house is full".to_string())),
        }
    }
}

/// What each reply is charged.
const CHARGED: ModelUsage = ModelUsage {
    input: 100,
    output: 10,
    cache_read: 0,
    cache_write: 0,
    cost_usd: Some(0.25),
};

fn says(text: &str) -> ModelReply {
    ModelReply {
        usage: CHARGED,
        ..playing::says(text)
    }
}

fn count_first(request: &ModelRequest) -> ModelReply {
    let last = request.messages.last();
    match last.filter(|message| message.role == ModelRole::Tool) {
        Some(said) => says(&format!("the tool said: {}", said.text)),
        None => ModelReply {
            usage: CHARGED,
            ..calls("call-1", "count", json!({}))
        },
    }
}

struct Counter {
    calls: Arc<AtomicU32>,
    replay: Replay,
}

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
        self.replay
    }

    async fn call(&self, _arguments: Value, _: &ToolContext) -> Result<String, String> {
        let count = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(format!("counted to {count}"))
    }
}

/// Blocks its thread until the test lets it go; the other tools of that name go on at once.
struct Blocking {
    held: Mutex<std::sync::mpsc::Receiver<()>>,
    cancelled: Arc<Mutex<Option<ToolContext>>>,
}

#[async_trait]
impl EmbeddedTool for Blocking {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "count".to_string(),
            description: "Never gives its thread back by itself.".to_string(),
            parameters: json!({ "type": "object" }),
        }
    }

    async fn call(&self, _: Value, context: &ToolContext) -> Result<String, String> {
        *self.cancelled.lock().expect("no panic") = Some(context.clone());
        let released = self.held.lock().expect("no panic").recv();
        Ok(format!("released: {}", released.is_ok()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_blocks_holds_up_no_other_run_no_cancellation_and_no_clock() {
    let place = Place::new();
    let (release, held) = std::sync::mpsc::channel();
    let seen = Arc::new(Mutex::new(None));
    let tool = Blocking {
        held: Mutex::new(held),
        cancelled: seen.clone(),
    };
    let runtime = place.builder().tool(tool).start().await.expect("started");
    let stuck = SubAgent::explore("Count, please.")
        .chain(["house/counting"])
        .with_tool("count");
    let stuck = runtime.spawn(stuck).await.expect("accepted");
    until(&stuck, |step| matches!(step, Step::ToolStarted { .. })).await;
    while seen.lock().expect("no panic").is_none() {
        tokio::task::yield_now().await;
    }

    let other = runtime
        .spawn(SubAgent::explore("What is the last digit of pi?").chain(["house/sure"]))
        .await;
    let other = within(other.expect("accepted").outcome())
        .await
        .expect("an outcome");
    assert_eq!(other.state, TerminalState::Succeeded);

    stuck.cancel("the test").await.expect("cancelled");
    let outcome = within(stuck.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
    let context = seen.lock().expect("no panic").clone().expect("it was called");
    assert!(context.cancelled.is_cancelled(), "the tool was told");
    assert_eq!(context.run, *stuck.id());
    within(runtime.shutdown()).await.expect("stopped");
    drop(release);
}

/// Blocks, floods or panics, by the name of the model.
struct Unruly(Arc<std::sync::Barrier>);

#[async_trait(?Send)]
impl ModelClient for Unruly {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        match request.model.as_str() {
            "house/blocking" => {
                self.0.wait();
                Ok(says("released"))
            }
            "house/flood" => Ok(says(&"x".repeat(9 * 1024 * 1024))),
            "house/panics" => panic!("the house is on fire"),
            _ => Ok(says("42")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_blocks_floods_or_panics_costs_its_own_run_only() {
    let place = Place::new();
    let both = Arc::new(std::sync::Barrier::new(2));
    let model = OfflineOr::new(Unruly(both.clone()));
    let runtime = place.builder().model(model).start().await.expect("started");
    let ask = |model: &'static str| {
        SubAgent::explore("What is the last digit of pi?")
            .chain([model])
            .tries_per_model(1, Duration::ZERO)
    };
    let blocking = runtime.spawn(ask("house/blocking")).await.expect("accepted");
    until(&blocking, |step| matches!(step, Step::AttemptActive { .. })).await;
    for (model, said) in [("house/flood", "bytes"), ("house/panics", "on fire")] {
        let run = runtime.spawn(ask(model)).await.expect("accepted");
        let outcome = within(run.outcome()).await.expect("an outcome");
        assert_eq!(outcome.state, TerminalState::Failed, "{model}");
        let reason = outcome.reason.expect("a reason").message;
        assert!(reason.contains(said), "{model}: {reason}");
    }
    let sure = runtime.spawn(ask("house/sure")).await.expect("accepted");
    let sure = within(sure.outcome()).await.expect("an outcome");
    assert_eq!(sure.state, TerminalState::Succeeded);
    tokio::task::spawn_blocking(move || both.wait())
        .await
        .expect("both met");
    let outcome = within(blocking.outcome()).await.expect("an outcome");
    assert_eq!(outcome.answer.as_deref(), Some("released"));
    runtime.shutdown().await.expect("stopped");
}

#[tokio::test]
async fn an_answer_comes_in_the_form_that_a_program_asks_for() {
    let place = Place::new();
    let runtime = place.start().await;
    let ask = |schema: Value| {
        SubAgent::explore("What is six times seven?")
            .chain(["house/sure"])
            .unjudged()
            .answer_schema(&schema)
    };
    let outcome = run(&runtime, ask(json!({ "type": "integer" }))).await;
    assert_eq!(outcome.answer_as::<u32>().expect("a number"), 42);

    let outcome = run(&runtime, ask(json!({ "type": "object" }))).await;
    assert_eq!(outcome.state, TerminalState::Failed);
    let reason = outcome.reason.expect("a reason");
    assert_eq!(reason.code, ReasonCode::MalformedAnswer);
    assert!(reason.message.contains("42 is not of type"), "{}", reason.message);

    for (refused, why) in [
        (ask(json!({ "type": "nothing" })), "cannot be used"),
        (ask(json!({})).runner("pi"), "needs the runner `embedded`"),
    ] {
        let Err(RuntimeError::Refused(reason)) = runtime.spawn(refused).await else {
            panic!("it cannot be had: {why}");
        };
        assert!(reason.message.contains(why), "{}", reason.message);
    }
    runtime.shutdown().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_does_not_exist_is_refused_with_those_that_do() {
    let place = Place::new();
    let runtime = place.start().await;
    let refused = runtime
        .spawn(SubAgent::explore("Count, please.").with_tool("cuont"))
        .await;
    let refused = refused.expect_err("refused").to_string();
    assert!(
        refused.contains("cuont") && refused.contains("codebase-retrieval"),
        "{refused}"
    );
    runtime.shutdown().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spawn_that_is_asked_for_again_is_the_same_run_after_a_restart_too() {
    let place = Place::new();
    let runtime = place.start().await;
    let id = runtime.new_run_id();
    let silent = || {
        SubAgent::explore("What is the last digit of pi?")
            .unjudged()
            .chain(["house/silent"])
    };
    let first = runtime.spawn_as(id.clone(), silent()).await.expect("accepted");
    let again = runtime
        .spawn_as(id.clone(), silent())
        .await
        .expect("the same run");
    assert_eq!(first.id(), again.id());
    let other = runtime.spawn_as(id.clone(), sure()).await;
    let Err(RuntimeError::Refused(reason)) = other else {
        panic!("expected a refusal, got {other:?}");
    };
    assert_eq!(reason.code, ReasonCode::IdTaken);
    within(runtime.shutdown()).await.expect("stopped");

    let next = place.start().await;
    let handle = next.spawn_as(id.clone(), silent()).await.expect("the same run");
    let outcome = within(handle.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Parked);
    assert_eq!(runs_of(&next).await, [id.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_read_is_listed_until_somebody_takes_it() {
    let place = Place::new();
    let runtime = place.start().await;
    let run = runtime.spawn(sure()).await.expect("accepted");
    sequence_of(run.events()).await;
    within(runtime.shutdown()).await.expect("stopped");

    let next = place.start().await;
    let unread = next.unread().await.expect("a list");
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].summary().run, *run.id());
    let outcome = within(unread[0].read()).await.expect("an outcome");
    assert_eq!(outcome.answer.as_deref(), Some("42"));
    assert_eq!(
        next.unread().await.expect("a list").len(),
        1,
        "reading it there is not taking it"
    );
    for result in unread {
        result.ack().await.expect("acknowledged");
    }
    assert_eq!(next.unread().await.expect("a list").len(), 0);
    within(next.run(run.id().clone()).ack())
        .await
        .expect("twice does no harm");
    within(next.shutdown()).await.expect("stopped");
    let last = place.start().await;
    assert_eq!(last.unread().await.expect("a list").len(), 0);
    let steps = last.steps(run.id(), 0).await.expect("steps");
    let projection = impresario_policies::projection::RunProjection::of(&steps);
    assert!(projection.acknowledged);
    assert_eq!(projection.contradictions, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_taken_when_it_is_read_unless_the_program_says_so_itself() {
    for (how, left) in [(Acknowledgement::WhenRead, 0), (Acknowledgement::ByProgram, 1)] {
        let place = Place::new();
        let runtime = place
            .builder()
            .acknowledgement(how)
            .start()
            .await
            .expect("started");
        run(&runtime, sure()).await;
        assert_eq!(runtime.unread().await.expect("a list").len(), left, "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_does_not_end_here_has_no_outcome_and_its_events_end() {
    let place = Place::new();
    let (one, other) = (place.start().await, place.start().await);
    let unknown = other.run(other.new_run_id());
    let not_found = Err(RuntimeError::NotFound {
        run: unknown.id().clone(),
    });
    assert_eq!(within(unknown.outcome()).await, not_found);
    assert_eq!(within(unknown.events().next()).await, None);

    let silent = place.spawn_silent(&one).await;
    let seen_there = other.run(silent.id().clone());
    let elsewhere = within(seen_there.outcome()).await;
    assert!(
        matches!(elsewhere, Err(RuntimeError::DrivenElsewhere { .. })),
        "{elsewhere:?}"
    );
    let watched = tokio::spawn(sequence_of(seen_there.events()));
    silent.cancel("the test").await.expect("cancelled");
    let ended = within(silent.outcome()).await.expect("an outcome");
    let seen = within(watched).await.expect("no panic");
    let end = ended.projection.steps;
    assert!(seen.len() as u64 <= end && seen.len() > 3, "{seen:?} of {end}");
    let outcome = within(seen_there.outcome())
        .await
        .expect("its end is in the journal");
    assert_eq!(outcome.state, TerminalState::Cancelled);
}
