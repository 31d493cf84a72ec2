//! What three other extensions would have made of the requests of a session: a model of them, made from what was recorded of
//! them (`tests/vectors`), not they themselves.
//!
//! Whatever they would add of their own – tools, instructions for them, another request to look for a skill – is not
//! counted, so they come off better here than in truth.

use crate::session::{RULES, SHOWN, rules_above, text_in};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What can be left out.
#[derive(Clone, Copy)]
pub struct Habits {
    pub status_line: bool,
}

/// The context window of the model, by which usage is told.
const WINDOW_TOKENS: usize = 200_000;
/// So many entries a session has before it is told that it has no anchor.
const ENTRIES_BEFORE_HINT: usize = 10;

pub fn with_peers(requests: &[Value], workspace: &Path, habits: Habits) -> Vec<Value> {
    let mut hinted = false;
    let requests = requests.iter().map(|body| {
        let mut body = body.clone();
        slim(&mut body);
        add_rules(&mut body, workspace);
        cut_before_anchor(&mut body);
        if habits.status_line {
            add_status(&mut body, &mut hinted);
        }
        body
    });
    requests.collect()
}

/// pi-capability-index: the skills of the loadout, a line each, and where the others are.
fn slim(body: &mut Value) {
    let (opens, closes) = ("<available_skills>", "</available_skills>");
    for block in body["system"].as_array_mut().into_iter().flatten() {
        let text = block["text"].as_str().unwrap_or_default().to_string();
        let (Some(from), Some(to)) = (text.find(opens), text.find(closes)) else {
            continue;
        };
        let shown = text[from..to].split("<skill>").filter(|skill| {
            SHOWN
                .iter()
                .any(|name| skill.contains(&format!("<name>{name}</name>")))
        });
        let field = |skill: &str, name: &str| {
            let behind = skill.split(&format!("<{name}>")).nth(1).unwrap_or_default();
            behind.split("</").next().unwrap_or_default().to_string()
        };
        let lines =
            shown.map(|skill| format!("- {}: {}\n", field(skill, "name"), field(skill, "description")));
        let lines = lines.collect::<String>();
        assert_eq!(lines.lines().count(), SHOWN.len(), "{text}");
        let more =
            "More skills and tools exist: capability_search finds them, capability_activate loads them.\n";
        block["text"] = json!(format!("{}{opens}\n{lines}{more}{}", &text[..from], &text[to..]));
    }
}

/// pi-nested-agents-md: behind results of `read`, each directory once, but for calls of one turn, which look before any of
/// them has noted what it gives.
fn add_rules(body: &mut Value, workspace: &Path) {
    let mut given = BTreeSet::new();
    let mut read_now: Vec<(String, PathBuf)> = Vec::new();
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let by_model = message["role"] == "assistant";
        let blocks = message["content"].as_array_mut();
        if by_model {
            let calls = blocks
                .into_iter()
                .flatten()
                .filter(|block| block["name"] == "read");
            let path = |call: &Value| workspace.join(call["input"]["path"].as_str().unwrap_or_default());
            read_now = calls.map(|call| (call["id"].to_string(), path(call))).collect();
            continue;
        }
        let before = given.clone();
        for result in blocks
            .into_iter()
            .flatten()
            .filter(|block| block["type"] == "tool_result")
        {
            let id = result["tool_use_id"].to_string();
            let Some((_, file)) = read_now.iter().find(|(call, _)| *call == id) else {
                continue;
            };
            let new = rules_above(workspace, file)
                .into_iter()
                .filter(|rules| !before.contains(rules));
            let new = new.collect::<Vec<_>>();
            let blocks = new.iter().map(|rules| {
                format!(
                    "\n\n[Directory Context: {}]\n{}",
                    rules.display(),
                    content_of(rules)
                )
            });
            let added = blocks.collect::<String>();
            if !added.is_empty() {
                append(result, &added);
            }
            given.extend(new);
        }
    }
}

