//! Whether a value can be meant.

use super::keys::{Key, Kind};
use crate::capability::servers::{SERVERS_MAX, is_server_name};
use crate::compat::trim;
use crate::network::services::bad_service_url;
use serde_json::{Map, Value, json};

const TIERS: [&str; 3] = ["cheap", "balanced", "frontier"];

/// A value that can be used, or why it cannot. A complaint names the place below the section.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Checked {
    /// What is used of it; none when nothing is.
    pub value: Option<Value>,
    /// Place and reason.
    pub complaints: Vec<(String, String)>,
}

impl Checked {
    fn good(value: Value) -> Self {
        Self {
            value: Some(value),
            complaints: Vec::new(),
        }
    }

    fn bad(path: &str, why: String) -> Self {
        Self {
            value: None,
            complaints: vec![(path.to_string(), why)],
        }
    }
}

/// Checks a value against its key; `below` is what a merged value is laid over.
pub(super) fn check_value(key: &Key, value: &Value, below: &Value) -> Checked {
    let single = |result: Result<Value, String>| match result {
        Ok(value) => Checked::good(value),
        Err(why) => Checked::bad(key.path, why),
    };
    match key.kind {
        Kind::Text => single(text(value).map(Value::from)),
        Kind::Program => single(text(value).and_then(program)),
        Kind::PathInside => single(text(value).and_then(path_inside)),
        Kind::Word(words) => single(word(value, words)),
        Kind::Flag => single(flag(value)),
        Kind::Int { min, max, .. } => single(whole(value, min, max)),
        Kind::Number { min, max, .. } => single(number(value, min, max)),
        Kind::Texts => texts(key.path, value),
        Kind::TextsOnce { max } => texts_once(key.path, value, max),
        // Blank is none. What is bad about one is not said with it.
        Kind::Secret => single(
            value
                .as_str()
                .map(|text| Value::from(trim(text)))
                .ok_or_else(|| expected("string", value)),
        ),
        Kind::ServiceUrl => single(text(value).and_then(service_url)),
        Kind::TierTexts => {
            let below = below.as_object().cloned().unwrap_or_default();
            tiers(key.path, value, below, |item| text(item).map(Value::from), true)
        }
        Kind::TierInts { min, max } => {
            tiers(key.path, value, Map::new(), |item| whole(item, min, max), false)
        }
        Kind::Words(words) => some_words(key.path, value, words),
        Kind::Servers => servers(key.path, value),
        Kind::ToolInts { min, max } => tools(key.path, value, min, max),
    }
}

/// The kind of a value, as the peer names it.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null | Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    }
}

fn expected(what: &str, got: &Value) -> String {
    let got = match kind_of(got) {
        "array" => "object",
        kind => kind,
    };
    format!("expected {what}, got {got}")
}

fn text(value: &Value) -> Result<&str, String> {
    let text = value.as_str().ok_or_else(|| expected("string", value))?;
    if trim(text).is_empty() {
        Err("must be a non-empty string".to_string())
    } else {
        Ok(text)
    }
}

/// A name, or an absolute path: what lies beside the workspace's own files is never run by accident.
fn program(text: &str) -> Result<Value, String> {
    let is_absolute =
        text.starts_with('/') && !text.contains('\\') && !text.split('/').any(|part| part == "..");
    if text.contains(['/', '\\']) && !is_absolute {
        return Err(format!("must be a binary name, not a path (got \"{text}\")"));
    }
    Ok(json!(text))
}

fn service_url(text: &str) -> Result<Value, String> {
    let text = trim(text);
    // It is not said again: a password may be what is wrong with it.
    bad_service_url(text).map_or_else(|| Ok(json!(text)), |why| Err(why.to_string()))
}

fn path_inside(text: &str) -> Result<Value, String> {
    let path = text.replace('\\', "/");
    let bytes = path.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && path.get(1..3) == Some(":/");
    if path.starts_with('/') || has_drive || path.split('/').any(|part| part == "..") {
        return Err(format!(
            "must be a relative path within the workspace (no \"..\" or absolute paths), got \"{text}\""
        ));
    }
    Ok(json!(text))
}

fn word(value: &Value, words: &[&str]) -> Result<Value, String> {
    let text = value.as_str().ok_or_else(|| expected("string", value))?;
    if words.contains(&text) {
        return Ok(json!(text));
    }
    Err(format!("must be one of {}, got \"{text}\"", words.join("|")))
}

fn flag(value: &Value) -> Result<Value, String> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        other => Err(expected("boolean", other)),
    }
}

fn whole(value: &Value, min: u32, max: u32) -> Result<Value, String> {
    let number = value.as_f64().ok_or_else(|| expected("number", value))?;
    let fits = number.fract() == 0.0 && (f64::from(min)..=f64::from(max)).contains(&number);
    if fits {
        return Ok(json!(number as u32));
    }
    Err(format!(
        "must be a finite integer between {min} and {max}, got {number}"
    ))
}

fn number(value: &Value, min: f64, max: f64) -> Result<Value, String> {
    let number = value.as_f64().ok_or_else(|| expected("number", value))?;
    if !(min..=max).contains(&number) {
        return Err(format!("must be between {min} and {max}"));
    }
    // A whole one is shown as one; `-0` is 0.
    match number.fract() == 0.0 {
        true => Ok(json!(number as i64)),
        false => Ok(json!(number)),
    }
}

