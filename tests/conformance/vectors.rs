//! Files of cases: where they lie, what a line holds, how long texts are written short.

use crate::json::Json;
use std::path::{Path, PathBuf};

/// What a function gave: a value, or the error it refused with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A value.
    Value(Json),
    /// A refusal.
    Error {
        /// The class of error.
        name: String,
        /// Its text.
        message: String,
    },
}

impl Answer {
    /// A value made of anything serializable.
    pub fn value(value: serde_json::Value) -> Self {
        Answer::Value(Json::from(&value))
    }

    /// A plain error.
    pub fn error(message: impl Into<String>) -> Self {
        Answer::Error {
            name: "Error".into(),
            message: message.into(),
        }
    }

    /// The member of a value; null when there is none.
    pub fn get(&self, key: &str) -> &Json {
        match self {
            Answer::Value(value) => value.get(key).unwrap_or(&Json::Null),
            Answer::Error { .. } => &Json::Null,
        }
    }
}

/// One line of a file.
pub struct Case {
    /// Unique in its file.
    pub name: String,
    /// The arguments, texts written out.
    pub input: Json,
    /// What the peer gave; long texts stay digests.
    pub expected: Answer,
    /// Faults of the peer that show in `expected`.
    pub defects: Vec<String>,
}

impl Case {
    /// Enough to find the line again.
    pub fn describe(&self) -> String {
        let input: String = self.input.to_text().chars().take(1_000).collect();
        format!("{} {:?}\n  input    {input}", self.name, self.defects)
    }

    /// An argument; null when absent.
    pub fn get(&self, key: &str) -> &Json {
        self.input.get(key).unwrap_or(&Json::Null)
    }

    /// A text argument; empty when absent.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).as_str().unwrap_or("")
    }

    /// A number argument; 0 when absent.
    pub fn number(&self, key: &str) -> f64 {
        self.get(key).as_number().unwrap_or(0.0)
    }

    /// A whole, not negative number argument; 0 when absent.
    pub fn count(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    /// A flag argument; false when absent.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key) == &Json::Bool(true)
    }

    /// A list argument; empty when absent.
    pub fn list(&self, key: &str) -> &[Json] {
        self.get(key).as_array().unwrap_or_default()
    }

    /// A list of texts; empty when absent.
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.list(key)
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect()
    }
}

/// Every `.jsonl` file below a directory, in order; a file is itself.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    if directory.is_file() {
        return vec![directory.to_path_buf()];
    }
    let mut files = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        let entries = std::fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()));
        for path in entries.map(|entry| entry.expect("a directory entry").path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The cases of a file; a line that is none says which it is and why.
pub fn cases_in(file: &Path) -> Vec<Result<Case, String>> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return vec![Err(format!("{}: {error}", file.display()))],
    };
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let mut cases = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let case = match std::str::from_utf8(line) {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => case_of(line),
            Err(error) => Err(error.to_string()),
        };
        cases.push(case.map_err(|what| format!("{} line {}: {what}", file.display(), at + 1)));
    }
    cases
}

fn case_of(line: &str) -> Result<Case, String> {
    let line = Json::parse(line)?;
    let expected = match (line.get("output"), line.get("error")) {
        (Some(output), None) => Answer::Value(output.clone()),
        (None, Some(error)) => Answer::Error {
            name: error.get("name").and_then(Json::as_str).unwrap_or("").to_string(),
            message: error
                .get("message")
                .and_then(Json::as_str)
                .unwrap_or("")
                .to_string(),
        },
        _ => return Err("a case has either an output or an error".to_string()),
    };
    Ok(Case {
        name: line.get("case").and_then(Json::as_str).unwrap_or("").to_string(),
        input: written_out(line.get("input").unwrap_or(&Json::Null)),
        expected,
        defects: defects_of(&line),
    })
}

fn defects_of(line: &Json) -> Vec<String> {
    let mut defects = Vec::new();
    for key in ["peer_defects", "peer_defect", "defect"] {
        match line.get(key) {
            Some(Json::Array(ids)) => defects.extend(ids.iter().filter_map(Json::as_str).map(str::to_string)),
            Some(Json::String(text)) => defects.push(text.clone()),
            _ => {}
        }
    }
    defects
}

/// Writes out every text that is given as a rule.
pub fn written_out(value: &Json) -> Json {
    match value {
        Json::Object(entries) => match text_of(value).map(Json::String).or_else(|| other_value_of(value)) {
            Some(value) => value,
            None => Json::Object(
                entries
                    .iter()
                    .map(|(key, item)| (key.clone(), written_out(item)))
                    .collect(),
            ),
        },
        Json::Array(items) => Json::Array(items.iter().map(written_out).collect()),
        other => other.clone(),
    }
}

/// `{"$num":"NaN"}` is no number of JSON, so it is null; `{"$linearr":[T,n]}` is a list of texts.
fn other_value_of(value: &Json) -> Option<Json> {
    match value.as_object()? {
        [(key, Json::String(_))] if key == "$num" => Some(Json::Null),
        [(key, Json::Array(items))] if key == "$linearr" => {
            let lines = numbered(items)?.into_iter().map(Json::String);
            Some(Json::Array(lines.collect()))
        }
        _ => None,
    }
}

/// A text for each number from 1, which stands for `{i}`.
fn numbered(items: &[Json]) -> Option<Vec<String>> {
    let [text, Json::Number(times)] = items else {
        return None;
    };
    let text = text_of(text)?;
    Some(
        (1..=*times as usize)
            .map(|number| text.replace("{i}", &number.to_string()))
            .collect(),
    )
}

/// Code units as hexadecimal digits, four each; halves of pairs become U+FFFD.
pub fn text_of_hex(hex: &str) -> Option<String> {
    let units = (0..hex.len() / 4).map(|at| u16::from_str_radix(hex.get(at * 4..at * 4 + 4)?, 16).ok());
    Some(String::from_utf16_lossy(&units.collect::<Option<Vec<u16>>>()?))
}

/// `{"$rep":[S,n]}`, `{"$cat":[S,…]}`, `{"$utf16":[u,…]}`; halves of pairs become U+FFFD.
fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Object(entries) => match entries.as_slice() {
            [(key, Json::Array(items))] if key == "$rep" => {
                let [text, Json::Number(times)] = items.as_slice() else {
                    return None;
                };
                Some(text_of(text)?.repeat(*times as usize))
            }
            [(key, Json::Array(items))] if key == "$cat" => items.iter().map(text_of).collect(),
            [(key, Json::Array(items))] if key == "$lines" => Some(numbered(items)?.join("\n")),
            [(key, Json::String(hex))] if key == "$utf16" => text_of_hex(hex),
            [(key, Json::Array(items)), ..] if key == "$utf16" => {
                let units: Vec<u16> = items
                    .iter()
                    .filter_map(Json::as_number)
                    .map(|unit| unit as u16)
                    .collect();
                Some(String::from_utf16_lossy(&units))
            }
            _ => None,
        },
        _ => None,
    }
}
