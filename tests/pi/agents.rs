//! Agents in real Pi of both versions: a tool for each, side by side, and in the background.

use crate::host::{MAIN_ANSWER, PATIENCE, Stage, answer, is_result, prompt, script};
use impresario_model_server::{Call, Rule, Script, Turn, Usage};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::End;
use impresario_test_support::pi::Version;
use serde_json::{Value, json};

pub const FOUND: &str = "src/lib.rs#L1-L2 decides it.";

/// The main agent makes this turn when it is asked, then says something; the agents give these turns.
pub fn delegating(turn: Turn, agents: impl IntoIterator<Item = Turn>) -> Script {
    let main = Rule::new("main agent")
        .last_user_contains("please")
        .turn(turn)
        .turn(Turn::text(MAIN_ANSWER));
    let agent = Rule::new("agent").user_contains("User Goal: ");
    let mut script = script([]);
    let at = script.rules.len() - 1;
    script.rules.insert(at, main);
    script.rules.insert(0, agents.into_iter().fold(agent, Rule::turn));
    script
}

fn calls_of(stage: &Stage, rule: &str) -> Vec<Call> {
    stage.server.ledger().calls_of(rule)
}

#[test]
fn the_main_agent_asks_several_agents_at_once() {
    for version in Version::ALL {
        // None answers before all are asked.
        let together = [0, 1, 2].map(|_| Turn::text(FOUND).behind_gate("all"));
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it decided"}))
            .and_tool("delegate_explore", json!({"question": "where is it used"}))
            .and_tool(
                "delegate_oracle",
                json!({"question": "is it right", "context": "it failed twice"}),
            );
        let Some(stage) = Stage::set_with(version, "agents side by side", delegating(turn, together)) else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        stage.wait_for_calls_of("agent", 3);
        stage.server.open_gate("all");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");

        let told = calls_of(&stage, "main agent")
            .last()
            .expect("it goes on")
            .body
            .to_string();
        assert_eq!(told.matches(FOUND).count(), 3, "{told}");
        let asked = calls_of(&stage, "agent");
        let of_oracle = |call: &&Call| call.body.to_string().contains("it failed twice");
        assert_eq!(asked.iter().filter(of_oracle).count(), 1);
        for call in &asked {
            assert!(call.tools.contains(&"read".to_string()), "{:?}", call.tools);
            for changing in ["bash", "edit", "write"] {
                assert!(!call.tools.contains(&changing.to_string()), "{:?}", call.tools);
            }
            assert!(
                !call.tools.iter().any(|tool| tool.starts_with("delegate")),
                "{:?}",
                call.tools
            );
        }
        stage.wait_for_states(&["succeeded"; 3]);
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}

#[test]
fn a_tool_for_each_agent_is_offered_and_taught() {
    for version in Version::ALL {
        let Some(stage) = Stage::set(version, "agents offered", []) else {
            return;
        };
        stage.sandbox.write_work_file(
            ".pi/settings.json",
            r#"{"impresario": {"agents": {"disabled": ["librarian"]}, "promptInjection": {"enabled": false}}}"#,
        );
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Hello.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let call = calls_of(&stage, "main agent").pop().expect("a call");
        let sent = call.body.to_string();
        for agent in ["explore", "oracle", "general", "reviewer"] {
            let tool = format!("delegate_{agent}");
            assert!(call.tools.contains(&tool), "{tool}: {:?}", call.tools);
            assert!(sent.contains(&format!("- `{tool}` — ")), "{tool} is not taught");
        }
        assert!(
            !call.tools.contains(&"delegate_librarian".to_string()),
            "{:?}",
            call.tools
        );
        assert!(!call.tools.contains(&"delegate".to_string()), "{:?}", call.tools);
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
    }
}

#[test]
fn an_agent_in_the_background_holds_up_nobody_and_its_answer_comes_as_a_message() {
    for version in Version::ALL {
        let turn = Turn::tool(
            "delegate_explore",
            json!({"question": "where is it", "background": true}),
        );
        let script = delegating(turn, [Turn::text(FOUND).behind_gate("later")]);
        let Some(stage) = Stage::set_with(version, "an agent in the background", script) else {
            return;
        };
        let mut terminal = stage.ready_terminal();
        crate::host::submit_and_see(&mut terminal, "Now, please.", MAIN_ANSWER);
        stage.wait_for_calls_of("agent", 1);
        let told = calls_of(&stage, "main agent")
            .last()
            .expect("it went on")
            .body
            .to_string();
        assert!(told.contains("works in the background"), "{told}");
        stage.server.open_gate("later");
        terminal.wait_for_text(PATIENCE, FOUND);
        stage.wait_for_states(&["succeeded"]);
        // Who asked for it goes on with it, without a word of the person.
        stage.wait_for_calls_of("main agent", 3);
        let woken = calls_of(&stage, "main agent")
            .last()
            .expect("a call")
            .body
            .to_string();
        assert!(woken.contains(FOUND), "{woken}");
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn models_are_chosen_for_agents_in_pi_and_hold_for_the_next_one() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it"}));
        let Some(stage) = Stage::set_with(version, "setup models", delegating(turn, [Turn::text(FOUND)]))
        else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "/setup-models");
        let choose = |pi: &mut JsonLines, title: &str, wanted: &str| {
            let is_it = |record: &Value| record["method"] == "select" && record["title"] == title;
            let asked = pi.wait_for(PATIENCE, is_it);
            let options = asked["options"].as_array().expect("options").clone();
            let begins = |option: &&Value| option.as_str().is_some_and(|option| option.starts_with(wanted));
            let chosen = options.iter().find(begins);
            answer(
                pi,
                &asked,
                chosen.unwrap_or_else(|| panic!("{wanted} in {asked}")).clone(),
            );
        };
        choose(&mut pi, "Models of sub-agents", "Use one model");
        choose(&mut pi, "Model of all agents", "mock/mock-other");
        let asked = pi.wait_for(PATIENCE, |record| record["method"] == "confirm");
        assert!(
            asked["message"].to_string().contains("mock/mock-other"),
            "{asked}"
        );
        pi.say(&json!({"type": "extension_ui_response", "id": asked["id"], "confirmed": true}))
            .expect("Pi listens");
        pi.wait_for(PATIENCE, |record| record.to_string().contains("Written to "));

        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let calls = calls_of(&stage, "agent");
        assert_eq!(calls[0].model, "mock-other");
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
    }
}

