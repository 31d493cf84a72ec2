//! Chains in real Pi of both versions: one call of a tool, and what the last step says comes back.

use crate::agents::{FOUND, delegating};
use crate::day::kill_runtime;
use crate::host::{
    MAIN_ANSWER, PATIENCE, Stage, count, is_result, prompt, session_file, switch, talk, wait_for_file,
};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::pi::Version;
use impresario_test_support::processes::send;
use impresario_test_support::programs::write_script;
use impresario_test_support::waiting::until;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

const JUDGED: &str = "It is right.";

/// The main agent calls the tool so; the two steps answer.
fn chained(arguments: Value) -> Script {
    let mut script = delegating(Turn::tool("delegate_chain", arguments), []);
    let step =
        |name: &str, words: &str, answer: &str| Rule::new(name).user_contains(words).turn(Turn::text(answer));
    script.rules.insert(0, step("first step", "link one", FOUND));
    script.rules.insert(1, step("second step", "link two", JUDGED));
    script
}

fn body_of(stage: &Stage, rule: &str) -> String {
    let calls = stage.server.ledger().calls_of(rule);
    calls.last().expect("a call").body.to_string()
}

/// What the main agent was told; its runs ended so, and Pi has their results.
fn told_when_it_is_over(stage: &Stage, states: &[&str]) -> String {
    let mut pi = stage.ready_rpc();
    prompt(&mut pi, "Now, please.");
    pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
    let told = body_of(stage, "main agent");
    stage.wait_for_states(states);
    pi.hang_up();
    assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
    stage.nothing_is_left();
    told
}

#[test]
fn the_main_agent_runs_a_chain_and_is_told_what_its_last_step_says() {
    for version in Version::ALL {
        let steps = json!([
            { "id": "find", "agent": "explore", "task": "link one: where is {task}?" },
            { "agent": "oracle", "task": "link two: is that right? {previous}" },
        ]);
        let script = chained(json!({ "steps": steps, "task": "the lock" }));
        let Some(stage) = Stage::set_with(version, "a chain by a tool", script) else {
            return;
        };
        let told = told_when_it_is_over(&stage, &["succeeded"; 2]);
        assert!(told.contains(JUDGED) && !told.contains(FOUND), "{told}");
        assert!(body_of(&stage, "first step").contains("where is the lock?"));
        let second = body_of(&stage, "second step");
        assert!(second.contains(&format!("is that right? {FOUND}")), "{second}");
    }
}

#[test]
fn a_chain_that_a_person_wrote_has_gates_and_one_that_a_model_wrote_has_none() {
    for version in Version::ALL {
        let Some(stage) = Stage::set_with(
            version,
            "a chain with a gate",
            chained(json!({ "chain": "check" })),
        ) else {
            return;
        };
        stage.sandbox.write_work_file(
            ".pi/chains/check.yaml",
            "agent: explore\nsteps:\n\
             - {id: find, task: 'link one', gate: [sh, -c, 'echo tried >> gate.log; exit 7']}\n\
             - {id: judge, task: 'link two'}\n",
        );
        let told = told_when_it_is_over(&stage, &["failed"; 2]);
        assert!(
            told.contains("exit code 7") && told.contains("Not begun"),
            "{told}"
        );
        let log = std::fs::read_to_string(stage.sandbox.work().join("gate.log"));
        assert_eq!(log.expect("it ran where its step worked"), "tried\n");

        let steps = json!([{ "agent": "explore", "task": "link one", "gate": ["touch", "by-a-model"] }]);
        let Some(stage) = Stage::set_with(version, "a gate of a model", chained(json!({ "steps": steps })))
        else {
            return;
        };
        let told = told_when_it_is_over(&stage, &[]);
        assert!(told.contains("in a chain that a person wrote"), "{told}");
        assert!(!stage.sandbox.work().join("by-a-model").exists());
    }
}

// --- in the background -----------------------------------------------------------------------------------------

/// Two steps, of which the second is held; nobody waits for them.
fn in_the_background() -> Script {
    let steps = json!([
        { "id": "find", "agent": "explore", "task": "link one" },
        { "id": "judge", "agent": "oracle", "task": "link two: is that right? {previous}" },
    ]);
    let mut script = chained(json!({ "steps": steps, "background": true }));
    let second = script.rules.iter_mut().find(|rule| rule.name == "second step");
    second.expect("a rule").turns[0].gate = Some("later".to_string());
    script
}

