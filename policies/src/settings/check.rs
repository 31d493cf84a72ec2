//! Whether a value can be meant.

use super::keys::{Key, Kind};
use crate::compat::{Json, number_text, trim};

const TIERS: [&str; 3] = ["cheap", "balanced", "frontier"];

/// A value that can be used, or why it cannot. A complaint names the place below the section.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Checked {
    /// What is used of it; none when nothing is.
    pub value: Option<Json>,
    /// Place and reason.
    pub complaints: Vec<(String, String)>,
}

impl Checked {
    fn good(value: Json) -> Self {
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
pub(super) fn check_value(key: &Key, value: &Json, below: &Json) -> Checked {
    let single = |result: Result<Json, String>| match result {
        Ok(value) => Checked::good(value),
        Err(why) => Checked::bad(key.path, why),
    };
    match key.kind {
        Kind::Text => single(text(value).map(string)),
        Kind::Program => single(text(value).and_then(program)),
        Kind::PathInside => single(text(value).and_then(path_inside)),
        Kind::Word(words) => single(word(value, words)),
        Kind::Flag => single(flag(value)),
        Kind::Int { min, max, .. } => single(whole(value, min, max)),
        Kind::Number { min, max } => single(number(value, min, max)),
        Kind::Texts => texts(key.path, value),
        Kind::TierTexts => tiers(
            key.path,
            value,
            entries_of(below),
            |item| text(item).map(string),
            true,
        ),
        Kind::TierInts { min, max } => {
            tiers(key.path, value, Vec::new(), |item| whole(item, min, max), false)
        }
        Kind::ToolInts { min, max } => tools(key.path, value, min, max),
    }
}

fn string(text: &str) -> Json {
    Json::String(text.to_string())
}

/// What `typeof` says.
fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Array(_) => "object",
        other => other.type_name(),
    }
}

fn text(value: &Json) -> Result<&str, String> {
    let text = value
        .as_str()
        .ok_or_else(|| format!("expected string, got {}", type_of(value)))?;
    if trim(text).is_empty() {
        Err("must be a non-empty string".to_string())
    } else {
        Ok(text)
    }
}

/// A name, or an absolute path: what lies beside the workspace's own files is never run by accident.
fn program(text: &str) -> Result<Json, String> {
    let is_absolute =
        text.starts_with('/') && !text.contains('\\') && !text.split('/').any(|part| part == "..");
    if text.contains(['/', '\\']) && !is_absolute {
        return Err(format!("must be a binary name, not a path (got \"{text}\")"));
    }
    Ok(string(text))
}

fn path_inside(text: &str) -> Result<Json, String> {
    let path = text.replace('\\', "/");
    let bytes = path.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && path.get(1..3) == Some(":/");
    if path.starts_with('/') || has_drive || path.split('/').any(|part| part == "..") {
        return Err(format!(
            "must be a relative path within the workspace (no \"..\" or absolute paths), got \"{text}\""
        ));
    }
    Ok(string(text))
}

fn word(value: &Json, words: &[&str]) -> Result<Json, String> {
    let text = value
        .as_str()
        .ok_or_else(|| format!("expected string, got {}", type_of(value)))?;
    if words.contains(&text) {
        return Ok(string(text));
    }
    Err(format!("must be one of {}, got \"{text}\"", words.join("|")))
}

fn flag(value: &Json) -> Result<Json, String> {
    match value {
        Json::Bool(flag) => Ok(Json::Bool(*flag)),
        other => Err(format!("expected boolean, got {}", type_of(other))),
    }
}

fn whole(value: &Json, min: u32, max: u32) -> Result<Json, String> {
    let number = value
        .as_number()
        .ok_or_else(|| format!("expected number, got {}", type_of(value)))?;
    let fits = number.fract() == 0.0 && (f64::from(min)..=f64::from(max)).contains(&number);
    if fits {
        // `-0` is 0.
        return Ok(Json::Number(number + 0.0));
    }
    Err(format!(
        "must be a finite integer between {min} and {max}, got {}",
        number_text(number)
    ))
}

fn number(value: &Json, min: f64, max: f64) -> Result<Json, String> {
    let number = value
        .as_number()
        .ok_or_else(|| format!("expected number, got {}", type_of(value)))?;
    if !number.is_finite() {
        return Err("must be a finite number".to_string());
    }
    if !(min..=max).contains(&number) {
        return Err(format!(
            "must be between {} and {}",
            number_text(min),
            number_text(max)
        ));
    }
    Ok(Json::Number(number + 0.0))
}

fn texts(path: &str, value: &Json) -> Checked {
    let Some(items) = value.as_array() else {
        return Checked::bad(path, format!("expected string[], got {}", type_of(value)));
    };
    let mut kept = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match text(item) {
            Ok(text) => kept.push(string(trim(text))),
            Err(why) => return Checked::bad(&format!("{path}[{at}]"), why),
        }
    }
    Checked::good(Json::Array(kept))
}

fn entries_of(value: &Json) -> Vec<(String, Json)> {
    value.as_object().unwrap_or_default().to_vec()
}

fn tiers(
    path: &str,
    value: &Json,
    mut kept: Vec<(String, Json)>,
    check: impl Fn(&Json) -> Result<Json, String>,
    null_removes: bool,
) -> Checked {
    let Some(entries) = value.as_object() else {
        return Checked::bad(path, format!("expected object, got {}", value.type_name()));
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
        if null_removes && *item == Json::Null {
            kept.retain(|(known, _)| known != tier);
            continue;
        }
        match check(item) {
            Ok(item) => {
                kept.retain(|(known, _)| known != tier);
                kept.push((tier.clone(), item));
            }
            Err(why) => complaints.push((place, why)),
        }
    }
    kept.sort_by_key(|(tier, _)| TIERS.iter().position(|known| known == tier));
    Checked {
        value: Some(Json::Object(kept)),
        complaints,
    }
}

fn tools(path: &str, value: &Json, min: u32, max: u32) -> Checked {
    let Some(entries) = value.as_object() else {
        return Checked::bad(path, format!("expected object, got {}", value.type_name()));
    };
    let mut checked = Checked::good(Json::Null);
    let mut kept = Vec::new();
    for (tool, item) in entries {
        match whole(item, min, max) {
            Ok(item) => kept.push((tool.clone(), item)),
            Err(why) => checked.complaints.push((format!("{path}.{tool}"), why)),
        }
    }
    checked.value = Some(Json::Object(kept));
    checked
}
