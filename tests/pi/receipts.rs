//! Receipts with real Pi of both versions: what a nested Pi did, whoever was killed meanwhile, and what the main agent and
//! the person are told.

use crate::agents::{FOUND, delegating};
use crate::below::{Stage, with_both};
use crate::host::{self, PATIENCE, prompt};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::{MOCK_MODEL, Version};
use impresario_test_support::processes::{has_environment, parent_of, send, with_environment};
use impresario_test_support::waiting::until_some;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Command;

/// SHA-256 of `abc` and of `abd`.
const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const OF_ABD: &str = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9";
const CLAIM: &str = "I mended `a.txt:1`; `notes.txt:1` is as it was. All tests pass.";

fn model(turns: impl IntoIterator<Item = Turn>) -> Script {
    Script::new().rule(turns.into_iter().fold(Rule::new("model"), Rule::turn))
}

fn bash(command: &str) -> Turn {
    Turn::tool("bash", json!({ "command": command }))
}

fn skill(stage: &Stage) -> Command {
    let arguments = [
        "skill",
        "--trust",
        "--runner",
        "pi",
        "--json",
        "--unjudged",
        "--model",
        MOCK_MODEL,
    ];
    let mut command = stage.command(&arguments);
    command.args(["demo", "Mend a.txt."]);
    command
}

fn run_of(finished: &Finished) -> String {
    finished.records()[0]["run"].as_str().expect("an id").to_string()
}

/// What `runs show` says of a run.
fn shown(stage: &Stage, run: &str) -> Value {
    let shown = stage.run(&["runs", "--json", "show", run]);
    assert_eq!(shown.end, End::Exited(0), "{}", shown.stderr);
    shown.records()[0].clone()
}

#[test]
fn a_nested_pi_leaves_a_receipt_of_what_it_did() {
    let edit = json!({"path": "a.txt", "edits": [{"oldText": "abc", "newText": "abd"}]});
    let script = move || {
        model([
            Turn::tool("read", json!({"path": "a.txt"})),
            Turn::tool("edit", edit.clone()),
            bash("echo beside > beside.txt"),
            bash("sh -c 'echo tests; exit 3' test"),
            Turn::text(CLAIM),
        ])
    };
    with_both("receipts: all kinds of calls", script, |stage| {
        stage.sandbox.write_work_file("a.txt", "abc");
        let finished = run(&mut skill(stage), "", PATIENCE);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let run = run_of(&finished);
        let receipt = shown(stage, &run)["receipt"].clone();
        let work = &receipt["work"];
        assert_eq!(work["read"][0]["path"], "a.txt", "{receipt:#}");
        assert_eq!(work["read"][0]["state"]["sha256"], OF_ABC);
        assert_eq!(work["changed"][0]["path"], "a.txt");
        assert_eq!(work["changed"][0]["before"]["sha256"], OF_ABC);
        assert_eq!(work["changed"][0]["after"]["sha256"], OF_ABD);
        assert_eq!(stage.written("a.txt"), "abd");
        let codes = [
            &work["commands"][0]["exit_code"],
            &work["commands"][1]["exit_code"],
        ];
        assert_eq!(codes, [&json!(0), &json!(3)]);
        assert_eq!(work["may_have_changed_more"], true, "nobody saw beside.txt");
        assert_eq!(receipt["models"], json!([MOCK_MODEL]));
        assert_eq!(receipt["model_calls"], 5);
        let kinds = [&receipt["flags"][0]["flag"], &receipt["flags"][1]["flag"]];
        assert_eq!(kinds, ["cited_unread", "tests_failed"]);
        assert_eq!(receipt["flags"][0]["path"], "notes.txt");
        assert_eq!(receipt["flags"][1]["exit_code"], 3);

        let story = stage.run(&["runs", "show", &run]).stdout;
        assert!(
            story.contains("! It cites notes.txt:1, which it did not look at."),
            "{story}"
        );
        assert!(
            story.contains("changed  a.txt  sha256 ba7816bf8f01… → sha256 a52d159f262b…"),
            "{story}"
        );
        assert!(story.contains("exit 3"), "{story}");
    });
}

