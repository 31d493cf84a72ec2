//! A rule as it is written in YAML.

use crate::query::QueryError;
use ast_grep_config::SerializableRuleCore;
use impresario_policies::yaml::read_yaml;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// What stands at the top of a rule and means something here.
const KNOWN: [&str; 13] = [
    "id",
    "language",
    "rule",
    "constraints",
    "utils",
    "transform",
    "fix",
    "message",
    "note",
    "severity",
    "url",
    "labels",
    "metadata",
];

/// A rule, not yet for a language.
#[derive(Deserialize)]
pub struct RuleText {
    #[serde(flatten)]
    pub core: SerializableRuleCore,
    #[serde(default)]
    pub fix: Option<String>,
    #[serde(default)]
    pub language: Option<String>,
}

/// Any value: what is looked for before a rule is believed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Map(BTreeMap<String, Part>),
    List(Vec<Part>),
    Text(String),
    Other(IgnoredAny),
}

/// Reads one rule, and the patterns that stand in it.
pub fn read(text: &str) -> Result<(RuleText, Vec<String>), QueryError> {
    let part: Part = read_yaml(text).map_err(|error| QueryError::Rule(error.to_string()))?;
    let Part::Map(entries) = &part else {
        return Err(QueryError::Rule("it is no mapping with a key `rule`".to_string()));
    };
    if let Some(unknown) = entries.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        let known = KNOWN.join(", ");
        return Err(QueryError::Rule(format!(
            "{unknown:?} is not used here; known are {known}"
        )));
    }
    if !entries.contains_key("rule") {
        return Err(QueryError::Rule(
            "its key `rule` is missing, below which the rule stands".to_string(),
        ));
    }
    if matches!(entries.get("fix"), Some(Part::Map(_) | Part::List(_))) {
        return Err(QueryError::Rule("`fix` is a text here".to_string()));
    }
    let mut patterns = Vec::new();
    gather_patterns(&part, false, &mut patterns);
    let rule = read_yaml(text).map_err(|error| QueryError::Rule(error.to_string()))?;
    Ok((rule, patterns))
}

fn gather_patterns(part: &Part, is_pattern: bool, patterns: &mut Vec<String>) {
    match part {
        Part::Text(text) if is_pattern => patterns.push(text.clone()),
        Part::Text(_) | Part::Other(_) => {}
        Part::List(parts) => parts
            .iter()
            .for_each(|part| gather_patterns(part, is_pattern, patterns)),
        Part::Map(entries) => {
            for (key, part) in entries {
                let is_pattern = matches!(key.as_str(), "pattern" | "context");
                gather_patterns(part, is_pattern, patterns);
            }
        }
    }
}
