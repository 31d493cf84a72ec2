//! What is a tool call about, in a few words?
//!
//! Of all its arguments a person wants to see one: the file, the command, what is looked for and where. It is cut where
//! it says least: a path at its beginning, everything else at its end.

use crate::compat::{cut_units, last_units, units};
use serde_json::Value;

/// What is left out.
const MARK: &str = "…";
/// The names that tools have for a file.
const PATHS: [&str; 4] = ["path", "filePath", "file_path", "file"];
/// The names that tools have for what they look for, where they look in a place.
const WANTED: [&str; 2] = ["pattern", "query"];
/// The names of everything else that says what a call is about, the most telling first.
const OTHERS: [&str; 8] = [
    "command", "query", "pattern", "question", "task", "prompt", "url", "request",
];

/// The argument that says most; none where none of the names is known.
pub fn telling_argument(arguments: &Value) -> Option<String> {
    let named = |name: &&str| {
        let text = arguments.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let path = PATHS.iter().find_map(named);
    let wanted = WANTED.iter().find_map(named);
    match (path, wanted) {
        (Some(path), Some(wanted)) => Some(format!("{wanted} in {path}")),
        (Some(path), None) => Some(path.to_string()),
        (None, _) => OTHERS.iter().find_map(named).map(str::to_string),
    }
}

/// At most so many units of a call's words.
pub fn shortened(words: &str, units_max: usize) -> String {
    match is_path(words) {
        true => shortened_path(words, units_max),
        false => shortened_text(words, units_max),
    }
}

/// A path has no spaces, and is no address of the net.
fn is_path(words: &str) -> bool {
    words.contains(['/', '\\']) && !words.contains("://") && !words.contains(char::is_whitespace)
}

/// As many of the last names of a path as there is room for; else the end of the last one.
pub fn shortened_path(path: &str, units_max: usize) -> String {
    if units(path) <= units_max {
        return path.to_string();
    }
    let Some(room) = units_max.checked_sub(units(MARK)).filter(|room| *room > 0) else {
        return last_units(path, units_max).to_string();
    };
    let names = path.split('/').filter(|name| !name.is_empty()).rev();
    let (mut kept, mut taken) = (Vec::new(), 0);
    // At least one is left out: that is what the mark says.
    for name in names.clone().take(names.clone().count().saturating_sub(1)) {
        taken += 1 + units(name);
        if taken > room {
            break;
        }
        kept.push(name);
    }
    if kept.is_empty() {
        let last = names.clone().next().unwrap_or(path);
        return format!("{MARK}{}", last_units(last, room));
    }
    kept.reverse();
    format!("{MARK}/{}", kept.join("/"))
}

/// As much of the beginning of a text as there is room for.
pub fn shortened_text(text: &str, units_max: usize) -> String {
    match units_max.checked_sub(units(MARK)) {
        _ if units(text) <= units_max => text.to_string(),
        Some(room) => format!("{}{MARK}", cut_units(text, room)),
        None => String::new(),
    }
}

/// Why a call failed, as its result begins; none where it begins with nothing.
pub fn error_hint(result: &str, units_max: usize) -> Option<String> {
    const PREFIX: &str = "error:";
    let first = result.lines().next().unwrap_or_default();
    let named = first
        .get(..PREFIX.len())
        .is_some_and(|begins| begins.eq_ignore_ascii_case(PREFIX));
    let words = if named { &first[PREFIX.len()..] } else { first }.trim();
    (!words.is_empty()).then(|| shortened_text(words, units_max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: Value, expected: Option<&str>) {
        assert_eq!(telling_argument(&arguments).as_deref(), expected);
    }

    #[test]
    fn the_argument_that_says_most_is_told() {
        check(json!({"path": "a.rs", "content": "x"}), Some("a.rs"));
        check(json!({"file_path": "a.rs"}), Some("a.rs"));
        check(json!({"command": "cargo test", "timeout": 5}), Some("cargo test"));
        check(
            json!({"pattern": "fn main", "path": "src"}),
            Some("fn main in src"),
        );
        check(json!({"query": "where", "path": ""}), Some("where"));
        check(json!({"url": "https://a"}), Some("https://a"));
        check(json!({"path": 7, "other": "x"}), None);
        check(json!(["ls"]), None);
    }

    #[test]
    fn words_are_cut_where_they_say_least() {
        assert_eq!(shortened("/home/a/work/src/lib.rs", 12), "…/src/lib.rs");
        assert_eq!(shortened("/home/a/work/src/lib.rs", 5), "…b.rs");
        assert_eq!(shortened("C:\\work\\lib.rs", 7), "…lib.rs");
        assert_eq!(shortened("cargo test --workspace", 11), "cargo test…");
        assert_eq!(shortened("https://a/b/c/d/e", 10), "https://a…");
        assert_eq!(shortened("ls", 2), "ls");
        assert_eq!(
            (shortened("a/b", 0), shortened("ab", 0)),
            (String::new(), String::new())
        );
    }

    #[test]
    fn why_a_call_failed_is_how_its_result_begins() {
        let hint = |text: &str| error_hint(text, 10);
        assert_eq!(hint("Error: boom\nat line 3").as_deref(), Some("boom"));
        assert_eq!(hint("ls: cannot access").as_deref(), Some("ls: canno…"));
        assert_eq!(hint("\nsecond"), None);
        assert_eq!(hint("Error:"), None);
    }
}
