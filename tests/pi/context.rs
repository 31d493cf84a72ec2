//! Real Pi, both versions, as a sub-agent that asks about the workspace: the runtime answers, looks at how large the
//! answer is, keeps what is too large, and lets nothing of it live longer than the run.

use crate::below::{Stage, marked, nothing_is_left_of, with_both};
use crate::host::{PATIENCE, wait_for_file};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::limited::{End, Finished};
use impresario_test_support::pi::MOCK_MODEL;
use impresario_test_support::processes::send;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const ANSWER: &str = "The supervisor decides.";
const TASK: &str = "Where in notes.txt is it decided who restarts?";
/// What the retrieval server says that has much to say.
const ROOMY_UNITS: usize = "src/supervisor.rs: ".len() + "restart ".len() * 60_000;

impl Stage {
    /// The settings of a retrieval server that behaves so, one behaviour for each of its lives.
    fn server_that(&self, behaves: &str) -> Value {
        let node = self.scenario.install().node.display().to_string();
        let server = directories::project().join("tests/retrieval_server/server.mjs");
        let log = self.log().display().to_string();
        json!({ "engine": "mcp", "command": [node, server.display().to_string(), behaves, log] })
    }

    fn log(&self) -> PathBuf {
        self.sandbox.home().join("retrievals.jsonl")
    }

    fn demo(&self) -> Finished {
        self.run(&DEMO)
    }

    /// What the model saw of the tools, in order.
    fn results(&self) -> Vec<String> {
        let call = self.server.ledger().calls().pop().expect("a call");
        let messages = call.body["messages"].as_array().expect("messages").clone();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|result| text_of(&result["content"])).collect()
    }

    /// Waits until the retrieval server was asked.
    fn wait_for_question(&self) {
        wait_for_file(&self.log(), "tools/call");
    }
}

const DEMO: [&str; 9] = [
    "skill",
    "--trust",
    "--runner",
    "pi",
    "--model",
    MOCK_MODEL,
    "--unjudged",
    "demo",
    TASK,
];

