//! What agents are told and what people see of it, in real Pi: the log of system prompts, the overlay, prompt templates,
//! and Pi's own tools drawn otherwise.

use crate::agents::{FOUND, delegating};
use crate::host::{MAIN_ANSWER, PATIENCE, Stage, talk, wait_for_file, wait_for_runtime};
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::{Version, submit};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const SECRET: &str = "hunter2hunter2hunter2";
const RULES: &str = "Use tabs.\nThe tests need API_KEY=hunter2hunter2hunter2 in their environment.\n";
/// The overlay's first line.
const OVERLAY: &str = "<!-- impresario: how to work here -->";
const TEMPLATES: [&str; 4] = [
    "commit-and-push",
    "review-fresh-eyes",
    "suggest-innovation",
    "update-docs",
];

fn main_agent(turns: impl IntoIterator<Item = Turn>) -> Script {
    Script::new().rule(turns.into_iter().fold(Rule::new("main agent"), Rule::turn))
}

fn calls(stage: &Stage, rule: &str) -> Vec<Call> {
    stage.server.ledger().calls_of(rule)
}

fn log_of(stage: &Stage) -> PathBuf {
    stage.sandbox.work().join(".pi/prompts/system-prompts.jsonl")
}

#[test]
fn system_prompts_are_logged_for_their_owner_and_without_secrets() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_explore", json!({"question": "where is it"}));
        let Some(stage) = Stage::set_with(version, "a log of prompts", delegating(turn, [Turn::text(FOUND)]))
        else {
            return;
        };
        stage.sandbox.write_work_file("AGENTS.md", RULES);
        let log = json!({"enabled": true, "providerSystem": true, "nested": true});
        stage
            .sandbox
            .write_settings(json!({"impresario": {"promptLog": log}}));
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Now, please.");
        talk(&mut pi, "Once more, please.");
        let file = log_of(&stage);
        for source in ["agent_start", "before_provider_request", "sub_agent_start"] {
            wait_for_file(&file, source);
        }
        stage.end(pi);
        let text = fs::read_to_string(&file).expect("a log");
        assert!(!text.contains(SECRET), "{text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let lines = lines.collect::<Vec<Value>>();
        let of = |source: &str| {
            let lines = lines.iter().filter(|line| line["source"] == source);
            lines.cloned().collect::<Vec<_>>()
        };
        let turns = of("agent_start");
        assert_eq!(turns.len(), 1, "the same prompt twice: {text}");
        let shown = turns[0]["prompt"].as_str().unwrap_or_default();
        assert!(shown.contains("Use tabs.\nThe tests need [REDACTED]"), "{shown}");
        assert_eq!(
            (&turns[0]["nestedDepth"], &turns[0]["model"]),
            (&json!(0), &json!("mock/mock-1"))
        );
        assert_eq!(of("sub_agent_start")[0]["nestedDepth"], 1);
        let shape = "payload.messages[role=system|developer]";
        assert_eq!(of("before_provider_request")[0]["providerShape"], shape);
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Pi's own agent is told what the person wrote; a sub-agent, whose provider may be another, is not.
        assert!(calls(&stage, "main agent")[0].body.to_string().contains(SECRET));
        assert!(!calls(&stage, "agent")[0].body.to_string().contains(SECRET));
    }
}

#[test]
fn no_workspace_switches_the_log_on() {
    for stage in Stage::both_with("a log nobody wished for", || main_agent([Turn::text("Well.")])) {
        let settings = json!({"promptLog": {"enabled": true, "path": "prompts.jsonl"}});
        stage.configure(settings);
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Hello.");
        stage.end(pi);
        assert!(!log_of(&stage).exists() && !stage.sandbox.work().join("prompts.jsonl").exists());
    }
}

#[test]
fn the_overlay_stands_in_each_request_once_and_only_where_it_is_wished_for() {
    for wished in [true, false] {
        let script = || main_agent([Turn::text("One."), Turn::text("Two.")]);
        for stage in Stage::both_with("the overlay", script) {
            stage.configure(json!({"promptInjection": {"overlay": wished}}));
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "Hello.");
            talk(&mut pi, "And again.");
            let asked = calls(&stage, "main agent");
            assert_eq!(asked.len(), 2);
            let texts = asked.iter().map(|call| call.body["messages"][0].to_string());
            let texts = texts.collect::<Vec<_>>();
            for call in &asked {
                let count = call.body.to_string().matches(OVERLAY).count();
                assert_eq!(count, usize::from(wished));
            }
            assert!(texts[0].contains("`delegate_explore` — "), "{}", texts[0]);
            assert_eq!(texts[0], texts[1], "the same bytes in each turn");
            stage.end(pi);
        }
    }
}