/// The second step is let go, and the main agent goes on with what the chain says without a word of the person.
fn goes_on_when_it_is_over(stage: &Stage, pi: &mut JsonLines) {
    let seen = pi.said().records.len();
    stage.server.open_gate("later");
    pi.wait_for_behind(seen, PATIENCE, |record| record["type"] == "agent_end");
    let told = body_of(stage, "main agent");
    assert!(told.contains(JUDGED), "{told}");
}

/// What the session says of a chain, once.
fn check_said_once(pi: &JsonLines) {
    assert_eq!(count(pi, is_result), 1, "one result for all of its steps");
    let said = pi.said().records;
    let result = said.iter().find(|record| is_result(record)).expect("a result");
    let words = result["message"]["content"].to_string();
    assert!(
        words.contains("The chain succeeded") && words.contains(JUDGED),
        "{words}"
    );
    assert!(!words.contains(FOUND), "what its last step says: {words}");
}

#[test]
fn a_chain_in_the_background_holds_up_nobody_and_what_it_says_comes_as_one_message() {
    for stage in Stage::both_with("a chain in the background", in_the_background) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        let end = pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        assert!(end.to_string().contains(MAIN_ANSWER), "{end}");
        assert!(body_of(&stage, "main agent").contains("works in the background as chain"));
        stage.wait_for_calls_of("second step", 1);
        // The first step is over, and nothing is said of it.
        assert_eq!(count(&pi, is_result), 0);
        goes_on_when_it_is_over(&stage, &mut pi);
        stage.wait_for_states(&["succeeded"; 2]);
        check_said_once(&pi);
        stage.end(pi);
    }
}

#[test]
fn what_a_chain_said_while_its_session_was_closed_is_delivered_after_a_restart_of_pi_and_runtime() {
    for stage in Stage::both_with("a chain through a restart", in_the_background) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let first = session_file(&mut pi);
        stage.wait_for_calls_of("second step", 1);
        switch(&mut pi, &json!({"type": "new_session"}));
        stage.server.open_gate("later");
        stage.wait_for_ended(2);
        send(pi.pid(), Signal::KILL);
        drop(pi);
        stage.nothing_is_left();

        let mut pi = stage.rpc();
        switch(&mut pi, &json!({"type": "switch_session", "sessionPath": first}));
        pi.wait_for(PATIENCE, is_result);
        talk(&mut pi, "Thank you.");
        stage.wait_for_states(&["succeeded"; 2]);
        check_said_once(&pi);
        stage.end(pi);
        let kept = fs::read_to_string(&first).expect("the session");
        assert_eq!(kept.matches("The chain succeeded").count(), 1, "{kept}");
    }
}

#[test]
fn a_runtime_killed_under_a_chain_in_the_background_costs_no_step_and_no_result() {
    for stage in Stage::both_with("a chain in the background, killed", || {
        let mut script = in_the_background();
        let second = script.rules.iter_mut().find(|rule| rule.name == "second step");
        second.expect("a rule").repeat = true;
        script
    }) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.wait_for_calls_of("second step", 1);
        kill_runtime(&stage);
        stage.wait_for_calls_of("second step", 2);
        goes_on_when_it_is_over(&stage, &mut pi);
        stage.wait_for_states(&["succeeded"; 2]);
        check_said_once(&pi);
        assert_eq!(stage.server.ledger().calls_of("first step").len(), 1);
        stage.end(pi);
    }
}

// --- the runtime is killed -------------------------------------------------------------------------------------

/// A chain that a person wrote, in the call of a tool, whose runtime is killed when `reached` says so. What the main agent
/// is told, and that nothing else is said.
fn killed(
    stage: &Stage,
    chain: &str,
    pi: JsonLines,
    reached: impl FnOnce(&Stage),
    states: &[&str],
) -> String {
    let mut pi = pi;
    stage.sandbox.write_work_file(".pi/chains/check.yaml", chain);
    prompt(&mut pi, "Now, please.");
    reached(stage);
    kill_runtime(stage);
    pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
    stage.wait_for_states(states);
    assert_eq!(count(&pi, is_result), 0, "the call brings the result");
    let ends = |record: &Value| record["type"] == "tool_execution_end";
    assert_eq!(count(&pi, ends), 1);
    assert_eq!(
        stage.server.ledger().calls_of("first step").len(),
        1,
        "no finished step runs again"
    );
    let told = body_of(stage, "main agent");
    stage.end(pi);
    told
}

