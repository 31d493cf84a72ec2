//! Anchors in real Pi of both versions: set, listed, gone back to, found from another session; and Pi as it is without them
//! wherever that is switched off, somebody else's, or nobody answers.

use crate::host::{ANSWER, MAIN_ANSWER, PATIENCE, Stage, prompt, script, switch, talk};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::limited::run;
use impresario_test_support::pi::{Version, submit};
use impresario_test_support::terminal::Key;
use impresario_test_support::waiting::until;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What stands in a file that is read behind the anchor, and is left there.
const LEFT_BEHIND: &str = "THE-LONG-WAY-ROUND";
const CARRIED: &str = "the short way is better";

/// The main agent answers what has `please` in it, turn by turn.
fn script_of(turns: impl IntoIterator<Item = Turn>) -> Script {
    let main = Rule::new("main agent").last_user_contains("please");
    let main = turns.into_iter().fold(main, Rule::turn);
    let mut script = script([Turn::text(ANSWER)]);
    let at = script.rules.len() - 1;
    script.rules.insert(at, main);
    script
}

fn context(arguments: Value) -> Turn {
    Turn::tool("context", arguments)
}

fn anchor(name: &str, summary: &str) -> Turn {
    context(json!({"action": "anchor", "name": name, "summary": summary}))
}

/// What the main agent was sent, call by call.
fn sent(stage: &Stage) -> Vec<Value> {
    let calls = stage.server.ledger().calls_of("main agent");
    calls.into_iter().map(|call| call.body).collect()
}

fn session_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => session_files(&path, found),
            path if path.extension().is_some_and(|ending| ending == "jsonl") => found.push(path),
            _ => {}
        }
    }
}

/// What stands in the sessions below a directory.
fn entries_below(directory: &Path) -> Vec<Value> {
    let mut files = Vec::new();
    session_files(directory, &mut files);
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap_or_default());
    texts
        .flat_map(|text| {
            text.lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect::<Vec<Value>>()
        })
        .collect()
}

fn entries(stage: &Stage) -> Vec<Value> {
    entries_below(&stage.sandbox.agent_directory().join("sessions"))
}

/// The results of the tool, in order.
fn results(stage: &Stage) -> Vec<Value> {
    let all = entries(stage).into_iter();
    all.filter(|entry| entry["message"]["role"] == "toolResult" && entry["message"]["toolName"] == "context")
        .collect()
}

