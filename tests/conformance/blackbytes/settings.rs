//! The settings file of the peer, as the product reads it.

use super::{object, only, texts};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::settings::{
    BLACKBYTES_SECTION, Configured, NoticeKind, Place, Resolved, SettingsFile, resolve_settings,
};
use serde_json::{Value, json};

/// What is understood of a file in the home directory.
pub fn resolve(text: Option<&str>) -> Resolved {
    resolve_settings(&[SettingsFile {
        place: Place::Home,
        trusted: true,
        text,
    }])
}

/// What is understood of this value of the section.
pub fn resolve_section(section: &Json) -> Resolved {
    resolve(Some(
        &json!({ BLACKBYTES_SECTION: Value::from(section) }).to_string(),
    ))
}

/// The places that cannot be meant, each once.
fn bad_places(resolved: &Resolved) -> Vec<Json> {
    let mut places: Vec<String> = Vec::new();
    for notice in &resolved.notices {
        let place = match &notice.kind {
            NoticeKind::Invalid { key, .. } => key.replace('[', ".").replace(']', ""),
            NoticeKind::SectionNotObject { .. } => String::new(),
            _ => continue,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.sort_unstable();
    places.into_iter().map(Json::String).collect()
}

fn said(resolved: &Resolved) -> Json {
    let configured = Configured::from(resolved);
    let agents = configured.agents.iter().map(|(name, said)| {
        let values = said.values.iter();
        let fields = values.map(|value| (value.key.path.to_string(), Json::from(&value.value)));
        (name.clone(), Json::Object(fields.collect()))
    });
    object(vec![
        (
            "disabled_tools",
            Json::from(&json!(configured.run.tools_disabled)),
        ),
        (
            "disabled_sub_agents",
            Json::from(&json!(configured.agents_disabled)),
        ),
        ("sub_agents", Json::Object(agents.collect())),
    ])
}

pub fn settings_parse(case: &Case) -> Answer {
    let resolved = resolve_section(case.get("blackbytes"));
    let bad = bad_places(&resolved);
    let ok = bad.is_empty();
    let mut entries = vec![("ok", Json::Bool(ok))];
    match ok {
        true => {
            let configured = Configured::from(&resolved);
            entries.push(("value", said(&resolved)));
            entries.push(("strict_patch", Json::Bool(configured.strict_patch)));
            entries.push(("sub_agent_display", Json::from(&json!(configured.display.agents))));
        }
        false => entries.push(("issues", Json::Array(bad))),
    }
    Answer::Value(object(entries))
}

/// What is acted on, and the places of what cannot be meant; how the peer's library calls a fault is its own.
pub fn parse_covered(recorded: &Json) -> Json {
    if recorded.get("ok") == Some(&Json::Bool(true)) {
        let value = recorded.get("value").unwrap_or(&Json::Null);
        let inner = |holder: &str, field: &str| {
            let holder = recorded.get(holder).unwrap_or(&Json::Null);
            holder.get(field).cloned().unwrap_or(Json::Null)
        };
        return object(vec![
            ("ok", Json::Bool(true)),
            ("value", covered_value(value)),
            ("strict_patch", inner("hashline", "strict_patch")),
            ("sub_agent_display", inner("ui", "sub_agent_display")),
        ]);
    }
    let issues = recorded
        .get("issues")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let mut places: Vec<String> = issues.iter().map(|issue| super::text(issue, "path")).collect();
    places.sort_unstable();
    places.dedup();
    object(vec![
        ("ok", Json::Bool(false)),
        (
            "issues",
            Json::Array(places.into_iter().map(Json::String).collect()),
        ),
    ])
}

/// Fields that the product acts on, of agents that say any.
fn covered_value(value: &Json) -> Json {
    let agents = value
        .get("sub_agents")
        .and_then(Json::as_object)
        .unwrap_or_default();
    let known = |field: &str| {
        impresario_policies::settings::AGENT_KEYS
            .iter()
            .any(|key| key.path == field)
    };
    let agents = agents.iter().filter_map(|(name, fields)| {
        let fields = fields.as_object()?.iter().filter(|(field, _)| known(field));
        let fields: Vec<(String, Json)> = fields.cloned().collect();
        (!fields.is_empty()).then(|| (name.clone(), Json::Object(fields)))
    });
    object(vec![
        (
            "disabled_tools",
            Json::from(&json!(texts(value, "disabled_tools"))),
        ),
        (
            "disabled_sub_agents",
            Json::from(&json!(texts(value, "disabled_sub_agents"))),
        ),
        ("sub_agents", Json::Object(agents.collect())),
    ])
}

pub fn settings_load(case: &Case) -> Answer {
    let resolved = resolve(case.get("settings_file").as_str());
    Answer::Value(only(&said(&resolved), &["disabled_tools", "disabled_sub_agents"]))
}

pub fn load_covered(recorded: &Json) -> Json {
    let config = recorded.get("config").unwrap_or(&Json::Null);
    only(config, &["disabled_tools", "disabled_sub_agents"])
}
