//! How a run comes back: every row of the table, with SIGKILL on a real process at a known point.

use crate::audit::Audit;
use crate::place::{ANSWERED_BY, PROGRAM, Place, Said, processes_of, until};
use crate::victim::{Halt, LOOKS, Scene, Victim, WRITES, three_side_by_side, until_all_is_over};
use impresario::chaos::{Evidence, Expected, audit};
use impresario::runtime::{GroupId, Outcome, ReasonCode, RunId, TerminalState};
use impresario_test_support::waiting::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn killed_when_accepted_it_goes_on_from_there() {
    let story = kill_and_go_on(Halt::Accepted);
    story.succeeded_with("The tool said: done");
    story.took("judged", 1);
    assert_eq!(story.scene.noted("effects").len(), 1);
}

#[test]
fn killed_while_waiting_for_room_it_does_not_pay_the_judge_again() {
    let killed = kill(Halt::Waiting);
    let paid = killed.paid_for_routing();
    assert!(paid > 0, "the judge was asked");
    let story = killed.go_on();
    story.succeeded_with("The tool said: done");
    story.took("judged", 1);
    assert_eq!(story.killed.paid_for_routing(), paid);
}

#[test]
fn killed_before_any_tool_the_attempt_is_repeated() {
    let story = kill_and_go_on(Halt::Active);
    story.succeeded_with("The tool said: done");
    story.took("attempt_started", 2);
    assert_eq!(story.scene.noted("effects").len(), 1);
}

#[test]
fn killed_when_it_was_told_something_its_sub_agent_hears_it_once() {
    let story = kill_and_go_on(Halt::Told);
    story.succeeded_with("The tool said: done");
    story.took("message_accepted", 1);
    story.took("message_delivered", 1);
    // Nobody had heard it before; then it stands in every call of the model, once.
    assert_eq!(story.scene.noted("heard"), ["0", "1", "1"]);
}

#[test]
fn killed_when_its_sub_agent_had_heard_it_nothing_is_told_twice() {
    let story = kill_and_go_on(Halt::Heard);
    story.succeeded_with("The tool said: done");
    story.took("message_accepted", 1);
    story.took("message_delivered", 1);
    assert_eq!(story.scene.noted("heard"), ["0", "1", "1"]);
}

#[test]
fn killed_on_a_chosen_model_it_goes_on_with_that_one() {
    let story = kill_and_go_on(Halt::Chosen);
    story.succeeded_with("The tool said: done");
    story.took("routed", 1);
    story.took("attempt_started", 2);
    let models = story.outcome.projection.attempts.iter();
    let models = models.map(|attempt| attempt.model.as_str()).collect::<Vec<_>>();
    assert_eq!(models, ["house/balanced", "house/balanced"]);
    let told = story.scene.noted("notices");
    let begins = told.iter().filter(|line| line.contains("Executing /skill:write"));
    assert_eq!(begins.count(), 1, "{told:?}");
}

#[test]
fn killed_after_a_tool_no_finished_tool_runs_again() {
    let story = kill_and_go_on(Halt::ToolFinished);
    story.succeeded_with("The tool said: done");
    story.took("attempt_started", 2);
    story.took("tool_started", 1);
    assert_eq!(story.scene.noted("effects").len(), 1);
    let work = story.outcome.receipt().work;
    assert_eq!(work.tools.len(), 1, "what was done before the kill counts");
    assert_eq!((work.tools[0].calls, work.may_have_changed_more), (1, true));
    // Nobody can tell what the model was paid for when the first attempt was lost: the sum says so.
    let mut costs = Command::new(PROGRAM);
    costs
        .args(["costs", "--state-directory"])
        .arg(story.scene.state());
    let costs = Said::of(costs);
    costs.check(0);
    let lost = "1 attempt lost under way, which may have cost more";
    assert!(costs.stdout.contains(lost), "{}", costs.stdout);
}

#[test]
fn killed_in_a_tool_that_may_run_again_the_tool_is_repeated() {
    let story = kill_and_go_on(Halt::SafeTool);
    story.succeeded_with("The tool said: done");
    story.took("tool_started", 2);
    assert_eq!(story.scene.noted("effects").len(), 2);
}

#[test]
fn killed_in_a_tool_that_must_not_run_again_the_run_is_parked() {
    let story = kill_and_go_on(Halt::UnsafeTool);
    assert_eq!(story.outcome.state, TerminalState::Parked);
    let reason = story.outcome.reason.as_ref().expect("a reason");
    assert_eq!(reason.code, ReasonCode::ToolIndeterminate);
    assert!(reason.message.contains("cut off"), "{}", reason.message);
    story.took("tool_indeterminate", 1);
    assert_eq!(story.scene.noted("effects").len(), 1);
}

#[test]
fn killed_in_such_a_tool_the_sub_agent_is_told_where_that_was_wished() {
    let story = kill_and_go_on(Halt::UnsafeToolTold);
    story.succeeded_with("The tool said: Indeterminate");
    story.took("tool_indeterminate", 1);
    assert_eq!(story.scene.noted("effects").len(), 1);
}