fn text_of(result: &Value) -> &str {
    result["message"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

#[test]
fn an_anchor_is_the_stored_result_and_is_listed() {
    let script = || {
        script_of([
            anchor("plan", "Wash the otter.\nThen dry it."),
            anchor("plan", "another"),
            // Two of one batch.
            Turn::tool("read", json!({"path": "here.md"}))
                .and_tool(
                    "context",
                    json!({"action": "anchor", "name": "washed", "summary": "It is clean."}),
                )
                .and_tool(
                    "context",
                    json!({"action": "anchor", "name": "washed", "summary": "It is clean."}),
                ),
            context(json!({"action": "view"})),
            Turn::text(MAIN_ANSWER),
        ])
    };
    for stage in Stage::both_with("anchors set", script) {
        stage.sandbox.write_work_file("here.md", "here\n");
        let finished = stage.print("please");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let (entries, results) = (entries(&stage), results(&stage));
        let texts: Vec<&str> = results.iter().map(text_of).collect();
        assert_eq!(texts[0], "[Anchor: plan]\nWash the otter.\nThen dry it.");
        assert!(
            texts[1].contains("\"plan\" already") && results[1]["message"]["isError"] == false,
            "{texts:?}"
        );
        assert_eq!(texts[2], "[Anchor: washed]\nIt is clean.");
        assert!(texts[3].contains("\"washed\" already"), "{texts:?}");
        for (number, name) in [(0, "plan"), (2, "washed")] {
            let anchor = &results[number]["message"]["details"]["anchor"];
            assert_eq!(anchor["name"], name);
            // Where the session was: the message with the call.
            let call = &results[number]["message"]["toolCallId"];
            let caller = entries
                .iter()
                .find(|entry| {
                    let blocks = entry["message"]["content"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    blocks.iter().any(|block| block["id"] == *call)
                })
                .expect("the call stands in the session");
            assert_eq!(anchor["targetId"], caller["id"], "{anchor}");
        }
        assert_eq!(results[1]["message"]["details"], json!({}));
        let view = texts[4];
        assert!(
            view.starts_with("Anchors 1 to 2 of 2;")
                && view.contains("● washed")
                && view.contains("  newest\n  It is clean.")
                && view.contains("  Wash the otter.\n  Then dry it."),
            "{view}"
        );
        stage.nothing_is_left();
    }
}

/// An anchor, a look that is left behind, and the way back.
fn there_and_back() -> Script {
    let pivot = json!({"action": "pivot", "target": "plan", "carryover": CARRIED, "message": "please go on"});
    script_of([
        anchor("plan", "Which way?"),
        Turn::tool("read", json!({"path": "way.md"})),
        context(pivot),
        Turn::text("Back I go."),
        Turn::text(MAIN_ANSWER),
    ])
}

fn goes_by_itself(stage: &Stage) -> bool {
    stage.scenario.version() == Version::V0_87_1
}

fn has_gone_back(stage: &Stage) {
    let entries = entries(stage);
    let anchor = results(stage).into_iter().next().expect("an anchor");
    let summary = entries
        .iter()
        .find(|entry| entry["type"] == "branch_summary")
        .unwrap_or_else(|| panic!("nobody went back: {entries:#?}"));
    assert_eq!(summary["parentId"], anchor["id"], "{summary}");
    let text = summary["summary"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("Pivoted from: ")
            && text.contains(CARRIED)
            && text.contains("The way back to what was left: pivot to "),
        "{text}"
    );
}

/// In the order of the calls: what is sent last knows what was carried, and not what was left.
fn last_call_is_back(stage: &Stage, calls: usize) {
    let sent = sent(stage);
    assert_eq!(sent.len(), calls, "no call of a model for the summary: {sent:#?}");
    let left = sent[calls - 2].to_string();
    assert!(left.contains(LEFT_BEHIND), "{left}");
    let back = sent[calls - 1].to_string();
    assert!(
        back.contains(CARRIED) && back.contains("[Anchor: plan]") && !back.contains(LEFT_BEHIND),
        "{back}"
    );
}

fn notice(pi: &mut JsonLines, seen: usize, words: &str) {
    let is_it = |record: &Value| {
        record["method"] == "notify"
            && record["message"]
                .as_str()
                .is_some_and(|text| text.contains(words))
    };
    pi.wait_for_behind(seen, PATIENCE, is_it);
}

#[test]
fn a_pivot_goes_back_with_what_is_carried_and_goes_on_there() {
    for stage in Stage::both_with("a pivot", there_and_back) {
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        let mut pi = stage.ready_rpc();
        let seen = pi.said().records.len();
        prompt(&mut pi, "please");
        if !goes_by_itself(&stage) {
            // Only a person's command goes elsewhere in this Pi's tree.
            let (_, prefilled) =
                pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "set_editor_text");
            assert_eq!(prefilled["text"], "/pivot", "{prefilled}");
            assert!(
                !entries(&stage)
                    .iter()
                    .any(|entry| entry["type"] == "branch_summary")
            );
            prompt(&mut pi, "/pivot");
        }
        stage.wait_for_calls_of("main agent", 5);
        until(
            || {
                entries(&stage)
                    .iter()
                    .any(|entry| entry["message"]["content"][0]["text"] == MAIN_ANSWER)
            },
            || "the session did not go on".to_string(),
        );
        has_gone_back(&stage);
        last_call_is_back(&stage, 5);
        // The line that was sent for it is nothing that anybody said.
        assert!(!sent(&stage)[4].to_string().contains("/pivot"));
        stage.end(pi);
    }
}

#[test]
fn without_a_screen_a_pivot_is_done_before_pi_exits_or_said_not_to_be() {
    for stage in Stage::both_with("a pivot in print mode", there_and_back) {
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        let finished = stage.print("please");
        if goes_by_itself(&stage) {
            has_gone_back(&stage);
            last_call_is_back(&stage, 5);
        } else {
            assert!(
                finished.stderr.contains("only when a person asks for it"),
                "{}",
                finished.stderr
            );
            assert_eq!(sent(&stage).len(), 4);
        }
        stage.nothing_is_left();
    }
}

#[test]
fn a_person_sees_where_the_session_goes() {
    let script = || {
        // What is submitted has left the prompt before anything is put into it.
        let waits = json!({"command": "until [ -e submitted ]; do sleep 0.1; done; cat way.md"});
        script_of([
            anchor("plan", "Which way?"),
            Turn::tool("bash", waits),
            context(json!({"action": "pivot", "target": "plan", "carryover": CARRIED})),
            Turn::text("Back I go."),
            Turn::text(MAIN_ANSWER),
        ])
    };
    for stage in Stage::both_with("a pivot on the screen", script) {
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        let mut terminal = stage.ready_terminal();
        submit(&mut terminal, "please", PATIENCE);
        stage.sandbox.write_work_file("submitted", "");
        if !goes_by_itself(&stage) {
            terminal.wait_for(PATIENCE, |screen| {
                screen.contains("press Enter to let it") && screen.contains("\n/pivot")
            });
            terminal.press(Key::Enter);
        }
        terminal.wait_for(PATIENCE, |screen| {
            screen.contains("Navigated to selected point") && screen.contains("context anchor plan")
        });
        has_gone_back(&stage);
        // Nobody said anything there, so the person does.
        assert_eq!(sent(&stage).len(), 4);
        submit(&mut terminal, "please go on", PATIENCE);
        stage.wait_for_calls_of("main agent", 5);
        last_call_is_back(&stage, 5);
        drop(terminal);
        stage.nothing_is_left();
    }
}

#[test]
fn what_another_extension_cancels_stays_where_it_is_and_nothing_is_said_there() {
    for stage in Stage::both_with("a pivot cancelled", there_and_back) {
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        stage.sandbox.write_work_file(
            ".pi/extensions/stay.ts",
            "export default (pi) => pi.on('session_before_tree', () => ({ cancel: true }));",
        );
        let mut pi = stage.ready_rpc();
        let seen = pi.said().records.len();
        prompt(&mut pi, "please");
        if !goes_by_itself(&stage) {
            pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "set_editor_text");
            prompt(&mut pi, "/pivot");
        }
        notice(&mut pi, seen, "going back to plan was cancelled");
        // What was cancelled is over: it is not tried again.
        let seen = pi.said().records.len();
        prompt(&mut pi, "/pivot");
        notice(&mut pi, seen, "nothing to go back to");
        assert!(
            !entries(&stage)
                .iter()
                .any(|entry| entry["type"] == "branch_summary")
        );
        assert_eq!(sent(&stage).len(), 4);
        stage.end(pi);
    }
}

#[test]
fn a_turn_that_is_stopped_takes_its_pivot_with_it() {
    let script = || {
        script_of([
            anchor("plan", "Which way?"),
            context(json!({"action": "pivot", "target": "plan", "carryover": CARRIED})),
            Turn::tool("bash", json!({"command": "touch there; sleep 600"})),
        ])
    };
    for stage in Stage::both_with("a pivot of a stopped turn", script) {
        let mut pi = stage.ready_rpc();
        let seen = pi.said().records.len();
        prompt(&mut pi, "please");
        let there = stage.sandbox.work().join("there");
        until(|| there.exists(), || "never scheduled".to_string());
        pi.say(&json!({"type": "abort"})).expect("Pi listens");
        notice(
            &mut pi,
            seen,
            "The turn was cut off, so the session stays where it is",
        );
        let seen = pi.said().records.len();
        prompt(&mut pi, "/pivot");
        notice(&mut pi, seen, "nothing to go back to");
        assert!(
            !entries(&stage)
                .iter()
                .any(|entry| entry["type"] == "branch_summary")
        );
        stage.end(pi);
    }
}

#[test]
fn a_session_that_is_left_takes_its_pivot_with_it() {
    for stage in Stage::both_with("a pivot of a session that is left", there_and_back) {
        if goes_by_itself(&stage) {
            // Nothing is left waiting there.
            continue;
        }
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        let mut pi = stage.ready_rpc();
        let seen = pi.said().records.len();
        prompt(&mut pi, "please");
        pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "set_editor_text");
        switch(&mut pi, &json!({"type": "new_session"}));
        // Its first turn has the tool, and with it the command.
        talk(&mut pi, "Hello.");
        let seen = pi.said().records.len();
        prompt(&mut pi, "/pivot");
        notice(&mut pi, seen, "nothing to go back to");
        assert!(
            !entries(&stage)
                .iter()
                .any(|entry| entry["type"] == "branch_summary")
        );
        stage.end(pi);
    }
}

