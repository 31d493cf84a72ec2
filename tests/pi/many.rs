//! Much at once in real Pi of both versions: twenty sub-agents of which one is poisoned, a cancellation of everything, two
//! sessions of which one loses its runtime.

use crate::agents::{FOUND, delegating};
use crate::host::{MAIN_ANSWER, PATIENCE, Stage, count, is_result, prompt, quit, talk, wait_for_file};
use impresario_model_server::{Fault, Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::processes::{parent_of, send};
use impresario_test_support::waiting::until;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

const BRANCHES: usize = 20;
const POISONED: usize = 7;

fn is_end(record: &Value) -> bool {
    record["type"] == "agent_end"
}

/// What the main agent knows that was told this.
fn told(stage: &Stage, order: &str) -> String {
    let calls = stage.server.ledger().calls_of("main agent").into_iter();
    let mut bodies = calls.map(|call| call.body.to_string());
    bodies.rfind(|body| body.contains(order)).expect("it goes on")
}

/// Of a rule for this piece of work.
fn worker(piece: &str, turn: Turn) -> Rule {
    Rule::new(piece)
        .user_contains(&format!("User Goal: {piece}"))
        .turn(turn)
        .repeat()
}

#[test]
fn of_twenty_at_once_a_poisoned_one_fails_and_harms_no_other() {
    let piece = |number: usize| format!("Look at place {number} of twenty.");
    let found = |number: usize| format!("Found in place {number}.");
    let script = || {
        let branch =
            |number| json!({"id": format!("branch-{number}"), "agent": "explore", "task": piece(number)});
        let branches = (0..BRANCHES).map(branch).collect::<Vec<_>>();
        let asks = Turn::tool("delegate_chain", json!({"steps": [{ "parallel": branches }]}));
        let mut script = delegating(asks, []);
        for number in 0..BRANCHES {
            let turn = match number == POISONED {
                true => Turn::fault(Fault::ContextOverflow),
                false => Turn::text(&found(number)),
            };
            script.rules.insert(
                0,
                Rule::new("branch")
                    .user_contains(&piece(number))
                    .turn(turn)
                    .repeat(),
            );
        }
        script
    };
    for stage in Stage::both_with("twenty at once", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, is_end);
        let is_failed = |record: &Value| record["type"] == "tool_execution_end" && record["isError"] == true;
        assert_eq!(count(&pi, is_failed), 1, "as its worst branch");
        let told = told(&stage, "Now, please.");
        for number in 0..BRANCHES {
            let times = told.matches(&found(number)).count();
            assert_eq!(times, usize::from(number != POISONED), "{number} in {told}");
        }
        let runs = stage.runs();
        let failed = runs
            .iter()
            .filter(|run| run["state"] == "failed")
            .collect::<Vec<_>>();
        assert_eq!((runs.len(), failed.len()), (BRANCHES, 1), "{runs:?}");
        assert_eq!(
            failed[0]["task"],
            json!(format!("branch-{POISONED} — {}", piece(POISONED)))
        );
        stage.end(pi);
    }
}

#[test]
fn everything_is_cancelled_whatever_it_is_doing_and_nothing_begins_any_more() {
    let script = || {
        let steps = json!([
            { "id": "first", "agent": "explore", "task": "link one" },
            { "id": "second", "agent": "oracle", "task": "link two" },
        ]);
        let turn = Turn::tool(
            "delegate_general",
            json!({"task": "piece in a tool", "background": true}),
        )
        .and_tool(
            "delegate_explore",
            json!({"question": "piece at its model", "background": true}),
        )
        .and_tool("delegate_chain", json!({"steps": steps, "background": true}));
        let mut script = delegating(turn, []);
        let never = || Turn::text(FOUND).behind_gate("never");
        let works = Turn::tool("bash", json!({"command": "echo once >> ran.txt; sleep 600"}));
        script.rules.insert(0, worker("piece in a tool", works));
        script.rules.insert(0, worker("piece at its model", never()));
        script
            .rules
            .insert(0, Rule::new("link").user_contains("link ").turn(never()).repeat());
        script
    };
    for stage in Stage::both_with("cancel everything", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, is_end);
        let ran = stage.sandbox.work().join("ran.txt");
        wait_for_file(&ran, "once");
        stage.wait_for_calls_of("piece at its model", 1);
        stage.wait_for_calls_of("link", 1);
        let calls = stage.callers().len();
        prompt(&mut pi, "/skill:cancel");
        stage.wait_for_states(&["cancelled"; 4]);
        let works_on = || {
            stage
                .processes()
                .iter()
                .any(|(_, command)| command.contains("sleep 600"))
        };
        until(|| !works_on(), || format!("still there: {:?}", stage.processes()));
        assert_eq!(stage.callers().len(), calls, "nobody called a model any more");
        assert_eq!(fs::read_to_string(&ran).expect("it ran"), "once\n");
        assert_eq!(count(&pi, is_result), 0, "who cancels is told in a notice");
        stage.end(pi);
    }
}

#[test]
fn two_sessions_at_once_have_each_its_own_results_though_one_loses_its_runtime() {
    let script = || {
        let main = |words: &str, piece: &str| {
            let asks = Turn::tool("delegate_explore", json!({ "question": piece }));
            Rule::new("main agent")
                .last_user_contains(words)
                .turn(asks)
                .turn(Turn::text(MAIN_ANSWER))
        };
        let held = |answer: &str| Turn::text(answer).behind_gate("both");
        Script::new()
            .rule(worker("the left piece", held("It is left.")))
            .rule(worker("the right piece", held("It is right.")))
            .rule(main("left, please", "the left piece"))
            .rule(main("right, please", "the right piece"))
            .rule(Rule::new("main agent").turn(Turn::text(MAIN_ANSWER)).repeat())
    };
    for stage in Stage::both_with("two sessions", script) {
        let (mut left, mut right) = (stage.ready_rpc(), stage.ready_rpc());
        prompt(&mut left, "left, please");
        prompt(&mut right, "right, please");
        stage.wait_for_calls_of("the left piece", 1);
        stage.wait_for_calls_of("the right piece", 1);
        send(runtime_of(&stage, &left), Signal::KILL);
        stage.wait_for_calls_of("the left piece", 2);
        stage.server.open_gate("both");
        for (pi, order, own, other) in [
            (&mut left, "left, please", "It is left.", "It is right."),
            (&mut right, "right, please", "It is right.", "It is left."),
        ] {
            pi.wait_for(PATIENCE, is_end);
            talk(pi, "Thank you.");
            let told = told(&stage, order);
            assert!(told.contains(own) && !told.contains(other), "{told}");
            assert_eq!(count(pi, is_result), 0, "the call brings the result");
        }
        stage.wait_for_states(&["succeeded"; 2]);
        quit(left);
        quit(right);
        assert_eq!(stage.server.ledger().calls_of("the right piece").len(), 1);
        stage.nothing_is_left();
    }
}

fn runtime_of(stage: &Stage, pi: &JsonLines) -> u32 {
    let host = i32::try_from(pi.pid()).ok();
    let all = stage.processes();
    let runtime = all
        .iter()
        .find(|(pid, command)| command.contains("impresario bridge") && parent_of(*pid) == host);
    runtime
        .unwrap_or_else(|| panic!("no runtime among {all:?}"))
        .0
        .unsigned_abs()
}
