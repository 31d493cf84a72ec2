//! What an anchor makes stale, and the line about the context, as real Pi sends them to its model.

use crate::host::{PATIENCE, Stage, is_notice, prompt, session_file, talk};
use impresario_model_server::{Call, Rule, Script, Turn, Usage};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::Version;
use serde_json::{Value, json};

/// Stands in each of the files once.
const STALE: &str = "the first words of the stale file";
const NAMED: &str = "the first words of the named file";
const BESIDE: &str = "the first words of the file beside";
const LEFT_OUT: &str = "characters are left out since anchor";

fn main_agent(turns: impl IntoIterator<Item = Turn>) -> Script {
    Script::new().rule(turns.into_iter().fold(Rule::new("main agent"), Rule::turn))
}

fn read(path: &str) -> Turn {
    Turn::tool("read", json!({ "path": path }))
}

fn anchor(name: &str, summary: &str) -> Value {
    json!({"action": "anchor", "name": name, "summary": summary})
}

fn write_files(stage: &Stage) {
    let text = |words: &str, lines: usize| format!("{words}\n{}", "and so on\n".repeat(lines));
    stage
        .sandbox
        .write_work_file("src/stale.txt", &text(STALE, 1_800));
    stage.sandbox.write_work_file("src/named.txt", &text(NAMED, 60));
    stage.sandbox.write_work_file("src/beside.txt", &text(BESIDE, 60));
    stage
        .sandbox
        .write_work_file("src/AGENTS.md", "Use tabs in here.");
}

/// A long result, one that the summary names, one that comes in the same turn as the anchor.
fn work_to_an_anchor() -> Script {
    let last = read("src/beside.txt").and_tool(
        "context",
        anchor("plan", "All was read; named.txt says how to go on."),
    );
    main_agent([
        read("src/stale.txt"),
        read("src/named.txt"),
        last,
        Turn::text("So far."),
        Turn::text("Well."),
    ])
}

fn stages(name: &str) -> impl Iterator<Item = Stage> {
    Stage::both_with(name, work_to_an_anchor).inspect(write_files)
}

fn last_call(stage: &Stage) -> Call {
    let calls = stage.server.ledger().calls_of("main agent");
    calls.into_iter().next_back().expect("the model was called")
}

#[track_caller]
fn assert_sees(stage: &Stage, expected: &[(&str, usize)]) {
    let body = last_call(stage).body.to_string();
    for (text, times) in expected {
        assert_eq!(body.matches(text).count(), *times, "{text} in {body}");
    }
}

/// The results of tools in a request, as text.
fn result_texts(call: &Call) -> Vec<String> {
    let messages = messages(call).into_iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|result| result["content"].as_str().unwrap_or_default().to_string())
        .collect()
}

/// What the stub of the last request names.
fn target_of(stage: &Stage) -> String {
    let texts = result_texts(&last_call(stage));
    let stub = texts
        .iter()
        .find(|text| text.contains(LEFT_OUT))
        .expect("something is left out");
    let (_, target) = stub.split_once("\"target\": \"").expect("the stub names it");
    target.split('"').next().expect("a quoted name").to_string()
}

/// The messages of a request without markers.
fn messages(call: &Call) -> Vec<Value> {
    fn unmarked(value: &Value) -> Value {
        match value {
            Value::Object(entries) => {
                let kept = entries.iter().filter(|(key, _)| *key != "cache_control");
                kept.map(|(key, value)| (key.clone(), unmarked(value))).collect()
            }
            Value::Array(items) => items.iter().map(unmarked).collect(),
            other => other.clone(),
        }
    }
    let messages = call.body["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().map(unmarked).collect()
}

/// Every request from this one on begins with what the one before said.
#[track_caller]
fn assert_only_grows(stage: &Stage, from: usize) {
    let calls = stage.server.ledger().calls_of("main agent");
    for pair in calls[from..].windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        // The last message is that of the person, which may get more blocks.
        let same = before.len() - 1;
        assert_eq!(before[..same], after[..same]);
    }
}

