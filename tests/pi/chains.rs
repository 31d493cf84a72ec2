//! Chains in real Pi of both versions: one call of a tool, and what the last step says comes back.

use crate::agents::{FOUND, delegating};
use crate::host::{PATIENCE, Stage, prompt};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::limited::End;
use impresario_test_support::pi::Version;
use serde_json::{Value, json};

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