#[test]
fn killed_with_an_answer_that_was_not_delivered_it_is_delivered() {
    let killed = kill(Halt::Undelivered);
    assert_eq!(killed.scene.noted("deliveries").len(), 0);
    let story = killed.go_on();
    story.succeeded_with("The tool said: done");
    story.took("attempt_started", 1);
    story.took("delivery_acknowledged", 1);
    assert_eq!(story.scene.noted("deliveries").len(), 1);
}

#[test]
fn killed_after_a_delivery_the_host_is_asked_and_has_it() {
    let killed = kill(Halt::Unacknowledged);
    std::fs::write(killed.scene.file("branch"), "it stands here").expect("a file");
    let story = killed.go_on();
    assert_eq!(story.scene.noted("asked"), [story.killed.run.as_str()]);
    assert_eq!(story.scene.noted("deliveries").len(), 1);
    story.took("delivery_acknowledged", 1);
}

#[test]
fn killed_after_a_delivery_that_the_host_does_not_have_it_is_delivered_again() {
    let story = kill_and_go_on(Halt::Unacknowledged);
    assert_eq!(story.scene.noted("asked"), [story.killed.run.as_str()]);
    assert_eq!(story.scene.noted("deliveries").len(), 2);
    story.took("delivery_acknowledged", 1);
}

#[test]
fn another_command_cancels_a_run_that_was_adopted() {
    let killed = kill(Halt::Active);
    let cancelled = on_tokio(async {
        let runtime = killed.scene.start(Some(Halt::Active)).await;
        runtime.adopt().await.expect("adopted");
        let mut cancel = Command::new(PROGRAM);
        cancel
            .args(["runs", "cancel", &killed.run])
            .env("IMPRESARIO_STATE_DIRECTORY", killed.scene.file("state"));
        let said = tokio::task::spawn_blocking(|| Said::of(cancel));
        let run = runtime.run(RunId::try_from(killed.run.clone()).expect("an id"));
        let outcome = run.outcome().await.expect("an outcome");
        said.await.expect("it ran").check(0);
        runtime.shutdown().await.expect("stopped");
        outcome
    });
    assert_eq!(cancelled.state, TerminalState::Cancelled);
    let reason = cancelled.reason.expect("a reason").message;
    assert!(reason.contains("impresario runs cancel"), "{reason}");
}

#[test]
fn a_group_cut_off_in_its_middle_is_finished_and_says_the_same() {
    let story = kill_and_go_on(Halt::SideBySide);
    story.took("attempt_started", 2);
    let group = story.scene.noted("group").remove(0);
    let group = GroupId::try_from(group).expect("a group");
    let cut_off = on_tokio(async {
        let runtime = story.scene.start(None).await;
        let outcome = runtime.group(group).await.expect("found").outcome().await;
        runtime.shutdown().await.expect("stopped");
        outcome.expect("an outcome")
    });
    let directory = tempfile::tempdir().expect("a directory");
    let scene = Scene::at(directory.path());
    let _audit = Audit::of(scene.state());
    let unharmed = on_tokio(async {
        let runtime = scene.start(None).await;
        let group = three_side_by_side(&runtime, &scene).await;
        group.outcome().await.expect("an outcome")
    });
    assert_eq!(unharmed.state, TerminalState::Succeeded);
    assert_eq!(
        unharmed.text.matches("The tool said: done").count(),
        3,
        "{}",
        unharmed.text
    );
    assert_eq!(cut_off.text, unharmed.text);
    let attempts = |run: &RunId| {
        let rows = story.evidence.rows.iter();
        rows.filter(|row| row.run == run.as_str() && row.step["step"] == "attempt_started")
            .count()
    };
    let attempts = cut_off.members.iter().map(|member| attempts(&member.run));
    assert_eq!(
        attempts.collect::<Vec<_>>(),
        [1, 2, 1],
        "only what was cut off was repeated"
    );
}

#[test]
fn killed_at_any_time_no_promise_is_broken() {
    // Started by these tests as another process, this one is the program that they kill.
    crate::victim::live();
    let mut cut_off = BTreeSet::new();
    for seed in 0..20 {
        let directory = tempfile::tempdir().expect("a directory");
        let scene = Scene::at(directory.path());
        let _audit = Audit::of(scene.state());
        let mut victim = Victim::start(&scene, Halt::Nowhere);
        until("the program works", || scene.file("reached").exists());
        // Nothing is waited for here: the instant is what the seed chooses.
        std::thread::sleep(Duration::from_micros(
            fastrand::Rng::with_seed(seed).u64(0..200_000),
        ));
        victim.kill();
        let stood_at = last_steps(&scene.evidence());
        cut_off.extend(
            stood_at
                .into_iter()
                .filter(|step| step != "delivery_acknowledged"),
        );
        on_tokio(async {
            let runtime = scene.start(None).await;
            runtime.adopt().await.expect("adopted");
            until_all_is_over(&runtime).await;
            runtime.shutdown().await.expect("stopped");
        });
        let mut evidence = scene.evidence();
        expect_by_task(&mut evidence);
        assert_eq!(audit(&evidence), [], "seed {seed}");
        assert!(!evidence.accepted.is_empty());
    }
    assert!(cut_off.len() > 1, "nothing was cut off but at {cut_off:?}");
    eprintln!("runs were cut off after: {cut_off:?}");
}