#[test]
fn a_stale_result_is_left_out_its_rules_stay_and_its_text_can_be_read_again() {
    for stage in stages("stale results") {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read them all.");
        talk(&mut pi, "Go on.");
        talk(&mut pi, "Go on.");
        assert_sees(
            &stage,
            &[
                (STALE, 0),
                (LEFT_OUT, 1),
                (NAMED, 1),
                (BESIDE, 1),
                ("Use tabs in here.", 1),
            ],
        );
        let again = Turn::tool(
            "context",
            json!({"action": "original", "target": target_of(&stage)}),
        );
        stage
            .server
            .set_script(main_agent([again, Turn::text("I see.")]))
            .unwrap();
        talk(&mut pi, "What did it say?");
        assert_sees(&stage, &[(STALE, 1), (LEFT_OUT, 1)]);
        let texts = result_texts(&last_call(&stage));
        let text = texts.last().expect("the text again");
        assert!(
            text.starts_with(STALE) && text.len() > 18_000,
            "{} bytes",
            text.len()
        );
        assert_only_grows(&stage, 4);
        stage.end(pi);
    }
}

#[test]
fn a_resumed_session_keeps_them_left_out_and_a_person_brings_them_back() {
    for stage in stages("stale results after a resume") {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read them all.");
        let file = session_file(&mut pi);
        stage.end(pi);
        stage
            .server
            .set_script(main_agent([
                Turn::text("Still."),
                Turn::text("There."),
                Turn::text("Again."),
            ]))
            .unwrap();
        let mut pi = JsonLines::start(&mut stage.pi(&["--mode", "rpc", "--session", &file]));
        talk(&mut pi, "Go on.");
        assert_sees(&stage, &[(STALE, 0), (LEFT_OUT, 1)]);
        prompt(&mut pi, "/uncut");
        pi.wait_for(PATIENCE, |record| is_notice(record, "1 result"));
        talk(&mut pi, "And now?");
        assert_sees(&stage, &[(STALE, 1), (LEFT_OUT, 0), (NAMED, 1)]);
        prompt(&mut pi, "/uncut");
        pi.wait_for(PATIENCE, |record| is_notice(record, "Nothing is left out"));
        stage.end(pi);
    }
}

#[test]
fn without_a_runtime_and_switched_off_everything_stays() {
    for stage in stages("stale results without a runtime") {
        let stage = stage.with_scripted_runtime("exit 1");
        let mut pi = stage.rpc();
        talk(&mut pi, "Read them all.");
        assert_sees(&stage, &[(STALE, 1), (LEFT_OUT, 0), (NAMED, 1), (BESIDE, 1)]);
        stage.end(pi);
    }
    for stage in stages("stale results switched off") {
        stage.configure(json!({"truncation": {"enabled": false}}));
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read them all.");
        assert_sees(&stage, &[(STALE, 1), (LEFT_OUT, 0)]);
        stage.end(pi);
    }
}

#[test]
fn a_line_about_the_context_stays_where_it_was_put() {
    let script = || {
        let full = |percent: u64| Usage {
            input: percent * 2_000,
            ..Usage::default()
        };
        let turn = |percent| read("src/named.txt").and_usage(full(percent));
        main_agent([
            turn(20),
            turn(55),
            turn(56),
            turn(72),
            Turn::text("Done.").and_usage(full(73)),
            Turn::text("Yes."),
        ])
    };
    for stage in Stage::both_with("line about the context", script).inspect(write_files) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read it again and again.");
        talk(&mut pi, "Done?");
        // Older versions take a line with a prompt only.
        let expected: &[(&str, usize)] = match stage.scenario.version() {
            Version::V0_87_1 => &[("[context] model=", 3), ("context=55%", 1), ("context=72%", 1)],
            Version::V0_74_2 => &[("[context] model=", 1), ("context=73%", 1)],
        };
        assert_sees(&stage, expected);
        assert_only_grows(&stage, 0);
        stage.end(pi);
    }
}

#[test]
fn a_long_session_is_hinted_at_anchors_once() {
    let script = || {
        let reads = (0..7).map(|_| read("src/named.txt"));
        main_agent(reads.chain([Turn::text("Done."), Turn::text("Yes.")]))
    };
    for stage in Stage::both_with("hint at anchors", script).inspect(write_files) {
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "Read it again and again.");
        talk(&mut pi, "Done?");
        assert_sees(&stage, &[("hint=no-anchors-yet", 1)]);
        assert_only_grows(&stage, 0);
        stage.end(pi);
    }
}
