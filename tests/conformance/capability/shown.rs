//! What is shown: what was used last, which tools stay, which skills a prompt lists.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::capability::deferral::{active_tools, is_always_there};
use impresario_policies::capability::promotion::{Use, used_by, within_reach};
use impresario_policies::capability::slim::{POINTER, ShownSkill, path_rule, slim_prompt};
use serde_json::json;
use std::collections::BTreeMap;

/// A ceiling that is no number is refused where settings are read, and is none here.
pub fn promotion(case: &Case) -> Answer {
    let uses = case.list("usage").iter().map(|used| Use {
        id: text(used, "id"),
        count: used.get("count").and_then(Json::as_number).unwrap_or(0.0) as u64,
        last_ms: millis(&text(used, "last")),
    });
    let uses: Vec<Use> = uses.collect();
    let ceiling = case.get("ceiling").as_number().unwrap_or(0.0) as usize;
    Answer::value(json!(within_reach(
        &case.texts("loadout"),
        &case.texts("session"),
        &uses,
        ceiling
    )))
}

/// Only the order counts, and texts of one length are in the order of time.
fn millis(iso: &str) -> u64 {
    iso.chars()
        .filter(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(0)
}

pub fn is_without_promotion(ours: &Answer) -> bool {
    ours == &Answer::Value(Json::Array(Vec::new()))
}

pub fn skill_read(case: &Case) -> Answer {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for event in case.input.as_array().unwrap_or_default() {
        let input = event.get("input").cloned().unwrap_or(Json::Null);
        let path = input
            .get("file_path")
            .or(input.get("path"))
            .and_then(Json::as_str);
        let tool = text(event, "toolName");
        if let Some(id) = used_by(&tool, path, tool.is_empty() || is_always_there(&tool)) {
            *counts.entry(id).or_default() += 1;
        }
    }
    let rows: Vec<_> = counts
        .into_iter()
        .map(|(id, count)| json!({"id": id, "count": count}))
        .collect();
    Answer::value(json!(rows))
}

/// Of the peer's all tools are active before; of ours those that are.
pub fn deferral(case: &Case) -> Answer {
    let all = case.texts("all");
    let keep: Vec<String> = case
        .texts("keep")
        .iter()
        .map(|name| format!("tool:pi:{name}"))
        .collect();
    let harvested: Vec<&String> = all.iter().filter(|tool| !is_always_there(tool)).collect();
    let active = active_tools(&all, &case.texts("indexed"), &keep);
    Answer::value(json!({"harvested": harvested, "active": active}))
}

/// A tool of the host that every task needs is never looked for.
pub fn deferral_differs(case: &Case, ours: &Answer) -> Option<&'static str> {
    let Answer::Value(recorded) = &case.expected else {
        return None;
    };
    let without = |value: &Json, key: &str| -> Vec<String> {
        let items = value.get(key).and_then(Json::as_array).unwrap_or_default().iter();
        let names = items
            .filter_map(Json::as_str)
            .filter(|name| *name != "powershell");
        names.map(str::to_string).collect()
    };
    let Answer::Value(ours) = ours else { return None };
    let is_same = ["harvested", "active"]
        .into_iter()
        .all(|key| without(recorded, key) == without(ours, key));
    is_same.then_some("every shell of the host is always there")
}

pub fn slim_block(case: &Case) -> Answer {
    let skills = case.list("skills").iter().map(|skill| ShownSkill {
        name: text(skill, "name"),
        summary: text(skill, "summary"),
        file: skill.get("file_path").and_then(Json::as_str).map(str::to_string),
    });
    let prompt = case.text("prompt");
    let skills: Vec<ShownSkill> = skills.collect();
    let slim = slim_prompt(prompt, &skills).unwrap_or_else(|| prompt.to_string());
    Answer::value(json!(with_marks(slim, &skills)))
}

/// Our own two lines are called as the peer's are in the records.
fn with_marks(mut slim: String, skills: &[ShownSkill]) -> String {
    for skill in skills {
        for separator in ['/', '\\'] {
            let ending = format!("{separator}{}{separator}SKILL.md", skill.name);
            let root = skill.file.as_deref().and_then(|file| file.strip_suffix(&ending));
            if let Some(root) = root {
                slim = slim.replace(
                    &path_rule(root, separator),
                    &format!("{{PATH_RULE {root} {separator}}}"),
                );
            }
        }
    }
    slim.replace(POINTER, "{POINTER}")
}

/// The prompt still has one block that ends once.
pub fn is_one_block(ours: &Answer) -> bool {
    matches!(ours, Answer::Value(Json::String(text)) if text.contains("{POINTER}\n</available_skills>"))
}

pub fn slim_differs(case: &Case, ours: &Answer) -> Option<&'static str> {
    let Answer::Value(Json::String(ours)) = ours else {
        return None;
    };
    let prompt = case.text("prompt");
    if ours == prompt {
        return Some("where it is not clear which block is meant, every byte stays");
    }
    let Answer::Value(Json::String(theirs)) = &case.expected else {
        return None;
    };
    if ours.replace("&lt;", "<").replace("&gt;", ">") == *theirs {
        return Some("marks in a description are escaped");
    }
    let mentions = prompt.matches("<available_skills>").count() > 1;
    (mentions && ours.contains("{POINTER}")).then_some("what only mentions the block stays")
}

fn text(value: &Json, key: &str) -> String {
    value
        .get(key)
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_string()
}