#[test]
fn a_runtime_that_dies_leaves_anchors_and_the_way_back_as_they_are() {
    let script = || {
        let pivot =
            json!({"action": "pivot", "target": "plan", "carryover": CARRIED, "message": "please go on"});
        script_of([
            anchor("plan", "Which way?"),
            Turn::tool("read", json!({"path": "way.md"})),
            context(pivot),
            Turn::tool(
                "bash",
                json!({"command": "touch scheduled; until [ -e killed ]; do sleep 0.1; done"}),
            ),
            Turn::text("Back I go."),
            Turn::text(MAIN_ANSWER),
        ])
    };
    for stage in Stage::both_with("a pivot of a killed runtime", script) {
        stage.sandbox.write_work_file("way.md", LEFT_BEHIND);
        let mut pi = stage.ready_rpc();
        let seen = pi.said().records.len();
        prompt(&mut pi, "please");
        let scheduled = stage.sandbox.work().join("scheduled");
        until(|| scheduled.exists(), || "never scheduled".to_string());
        kill_process(stage.runtime_pid(), Signal::KILL).expect("the runtime runs");
        stage.sandbox.write_work_file("killed", "");
        if !goes_by_itself(&stage) {
            pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "set_editor_text");
            prompt(&mut pi, "/pivot");
        }
        stage.wait_for_calls_of("main agent", 6);
        has_gone_back(&stage);
        last_call_is_back(&stage, 6);
        stage.end(pi);
    }
}