#[test]
fn calls_of_an_agent_that_is_set_so_run_one_after_the_other() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it decided"}))
            .and_tool("delegate_explore", json!({"question": "where is it used"}));
        let Some(stage) = Stage::set_with(
            version,
            "agents in turn",
            delegating(turn, [1, 2].map(|_| Turn::text(FOUND))),
        ) else {
            return;
        };
        stage.configure(json!({"agents": {"explore": {"executionMode": "sequential"}}}));
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let said = pi.said().records;
        let steps = said.iter().filter_map(|record| record["type"].as_str());
        let of_tools = steps.filter(|step| matches!(*step, "tool_execution_start" | "tool_execution_end"));
        let one = ["tool_execution_start", "tool_execution_end"];
        assert_eq!(of_tools.collect::<Vec<_>>(), [one, one].concat());
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
    }
}

#[test]
fn an_agent_that_fails_is_a_failed_call() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it"}));
        let script = delegating(turn, [Turn::fault(impresario_model_server::Fault::Unauthorized)]);
        let Some(stage) = Stage::set_with(version, "a failing agent", script) else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        let ended = pi.wait_for(PATIENCE, |record| record["type"] == "tool_execution_end");
        assert_eq!(ended["isError"], Value::Bool(true), "{ended}");
        assert!(ended.to_string().contains("Agent explore failed"), "{ended}");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        assert!(!pi.said().records.iter().any(is_result));
        stage.nothing_is_left();
    }
}

#[test]
fn an_agent_that_spends_what_it_may_is_told_to_conclude_and_then_stopped() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it"}));
        // As many tokens as a call is reckoned with, so that the cap is reached where it is meant to be.
        let used = Usage {
            input: 4_000,
            output: 1_000,
            ..Usage::default()
        };
        let reading = || {
            Turn::tool("read", json!({"path": "notes.txt"}))
                .and_usage(used)
                .from_model("another-model")
        };
        let script = delegating(turn, (0..14).map(|_| reading()));
        let Some(stage) = Stage::set_with(version, "an agent that spends", script) else {
            return;
        };
        stage.sandbox.write_work_file("notes.txt", "nothing here\n");
        stage.sandbox.write_work_file(
            ".pi/settings.json",
            r#"{"impresario": {"budget": {"runTokens": 60000}}}"#,
        );
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        let ended = pi.wait_for(PATIENCE, |record| record["type"] == "tool_execution_end");
        assert_eq!(ended["isError"], Value::Bool(true), "{ended}");
        assert!(ended.to_string().contains("budget.runTokens"), "{ended}");
        assert!(ended.to_string().contains(" tokens in, "), "{ended}");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));

        let asked = calls_of(&stage, "agent");
        assert!(
            asked.len() <= 12,
            "twelve calls are all that fits: {}",
            asked.len()
        );
        let told = |call: &&Call| call.body.to_string().contains("Conclude now");
        assert!(!told(&&asked[7]), "not before four fifths are spent");
        assert!(asked.last().as_ref().is_some_and(told), "and then at once");
        let run = stage.runs()[0]["run"].as_str().expect("a run").to_string();
        let shown = stage.impresario(&["runs", "show", &run, "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        let called = shown["calls"].as_array().expect("calls");
        assert_eq!(called.len(), asked.len(), "{called:?}");
        for call in called {
            assert_eq!(call["used"]["input"], json!(4_000), "{call}");
            assert_eq!(call["by"], json!({"part": "sub_agent", "attempt": 1}));
        }
        assert!(ended.to_string().contains("another-model answered"), "{ended}");
        assert_eq!(shown["state"], json!("parked"), "{shown}");
        stage.nothing_is_left();
    }
}

