//! The functions of pi-nested-agents-md 0.1.

mod differences;
mod lifecycle;
mod places;
mod session;
mod tree;

use crate::Function;
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::guidance::{cut_rules, rules_block};
use std::path::Path;

/// Runs our counterpart.
type Replay = fn(&Case) -> Answer;

/// Every function of it.
pub fn functions() -> Vec<Function> {
    let table: Vec<(&'static str, Replay)> = vec![
        ("contain", places::contain),
        ("find_up", places::find_up),
        ("format", format),
        ("inject", session::inject),
        ("lifecycle", lifecycle::lifecycle),
        ("truncate", truncate),
    ];
    let function = |(name, replay)| Function {
        name,
        replay,
        accepts: differences::accepts,
        differs: differences::ours,
        covered: Json::clone,
    };
    let can_be_played = |(name, _): &(&str, Replay)| *name != "lifecycle" || lifecycle::can_be_played();
    table.into_iter().filter(can_be_played).map(function).collect()
}

fn format(case: &Case) -> Answer {
    let path = Path::new(case.text("absolute_path"));
    let block = rules_block(path, case.text("content"), case.flag("truncated"));
    Answer::Value(recorded(case, Json::String(block)))
}

fn truncate(case: &Case) -> Answer {
    let content = tree::text_of(case.get("content"));
    // A negative cap is none of ours: a setting is at least 0.
    let (result, truncated) = cut_rules(&content, case.count("max_bytes"));
    let ours = object(vec![
        ("result", Json::String(result.to_string())),
        ("truncated", Json::Bool(truncated)),
        ("original_bytes", Json::Number(content.len() as f64)),
        ("result_bytes", Json::Number(result.len() as f64)),
    ]);
    Answer::Value(recorded(case, ours))
}

/// Long texts as they are recorded.
fn recorded(case: &Case, ours: Json) -> Json {
    match (&case.expected, ours) {
        (Answer::Value(Json::Object(_)), Json::String(text)) => tree::digest(&text),
        (Answer::Value(expected), Json::Object(entries)) => {
            let member = |(key, value): (String, Json)| {
                let is_digest = expected.get(&key).and_then(|value| value.get("sha256")).is_some();
                match value {
                    Json::String(text) if is_digest => (key, tree::digest(&text)),
                    value => (key, value),
                }
            };
            Json::Object(entries.into_iter().map(member).collect())
        }
        (_, ours) => ours,
    }
}

fn object(entries: Vec<(&str, Json)>) -> Json {
    let entries = entries.into_iter().map(|(key, value)| (key.to_string(), value));
    Json::Object(entries.collect())
}
