//! Real Pi runs in the sandbox, in every mode that the scenarios use.

use std::time::Duration;

use impresario_model_server::{ModelServer, Outcome, Rule, Script, Turn};
use impresario_test_support::limited::End;
use impresario_test_support::pi::{MOCKA_MODEL, Sandbox, Scenario, Version, submit};
use impresario_test_support::terminal::Key;
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_task_with_a_tool_call_runs_to_its_end_in_json_mode() {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, "json mode, tool call") else {
            return;
        };
        let script = Script::turns([
            Turn::tool("read", json!({"path": "note.txt"})),
            Turn::text("It says hello."),
        ]);
        let server = ModelServer::start_blocking(script).unwrap();
        let sandbox = Sandbox::new(scenario.install(), &server);
        sandbox.write_work_file("note.txt", "hello");
        let finished = sandbox.run_pi(
            &["--mode", "json", "--no-session", "What does note.txt say?"],
            PATIENCE,
        );
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
        let ended = finished.records_of("tool_execution_end");
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0]["result"]["content"][0]["text"], "hello");
        assert!(finished.stdout.contains("It says hello."));
        assert_eq!(server.ledger().unscripted(), Vec::<String>::new());
        assert!(server.ledger().calls()[1].body.to_string().contains("hello"));
    }
}

#[test]
fn the_answer_is_printed_in_print_mode_with_anthropics_protocol() {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, "print mode, anthropic") else {
            return;
        };
        let server =
            ModelServer::start_blocking(Script::turns([Turn::text("An answer.").and_thinking("hm")]))
                .unwrap();
        let sandbox = Sandbox::new(scenario.install(), &server);
        let finished = sandbox.run_pi(
            &["--no-session", "--model", MOCKA_MODEL, "-p", "Say something."],
            PATIENCE,
        );
        assert_eq!(
            (finished.end, finished.stdout.trim()),
            (End::Exited(0), "An answer."),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn two_prompts_are_answered_in_rpc_mode() {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, "rpc mode") else {
            return;
        };
        let script = Script::new().rule(
            Rule::new("echo")
                .turn(Turn::text("You said: {{last_user}}"))
                .repeat(),
        );
        let server = ModelServer::start_blocking(script).unwrap();
        let sandbox = Sandbox::new(scenario.install(), &server);
        let mut pi = sandbox.start_rpc(&["--no-session"]);
        let mut behind = 0;
        for task in ["first", "second"] {
            pi.say(&json!({"id": task, "type": "prompt", "message": task}))
                .unwrap();
            let (seen, ended) = pi.wait_for_behind(behind, PATIENCE, |record| record["type"] == "agent_end");
            assert!(ended.to_string().contains(&format!("You said: {task}")));
            behind = seen;
        }
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        let calls = server.ledger().calls();
        assert!(
            calls
                .iter()
                .all(|call| call.end.unwrap().outcome == Outcome::Completed)
        );
    }
}

#[test]
fn a_person_sees_the_answer_on_the_terminal() {
    for version in Version::ALL {
        let Some(scenario) = Scenario::begin(version, "terminal") else {
            return;
        };
        let server =
            ModelServer::start_blocking(Script::turns([Turn::text("A sentence on the screen.")])).unwrap();
        let sandbox = Sandbox::new(scenario.install(), &server);
        let mut terminal = sandbox.start_terminal(&[]);
        submit(&mut terminal, "Say a sentence.", PATIENCE);
        terminal.wait_for_text(PATIENCE, "A sentence on the screen.");
        terminal.press(Key::Control('d'));
        assert_eq!(terminal.wait_for_end(PATIENCE), End::Exited(0));
    }
}