#[test]
fn a_cap_that_is_reached_while_five_work_stops_all_of_them_and_is_not_exceeded_by_more_than_a_call_each() {
    const CAP: u64 = 60_000;
    for version in Version::ALL {
        let asking = (1..=5).fold(None, |turn: Option<Turn>, number| {
            let question = json!({"question": format!("where is number {number}")});
            Some(match turn {
                None => Turn::tool("delegate_explore", question),
                Some(turn) => turn.and_tool("delegate_explore", question),
            })
        });
        let used = Usage {
            input: 4_000,
            output: 1_000,
            ..Usage::default()
        };
        let reading = Turn::tool("read", json!({"path": "notes.txt"})).and_usage(used);
        let script = delegating(asking.expect("a turn"), (0..40).map(|_| reading.clone()));
        let Some(stage) = Stage::set_with(version, "five that spend", script) else {
            return;
        };
        stage.sandbox.write_work_file("notes.txt", "nothing here\n");
        let settings = json!({"impresario": {"budget": {"sessionTokens": CAP}}});
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        for _ in 1..=5 {
            let ended = pi.wait_for(PATIENCE, |record| record["type"] == "tool_execution_end");
            assert_eq!(ended["isError"], Value::Bool(true), "{ended}");
            assert!(ended.to_string().contains("budget.sessionTokens"), "{ended}");
        }
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));

        let spent = 5_000 * calls_of(&stage, "agent").len() as u64;
        assert!(spent <= CAP + 5 * 5_000, "{spent} tokens of {CAP}");
        assert!(spent > CAP / 2, "it was not stopped long before: {spent}");
        let costs = stage.impresario(&["costs", "--by", "agent", "--json"]).stdout;
        let costs: Value = serde_json::from_str(costs.trim()).expect("one agent, one line");
        assert_eq!(costs["used"]["input"], json!(spent / 5 * 4), "{costs}");
        stage.nothing_is_left();
    }
}

/// Two megabytes do not fit into what the main agent reads; it is told where they are, and so is whoever asks later.
#[test]
fn an_answer_of_two_megabytes_is_cut_for_the_main_agent_and_whole_where_it_says() {
    let lines = (1..=90_000).map(|number| format!("Line {number} of the report.\n"));
    let report = format!("It begins.\n{}It ends.", lines.collect::<String>());
    assert!(report.len() > 2_000_000);
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "tell me everything"}));
        let said = Turn::text(&report).in_deltas_of(50_000);
        let Some(stage) = Stage::set_with(version, "a long answer", delegating(turn, [said])) else {
            return;
        };
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Now, please.");
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        let told = calls_of(&stage, "main agent").pop().expect("it goes on");
        let told = told.body.to_string();
        assert!(
            told.len() < 300_000,
            "the main agent is spared {} bytes",
            told.len()
        );
        assert!(told.contains("It begins.") && told.contains("It ends."));
        let place = told
            .split("bytes of it are in ")
            .nth(1)
            .expect("it is told where");
        let file = place.split(": read there").next().expect("a file");
        assert_eq!(std::fs::read_to_string(file).expect("the file is there"), report);
        let run = stage.runs()[0]["run"].as_str().expect("an id").to_string();
        let whole = stage.impresario(&["runs", "show", &run, "--answer"]);
        assert_eq!(whole.end, End::Exited(0), "{}", whole.stderr);
        assert_eq!(whole.stdout, format!("{report}\n"));
        pi.hang_up();
        assert_eq!(pi.wait_for_end(PATIENCE), End::Exited(0));
        stage.nothing_is_left();
    }
}
