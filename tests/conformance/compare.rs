//! Whether our answer is the recorded one.

use crate::json::Json;
use crate::vectors::Answer;
use impresario_policies::compat;
use sha2::{Digest, Sha256};

/// Equal, with long texts compared by their digest and keys in any order.
pub fn same_answer(expected: &Answer, ours: &Answer) -> bool {
    match (expected, ours) {
        (Answer::Value(expected), Answer::Value(ours)) => same(expected, ours),
        (expected, ours) => expected == ours,
    }
}

/// Equal, with long texts compared by their digest and keys in any order.
pub fn same(expected: &Json, ours: &Json) -> bool {
    match (expected, ours) {
        (Json::Object(_), Json::String(text)) => same_digest(expected, text),
        (Json::Object(wanted), Json::Object(found)) => {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .all(|(key, value)| ours.get(key).is_some_and(|ours| same(value, ours)))
        }
        (Json::Array(wanted), Json::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(value, ours)| same(value, ours))
        }
        (expected, ours) => expected == ours,
    }
}

fn same_digest(expected: &Json, text: &str) -> bool {
    if let Some(digest) = expected.get("$digest") {
        let length = digest.get("utf16_len").and_then(Json::as_number);
        let hash = digest.get("sha256").and_then(Json::as_str);
        return length == Some(compat::units(text) as f64) && hash == Some(sha256(text).as_str());
    }
    let length = expected.get("$len").and_then(Json::as_number);
    let digest = expected.get("$sha256").and_then(Json::as_str);
    length == Some(compat::units(text) as f64) && digest == Some(sha256(text).as_str())
}

/// Lower-case hex of the digest of the UTF-8 bytes.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Equal but for halves of surrogate pairs, which the peer keeps and we leave out: a text of ours is the
/// recorded one without its halves, and lengths may be smaller by as many units.
pub fn same_without_halves(expected: &Json, ours: &Json) -> bool {
    const HALVES_MAX: f64 = 8.0;
    match (expected, ours) {
        (Json::Object(_), Json::String(text)) if expected.get("$lossy").is_some() => {
            let lossy = expected.get("$lossy").and_then(Json::as_str).unwrap_or("");
            lossy == text || is_lossy_form(lossy, text)
        }
        (Json::Object(_), Json::String(text)) if expected.get("$len").is_some() => {
            let length = expected.get("$len").and_then(Json::as_number).unwrap_or(0.0);
            let missing = length - compat::units(text) as f64;
            let head = expected
                .get("$head")
                .and_then(Json::as_str)
                .unwrap_or("")
                .replace('\u{FFFD}', "");
            same_digest(expected, text) || ((0.0..=HALVES_MAX).contains(&missing) && text.starts_with(&head))
        }
        (Json::Object(wanted), Json::Object(found)) => {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .all(|(key, value)| ours.get(key).is_some_and(|ours| same_without_halves(value, ours)))
        }
        (Json::Array(wanted), Json::Array(found)) => {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .zip(found)
                    .all(|(value, ours)| same_without_halves(value, ours))
        }
        (Json::Number(wanted), Json::Number(found)) => (wanted - found).abs() <= HALVES_MAX,
        (expected, ours) => expected == ours,
    }
}

/// The texts are equal where the recorded one has no half; a half stands for nothing or for one whole pair.
fn is_lossy_form(lossy: &str, text: &str) -> bool {
    let mut rest = text;
    for (at, part) in lossy.split('\u{FFFD}').enumerate() {
        let pair = rest
            .chars()
            .next()
            .filter(|c| at > 0 && c.len_utf16() == 2 && !rest.starts_with(part));
        rest = &rest[pair.map_or(0, char::len_utf8)..];
        let Some(after) = rest.strip_prefix(part) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty() || (lossy.ends_with('\u{FFFD}') && rest.chars().count() == 1)
}

/// Both, cut to what a person can read.
pub fn difference(expected: &Answer, ours: &Answer) -> String {
    format!("  expected {}\n  ours     {}", shown(expected), shown(ours))
}

fn shown(answer: &Answer) -> String {
    let text = match answer {
        Answer::Value(value) => value.to_text(),
        Answer::Error { name, message } => format!("{name}: {message}"),
    };
    text.chars().take(1_500).collect()
}