#[test]
fn a_runtime_that_does_not_answer_is_said_and_pi_goes_on() {
    // It says hello and offers its tool, and answers nothing else.
    for stage in Stage::both_with("anchors of a dead runtime", || {
        script_of([
            Turn::tool(
                "bash",
                json!({"command": "touch there; until [ -e stopped ]; do sleep 0.1; done"}),
            ),
            anchor("plan", "Which way?"),
            Turn::text(MAIN_ANSWER),
        ])
    }) {
        let mut pi = stage.ready_rpc();
        prompt(&mut pi, "please");
        let there = stage.sandbox.work().join("there");
        until(|| there.exists(), || "never began".to_string());
        kill_process(stage.runtime_pid(), Signal::STOP).expect("the runtime runs");
        stage.sandbox.write_work_file("stopped", "");
        stage.wait_for_calls_of("main agent", 3);
        let results = results(&stage);
        assert!(
            text_of(&results[0]).starts_with("Not available now: "),
            "{results:?}"
        );
        assert_eq!(results[0]["message"]["details"], json!({}));
        kill_process(stage.runtime_pid(), Signal::CONT).expect("the runtime is stopped");
        stage.end(pi);
    }
}

#[test]
fn anchors_of_other_sessions_are_found_where_they_are_kept() {
    let script = || {
        script_of([
            anchor("otters", "Otters are washed with SOAP."),
            Turn::text(MAIN_ANSWER),
            context(json!({"action": "recall", "keyword": "soap otters"})),
            context(json!({"action": "recall", "keyword": "seal"})),
            Turn::text(MAIN_ANSWER),
            context(json!({"action": "recall", "keyword": "soap", "scope": "all"})),
            Turn::text(MAIN_ANSWER),
        ])
    };
    for stage in Stage::both_with("anchors recalled", script) {
        for prompt in ["please", "please remember"] {
            let finished = stage.print(prompt);
            assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        }
        let elsewhere = stage.sandbox.home().join("elsewhere");
        let place = elsewhere.display().to_string();
        let asked = ["--session-dir", &place, "-p", "please again"];
        let finished = run(&mut stage.pi(&asked), "", PATIENCE);
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let sent = sent(&stage);
        let found = sent[3].to_string();
        assert!(
            found.contains("1 to 1 of 1, the newest first") && found.contains("Otters are washed with SOAP."),
            "{found}"
        );
        let nothing = "No anchor of a session has these words.";
        assert!(sent[4].to_string().contains(nothing), "{}", sent[4]);
        // Who keeps sessions in a place of their own is told of those alone.
        assert!(sent[6].to_string().contains(nothing), "{}", sent[6]);
        stage.nothing_is_left();
    }
}

#[test]
fn switched_off_or_taken_the_tool_is_not_ours() {
    let has_ours = |stage: &Stage| sent(stage)[0]["tools"].to_string().contains("Mark where you are");
    for stage in Stage::both_with("no anchors", || script_of([Turn::text(MAIN_ANSWER)])) {
        stage.configure(json!({"context": {"enabled": false}}));
        stage.print("please");
        assert!(!has_ours(&stage), "{:#?}", sent(&stage));
        stage.nothing_is_left();
    }
    for stage in Stage::both_with("anchors of somebody else", || {
        script_of([Turn::text(MAIN_ANSWER)])
    }) {
        stage.sandbox.write_work_file(
            ".pi/extensions/theirs.ts",
            "export default (pi) => pi.registerTool({ name: 'context', label: 'c', description: 'THEIRS', \
             parameters: { type: 'object', properties: {} }, execute: async () => ({ content: [], details: {} }) });",
        );
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        let tools = sent(&stage)[0]["tools"].to_string();
        assert!(tools.contains("THEIRS") && !has_ours(&stage), "{tools}");
        stage.end(pi);
    }
}
