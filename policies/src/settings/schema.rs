//! The settings as JSON Schema, for editors.

use super::keys::{AGENT_KEYS, KEYS, Key, Kind};
use crate::capability::servers::SERVERS_MAX;
use serde_json::{Map, Value, json};

/// The schema of our section.
pub fn settings_schema() -> Value {
    let mut root = Map::new();
    for key in &KEYS {
        let schema = schema_of(key);
        match key.path.split_once('.') {
            None => {
                root.insert(key.path.to_string(), schema);
            }
            Some((section, name)) => {
                let empty = json!({"type": "object", "additionalProperties": false, "properties": {}});
                let section = root.entry(section.to_string()).or_insert(empty);
                section["properties"][name] = schema;
            }
        }
    }
    let fields = AGENT_KEYS
        .iter()
        .map(|key| (key.path.to_string(), schema_of(key)));
    // What has another name than a key of the section is an agent.
    root["agents"]["additionalProperties"] = json!({
        "type": "object",
        "description": "what holds for the agent of this name",
        "additionalProperties": false,
        "properties": fields.collect::<Map<_, _>>(),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "impresario",
        "type": "object",
        "additionalProperties": false,
        "properties": Value::Object(root),
    })
}

/// The schema as it is checked in.
pub fn settings_schema_text() -> String {
    let mut text = serde_json::to_string_pretty(&settings_schema()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema_of(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Text | Kind::Program | Kind::PathInside => json!({"type": "string", "minLength": 1}),
        Kind::Int { min, max, .. } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Number { min, max, .. } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Word(words) => json!({"type": "string", "enum": words}),
        Kind::Words(words) => json!({
            "type": "array",
            "items": {"type": "string", "enum": words},
            "uniqueItems": true,
        }),
        Kind::Secret => json!({"type": "string"}),
        Kind::ServiceUrl => json!({"type": "string", "format": "uri", "pattern": "^https?://"}),
        Kind::TextsOnce { max } => json!({
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": max,
            "uniqueItems": true,
        }),
        Kind::Texts => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Kind::TierTexts => tiers(&json!({"type": ["string", "null"], "minLength": 1})),
        Kind::TierInts { min, max } => tiers(&json!({"type": "integer", "minimum": min, "maximum": max})),
        Kind::Servers => {
            let texts = json!({"type": "array", "items": {"type": "string", "minLength": 1}});
            json!({
                "type": "object",
                "maxProperties": SERVERS_MAX,
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["command"],
                    "properties": {"command": texts, "environment": texts},
                },
            })
        }
        Kind::ToolInts { min, max } => json!({
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": min, "maximum": max},
        }),
    };
    schema["description"] = json!(key.about);
    if let Ok(default) = serde_json::from_str::<Value>(key.default) {
        schema["default"] = default;
    }
    schema
}

fn tiers(item: &Value) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"cheap": item, "balanced": item, "frontier": item},
    })
}