fn texts(path: &str, value: &Value) -> Checked {
    let Some(items) = value.as_array() else {
        return Checked::bad(path, expected("string[]", value));
    };
    let mut kept = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match text(item) {
            Ok(text) => kept.push(json!(trim(text))),
            Err(why) => return Checked::bad(&format!("{path}[{at}]"), why),
        }
    }
    Checked::good(Value::Array(kept))
}

fn some_words(path: &str, value: &Value, words: &[&str]) -> Checked {
    let checked = texts_once(path, value, words.len());
    let items = checked.value.as_ref().and_then(Value::as_array);
    let wrong = items.and_then(|items| items.iter().find_map(|item| word(item, words).err()));
    match wrong {
        Some(why) => Checked::bad(path, why),
        None => checked,
    }
}

fn texts_once(path: &str, value: &Value, max: usize) -> Checked {
    let checked = texts(path, value);
    let items = checked.value.as_ref().and_then(Value::as_array);
    let Some(items) = items else { return checked };
    if items.len() > max {
        return Checked::bad(path, format!("expected {max} at most, got {}", items.len()));
    }
    let again = (1..items.len()).find(|at| items[..*at].contains(&items[*at]));
    match again {
        Some(at) => Checked::bad(path, format!("expected each once, got {} again", items[at])),
        None => checked,
    }
}

fn tiers(
    path: &str,
    value: &Value,
    mut kept: Map<String, Value>,
    check: impl Fn(&Value) -> Result<Value, String>,
    null_removes: bool,
) -> Checked {
    let Some(entries) = value.as_object() else {
        return Checked::bad(path, format!("expected object, got {}", kind_of(value)));
    };
    let mut complaints = Vec::new();
    for (tier, item) in entries {
        let place = format!("{path}.{tier}");
        if !TIERS.contains(&tier.as_str()) {
            complaints.push((
                place,
                "unknown tier (allowed: cheap|balanced|frontier)".to_string(),
            ));
            continue;
        }
        if null_removes && item.is_null() {
            kept.remove(tier);
            continue;
        }
        match check(item) {
            Ok(item) => drop(kept.insert(tier.clone(), item)),
            Err(why) => complaints.push((place, why)),
        }
    }
    let in_order = TIERS.iter().filter_map(|tier| kept.remove_entry(*tier));
    Checked {
        value: Some(Value::Object(in_order.collect())),
        complaints,
    }
}

/// One that cannot be meant does not take the others with it.
fn servers(path: &str, value: &Value) -> Checked {
    let Some(entries) = value.as_object() else {
        return Checked::bad(path, format!("expected object, got {}", kind_of(value)));
    };
    let (mut kept, mut complaints) = (Map::new(), Vec::new());
    for (name, server) in entries {
        let place = format!("{path}.{name}");
        let checked = match is_server_name(name) && kept.len() < SERVERS_MAX {
            true => server_at(&place, server),
            false => Err((
                place,
                format!("expected {SERVERS_MAX} at most, each called by letters, digits, -, _ and ."),
            )),
        };
        match checked {
            Ok(server) => drop(kept.insert(name.clone(), server)),
            Err(complaint) => complaints.push(complaint),
        }
    }
    Checked {
        value: Some(Value::Object(kept)),
        complaints,
    }
}

fn server_at(place: &str, server: &Value) -> Result<Value, (String, String)> {
    let Some(fields) = server.as_object() else {
        return Err((
            place.to_string(),
            format!("expected object, got {}", kind_of(server)),
        ));
    };
    if let Some(unknown) = fields
        .keys()
        .find(|field| !["command", "environment"].contains(&field.as_str()))
    {
        let why = "unknown field (allowed: command|environment)".to_string();
        return Err((format!("{place}.{unknown}"), why));
    }
    let list = |field: &str| {
        let path = format!("{place}.{field}");
        let checked = texts(&path, fields.get(field).unwrap_or(&json!([])));
        match (checked.value, checked.complaints.into_iter().next()) {
            (Some(value), None) => Ok(value),
            (_, complaint) => Err(complaint.unwrap_or((path, "expected string[]".to_string()))),
        }
    };
    let (command, environment) = (list("command")?, list("environment")?);
    match command.as_array().is_some_and(|words| !words.is_empty()) {
        true => Ok(json!({"command": command, "environment": environment})),
        false => Err((format!("{place}.command"), "expected a program".to_string())),
    }
}

fn tools(path: &str, value: &Value, min: u32, max: u32) -> Checked {
    let Some(entries) = value.as_object() else {
        return Checked::bad(path, format!("expected object, got {}", kind_of(value)));
    };
    let (mut kept, mut complaints) = (Map::new(), Vec::new());
    for (tool, item) in entries {
        match whole(item, min, max) {
            Ok(item) => drop(kept.insert(tool.clone(), item)),
            Err(why) => complaints.push((format!("{path}.{tool}"), why)),
        }
    }
    Checked {
        value: Some(Value::Object(kept)),
        complaints,
    }
}