fn text_of(content: &Value) -> String {
    match content.as_array() {
        Some(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        None => content.as_str().unwrap_or_default().to_string(),
    }
}

fn retrieval() -> Turn {
    Turn::tool("codebase-retrieval", json!({ "query": "who restarts?" }))
}

fn model(turns: impl IntoIterator<Item = Turn>) -> Script {
    let rule = turns.into_iter().fold(Rule::new("model"), Rule::turn);
    Script::new().rule(rule.turn(Turn::text(ANSWER)))
}

#[track_caller]
fn answered(finished: &Finished) {
    assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
    assert_eq!(finished.stdout.trim_end(), ANSWER);
}

#[test]
fn explore_begins_with_a_retrieval_and_is_answered_by_the_search_in_the_runtime() {
    let script = || model([retrieval()]);
    with_both("context: explore retrieves", script, |stage| {
        let always = ["run", "--runner", "pi", "--model", MOCK_MODEL, "--unjudged"];
        answered(&stage.run(&[&always[..], &["explore", TASK]].concat()));
        let calls = stage.server.ledger().calls();
        assert!(
            calls[0].tools.contains(&"codebase-retrieval".to_string()),
            "{:?}",
            calls[0].tools
        );
        assert!(
            calls[0]
                .body
                .to_string()
                .contains("Start with `codebase-retrieval`")
        );
        let found = &stage.results()[0];
        assert!(
            found.contains("notes.txt#L1-L1") && found.contains("The supervisor decides who restarts."),
            "{found}"
        );
    });
}

#[test]
fn a_retrieval_above_its_ceiling_is_kept_read_to_its_end_and_searched() {
    const PAGE: usize = 32_000;
    let pages = ROOMY_UNITS.div_ceil(PAGE);
    let script = move || {
        let page = |number: usize| {
            Turn::tool(
                "overflow_read",
                json!({ "id": "overflow_1", "offset": number * PAGE, "limit": PAGE }),
            )
        };
        let seek = Turn::tool(
            "overflow_search",
            json!({ "id": "overflow_1", "query": "Supervisor" }),
        );
        model(
            [retrieval()]
                .into_iter()
                .chain((0..pages).map(page))
                .chain([seek]),
        )
    };
    with_both("context: a large retrieval", script, |stage| {
        stage.configure(json!({
            "retrieval": stage.server_that("roomy"),
            "toolCeilingBytes": { "codebase-retrieval": 2_000 },
        }));
        answered(&stage.demo());
        let seen = stage.results();
        assert!(seen[0].len() <= 2_000, "{} bytes", seen[0].len());
        for word in [
            "480,019 bytes",
            "overflow_1",
            "overflow_read",
            "src/supervisor.rs: restart",
        ] {
            assert!(seen[0].contains(word), "{word:?} is not in {}", seen[0]);
        }
        let read: Vec<Value> = seen[1..=pages]
            .iter()
            .map(|page| serde_json::from_str(page).expect("a page"))
            .collect();
        let whole: String = read.iter().filter_map(|page| page["content"].as_str()).collect();
        assert_eq!(whole, format!("src/supervisor.rs: {}", "restart ".repeat(60_000)));
        let ends: Vec<bool> = read.iter().filter_map(|page| page["eof"].as_bool()).collect();
        assert_eq!(ends.iter().position(|end| *end), Some(pages - 1));
        let found: Value = serde_json::from_str(&seen[pages + 1]).expect("places");
        assert_eq!(
            (&found["found"], &found["places"][0]["offset"]),
            (&json!(1), &json!(4))
        );
    });
}

#[test]
fn two_large_results_at_once_are_both_kept_and_the_third_finds_no_room() {
    let script = || {
        let counts = |from: u32| json!({ "command": format!("seq {from} 9999") });
        let both = Turn::tool("bash", counts(1000)).and_tool("bash", counts(2000));
        model([both, Turn::tool("bash", counts(3000)), retrieval()])
    };
    with_both("context: a full memory", script, |stage| {
        stage.configure(json!({
            "overflowCeilingBytes": 5_000,
            "retrieval": stage.server_that("roomy"),
            "contextMemory": { "maxEntries": 2, "previewHeadChars": 40, "previewTailChars": 0 },
        }));
        answered(&stage.demo());
        let seen = stage.results();
        let first = seen.iter().find(|seen| seen.contains("kept as overflow_1"));
        let second = seen.iter().find(|seen| seen.contains("kept as overflow_2"));
        assert!(first.is_some() && second.is_some(), "{seen:?}");
        assert!(seen[2].starts_with("Result too large: "), "{}", seen[2]);
        assert!(
            seen[2].ends_with("Please ask bash for less, or in parts."),
            "{}",
            seen[2]
        );
        let blocked = "Result too large. Please refine your codebase-retrieval query to be more specific.";
        assert_eq!(seen[3], blocked);
    });
}

#[test]
fn a_retrieval_has_its_time_and_the_sub_agent_goes_on_without_it() {
    let script = || model([retrieval()]);
    with_both("context: a silent engine", script, |stage| {
        for (settings, words) in [(json!({ "timeoutMs": 400 }), "0.4 s"), (json!({}), "within 6 s")] {
            let mut retrieval = stage.server_that("silent-call");
            let own = settings.as_object().expect("an object").clone();
            retrieval.as_object_mut().expect("an object").extend(own);
            stage.configure(json!({ "retrieval": retrieval, "toolTimeoutMs": 6_000 }));
            stage.server.set_script(script()).expect("a script");
            answered(&stage.demo());
            let seen = stage.results();
            assert!(seen[0].contains(words), "{words:?} is not in {}", seen[0]);
        }
    });
}

#[test]
fn an_engine_that_dies_takes_nothing_with_it_and_is_started_again() {
    let script = || model([retrieval(), retrieval()]);
    with_both("context: an engine that dies", script, |stage| {
        // The first life is that of the check before the run.
        stage.configure(json!({ "retrieval": stage.server_that("answers,dies,answers") }));
        answered(&stage.demo());
        let seen = stage.results();
        assert!(
            seen[0].contains("it ended without an answer; its last words:"),
            "{seen:?}"
        );
        assert!(!seen[0].contains("verysecretvalue"), "{seen:?}");
        assert!(seen[1].contains("about who restarts?"), "{seen:?}");
    });
}

#[test]
fn killed_in_a_retrieval_nothing_is_left_and_the_run_goes_on_with_another() {
    let script = || model([retrieval()]);
    with_both("context: killed in a retrieval", script, |stage| {
        stage.configure(json!({ "retrieval": stage.server_that("silent-call,answers") }));
        let mut demo = stage.start(&[&DEMO[..1], &["--json"], &DEMO[1..]].concat());
        let started = demo.wait_for(PATIENCE, |event| event["type"] == "tool_started");
        assert_eq!(
            (&started["tool"], &started["replay"]),
            (&json!("codebase-retrieval"), &json!("safe"))
        );
        let run = started["run"].as_str().expect("the run has an id").to_string();
        stage.wait_for_question();
        let has_server = marked(&run).iter().any(|(_, words)| words.contains("server.mjs"));
        assert!(
            has_server,
            "the server carries the mark of its run: {:?}",
            marked(&run)
        );
        send(demo.pid(), Signal::KILL);
        assert_eq!(demo.wait_for_end(PATIENCE), End::Signalled(9));
        nothing_is_left_of(&run);

        let again = model([retrieval()]);
        stage.server.set_script(again).expect("a script");
        answered(&stage.run(&["runs", "resume", &run]));
        let seen = stage.results();
        let last = seen.last().expect("a result");
        assert!(last.contains("about who restarts?"), "{seen:?}");
    });
}

#[test]
fn killed_in_a_retrieval_of_the_embedded_runner_the_same_one_is_asked_again() {
    let script = || model([]);
    with_both("context: killed, embedded", script, |stage| {
        stage.configure(json!({ "retrieval": stage.server_that("answers,silent-call,answers") }));
        let run = ["run", "--trust", "--unjudged", "--json", "explore", TASK];
        let mut explore = stage.start(&run);
        let started = explore.wait_for(PATIENCE, |event| event["type"] == "tool_started");
        assert_eq!(started["tool"], "codebase-retrieval");
        let run = started["run"].as_str().expect("the run has an id").to_string();
        stage.wait_for_question();
        send(explore.pid(), Signal::KILL);
        assert_eq!(explore.wait_for_end(PATIENCE), End::Signalled(9));
        nothing_is_left_of(&run);

        let resumed = stage.run(&["runs", "resume", &run]);
        assert_eq!(resumed.end, End::Exited(0), "{}", resumed.stderr);
        let noted = fs::read_to_string(stage.log()).expect("what the server noted");
        let asked = noted.lines().filter(|line| line.contains("tools/call"));
        let questions: Vec<Value> = asked
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["params"]["arguments"].clone())
            .collect();
        assert_eq!(questions.len(), 2);
        assert_eq!(questions[0], questions[1]);
    });
}