fn content_of(rules: &Path) -> String {
    let of = |directory: &str| rules.ends_with(format!("{directory}/AGENTS.md"));
    let (directory, rule) = RULES
        .into_iter()
        .rev()
        .find(|(directory, _)| of(directory))
        .expect("a directory of rules");
    crate::session::rules_text(directory, rule)
}

fn append(result: &mut Value, text: &str) {
    result["content"] = match result["content"].take() {
        Value::String(before) => json!(format!("{before}\n{text}")),
        Value::Array(mut blocks) => {
            let last = blocks.last_mut().expect("a block");
            last["text"] = json!(format!("{}\n{text}", last["text"].as_str().unwrap_or_default()));
            Value::Array(blocks)
        }
        other => other,
    };
}

/// pi-auto-context: of every result before the newest anchor the beginning; the anchor is marked instead of the end of the
/// conversation, for it leaves one of four markers to others.
fn cut_before_anchor(body: &mut Value) {
    let messages = body["messages"].as_array_mut().expect("messages");
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let calls = messages.iter().flat_map(blocks);
    let calls = calls.filter(|block| block["name"] == "context");
    let anchors = calls.map(|call| call["id"].clone()).collect::<Vec<_>>();
    let is_anchor = |block: &Value| anchors.contains(&block["tool_use_id"]);
    let Some(at) = messages
        .iter()
        .rposition(|message| blocks(message).iter().any(is_anchor))
    else {
        return;
    };
    for result in messages[..at]
        .iter_mut()
        .filter_map(|message| message["content"].as_array_mut())
        .flatten()
    {
        if result["type"] == "tool_result" && !is_anchor(result) {
            result["content"] = cut(&result["content"]);
        }
    }
    for block in messages
        .iter_mut()
        .filter_map(|message| message["content"].as_array_mut())
        .flatten()
    {
        let Some(block) = block.as_object_mut() else {
            continue;
        };
        block.remove("cache_control");
    }
    let newest = messages[at]["content"].as_array_mut().into_iter().flatten();
    if let Some(anchor) = newest.filter(|block| is_anchor(block)).last() {
        anchor["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// A text above 50 characters is its first 20, and how long it was.
fn cut(content: &Value) -> Value {
    let text = text_in(content);
    let length = text.encode_utf16().count();
    match length > 50 {
        true => json!(format!("{}…✂{length}", text.chars().take(20).collect::<String>())),
        false => content.clone(),
    }
}

/// pi-auto-context: a line behind the last prompt of the person, made anew for each request.
fn add_status(body: &mut Value, hinted: &mut bool) {
    let used = body.to_string().chars().count() / 4 * 100 / WINDOW_TOKENS;
    let messages = body["messages"].as_array_mut().expect("messages");
    let (mut all, mut of_tools) = (0, 0);
    for block in messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
    {
        let is_result = block["type"] == "tool_result";
        let text = if is_result {
            text_in(&block["content"])
        } else {
            text_in(&json!([block]))
        };
        all += text.len();
        of_tools += if is_result { text.len() } else { 0 };
    }
    let hint = !*hinted && messages.len() > ENTRIES_BEFORE_HINT;
    *hinted |= hint;
    let hint = if hint { " | hint=no-anchors-yet" } else { "" };
    let tool = (of_tools * 100).div_ceil(all.max(1));
    let line = format!("[pi-auto-context] model=mocka/mocka-1 | context={used}% | tool={tool}%{hint}");
    let is_prompt = |message: &Value| {
        let is_result = |block: &Value| block["type"] == "tool_result";
        let results = message["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(is_result));
        message["role"] == "user" && !results
    };
    let prompt = messages.iter().rposition(is_prompt).expect("a prompt");
    let mut status = json!({"type": "text", "text": line});
    if prompt + 1 == messages.len() {
        // The host marks the last message of the user, which is this line now.
        let last = messages[prompt]["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut());
        if let Some(marker) = last.and_then(|last| last.as_object_mut()?.remove("cache_control")) {
            status["cache_control"] = marker;
        }
    }
    messages.insert(prompt + 1, json!({"role": "user", "content": [status]}));
}
