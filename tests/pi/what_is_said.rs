//! What a person in real Pi is told while a run works, when it ends, and when they leave it behind.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, count, is_notice, is_result, prompt, script, submit_and_see,
};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::pi::Version;
use impresario_test_support::processes::send;
use impresario_test_support::terminal::Key;
use rustix::process::Signal;
use serde_json::json;
use std::process::{Command, Stdio};

const ORDER: &str = "/skill demo look around";

/// The sub-agent works until the test ends.
fn never_ready() -> [Turn; 1] {
    [Turn::text("never").behind_gate("never")]
}

#[test]
fn a_fallback_is_said_while_it_happens_and_in_the_result() {
    let script = || {
        let busy = Rule::new("busy sub-agent")
            .user_contains("User Goal: ")
            .model("mock-1")
            .turn(Turn::overloaded())
            .repeat();
        let mut script = script([Turn::text(ANSWER)]);
        script.rules.insert(0, busy);
        script
    };
    for stage in Stage::both_with("a fallback is said", script) {
        let settings = json!({"impresario": {"fallbackModels": ["mock/mock-other"]}});
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let mut pi = stage.rpc();
        prompt(&mut pi, ORDER);
        let result = pi.wait_for(PATIENCE, is_result);
        let text = result["message"]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let why = "On mock/mock-1, the model could not be reached: 529";
        assert!(
            text.starts_with("Skill demo succeeded (run ")
                && text.contains(", on mock/mock-other; 300 tokens in, 30 out, $"),
            "{text}"
        );
        assert!(text.contains("Task: look around") && text.contains(why), "{text}");
        let told = format!("demo goes on with mock/mock-other. {why}");
        assert_eq!(count(&pi, |record| is_notice(record, &told)), 1);
        let waits = |seconds: u32| {
            let line = format!("{seconds} s left · starting again. {why}");
            count(&pi, |record| record["widgetLines"].to_string().contains(&line))
        };
        assert!(waits(2) > 0 && waits(4) > 0, "a pause was not shown");
        stage.end(pi);
    }
}

#[test]
fn whoever_quits_under_a_run_is_told_that_it_is_parked() {
    for stage in Stage::both("quit under a run", never_ready) {
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, ORDER, "esc cancels");
        stage.wait_for_sub_agents(1);
        terminal.type_text("/quit");
        terminal.press(Key::Enter);
        terminal.wait_for_text(PATIENCE, "demo parked, because Pi was left while it worked");
        terminal.wait_for_end(PATIENCE);
        stage.wait_for_ended(1);
        assert_eq!(stage.runs()[0]["state"], "parked");
        stage.nothing_is_left();
    }
}

#[test]
fn whoever_opens_another_session_is_told_that_the_run_goes_on() {
    for stage in Stage::both("another session under a run", never_ready) {
        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, ORDER, "esc cancels");
        stage.wait_for_sub_agents(1);
        terminal.type_text("/new");
        terminal.press(Key::Enter);
        terminal.wait_for_text(
            PATIENCE,
            "Skill demo goes on; its result waits in the session that was left",
        );
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn whoever_interrupts_a_skill_in_print_mode_is_told_that_it_is_parked() {
    for stage in Stage::both("interrupt in print mode", never_ready) {
        let mut command: Command = stage.pi(&["-p", ORDER]);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Pi starts");
        stage.wait_for_sub_agents(1);
        send(child.id(), Signal::INT);
        let output = child.wait_with_output().expect("Pi ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("demo parked, because Pi was left while it worked"),
            "{said}"
        );
        assert!(!output.status.success());
        stage.wait_for_ended(1);
        assert_eq!(stage.runs()[0]["state"], "parked");
        stage.nothing_is_left();
    }
}

/// The main agent delegates this task in one turn with others, then says something.
fn delegating(tasks: &[&str], sub_agents: impl IntoIterator<Item = Turn>) -> Script {
    let call = |task: &&str| json!({"skill": "demo", "task": task});
    let mut calls = tasks.iter().map(call);
    let first = Turn::tool("delegate", calls.next().expect("a task"));
    let turn = calls.fold(first, |turn, arguments| turn.and_tool("delegate", arguments));
    let main = Rule::new("main agent")
        .last_user_contains("please")
        .turn(turn)
        .turn(Turn::text(MAIN_ANSWER));
    let mut script = script(sub_agents);
    let at = script.rules.len() - 1;
    script.rules.insert(at, main);
    script
}

#[test]
fn a_delegation_shows_its_skill_and_its_task() {
    for version in Version::ALL {
        let task = "look around the workspace for 日本語 files";
        let Some(stage) = Stage::set_with(
            version,
            "delegation on the screen",
            delegating(&[task], never_ready()),
        ) else {
            return;
        };
        let mut terminal = stage.ready_terminal();
        submit_and_see(&mut terminal, "Now, please.", "delegate demo");
        terminal.wait_for_text(PATIENCE, task);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn delegations_of_one_turn_run_side_by_side() {
    let script = || {
        // Neither answers before both are asked.
        let side_by_side = [0, 1].map(|_| Turn::text(ANSWER).behind_gate("both"));
        delegating(&["look here", "look there"], side_by_side)
    };
    for stage in Stage::both_with("delegations side by side", script) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        stage.wait_for_sub_agents(2);
        stage.server.open_gate("both");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let calls = stage.server.ledger().calls_of("main agent");
        let told = calls.last().expect("the main agent goes on").body.to_string();
        assert_eq!(told.matches("Skill demo succeeded").count(), 2, "{told}");
        stage.wait_for_states(&["succeeded", "succeeded"]);
        stage.end(pi);
    }
}

#[test]
fn what_is_wrong_is_said_in_sentences_that_end_once() {
    for stage in Stage::both("sentences", never_ready) {
        let mut pi = stage.rpc();
        prompt(&mut pi, ORDER);
        stage.wait_for_sub_agents(1);
        prompt(&mut pi, "/skill demo look again");
        let busy = "Skill demo was not started: Router busy (executing). Wait for the current skill to finish, or cancel it \
                    with /skill:cancel.";
        let told = pi.wait_for(PATIENCE, |record| is_notice(record, busy));
        assert_eq!(told["message"], busy);
        stage.end(pi);
        let runs = stage.impresario(&["trace"]);
        let empty = runs
            .stdout
            .lines()
            .filter(|line| line.trim_end().ends_with('s') && line.trim().len() < 10);
        assert_eq!(empty.count(), 0, "{}", runs.stdout);
    }
}
