//! Sub-agents one after the other: what a program that hands the runtime a chain can rely on.

use crate::audit::Audit;
use crate::playing::{says, within};
use impresario::chaos::{self, Plan};
use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, OnFailure, ReasonCode, RunState,
    TerminalState, async_trait,
};
use impresario::{Chain, ChainStep, Gate, GroupOutcome, Runtime, RuntimeBuilder, RuntimeError, SubAgent};
use impresario_test_support::waiting::{PATIENCE, until};
use std::fs;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread")]
async fn each_step_is_told_what_the_one_before_it_said_and_the_chain_says_what_the_last_one_said() {
    let place = Place::new();
    let runtime = place.start().await;
    let chain = Chain::new()
        .step(step("find", "Find it."))
        .parallel([step("left", "Left of {previous}"), step("right", "Right of it.")])
        .step(step("sum", "First {steps.find} then {previous}").context("Be short."));
    let outcome = run(&runtime, chain).await;
    assert_eq!(outcome.state, TerminalState::Succeeded);
    let asked = place.asked();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert_eq!(asked[0], "Find it.");
    // Those of one step are asked in any order.
    let left = "Left of Said: Find it.".to_string();
    let right = "Right of it.\n\n## Previous step output (from find)\nSaid: Find it.".to_string();
    assert!(
        asked[1..3].contains(&left) && asked[1..3].contains(&right),
        "{asked:?}"
    );
    let both = format!("### left\nSaid: {left}\n\n### right\nSaid: {right}");
    let last = format!("First Said: Find it. then {both}\n\n## Context\nBe short.");
    assert_eq!(asked[3], last);
    assert_eq!(outcome.text, format!("Said: {last}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_chain_says_whose_words_its_task_will_hold() {
    let place = Place::new();
    let runtime = place.start().await;
    let chain = Chain::new()
        .parallel([step("left", "Look left."), step("right", "Look right.")])
        .step(step("sum", "Sum up {previous}"))
        .step(step("judge", "Is {steps.left} in {previous}?"));
    let group = runtime.chain(chain).await.expect("accepted");
    within(group.outcome()).await.expect("an outcome");
    let listed = runtime.runs(Default::default()).await.expect("a list");
    let mut tasks = listed.into_iter().map(|run| run.task).collect::<Vec<_>>();
    tasks.reverse();
    let expected = [
        "left — Look left.",
        "right — Look right.",
        "sum — Sum up [what left and right say]",
        "judge — Is [what left says] in [what sum says]?",
    ];
    assert_eq!(tasks, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_gate_fails_its_step_and_what_comes_after_it_is_not_begun() {
    let place = Place::new();
    let runtime = place.start().await;
    let gate = || Gate::command(["sh", "-c", "echo checked >> gate.log; echo not so; exit 3"]);
    let chain = || {
        Chain::new()
            .step(step("find", "Find it.").gate(gate()))
            .step(step("judge", "Judge it."))
            .step(step("write", "Write it."))
    };
    let outcome = run(&runtime, chain()).await;
    assert_eq!(outcome.state, TerminalState::Failed);
    check_codes(
        &outcome,
        [
            Some(ReasonCode::GateClosed),
            Some(ReasonCode::StepNotBegun),
            Some(ReasonCode::StepNotBegun),
        ],
    );
    assert!(outcome.text.contains("exit code 3"), "{}", outcome.text);
    assert!(
        outcome.text.contains("Said: Find it."),
        "the answer stays: {}",
        outcome.text
    );
    assert_eq!(place.asked(), ["Find it."]);
    assert_eq!(place.gate_log(), "checked\n");

    let collected = run(&runtime, chain().on_failure(OnFailure::Collect)).await;
    check_codes(&collected, [Some(ReasonCode::GateClosed), None, None]);
    assert_eq!(collected.state, TerminalState::Failed, "as its worst step");
    let told = &place.asked()[2];
    assert!(
        told.contains("(from find, FAILED: error)\nSaid: Find it."),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_gate_lets_the_next_step_begin() {
    let place = Place::new();
    let runtime = place.start().await;
    let open = Gate::command(["sh", "-c", "echo checked >> gate.log"]);
    let chain = Chain::new()
        .step(step("find", "Find it.").gate(open))
        .step(step("judge", "Judge it."));
    let outcome = run(&runtime, chain).await;
    assert_eq!(outcome.state, TerminalState::Succeeded);
    assert_eq!(place.gate_log(), "checked\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_has_one_total_time_and_a_step_that_would_have_none_does_not_begin() {
    let place = Place::new();
    let runtime = place.start().await;
    // The first one may take all there is.
    let silent = SubAgent::explore("").chain(["desk/one"]).timeout(PATIENCE);
    let chain = Chain::new()
        .step(ChainStep::of(
            "find",
            silent.inactivity_timeout(PATIENCE),
            "silence",
        ))
        .step(step("judge", "Judge it."))
        .on_failure(OnFailure::Collect)
        .timeout(Duration::from_secs(4));
    let outcome = run(&runtime, chain).await;
    check_codes(
        &outcome,
        [Some(ReasonCode::TotalTimeout), Some(ReasonCode::TotalTimeout)],
    );
    assert_eq!(place.asked(), ["silence"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_chain_ends_the_step_at_work_and_begins_no_other() {
    let place = Place::new();
    let runtime = place.start().await;
    let chain = Chain::new()
        .step(step("find", "silence"))
        .step(step("judge", "Judge it."))
        .on_failure(OnFailure::Collect);
    let group = runtime.chain(chain).await.expect("accepted");
    place.until_asked(1);
    group.cancel("the test").await.expect("cancelled");
    let outcome = within(group.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Cancelled);
    let states = outcome.members.iter().map(|member| member.state);
    assert_eq!(states.collect::<Vec<_>>(), [RunState::Cancelled; 2]);
    assert_eq!(place.asked(), ["silence"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_cannot_be_meant_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let runtime = place.start().await;
    let refused = |chain| async { runtime.chain(chain).await.expect_err("refused") };
    for chain in [
        Chain::new(),
        Chain::new().parallel([]),
        Chain::new().step(step("a", "{previous}")),
        Chain::new().step(step("a", "x")).step(step("b", "{steps.c}")),
    ] {
        let error = refused(chain).await;
        assert!(matches!(error, RuntimeError::ChainRefused(_)), "{error:?}");
    }
    let nobody = Chain::new().step(ChainStep::new("a", "nobody", "x"));
    assert!(matches!(refused(nobody).await, RuntimeError::Refused(_)));
    assert_eq!(runtime.runs(Default::default()).await, Ok(Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_a_shutdown_cut_off_is_gone_on_with_and_no_finished_step_runs_again() {
    let place = Place::new();
    let runtime = place.start().await;
    let chain = Chain::new()
        .step(step("find", "Find it."))
        .step(step("judge", "silence about {previous}"))
        .step(step("write", "Write {previous}"));
    let group = runtime.chain(chain).await.expect("accepted");
    place.until_asked(2);
    runtime.shutdown().await.expect("stopped");

    place.desk.speak();
    let runtime = place.start().await;
    let id = group.id().clone();
    let found = runtime.group(id.clone()).await.expect("found");
    let as_it_stands = within(found.outcome()).await.expect("an outcome");
    assert_eq!(as_it_stands.state, TerminalState::Parked);
    let resumed = runtime.resume_group(id).await.expect("resumed");
    let outcome = within(resumed.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TerminalState::Succeeded);
    let second = "silence about Said: Find it.";
    let expected = ["Find it.", second, second, &format!("Write Said: {second}")];
    assert_eq!(place.asked(), expected);
    assert_eq!(resumed.runs()[0].id(), group.runs()[0].id());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_actors_changes_nothing_of_what_a_chain_says() {
    let chain = || {
        Chain::new()
            .step(step("find", "Find it."))
            .parallel([
                step("left", "Left of {previous}"),
                step("right", "Right of {previous}"),
            ])
            .step(step("sum", "Sum up {previous}"))
    };
    let unharmed = {
        let place = Place::new();
        run(&place.start().await, chain()).await
    };
    let place = Place::new();
    let (told, killed) = std::sync::mpsc::channel();
    let plan = Plan::Seeded {
        seed: 5,
        per_mille: 40,
        // More in a row would park a run (P8).
        kills_max: 4,
    };
    let restarts = impresario_actors::supervision::SupervisorSettings {
        intensity: 10_000,
        ..Default::default()
    };
    let builder = place.builder().restarts(restarts).chaos(plan);
    let told = move |record: chaos::Record| told.send(record.kills.len()).expect("somebody listens");
    let runtime = builder.when_chaos_ended(told).start().await.expect("started");
    let outcome = run(&runtime, chain()).await;
    runtime.shutdown().await.expect("stopped");
    assert!(killed.recv().expect("a record") > 0, "nobody was killed");
    assert_eq!(outcome.text, unharmed.text);
}

fn step(id: &str, task: &str) -> ChainStep {
    let like = SubAgent::explore("")
        .chain(["desk/one"])
        .tries_per_model(1, Duration::from_millis(1))
        .inactivity_timeout(PATIENCE);
    ChainStep::of(id, like, task)
}

async fn run(runtime: &Runtime, chain: Chain) -> GroupOutcome {
    let group = runtime.chain(chain).await.expect("accepted");
    within(group.outcome()).await.expect("an outcome")
}

#[track_caller]
fn check_codes<const STEPS: usize>(outcome: &GroupOutcome, expected: [Option<ReasonCode>; STEPS]) {
    let codes = outcome.members.iter().map(|member| {
        let result = member.result.as_ref().expect("a result");
        result.reason.as_ref().map(|reason| reason.code)
    });
    assert_eq!(codes.collect::<Vec<_>>(), expected, "{}", outcome.text);
}

struct Place {
    _audit: Audit,
    directory: TempDir,
    desk: Arc<Desk>,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("workspace")).expect("a workspace");
        Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
            desk: Arc::default(),
        }
    }

    fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    fn builder(&self) -> RuntimeBuilder {
        Runtime::builder()
            .state_directory(self.directory.path().join("state"))
            .workspace(self.workspace())
            .keeper(env!("CARGO_BIN_EXE_impresario-keeper"))
            .width(8)
            .model(Clerk(self.desk.clone()))
    }

    async fn start(&self) -> Runtime {
        self.builder().start().await.expect("started")
    }

    /// The tasks that the models were asked, in order.
    fn asked(&self) -> Vec<String> {
        self.desk.see(|seen| seen.asked.clone())
    }

    /// Waits until the models were asked so often.
    fn until_asked(&self, times: usize) {
        until(|| self.asked().len() >= times, || format!("{:?}", self.asked()));
    }

    fn gate_log(&self) -> String {
        fs::read_to_string(self.workspace().join("gate.log")).expect("a gate ran")
    }
}

/// What the models of a test have in common.
#[derive(Default)]
struct Desk(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    asked: Vec<String>,
    speaks: bool,
}

impl Desk {
    fn see<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.0.lock().expect("nobody panicked"))
    }

    /// From now on nobody is silent.
    fn speak(&self) {
        self.see(|seen| seen.speaks = true);
    }
}

/// A model that says what it was asked, or nothing where it is asked for silence.
struct Clerk(Arc<Desk>);

#[async_trait(?Send)]
impl ModelClient for Clerk {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let mut messages = request.messages.iter();
        let prompt = messages.find(|message| message.role == ModelRole::User);
        let prompt = prompt.expect("a prompt").text.clone();
        let task = prompt.strip_prefix("User Goal: ").unwrap_or(&prompt).to_string();
        self.0.see(|seen| seen.asked.push(task.clone()));
        if task.starts_with("silence") && !self.0.see(|seen| seen.speaks) {
            return pending().await;
        }
        Ok(says(&format!("Said: {task}")))
    }
}
