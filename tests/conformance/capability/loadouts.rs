//! The file of loadouts. What the peer loses or leaves dangling is refused here, and a refusal leaves the file as it was.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::capability::CapabilityKind;
use impresario_policies::capability::loadout::{
    LoadoutEdit, LoadoutError, Loadouts, edit_loadouts, read_loadouts,
};
use serde_json::{Value, json};

/// The file after all of it, whether anything was refused, and whether every change kept what it did not touch.
struct Played {
    text: String,
    refused: bool,
    is_safe: bool,
    results: Vec<Value>,
}

fn play(case: &Case) -> Played {
    let mut played = Played {
        text: case.text("initial").to_string(),
        refused: false,
        is_safe: true,
        results: Vec::new(),
    };
    for op in case.list("ops") {
        let args = op.get("args").and_then(Json::as_array).unwrap_or_default();
        let word = |at: usize| {
            args.get(at)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_string()
        };
        let field = |name: &str| args.get(1)?.get(name)?.as_str().map(str::to_string);
        let edits = match op.get("op").and_then(Json::as_str).unwrap_or_default() {
            "createLoadout" => {
                let create = LoadoutEdit::Create {
                    name: word(0),
                    description: field("description").unwrap_or_default(),
                };
                let ids = ["skills", "tools", "mcp"].into_iter().flat_map(|list| {
                    let ids = args.get(1).and_then(|given| given.get(list));
                    let ids = ids.and_then(Json::as_array).unwrap_or_default().iter();
                    let one = args
                        .get(1)
                        .and_then(|given| given.get(list))
                        .and_then(Json::as_str);
                    ids.filter_map(Json::as_str)
                        .chain(one)
                        .map(str::to_string)
                        .collect::<Vec<_>>()
                });
                let adds = ids.map(|id| LoadoutEdit::Add { name: word(0), id });
                std::iter::once(create).chain(adds).collect()
            }
            "updateLoadout" => vec![LoadoutEdit::Update {
                name: word(0),
                rename: field("name"),
                description: field("description"),
            }],
            "deleteLoadout" => vec![LoadoutEdit::Delete { name: word(0) }],
            "setActive" => vec![LoadoutEdit::Activate { name: word(0) }],
            "addCapability" => vec![LoadoutEdit::Add {
                name: word(0),
                id: word(1),
            }],
            "removeCapability" => vec![LoadoutEdit::Remove {
                name: word(0),
                id: word(1),
            }],
            other => {
                played.results.push(asked(other, &word(0), &played.text));
                continue;
            }
        };
        played.results.push(Value::Null);
        for edit in edits {
            match edit_loadouts(&played.text, &edit) {
                Ok(changed) => {
                    let comments = |text: &str| -> Vec<String> {
                        text.lines()
                            .filter(|line| line.trim_start().starts_with('#'))
                            .map(str::to_string)
                            .collect()
                    };
                    played.is_safe &= comments(&played.text) == comments(&changed);
                    played.text = changed;
                }
                Err(_) => {
                    played.refused = true;
                    break;
                }
            }
        }
    }
    played
}

/// What is asked of the file.
fn asked(op: &str, name: &str, text: &str) -> Value {
    let read: Result<Loadouts, LoadoutError> = read_loadouts(text);
    let read = read.unwrap_or_default();
    let shown = |kind: CapabilityKind| -> Value {
        let of_kind = |id: &String| CapabilityKind::of_id(id) == Some(kind);
        let core = || read.core.iter().filter(|id| of_kind(id)).cloned().collect();
        let ids: Vec<String> = read
            .shown()
            .map_or_else(core, |ids| ids.into_iter().filter(of_kind).collect());
        json!(ids)
    };
    match op {
        "listLoadouts" => json!(
            read.all
                .iter()
                .map(|loadout| loadout.name.clone())
                .collect::<Vec<_>>()
        ),
        "getLoadout" => json!(read.find(name).map(|loadout| loadout.name.clone())),
        "getActiveSkillIds" => shown(CapabilityKind::Skill),
        "getActiveToolIds" => shown(CapabilityKind::Tool),
        _ => Value::Null,
    }
}

pub fn loadouts(case: &Case) -> Answer {
    Answer::value(json!(play(case).results))
}

/// Names instead of whole loadouts; who is active is asked of what is shown.
pub fn covered(recorded: &Json) -> Json {
    let name = |loadout: &Json| loadout.get("name").cloned();
    let results = recorded
        .get("results")
        .and_then(Json::as_array)
        .unwrap_or_default()
        .iter();
    let results = results.map(|result| match result {
        Json::Object(_) => name(result).unwrap_or(Json::Null),
        Json::Array(items) => Json::Array(
            items
                .iter()
                .map(|item| name(item).unwrap_or_else(|| item.clone()))
                .collect(),
        ),
        Json::String(_) => Json::Null,
        other => other.clone(),
    });
    Json::Array(results.collect())
}

/// No comment is lost, what cannot be read stays to the letter, and who is active is there.
pub fn is_safe(case: &Case) -> bool {
    let played = play(case);
    let initial = case.text("initial");
    match read_loadouts(&played.text) {
        Err(_) => played.text == initial,
        Ok(read) => {
            let is_there = read
                .active
                .as_ref()
                .is_none_or(|active| read.find(active).is_some());
            played.is_safe
                && (is_there || read_loadouts(initial).is_ok_and(|before| before.active == read.active))
        }
    }
}

pub fn differs(case: &Case) -> Option<&'static str> {
    let asks = |wanted: &str| {
        case.list("ops")
            .iter()
            .any(|op| op.get("op").and_then(Json::as_str) == Some(wanted))
    };
    let played = play(case);
    match (played.refused, is_safe(case)) {
        (true, true) => Some("what would lose something, or point at nothing, is refused"),
        (false, true) if asks("setCore") => Some("the core is written by a person"),
        (false, true) if asks("createLoadout") => Some("no loadout is active until one is activated"),
        _ => None,
    }
}