fn by_name() -> Script {
    chained(json!({ "chain": "check" }))
}

#[test]
fn killed_between_two_steps_of_a_chain_the_next_one_begins() {
    for stage in Stage::both_with("a chain killed between steps", by_name) {
        // Who is to be a sub-agent is held, once the first one was let in.
        let (program, begun) = (
            stage.sandbox.bin().join("held-pi"),
            stage.sandbox.bin().join("begun"),
        );
        let install = stage.scenario.install();
        let script = format!(
            "case \" $* \" in *' rpc '*) echo $$ >> '{0}'; while [ $(wc -l < '{0}') = 2 ]; do sleep 0.05; done;; esac\nexec '{1}' '{2}' \"$@\"",
            begun.display(),
            install.node.display(),
            install.cli.display()
        );
        write_script(&program, &script);
        let mut pi = JsonLines::start(stage.pi(&["--mode", "rpc"]).env("IMPRESARIO_PI", &program));
        talk(&mut pi, "Hello.");
        let chain = "steps:\n- {id: find, agent: explore, task: link one}\n\
                     - {id: judge, agent: oracle, task: 'link two: {previous}'}\n";
        let reached = |_: &Stage| wait_for_lines(&begun, 2);
        let told = killed(&stage, chain, pi, reached, &["succeeded"; 2]);
        assert!(told.contains(JUDGED) && !told.contains(FOUND), "{told}");
        assert!(body_of(&stage, "second step").contains(&format!("link two: {FOUND}")));
        assert_eq!(stage.server.ledger().calls_of("second step").len(), 1);
    }
}

fn wait_for_lines(file: &std::path::Path, lines: usize) {
    let found = || fs::read_to_string(file).unwrap_or_default();
    until(|| found().lines().count() >= lines, found);
}

#[test]
fn killed_in_a_tool_of_a_step_that_must_not_run_twice_the_chain_is_parked_there() {
    let script = || {
        let mut script = by_name();
        let command = json!({"command": "echo once >> ran.txt; sleep 300"});
        script.rules[1].turns[0] = Turn::tool("bash", command);
        script
    };
    for stage in Stage::both_with("a chain killed in a tool", script) {
        let chain = "agent: general\nsteps:\n- {id: find, agent: explore, task: link one}\n\
                     - {id: work, task: link two}\n- {id: sum, task: link three}\n";
        let ran = stage.sandbox.work().join("ran.txt");
        let reached = |_: &Stage| wait_for_file(&ran, "once");
        let pi = stage.ready_rpc();
        let told = killed(&stage, chain, pi, reached, &["succeeded", "parked", "parked"]);
        assert!(told.contains("cut off"), "{told}");
        assert!(
            told.contains("Not begun, because the step") && told.contains(FOUND),
            "{told}"
        );
        assert_eq!(fs::read_to_string(&ran).expect("it ran"), "once\n");
    }
}

#[test]
fn killed_in_a_gate_the_chain_is_parked_there_unless_the_gate_may_run_again() {
    for repeatable in [false, true] {
        for stage in Stage::both_with("a chain killed in a gate", by_name) {
            let command = "echo tried >> gate.log; [ $(wc -l < gate.log) = 2 ] || sleep 300";
            let chain = format!(
                "agent: explore\nsteps:\n\
                 - id: find\n  task: link one\n  gate: {{command: [sh, -c, '{command}'], repeatable: {repeatable}}}\n\
                 - {{id: judge, task: link two}}\n",
            );
            let log = stage.sandbox.work().join("gate.log");
            let reached = |_: &Stage| wait_for_file(&log, "tried");
            let pi = stage.ready_rpc();
            let states = if repeatable {
                ["succeeded"; 2]
            } else {
                ["parked"; 2]
            };
            let told = killed(&stage, &chain, pi, reached, &states);
            let tries = fs::read_to_string(&log).expect("a log").lines().count();
            assert_eq!(tries, if repeatable { 2 } else { 1 });
            match repeatable {
                true => assert!(told.contains(JUDGED), "{told}"),
                false => assert!(told.contains("gate") && told.contains(FOUND), "{told}"),
            }
        }
    }
}
