//! Real Pi, both versions, as a worker that serves one run after the other: what it takes along from one to the next
//! (nothing), who gets a fresh one, and what is left when it is killed.

use crate::host::{ANSWER, Stage as Host, is_notice, is_result, prompt};
use crate::runner::{Attempt, GRACE, Outcome, on_one_thread, request, warm_runner};
use impresario_actors::gateways::{AttemptRequest, RunnerEvent, SubAgentRunner};
use impresario_actors::processes::{Marked, Part, marked_processes};
use impresario_actors::runners::pi::PiRunner;
use impresario_model_server::{ModelServer, Rule, Script, Turn};
use impresario_policies::domain::{AttemptEnding, Containment, ReasoningEffort, RunId};
use impresario_policies::worker_pool::PoolSettings;
use impresario_test_support::pi::{MOCK_MODEL, MOCKA_MODEL, Sandbox, Scenario, Version};
use impresario_test_support::processes::{has_environment, send};
use impresario_test_support::waiting::{PATIENCE, until};
use rustix::process::{Signal, kill_process};
use serde_json::json;
use std::fs;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const POOL: PoolSettings = PoolSettings {
    idle_max: 2,
    idle: Duration::from_secs(3_600),
    runs_max: 50,
    resident_bytes_max: 4_000_000_000,
};

struct Stage {
    server: ModelServer,
    sandbox: Sandbox,
    state: TempDir,
    /// What this stage's workers are marked with.
    runtime: RunId,
    _scenario: Scenario,
}

fn with_both<F: Future<Output = ()>>(name: &str, script: impl Fn() -> Script, play: impl Fn(Rc<Stage>) -> F) {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, name) else {
            continue;
        };
        let server = ModelServer::start_blocking(script()).expect("a model server");
        let sandbox = Sandbox::new(scenario.install(), &server);
        // Pi makes one at its very first start; a worker that is older than it serves nobody else.
        fs::write(sandbox.agent_directory().join("auth.json"), "{}").expect("written");
        let stage = Rc::new(Stage {
            sandbox,
            server,
            state: tempfile::tempdir().expect("a state directory"),
            runtime: RunId::new(1, fastrand::u64(..)),
            _scenario: scenario,
        });
        on_one_thread(play(stage));
    }
}

impl Stage {
    fn runner(&self, pool: PoolSettings) -> PiRunner {
        let own = self.sandbox.environment().into_iter();
        let environment = own.map(|(name, value)| (name.to_string(), value)).collect();
        warm_runner(
            &self.sandbox.pi(),
            environment,
            self.state.path(),
            pool,
            &self.runtime,
        )
    }

    /// A request of a run of its own, with a session of its own.
    fn request(&self, task: &str) -> AttemptRequest {
        let request = request(MOCK_MODEL, &self.sandbox.work(), self.state.path());
        AttemptRequest {
            user_prompt: task.to_string(),
            scratch: self.state.path().join(request.run.as_str()),
            session_file: self.state.path().join(format!("sessions/{}.jsonl", request.run)),
            ..request
        }
    }

    async fn play(&self, runner: &PiRunner, task: &str) -> Outcome {
        play(runner, self.request(task)).await
    }

    /// The numbers of the workers that live, with the process of each.
    fn workers(&self) -> Vec<(u32, i32)> {
        let own = of_run(&self.runtime)
            .into_iter()
            .filter(|marked| !marked.is_keeper);
        let numbered = own.filter_map(|marked| match marked.part {
            Part::Worker(number) => Some((number, marked.pid)),
            Part::SubAgent | Part::ContextEngine => None,
        });
        numbered.collect()
    }

    #[track_caller]
    fn check_workers(&self, numbers: &[u32]) {
        let living: Vec<u32> = self.workers().into_iter().map(|(number, _)| number).collect();
        assert_eq!(living, numbers);
    }

    fn kill(&self, number: u32) {
        let workers = self.workers();
        let (_, pid) = workers
            .iter()
            .find(|(other, _)| *other == number)
            .expect("it lives");
        send(pid.unsigned_abs(), Signal::KILL);
    }