#[test]
fn a_killed_command_is_parked_by_the_next_one_and_can_be_resumed() {
    let place = Place::new();
    let hanging = place.start_hanging(&["--json"]);
    let run = hanging.run_id();
    assert!(processes_of(&run) > 0, "its sub-agent is at work");
    hanging.kill();
    assert_eq!(hanging.said().code, None, "it was killed");

    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["state"], "parked", "{runs:?}");
    assert_eq!(runs[0]["reason"]["code"], "runtime_gone");
    assert_eq!(processes_of(&run), 0, "nothing of it is left");
    let shown = place.run(&["runs", "show", &run]);
    assert!(
        shown.stdout.contains(&format!("impresario runs resume {run}")),
        "{}",
        shown.stdout
    );

    place.pi_that_answers(&format!("It is in {ANSWERED_BY}."));
    let mut resume = place.impresario(&["runs", "resume", &run]);
    resume.env("IMPRESARIO_PI", place.path().join("pi"));
    let resumed = Said::of(resume);
    resumed.check(0);
    assert!(resumed.stdout.contains(ANSWERED_BY), "{}", resumed.stdout);
    let runs = place.runs();
    assert_eq!(runs[0]["state"], "succeeded");
    assert_eq!(runs[0]["resumes"], run.as_str());
    assert_eq!(runs[1]["state"], "parked");
}

/// A program that was killed at a known point.
struct Killed {
    _audit: Audit,
    scene: Scene,
    run: String,
    _directory: TempDir,
}

fn kill(halt: Halt) -> Killed {
    let directory = tempfile::tempdir().expect("a directory");
    let scene = Scene::at(directory.path());
    let run = Victim::start(&scene, halt).kill_at_its_halt(&scene, halt);
    Killed {
        _audit: Audit::of(scene.state()),
        scene,
        run,
        _directory: directory,
    }
}

fn kill_and_go_on(halt: Halt) -> Story {
    kill(halt).go_on()
}

impl Killed {
    fn paid_for_routing(&self) -> usize {
        let paid = self.scene.noted("paid");
        paid.iter().filter(|line| *line == "routing").count()
    }

    /// A new runtime with the same session goes on; then everything is audited.
    fn go_on(self) -> Story {
        let outcome = on_tokio(async {
            let runtime = self.scene.start(None).await;
            runtime.adopt().await.expect("adopted");
            let run = RunId::try_from(self.run.clone()).expect("an id");
            let outcome = runtime.run(run).outcome().await.expect("an outcome");
            until_all_is_over(&runtime).await;
            runtime.shutdown().await.expect("stopped");
            outcome
        });
        let evidence = self.scene.evidence();
        assert_eq!(audit(&evidence), []);
        Story {
            outcome,
            evidence,
            scene: self.scene.clone(),
            killed: self,
        }
    }
}

/// What came of it.
struct Story {
    outcome: Outcome,
    evidence: Evidence,
    scene: Scene,
    killed: Killed,
}

impl Story {
    fn succeeded_with(&self, beginning: &str) {
        assert_eq!(
            self.outcome.state,
            TerminalState::Succeeded,
            "{:?}",
            self.outcome.reason
        );
        let answer = self.outcome.answer.as_deref().expect("an answer");
        assert!(answer.starts_with(beginning), "{answer}");
    }

    /// The run took a step so often.
    fn took(&self, step: &str, times: usize) {
        let rows = self.evidence.rows.iter();
        let taken = rows.filter(|row| row.run == self.killed.run && row.step["step"] == step);
        assert_eq!(taken.count(), times, "{step}");
    }
}

/// The last step of every run.
fn last_steps(evidence: &Evidence) -> Vec<String> {
    let rows = evidence.rows.iter();
    let lasts = rows.map(|row| (&row.run, row.step["step"].as_str().unwrap_or_default()));
    lasts
        .collect::<BTreeMap<_, _>>()
        .into_values()
        .map(str::to_string)
        .collect()
}

/// Looking succeeds whatever happens; writing may have been cut off.
fn expect_by_task(evidence: &mut Evidence) {
    let accepted = evidence.rows.iter().filter(|row| row.step["step"] == "accepted");
    let expected = accepted.map(|row| {
        let task = row.step["request"]["task"].as_str().expect("a task");
        assert!([LOOKS, WRITES].contains(&task), "{task}");
        let states: &[&str] = match task == LOOKS {
            true => &["succeeded"],
            false => &["succeeded", "parked"],
        };
        let states = states.iter().map(|state| state.to_string()).collect();
        let expected = Expected {
            states,
            ..Expected::default()
        };
        (row.run.clone(), expected)
    });
    evidence.expected = expected.collect();
}

fn on_tokio<T>(work: impl Future<Output = T>) -> T {
    let tokio = tokio::runtime::Runtime::new().expect("tokio");
    let within = async { tokio::time::timeout(PATIENCE, work).await };
    tokio.block_on(within).expect("it comes to an end")
}
