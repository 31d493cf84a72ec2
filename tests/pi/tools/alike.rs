//! Every tool answers alike to a person's session in Pi, to a sub-agent in nested Pi, to one of the embedded runner and
//! to another host over MCP; and none is there where it was taken away.

use super::{calls, main_agent, told};
use crate::agents::delegating;
use crate::host::{PATIENCE, Stage, count, prompt, talk};
use impresario_model_server::{Call, Rule, Turn};
use impresario_policies::added_tools::AddedTool;
use impresario_policies::anchored_edit::Anchor;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::Version;
use impresario_test_support::waiting::until;
use impresario_test_support::web::{SLOW, Web};
use serde_json::{Value, json};
use std::fs;

const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
/// What the files are before each way is tried.
const FILES: [(&str, &str); 3] = [
    ("notes.txt", "one\ntwo\n"),
    ("src/main.rs", "fn main() {\n    old_name(1);\n}\n"),
    ("src/one.otter", "x"),
];

/// A call of each tool, and what a part of its answer is.
fn one_of_each() -> Vec<(AddedTool, Value, &'static str)> {
    let two = Anchor::of(2, "two").to_string();
    let edit = json!({"filePath": "notes.txt", "edits": [{"op": "replace", "pos": two, "lines": "zwei"}]});
    vec![
        (AddedTool::HashlineEdit, edit, "|zwei"),
        (
            AddedTool::AstSearch,
            json!({"pattern": "old_name($A)", "lang": "rust"}),
            "src/main.rs",
        ),
        (
            AddedTool::AstReplace,
            json!({"pattern": "old_name($A)", "rewrite": "new_name($A)", "lang": "rust"}),
            "new_name(1)",
        ),
        (AddedTool::Glob, json!({"pattern": "**/*.otter"}), "src/one.otter"),
        (
            AddedTool::LookAt,
            json!({"path": "dot.gif", "objective": "what is it"}),
            "dot.gif",
        ),
        (
            AddedTool::WebSearch,
            json!({"query": "otters"}),
            "They hold hands.",
        ),
        (
            AddedTool::WebFetch,
            json!({"url": "https://otters.org/"}),
            "They hold hands asleep.",
        ),
        (
            AddedTool::DocsResolve,
            json!({"libraryName": "holt", "query": "doors"}),
            "/otters/holt",
        ),
        (
            AddedTool::DocsQuery,
            json!({"libraryId": "/otters/holt", "query": "doors"}),
            "A holt has two doors.",
        ),
        (AddedTool::GhSearch, json!({"query": "holt"}), "otters/holt.rs"),
    ]
}

fn turns() -> Vec<Turn> {
    let calls = one_of_each()
        .into_iter()
        .map(|(tool, arguments, _)| Turn::tool(tool.name(), arguments));
    calls.chain([Turn::text("That was all.")]).collect()
}

/// Every tool, as the settings of the person have it, with services that stand in for those of the web.
fn prepare(stage: &Stage, web: &Web, session: &Value, disabled: &[&str]) {
    let url = web.url();
    stage.sandbox.write_settings(json!({"impresario": {
        "tools": { "session": session },
        "agents": { "disabledTools": disabled },
        "web": { "exaUrl": url, "context7Url": url, "codeSearchUrl": url },
    }}));
    let names: Vec<_> = AddedTool::ALL.map(AddedTool::name).to_vec();
    let scout = format!(
        "---\nname: scout\ndescription: Looks.\ntools: read, {}\n---\nLook.\n",
        names.join(", ")
    );
    stage.sandbox.write_work_file(".pi/agents/scout.md", &scout);
    write_files(stage);
}

fn write_files(stage: &Stage) {
    for (path, text) in FILES {
        stage.sandbox.write_work_file(path, text);
    }
    fs::write(stage.sandbox.work().join("dot.gif"), GIF).expect("a picture");
}

/// What the model of this rule was told, call by call; it is one that Pi sends no pictures.
fn answers(stage: &Stage, rule: &str) -> Vec<String> {
    let without_word =
        |answer: String| match answer.strip_suffix("\n(tool image omitted: model does not support images)") {
            Some(answer) => answer.to_string(),
            None => answer,
        };
    calls(stage, rule)[1..]
        .iter()
        .map(told)
        .map(without_word)
        .collect()
}

/// What another host is told over MCP.
fn over_mcp(stage: &Stage) -> Vec<String> {
    let names = AddedTool::ALL.map(AddedTool::name).join(",");
    let work = stage.sandbox.work().display().to_string();
    let mut command = stage.sandbox.command(&stage.binary);
    command.args(["mcp", "--tools", &names, "--workspace", &work]);
    let mut host = JsonLines::start(&mut command);
    let mut ask = |id: usize, method: &str, params: Value| {
        host.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .expect("it listens");
        host.wait_for(PATIENCE, |record| record["id"] == id)
    };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a host", "version": "1"}});
    ask(1, "initialize", client);
    let answers = one_of_each()
        .into_iter()
        .zip(2..)
        .map(|((tool, arguments, _), id)| {
            let answer = ask(
                id,
                "tools/call",
                json!({"name": tool.name(), "arguments": arguments}),
            );
            assert_ne!(answer["result"]["isError"], true, "{answer}");
            let text = answer["result"]["content"][0]["text"].as_str();
            text.unwrap_or_else(|| panic!("{answer}")).to_string()
        });
    let answers = answers.collect();
    host.hang_up();
    host.wait_for_end(PATIENCE);
    answers
}

