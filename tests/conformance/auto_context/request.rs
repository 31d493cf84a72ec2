//! What is left out of a request, and the line about the context: what the extension does, and what is behind it.

use super::host::Node;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::bridge::wire::{ContextCuts, ContextSaid, ContextStanding, CutsAsk};
use impresario_policies::cache_markers::prices_of;
use impresario_policies::context_status::status_line;
use impresario_policies::settings::Configured;
use impresario_policies::truncation::results_to_cut;
use serde_json::{Value, json};
use std::sync::{LazyLock, Mutex, PoisonError};

static NODE: LazyLock<Mutex<Node>> = LazyLock::new(|| Mutex::new(Node::start("request.mjs")));

/// What a text begins with in whose place a line stands.
const LEFT_OUT: &str = " characters are left out since anchor ";

pub fn context_hook(case: &Case) -> Answer {
    let steps = case.list("steps").iter().enumerate();
    let requests = steps.map(|(at, step)| {
        let step: Value = serde_json::from_str(&step.to_text()).expect("JSON");
        match step.get("op") {
            Some(_) => Value::Null,
            None => request(at == 0, &step),
        }
    });
    Answer::value(requests.collect())
}

fn request(first: bool, step: &Value) -> Value {
    let mut node = NODE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut said = node.ask(&json!({"first": first, "step": step}).to_string());
    loop {
        let answer: Value = serde_json::from_str(&said).expect("an answer is JSON");
        let Some(method) = answer["ask"].as_str() else {
            return as_recorded(step, &answer["done"]);
        };
        let params = answer["params"].clone();
        let reply = match method {
            "context.cuts" => json!(cuts(
                serde_json::from_value(params).expect("what the bridge takes")
            )),
            _ => json!(line(
                serde_json::from_value(params).expect("what the bridge takes")
            )),
        };
        said = node.ask(&reply.to_string());
    }
}

fn cuts(asked: CutsAsk) -> ContextCuts {
    let plan = asked.plan(Configured::default().truncation);
    ContextCuts::of(results_to_cut(
        &plan.seen,
        &plan.since,
        prices_of(&plan.model),
        &plan.terms,
    ))
}

fn line(asked: ContextStanding) -> ContextSaid {
    ContextSaid::of(status_line(&asked.facts()))
}

/// In the words of the record; our line stands behind everything.
fn as_recorded(step: &Value, done: &Value) -> Value {
    let mut messages = done["messages"].as_array().cloned().unwrap_or_default();
    if let Some(line) = done["line"].as_str() {
        messages
            .push(json!({"role": "custom", "customType": "pi-status", "content": line, "display": false}));
    }
    match step["messages"].as_array() == Some(&messages) {
        true => json!({"changed": false, "messages": null}),
        false => json!({"changed": true, "messages": messages}),
    }
}

/// The newest version of the peer, where several were recorded.
pub fn covered(recorded: &Json) -> Json {
    recorded.get("0.2.7").unwrap_or(recorded).clone()
}

pub fn accepts(_: &str, case: &Case, ours: &Answer) -> bool {
    differs("", case, ours).is_some()
}

/// Only long results that were seen before an anchor are left out, by our words; a line is told when it matters, behind
/// everything.
pub fn differs(_: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    let (Answer::Value(ours), Answer::Value(peers)) = (ours, &case.expected) else {
        return None;
    };
    let (ours, peers) = (ours.as_array()?, peers.as_array()?);
    let mut steps = case.list("steps").iter().zip(ours).zip(peers);
    let fits = steps.all(|((step, ours), peers)| is_ours(step, ours, peers).unwrap_or(false));
    (fits && case.list("steps").len() == ours.len()).then_some(
        "long results leave where it pays, and a line is told when something has changed that matters",
    )
}

fn is_ours(step: &Json, ours: &Json, peers: &Json) -> Option<bool> {
    if step.get("op").is_some() {
        return Some(true);
    }
    let before = step.get("messages")?.as_array()?;
    let (after, line) = split(ours, before)?;
    let (_, peers_line) = split(peers, before)?;
    let anchor = before
        .iter()
        .rposition(|message| is_anchor(message) == Some(true))
        .unwrap_or(0);
    let same = before
        .iter()
        .zip(&after)
        .enumerate()
        .all(|(at, (before, after))| {
            let is_stale = at < anchor && role(before) == "toolResult" && is_anchor(before) != Some(true);
            before == after || (is_stale && is_cut(before, after))
        });
    Some(same && is_due(step, line.as_deref(), peers_line.as_deref()))
}

/// The messages without a line of status, and the line.
fn split(answer: &Json, before: &[Json]) -> Option<(Vec<Json>, Option<String>)> {
    let messages = answer.get("messages").and_then(Json::as_array).unwrap_or(before);
    let is_line = |message: &&Json| role(message) == "custom";
    let line = messages
        .iter()
        .find(is_line)
        .and_then(|line| line.get("content")?.as_str());
    let rest: Vec<Json> = messages
        .iter()
        .filter(|message| !is_line(message))
        .cloned()
        .collect();
    (rest.len() == before.len()).then_some((rest, line.map(str::to_string)))
}

fn role(message: &Json) -> &str {
    message.get("role").and_then(Json::as_str).unwrap_or_default()
}

fn is_anchor(message: &Json) -> Option<bool> {
    Some(message.get("toolName")?.as_str()? == "context" && message.get("details")?.get("anchor").is_some())
}

/// One line for all texts, and whatever is no text.
fn is_cut(before: &Json, after: &Json) -> bool {
    let blocks = |message: &Json| {
        message
            .get("content")
            .and_then(Json::as_array)
            .unwrap_or_default()
            .to_vec()
    };
    let pictures = |blocks: &[Json]| {
        let other = |block: &&Json| block.get("type").and_then(Json::as_str) != Some("text");
        blocks.iter().filter(other).cloned().collect::<Vec<_>>()
    };
    let (was, is) = (blocks(before), blocks(after));
    let first = is
        .first()
        .and_then(|block| block.get("text")?.as_str())
        .unwrap_or_default();
    first.contains(LEFT_OUT) && pictures(&was) == pictures(&is) && is.len() == pictures(&is).len() + 1
}

/// A line of ours says what the peer's says, and none is missing when half of the context is used or a hint is due.
fn is_due(step: &Json, ours: Option<&str>, peers: Option<&str>) -> bool {
    let percent = step.get("usage_percent").and_then(Json::as_number).unwrap_or(0.0);
    let Some(ours) = ours else {
        let hint = peers.is_some_and(|line| line.contains("hint="));
        return peers.is_none() || (percent < 49.5 && !hint);
    };
    let field = |line: &str, name: &str| {
        let mut fields = line
            .split_once("] ")
            .map_or("", |(_, fields)| fields)
            .split(" | ");
        fields.find(|field| field.starts_with(name)).map(str::to_string)
    };
    let same = |name: &str| peers.and_then(|peers| field(peers, name)) == field(ours, name);
    same("model=") && same("context=") && same("anchor=") && same("hint=")
}
