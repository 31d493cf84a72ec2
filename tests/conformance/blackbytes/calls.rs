//! Tool calls in a few words.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario_policies::call_words::{
    error_hint, shortened, shortened_path, shortened_text, telling_argument,
};
use serde_json::{Value, json};

/// The peer's limits.
const WORDS_UNITS_MAX: usize = 50;
const HINT_UNITS_MAX: usize = 60;

/// Below nothing there is no room either.
fn limit(case: &Case) -> usize {
    case.number("max").max(0.0) as usize
}

pub fn truncate_path(case: &Case) -> Answer {
    Answer::value(json!(shortened_path(case.text("path"), limit(case))))
}

pub fn truncate_text(case: &Case) -> Answer {
    Answer::value(json!(shortened_text(case.text("text"), limit(case))))
}

pub fn tool_arg_summary(case: &Case) -> Answer {
    let arguments = serde_json::from_str::<Value>(&case.get("arguments").to_text()).unwrap_or_default();
    let words = telling_argument(&arguments);
    Answer::value(json!(words.map(|words| shortened(&words, WORDS_UNITS_MAX))))
}

pub fn error_hint_of(case: &Case) -> Answer {
    Answer::value(json!(error_hint(case.text("text"), HINT_UNITS_MAX)))
}

/// A file, and what is looked for in it.
pub fn names_pattern_and_place(case: &Case) -> bool {
    let text = |names: &[&str]| {
        let arguments = case.get("arguments");
        names.iter().any(|name| {
            let value = arguments.get(name).and_then(Json::as_str);
            value.is_some_and(|value| !value.is_empty())
        })
    };
    text(&["path", "filePath"]) && text(&["pattern", "query"])
}

/// The name of a file that looks like none: with spaces, or without a directory.
pub fn looks_like_no_path(case: &Case) -> bool {
    let named = |name: &&str| case.get("arguments").get(name)?.as_str();
    let file = ["path", "filePath"].iter().find_map(named);
    file.is_some_and(|file| file.contains(' ') || !file.contains('/'))
}