    /// The models' server was asked so often what this rule answers.
    async fn called(&self, rule: &str, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.server.ledger().calls_of(rule).len() < count {
            assert!(Instant::now() < deadline, "{rule} was not asked {count} times");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Nothing of these workers lives, their keepers included.
    async fn gone(&self, number: u32) {
        let deadline = Instant::now() + PATIENCE;
        while of_run(&self.runtime)
            .iter()
            .any(|marked| marked.part == Part::Worker(number))
        {
            assert!(Instant::now() < deadline, "worker {number} is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn play(runner: &PiRunner, request: AttemptRequest) -> Outcome {
    let run = request.run.clone();
    let outcome = Attempt::start(runner, request)
        .await
        .expect("Pi starts")
        .outcome()
        .await;
    assert_eq!(of_run(&run), [], "something is left of the run");
    outcome
}

fn of_run(run: &RunId) -> Vec<Marked> {
    let mut marked = marked_processes();
    marked.retain(|marked| marked.run == *run);
    marked
}

/// Whoever asks is told which task he asked.
fn parrot() -> Script {
    let tasks = ["one", "two", "three", "four"];
    tasks.into_iter().fold(Script::new(), |script, task| {
        let rule = Rule::new(task).user_contains(&format!("Task {task}"));
        script.rule(rule.turn(Turn::text(&format!("This was {task}."))).repeat())
    })
}

#[test]
fn three_tasks_in_a_row_are_served_by_one_worker_and_none_sees_another() {
    let script = || {
        let tasks = ["one", "two", "three"];
        tasks.into_iter().fold(Script::new(), |script, task| {
            let says = json!({"command": format!("echo $IMPRESARIO_RUN; echo {task} > {task}.txt")});
            let rule = Rule::new(task).user_contains(&format!("Task {task}"));
            script.rule(
                rule.turn(Turn::tool("bash", says))
                    .turn(Turn::text(&format!("This was {task}."))),
            )
        })
    };
    with_both("warm: three tasks in a row", script, async |stage| {
        let runner = stage.runner(POOL);
        let mut sessions = Vec::new();
        for task in ["one", "two", "three"] {
            let request = stage.request(&format!("Task {task}"));
            let (run, session) = (request.run.clone(), request.session_file.clone());
            let attempt = Attempt::start(&runner, request).await.expect("Pi starts");
            let gate = attempt.gate.clone();
            let outcome = attempt.outcome().await;

            outcome.check(AttemptEnding::Answered);
            assert_eq!(outcome.facts.answer, format!("This was {task}."));
            assert_eq!(outcome.unread(), []);
            assert_eq!(outcome.seen[0], RunnerEvent::Active);
            assert_ne!(outcome.proof.method, Containment::InProcess);
            // What its tools start carries the mark of its own run.
            assert_eq!(gate.reviewed.borrow()[0].1.trim(), run.as_str());
            assert_eq!(of_run(&run), []);
            stage.check_workers(&[1]);
            let text = fs::read_to_string(&session).expect("its session is in its own file");
            assert!(text.contains(&format!("This was {task}.")), "{text}");
            sessions.push((session, text));
        }
        for (session, text) in &sessions {
            assert_eq!(
                fs::read_to_string(session).expect("it stays"),
                *text,
                "nobody wrote to it later"
            );
        }
        let calls = stage.server.ledger().calls();
        assert_eq!(calls.len(), 6);
        for call in &calls {
            let of_others = ["one", "two", "three"]
                .iter()
                .filter(|task| **task != call.rule.as_deref().unwrap_or(""));
            let body = call.body["messages"].to_string();
            for other in of_others {
                assert!(!body.contains(&format!("Task {other}")), "{other} in {body}");
                assert!(!body.contains(&format!("{other}.txt")), "{other} in {body}");
            }
        }
        runner.close().await;
        assert_eq!(of_run(&stage.runtime), []);
    });
}

#[test]
fn each_run_says_the_same_to_its_model_as_in_a_process_of_its_own() {
    with_both("warm: the same requests", parrot, async |stage| {
        let warm = stage.runner(POOL);
        stage.play(&warm, "Task one").await.check(AttemptEnding::Answered);
        stage.play(&warm, "Task two").await.check(AttemptEnding::Answered);
        stage.check_workers(&[1]);
        let cold = stage.runner(PoolSettings::NONE);
        stage.play(&cold, "Task two").await.check(AttemptEnding::Answered);
        let calls = stage.server.ledger().calls();
        assert_eq!(calls[1].body, calls[2].body);
    });
}

#[test]
fn who_needs_another_start_gets_a_fresh_one() {
    with_both("warm: other launches", parrot, async |stage| {
        let runner = stage.runner(PoolSettings { idle_max: 16, ..POOL });
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        let others: [&dyn Fn(&mut AttemptRequest); 6] = [
            &|request| request.model = MOCKA_MODEL.to_string(),
            &|request| request.tools = vec!["read".to_string()],
            &|request| request.system_prompt.push_str(" Be brief."),
            &|request| request.temperature = Some(0.5),
            &|request| request.reasoning_effort = Some(ReasoningEffort::Low),
            &|request| drop(request.environment.insert("OTHER".to_string(), "1".to_string())),
        ];
        let mut living = vec![1];
        for change in others {
            let mut other = stage.request("Task two");
            change(&mut other);
            play(&runner, other).await.check(AttemptEnding::Answered);
            living.push(living.len() as u32 + 1);
            stage.check_workers(&living);
        }
        // What the user changed is read by a new one; the old one serves nobody any more.
        stage.sandbox.write_settings(json!({"retry": {"enabled": false}}));
        stage
            .play(&runner, "Task three")
            .await
            .check(AttemptEnding::Answered);
        living.push(living.len() as u32 + 1);
        stage.check_workers(&living);
        let system = |place: usize| stage.server.ledger().calls()[place].body["messages"][0].to_string();
        assert!(system(3).contains("Be brief.") && !system(7).contains("Be brief."));
    });
}

#[test]
fn isolation_and_a_session_that_goes_on_have_a_process_of_their_own() {
    with_both("warm: a process of one's own", parrot, async |stage| {
        let runner = stage.runner(POOL);
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        let first = stage.request("Task two");
        let isolated = AttemptRequest { fresh: true, ..first };
        let attempt = Attempt::start(&runner, isolated.clone())
            .await
            .expect("Pi starts");
        assert!(
            !of_run(&isolated.run).is_empty(),
            "it carries the mark of its run"
        );
        attempt.outcome().await.check(AttemptEnding::Answered);
        let goes_on = AttemptRequest {
            resume: Some("Task three, where you were cut off.".to_string()),
            ..isolated.clone()
        };
        let attempt = Attempt::start(&runner, goes_on).await.expect("Pi starts");
        assert!(
            !of_run(&isolated.run).is_empty(),
            "it carries the mark of its run"
        );
        let outcome = attempt.outcome().await;
        outcome.check(AttemptEnding::Answered);
        assert_eq!(of_run(&isolated.run), []);
        stage.check_workers(&[1]);
    });
}

#[test]
fn a_worker_that_was_killed_while_it_waited_is_replaced() {
    with_both("warm: killed while waiting", parrot, async |stage| {
        let runner = stage.runner(POOL);
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        stage.kill(1);
        // Whether its end was noticed by then or not.
        stage
            .play(&runner, "Task two")
            .await
            .check(AttemptEnding::Answered);
        stage.check_workers(&[2]);
        stage.gone(1).await;
    });
}

#[test]
fn a_worker_that_is_killed_at_work_is_our_loss_and_serves_nobody() {
    let script = || {
        parrot().rule(
            Rule::new("held")
                .user_contains("Wait")
                .turn(Turn::text("late").behind_gate("never")),
        )
    };
    with_both("warm: killed at work", script, async |stage| {
        let runner = stage.runner(POOL);
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        let attempt = Attempt::start(&runner, stage.request("Wait"))
            .await
            .expect("Pi starts");
        stage.called("held", 1).await;
        stage.kill(1);
        let outcome = attempt.outcome().await;
        outcome.check(AttemptEnding::Lost);
        assert_eq!(of_run(&stage.runtime), []);
        stage
            .play(&runner, "Task two")
            .await
            .check(AttemptEnding::Answered);
        stage.check_workers(&[2]);
    });
}

#[test]
fn a_run_that_is_stopped_takes_its_worker_along() {
    let script = || {
        parrot().rule(
            Rule::new("held")
                .user_contains("Wait")
                .turn(Turn::text("late").behind_gate("never"))
                .repeat(),
        )
    };
    with_both("warm: stopped", script, async |stage| {
        let runner = stage.runner(POOL);
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        for drops in [false, true] {
            let request = stage.request("Wait");
            let run = request.run.clone();
            let mut attempt = Attempt::start(&runner, request).await.expect("Pi starts");
            stage.called("held", 1 + usize::from(drops)).await;
            match drops {
                false => {
                    let proof = attempt.handle.stop(GRACE).await;
                    assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
                }
                // Its owner died: whoever contains the run waits for the worker that served it.
                true => {
                    drop(attempt);
                    let proof = runner.contain(&run, GRACE).await;
                    assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
                }
            }
            assert_eq!(of_run(&stage.runtime), []);
        }
    });
}

#[test]
fn what_a_run_left_running_ends_with_it_and_its_worker_too() {
    let script = || {
        let leaves = json!({"command": "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo started"});
        parrot().rule(
            Rule::new("leaves")
                .user_contains("Leave something")
                .turn(Turn::tool("bash", leaves))
                .turn(Turn::text("Left.")),
        )
    };
    with_both("warm: something is left", script, async |stage| {
        let runner = stage.runner(POOL);
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        stage
            .play(&runner, "Leave something")
            .await
            .check(AttemptEnding::Answered);
        assert_eq!(of_run(&stage.runtime), []);
        stage
            .play(&runner, "Task two")
            .await
            .check(AttemptEnding::Answered);
        stage.check_workers(&[2]);
    });
}

#[test]
fn workers_are_few_serve_so_many_runs_and_go_when_they_have_waited() {
    with_both("warm: limits", parrot, async |stage| {
        let runner = stage.runner(PoolSettings {
            idle_max: 1,
            runs_max: 2,
            ..POOL
        });
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        stage
            .play(&runner, "Task two")
            .await
            .check(AttemptEnding::Answered);
        stage.check_workers(&[]);
        // Two at once are two workers, of which one may wait.
        let (one, two) = (stage.play(&runner, "Task one"), stage.play(&runner, "Task two"));
        let (one, two) = futures_util::join!(one, two);
        one.check(AttemptEnding::Answered);
        two.check(AttemptEnding::Answered);
        let deadline = Instant::now() + PATIENCE;
        while stage.workers().len() > 1 {
            assert!(Instant::now() < deadline, "both are still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stage
            .play(&runner, "Task one")
            .await
            .check(AttemptEnding::Answered);
        // The one that waited served its second run, and nobody was started beside it.
        assert_eq!(of_run(&stage.runtime), []);
        runner.close().await;

        let large = stage.runner(PoolSettings {
            resident_bytes_max: 1_000_000,
            ..POOL
        });
        stage
            .play(&large, "Task three")
            .await
            .check(AttemptEnding::Answered);
        assert_eq!(of_run(&stage.runtime), []);
        let brief = stage.runner(PoolSettings {
            idle: Duration::ZERO,
            ..POOL
        });
        stage
            .play(&brief, "Task four")
            .await
            .check(AttemptEnding::Answered);
        stage.gone(1).await;
    });
}

/// The workers that wait or work below this host, their keepers not counted.
fn workers_below(host: &Host) -> Vec<i32> {
    let all = host.processes().into_iter().map(|(pid, _)| pid);
    all.filter(|pid| has_environment(*pid, "IMPRESARIO_RUN=") && has_environment(*pid, "/worker-"))
        .collect()
}

#[test]
fn a_killed_runtime_takes_its_waiting_workers_along() {
    let script = || ["first", "second"].map(|word| Turn::text(&format!("{ANSWER} The {word}.")));
    for host in Host::both("warm: the runtime is killed", script) {
        fs::write(host.sandbox.agent_directory().join("auth.json"), "{}").expect("written");
        let mut pi = host.rpc();
        prompt(&mut pi, "/skill demo look around");
        pi.wait_for(PATIENCE, is_result);
        let waiting = workers_below(&host);
        assert_eq!(waiting.len(), 1, "{:?}", host.processes());
        kill_process(host.runtime_pid(), Signal::KILL).expect("the runtime runs");
        until(
            || waiting.iter().all(|pid| !workers_below(&host).contains(pid)),
            || format!("still there: {:?}", host.processes()),
        );
        pi.wait_for(PATIENCE, |record| is_notice(record, "it is being started again"));
        prompt(&mut pi, "/skill demo look around again");
        pi.wait_for(PATIENCE, |record| {
            is_result(record) && record["message"]["content"].to_string().contains("The second.")
        });
        host.end(pi);
        host.nothing_is_left();
    }
}
