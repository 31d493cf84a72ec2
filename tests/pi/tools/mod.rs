//! The tools that Impresario adds, in real Pi: in a person's own session where settings wish for them, and in nested Pi.

mod alike;
mod anchored;
mod refactor;

use crate::agents::delegating;
use crate::host::{PATIENCE, Stage, talk};
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_policies::added_tools::AddedTool;
use impresario_test_support::pi::Version;
use serde_json::{Value, json};

fn main_agent(turns: impl IntoIterator<Item = Turn>) -> Script {
    Script::new().rule(turns.into_iter().fold(Rule::new("main agent"), Rule::turn))
}

fn calls(stage: &Stage, rule: &str) -> Vec<Call> {
    stage.server.ledger().calls_of(rule)
}

fn offers(call: &Call, tool: &str) -> bool {
    call.tools.iter().any(|name| name == tool)
}

/// The last result of a tool that a model was told.
fn told(call: &Call) -> String {
    let messages = call.body["messages"].as_array().cloned().unwrap_or_default();
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        other => other[0]["text"].as_str().unwrap_or_default().to_string(),
    };
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results
        .map(|result| text(&result["content"]))
        .next_back()
        .unwrap_or_default()
}

fn found(stage: &Stage) -> String {
    let work = stage.sandbox.work();
    let work = work.canonicalize().expect("its real place");
    let work = work.display();
    format!(
        "Found 1 file.\nPattern: **/*.otter\nBase path: {work}\nShowing newest 1 of 1.\n\n{work}/src/one.otter"
    )
}

fn look() -> Turn {
    Turn::tool("glob", json!({ "pattern": "**/*.otter" }))
}

#[test]
fn a_tool_is_in_the_session_where_it_is_wished_for_and_is_gone_where_it_was_taken_away() {
    let script = || main_agent([look(), Turn::text("Seen."), Turn::text("Again.")]);
    for stage in Stage::both_with("added tools", script) {
        stage.sandbox.write_work_file("src/one.otter", "x");
        stage.configure(json!({"tools": {"session": ["glob"]}}));
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Look for otters.");
        let asked = calls(&stage, "main agent");
        assert!(offers(&asked[0], "glob"), "{:?}", asked[0].tools);
        assert_eq!(told(&asked[1]), found(&stage));
        stage.end(pi);
    }
    for (settings, what) in [
        (json!({}), "nobody wished"),
        (
            json!({"tools": {"session": ["all"]}, "agents": {"disabledTools": ["glob"]}}),
            "taken away",
        ),
    ] {
        for stage in Stage::both_with(what, || main_agent([Turn::text("Well.")])) {
            stage.configure(settings.clone());
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "Look for otters.");
            let asked = calls(&stage, "main agent");
            assert!(!offers(&asked[0], "glob"), "{what}: {:?}", asked[0].tools);
            stage.end(pi);
        }
    }
}

/// Pi calls a result an error only where it is thrown.
#[test]
fn a_call_that_fails_is_an_error_to_pi() {
    let script = || {
        main_agent([
            Turn::tool("glob", json!({ "pattern": "[" })),
            Turn::text("I see."),
        ])
    };
    for stage in Stage::both_with("an added tool fails", script) {
        stage.configure(json!({"tools": {"session": ["glob"]}}));
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Look for otters.");
        let ended = pi.wait_for(PATIENCE, |record| record["type"] == "tool_execution_end");
        assert_eq!(ended["isError"], true, "{ended}");
        assert!(told(&calls(&stage, "main agent")[1]).contains("The pattern cannot be used"));
        stage.end(pi);
    }
}

const LOOKING: [&str; 2] = ["glob", "ast_search"];
const CHANGING: [&str; 2] = ["hashline_edit", "ast_replace"];
const WEB: [&str; 5] = [
    "web_search",
    "web_fetch",
    "docs_resolve",
    "docs_query",
    "gh_search",
];

#[test]
fn built_in_agents_have_the_tools_of_their_work_and_settings_take_them_away() {
    let looking = ("explore", "question", "[]", LOOKING.to_vec());
    let asking = ("librarian", "question", "[]", [&LOOKING[..], &WEB].concat());
    let less = ("librarian", "question", r#"["web_fetch", "glob"]"#, {
        let mut left = [&LOOKING[1..], &WEB].concat();
        left.retain(|tool| *tool != "web_fetch");
        left
    });
    let all = [&LOOKING[..], &CHANGING, &WEB, &["look_at"]].concat();
    let whole = ("general", "task", "[]", all);
    for (agent, argument, disabled, mut expected) in [looking, asking, less, whole] {
        expected.sort_unstable();
        for version in Version::ALL {
            let turn = Turn::tool(
                &format!("delegate_{agent}"),
                json!({argument: "which otters are there?"}),
            );
            let script = delegating(turn, [Turn::text("None.")]);
            let Some(stage) = Stage::set_with(version, "added tools of agents", script) else {
                return;
            };
            let settings = format!(r#"{{"impresario": {{"agents": {{"disabledTools": {disabled}}}}}}}"#);
            stage.sandbox.write_work_file(".pi/settings.json", &settings);
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "Now, please.");
            let asked = calls(&stage, "agent");
            let is_added = |name: &&String| AddedTool::named(name).is_some();
            let mut added: Vec<&String> = asked[0].tools.iter().filter(is_added).collect();
            added.sort_unstable();
            assert_eq!(added, expected, "{agent} of {version:?}");
            stage.end(pi);
        }
    }
}

#[test]
fn a_nested_pi_has_the_tools_that_its_agent_names_and_answers_alike() {
    for version in Version::ALL {
        let turn = Turn::tool("delegate_scout", json!({"prompt": "look for otters"}));
        let script = delegating(turn, [look(), Turn::text("src/one.otter")]);
        let Some(stage) = Stage::set_with(version, "an added tool below", script) else {
            return;
        };
        stage.sandbox.write_work_file("src/one.otter", "x");
        let scout = "---\nname: scout\ndescription: Looks.\ntools: read, glob\n---\nLook.\n";
        stage.sandbox.write_work_file(".pi/agents/scout.md", scout);
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Now, please.");
        let asked = calls(&stage, "agent");
        assert!(offers(&asked[0], "glob"), "{:?}", asked[0].tools);
        assert_eq!(told(&asked[1]), found(&stage));
        stage.end(pi);
    }
}