/// What a sub-agent of the embedded runner is told.
fn embedded(stage: &Stage) -> Vec<String> {
    let mut command = stage.sandbox.command(&stage.binary);
    command
        .args([
            "run",
            "--trust",
            "--model",
            "openai/mock-2",
            "scout",
            "use them all in this program",
        ])
        .env("OPENAI_API_KEY", "key-of-the-test-0123456789")
        .env(
            "OPENAI_BASE_URL",
            format!("http://127.0.0.1:{}/v1", stage.server.port()),
        );
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    answers(stage, "embedded")
}

#[test]
fn every_tool_answers_alike_wherever_it_is_called_from() {
    let script = || {
        let mut script = delegating(
            Turn::tool("delegate_scout", json!({"prompt": "use them all"})),
            turns(),
        );
        let own = turns().into_iter().fold(
            Rule::new("main agent by itself").last_user_contains("Yourself"),
            Rule::turn,
        );
        let embedded = turns()
            .into_iter()
            .fold(Rule::new("embedded").user_contains("in this program"), Rule::turn);
        script.rules.splice(0..0, [own, embedded]);
        script
    };
    for stage in Stage::both_with("all tools alike", script) {
        let web = Web::start();
        prepare(&stage, &web, &json!(["all"]), &[]);
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Yourself, use them all.");
        let own = answers(&stage, "main agent by itself");
        for ((tool, _, part), answer) in one_of_each().iter().zip(&own) {
            assert!(answer.contains(part), "{}: {answer}", tool.name());
        }
        let shown = |record: &Value| {
            record["type"] == "tool_execution_end"
                && record["result"]["content"][1]["mimeType"] == "image/gif"
        };
        assert_eq!(count(&pi, shown), 1, "Pi was given the picture");
        let edited = fs::read_to_string(stage.sandbox.work().join("notes.txt")).expect("the notes");
        assert_eq!(edited, "one\nzwei\n");

        write_files(&stage);
        talk(&mut pi, "Now, please.");
        assert_eq!(answers(&stage, "agent"), own, "nested Pi");
        stage.end(pi);

        write_files(&stage);
        assert_eq!(over_mcp(&stage), own, "over MCP");

        write_files(&stage);
        assert_eq!(embedded(&stage), own, "embedded");
        let asked = calls(&stage, "embedded");
        let pictures = |call: &Call| call.body.to_string().matches("data:image/gif;base64,").count();
        assert_eq!(
            asked.last().map(pictures),
            Some(1),
            "its model was given the picture"
        );
    }
}

/// Taken away for the session and for sub-agents alike, one by one.
#[test]
fn each_tool_is_gone_where_it_was_taken_away() {
    for tool in AddedTool::ALL {
        let call = one_of_each()
            .into_iter()
            .find(|(of, _, _)| *of == tool)
            .expect("a call of each");
        let script = || {
            let turn = Turn::tool("delegate_scout", json!({"prompt": "look"}));
            let below = [
                Turn::tool(tool.name(), call.1.clone()),
                Turn::text("It is not there."),
            ];
            delegating(turn, below)
        };
        // The versions in turn: what is offered is the runtime's to say.
        let version = Version::ALL[tool as usize % 2];
        let Some(stage) = Stage::set_with(version, &format!("without {}", tool.name()), script()) else {
            return;
        };
        let web = Web::start();
        prepare(&stage, &web, &json!(["all"]), &[tool.name()]);
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Now, please.");
        let offered = |rule: &str| calls(&stage, rule)[0].tools.clone();
        for rule in ["main agent", "agent"] {
            let names = offered(rule);
            assert!(!names.iter().any(|name| name == tool.name()), "{rule}: {names:?}");
            let others = AddedTool::ALL.into_iter().filter(|other| *other != tool);
            for other in others {
                assert!(names.iter().any(|name| name == other.name()), "{rule}: {names:?}");
            }
        }
        for (path, text) in FILES {
            let now = fs::read_to_string(stage.sandbox.work().join(path)).expect("a file");
            assert_eq!(now, text, "{path}");
        }
        stage.end(pi);
    }
}

/// Esc stops the turn, and the service is not waited for any more.
#[test]
fn a_call_that_nobody_waits_for_any_more_lets_go_of_its_server() {
    let script = || {
        main_agent([
            Turn::tool("web_search", json!({ "query": SLOW })),
            Turn::text("Well."),
        ])
    };
    for stage in Stage::both_with("an added tool is stopped", script) {
        let web = Web::start();
        prepare(&stage, &web, &json!(["web_search"]), &[]);
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "Look for otters.");
        until(|| web.waiting() == 1, || "nobody asked the service".to_string());
        pi.say(&json!({"type": "abort"})).expect("Pi listens");
        until(
            || web.left() == 1,
            || "the service is still waited for".to_string(),
        );
        pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
        stage.end(pi);
    }
}
