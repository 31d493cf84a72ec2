//! Cache markers of the main thread's requests, in real Pi with a model that takes them.

use crate::host::{PATIENCE, Stage, is_notice, prompt};
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::pi::{MOCKA_MODEL, Version};
use serde_json::{Value, json};

const READS: usize = 5;
/// Another extension, which marks every result of a tool.
const MARKS_EVERY_RESULT: &str = r#"
const mark = (block) => (block.type === "tool_result" ? { ...block, cache_control: { type: "ephemeral" } } : block);
const marked = (message) => (Array.isArray(message.content) ? { ...message, content: message.content.map(mark) } : message);
export default function (pi) {
  pi.on("before_provider_request", ({ payload }) => ({ ...payload, messages: payload.messages.map(marked) }));
}
"#;

fn stage(version: Version, name: &str) -> Option<Stage> {
    let read = || Turn::tool("read", json!({"path": "notes.txt"}));
    let reading = (0..READS).fold(Rule::new("main agent"), |rule, _| rule.turn(read()));
    let stage = Stage::set_with(
        version,
        name,
        Script::new().rule(reading.turn(Turn::text("Done."))),
    )?;
    stage.sandbox.write_work_file("notes.txt", "Nothing of note.\n");
    stage.sandbox.write_work_file("marks.js", MARKS_EVERY_RESULT);
    Some(stage)
}

impl Stage {
    /// In rpc mode on a model that takes markers, behind the other extension; the runtime has answered.
    fn behind_another_extension(&self) -> JsonLines {
        let ours = directories::project()
            .join("extension/src/index.ts")
            .display()
            .to_string();
        let other = self.sandbox.work().join("marks.js").display().to_string();
        let mut arguments = vec!["-e", &other, "-e", &ours, "--model", MOCKA_MODEL, "--mode", "rpc"];
        if self.scenario.version() == Version::ALL[0] {
            arguments.push("--approve");
        }
        let mut command = self.sandbox.pi_command(&arguments);
        command.env("IMPRESARIO_BINARY", &self.binary);
        let mut pi = JsonLines::start(&mut command);
        prompt(&mut pi, "/impresario runtime");
        pi.wait_for(PATIENCE, |record| {
            is_notice(record, "cache markers: 0 requests, 0 changed")
        });
        pi
    }
}

/// The paths of all markers of a request.
fn markers(call: &Call) -> Vec<String> {
    let mut found = Vec::new();
    find(&call.body, "", &mut found);
    found.sort();
    found
}

fn find(value: &Value, path: &str, found: &mut Vec<String>) {
    if value.get("cache_control").is_some_and(Value::is_object) {
        found.push(path.to_string());
    }
    match value {
        Value::Object(entries) => entries
            .iter()
            .for_each(|(key, value)| find(value, &format!("{path}/{key}"), found)),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, value)| find(value, &format!("{path}/{at}"), found));
        }
        _ => {}
    }
}

fn without_markers(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(key, _)| *key != "cache_control");
            kept.map(|(key, value)| (key.clone(), without_markers(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_markers).collect(),
        other => other.clone(),
    }
}

/// Plays the prompt and gives the last request.
fn last_request(stage: &Stage) -> Call {
    let mut pi = stage.behind_another_extension();
    prompt(&mut pi, "Read the notes five times.");
    pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
    prompt(&mut pi, "/impresario runtime");
    let counted = format!("cache markers: {} requests", READS + 1);
    pi.wait_for(PATIENCE, |record| is_notice(record, &counted));
    let calls = stage.server.ledger().calls_of("main agent");
    assert_eq!(calls.len(), READS + 1);
    stage.end(pi);
    calls.into_iter().next_back().expect("requests were made")
}

#[test]
fn what_another_extension_marks_too_much_is_put_right_and_nothing_else_changes() {
    for version in Version::ALL {
        let Some(planned) = stage(version, "markers of another extension") else {
            return;
        };
        let Some(left_alone) = stage(version, "markers of another extension, switched off") else {
            return;
        };
        left_alone.configure(json!({"promptCache": {"enabled": false}}));
        let (ours, as_it_was) = (last_request(&planned), last_request(&left_alone));
        let refused = markers(&as_it_was);
        assert!(
            refused.len() > 4,
            "the other extension has marked nothing: {refused:?}"
        );
        let tail = |body: &Value| {
            let at = body["messages"].as_array().map_or(0, Vec::len) - 1;
            format!("/messages/{at}/content/0")
        };
        let kept = markers(&ours);
        assert_eq!(kept.len(), 4, "{kept:?}");
        assert!(
            kept.contains(&tail(&ours.body)) && kept.contains(&"/system/0".to_string()),
            "{kept:?}"
        );
        assert!(
            kept.iter().all(|place| refused.contains(place)),
            "{kept:?} of {refused:?}"
        );
        let said = |body: &Value| without_markers(&body["messages"]).as_array().map(Vec::len);
        assert_eq!(said(&ours.body), said(&as_it_was.body));
        assert_eq!(
            without_markers(&ours.body["tools"]),
            without_markers(&as_it_was.body["tools"])
        );
    }
}