/// The names of Pi's prompt templates.
fn templates(pi: &mut JsonLines) -> Vec<String> {
    let seen = pi.said().records.len();
    pi.say(&json!({"id": "commands", "type": "get_commands"}))
        .expect("Pi listens");
    let (_, told) = pi.wait_for_behind(seen, PATIENCE, |record| record["command"] == "get_commands");
    let commands = told["data"]["commands"].as_array().cloned().unwrap_or_default();
    let of_templates = commands.iter().filter(|command| command["source"] == "prompt");
    let mut names = of_templates
        .filter_map(|command| command["name"].as_str().map(str::to_string))
        .collect::<Vec<_>>();
    names.sort();
    names
}

#[test]
fn the_packages_templates_are_commands_and_can_be_left_out() {
    let package = directories::project().join("extension").display().to_string();
    for (packages, listed) in [
        (json!([package]), true),
        (json!([{"source": package, "prompts": []}]), false),
    ] {
        let script = || main_agent([Turn::text("Looked.")]);
        for stage in Stage::both_with("prompt templates", script) {
            stage.sandbox.write_settings(json!({ "packages": packages }));
            let mut command = stage.sandbox.pi_command(&["--mode", "rpc"]);
            command.env("IMPRESARIO_BINARY", &stage.binary);
            let mut pi = JsonLines::start(&mut command);
            wait_for_runtime(&mut pi);
            let found = templates(&mut pi);
            assert_eq!(found, if listed { TEMPLATES.to_vec() } else { Vec::new() });
            if listed {
                talk(&mut pi, "/review-fresh-eyes the parser");
                let body = calls(&stage, "main agent")[0].body.to_string();
                assert!(body.contains("What to look at: the parser"), "{body}");
            }
            stage.end(pi);
        }
    }
}

#[test]
fn bash_and_read_are_drawn_compactly_and_stay_pis_own() {
    let script = || {
        main_agent([
            Turn::tool(
                "bash",
                json!({"command": "seq 101 120; printf '\\033]0;mine\\007plain'"}),
            ),
            Turn::tool("bash", json!({"command": "seq 201 220; exit 3"})),
            Turn::tool("read", json!({"path": "present.md"})),
            Turn::text(MAIN_ANSWER),
        ])
    };
    for version in Version::ALL {
        let mut described = Vec::new();
        for drawing in [json!({"bash": true, "read": "compact"}), json!({})] {
            let is_drawn = drawing["bash"] == true;
            let Some(stage) = Stage::set_with(version, "tools drawn otherwise", script()) else {
                return;
            };
            stage.sandbox.write_work_file("present.md", "here\nthere\n");
            stage.configure(json!({ "drawing": drawing }));
            let mut terminal = stage.ready_terminal();
            submit(&mut terminal, "Now, please.", PATIENCE);
            let screen = terminal.wait_for_text(PATIENCE, MAIN_ANSWER);
            if is_drawn {
                for line in [
                    "⏺ Bash(seq 201 220; exit 3)",
                    "⎿  ✗ Error",
                    "⏺ read(present.md)",
                    "⎿  ✓ 2 lines read",
                ] {
                    assert!(screen.contains(line), "{line}:\n{screen}");
                }
                assert!(
                    screen.contains("201") && !screen.contains("210"),
                    "both ends:\n{screen}"
                );
            } else {
                assert!(!screen.contains("⏺ "), "{screen}");
            }
            let asked = calls(&stage, "main agent");
            described.push(asked[0].body["tools"].clone());
            // What the model is told is whole, whatever is drawn.
            assert!(asked[2].body.to_string().contains("210"));
            drop(terminal);
            stage.nothing_is_left();
        }
        assert_eq!(
            described[0], described[1],
            "the tools are described as Pi describes them"
        );
    }
}