/// The first process that carries the run's mark: its parent does not.
fn kill_pi_of(run: &str) {
    let mark = format!("IMPRESARIO_RUN={run}");
    let is_first = |pid: &i32| parent_of(*pid).is_some_and(|parent| !has_environment(parent, &mark));
    let pid = until_some(
        || with_environment(&mark).into_iter().find(is_first),
        || format!("no process with {mark}"),
    );
    send(pid.unsigned_abs(), Signal::KILL);
}

/// Reads and changes a file, then this happens while the model thinks; whatever goes on after it says what was done before.
fn killed_in_the_middle(name: &str, kill: impl Fn(&Stage, &mut JsonLines, &str) -> String) {
    let script = || {
        model([
            Turn::tool("read", json!({"path": "a.txt"})),
            Turn::tool("write", json!({"path": "a.txt", "content": "abd"})),
            Turn::text("never").behind_gate("never"),
            bash("true"),
            Turn::text("I mended `a.txt:1`."),
        ])
    };
    with_both(name, script, |stage| {
        stage.sandbox.write_work_file("a.txt", "abc");
        let mut working = JsonLines::start(&mut skill(stage));
        let ended = working.wait_for(PATIENCE, |event| {
            event["type"] == "tool_ended"
                && event["call"]
                    .as_str()
                    .is_some_and(|call| call.starts_with("2.1:"))
        });
        stage.wait_for_calls(3);
        let run = ended["run"].as_str().expect("an id").to_string();
        let last = kill(stage, &mut working, &run);
        let story = shown(stage, &last);
        assert_eq!(story["state"], "succeeded", "{story:#}");
        let work = &story["receipt"]["work"];
        assert_eq!(work["read"][0]["state"]["sha256"], OF_ABC, "{work:#}");
        assert_eq!(work["changed"][0]["before"]["sha256"], OF_ABC);
        assert_eq!(work["changed"][0]["after"]["sha256"], OF_ABD);
        assert_eq!(work["commands"][0]["exit_code"], 0);
        assert_eq!(
            story["receipt"]["flags"],
            json!([]),
            "it read what it cites, before"
        );
    });
}

#[test]
fn a_killed_nested_pi_takes_nothing_from_the_receipt() {
    killed_in_the_middle("receipts: Pi is killed", |_, working, run| {
        kill_pi_of(run);
        assert_eq!(working.wait_for_end(PATIENCE), End::Exited(0));
        run.to_string()
    });
}

/// The run that goes on with a parked one has its nested session, and so its work.
#[test]
fn a_run_that_was_killed_with_its_runtime_and_resumed_says_what_it_did_before() {
    killed_in_the_middle("receipts: the runtime is killed", |stage, working, run| {
        send(working.pid(), Signal::KILL);
        working.wait_for_end(PATIENCE);
        let resumed = stage.run(&["runs", "--json", "resume", run]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        let last = run_of(&resumed);
        assert_eq!(shown(stage, &last)["receipt"]["goes_on_with"], run);
        last
    });
}

/// The main agent reads what to check before the answer, and what was seen behind it.
#[test]
fn the_main_agent_is_told_what_an_answer_rests_on() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it decided"}));
        let script = delegating(turn, [Turn::text(FOUND)]);
        let Some(stage) = host::Stage::set_with(version, "receipts: the main agent", script) else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        let ended = pi.wait_for(PATIENCE, |record| record["type"] == "tool_execution_end");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let ledger = stage.server.ledger();
        let told = ledger
            .calls_of("main agent")
            .last()
            .expect("it goes on")
            .body
            .to_string();
        let (check, found, seen) = (
            told.find("Check this before you rely on it:")
                .expect("it is told"),
            told.rfind(FOUND).expect("the answer"),
            told.find("Seen by the runtime: no tool calls.")
                .expect("what was seen"),
        );
        assert!(check < found && found < seen, "{told}");
        assert!(told.contains("nothing in this answer was looked up"), "{told}");
        assert!(told.contains("It cites src/lib.rs:1"), "{told}");
        let flags = ended["result"]["details"]["sight"]["flags"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(flags, 2, "{ended:#}");
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}
