//! JSON in what a model wrote, whatever it wrote around it.

use crate::compat::{trim, whole_pairs};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A longer reply is not read.
pub const REPLY_BYTES_MAX: usize = 256 * 1024;
/// How many braces in prose are tried as the start of the reply.
const STARTS_TRIED_MAX: usize = 16;
/// What a reply may be fenced with.
const FENCES: [&str; 2] = ["```", "~~~"];

/// The reply as a value, fenced or not; of one in prose the first object that is the one meant.
pub fn read_json(reply: &str, is_meant: impl Fn(&Value) -> bool) -> Option<Value> {
    if reply.len() > REPLY_BYTES_MAX {
        return None;
    }
    // A model may write half of an emoji.
    let reply = &*whole_pairs(trim(reply));
    let fence = FENCES.into_iter().find(|fence| reply.starts_with(fence));
    let inner = fence.map_or(reply, |fence| without_fence(reply, fence));
    if let Ok(value) = serde_json::from_str(inner) {
        return Some(value);
    }
    // Still behind a fence: it is labelled as something else.
    let foreign = fence.is_some() && !inner.starts_with(['{', '[']);
    if foreign {
        None
    } else {
        object_in_prose(inner, is_meant)
    }
}

/// A text that is JSON and nothing else.
pub fn read_as<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}

fn without_fence<'a>(reply: &'a str, fence: &str) -> &'a str {
    let inner = &reply[fence.len()..];
    let inner = match inner.get(..4) {
        Some(label) if label.eq_ignore_ascii_case("json") => &inner[4..],
        _ => inner,
    };
    let inner = trim(inner);
    trim(inner.strip_suffix(fence).unwrap_or(inner))
}

fn object_in_prose(text: &str, is_meant: impl Fn(&Value) -> bool) -> Option<Value> {
    let mut at = 0;
    for _ in 0..STARTS_TRIED_MAX {
        at += text[at..].find('{')?;
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if is_meant(&value) => return Some(value),
            Some(Ok(_)) => at += values.byte_offset(),
            Some(Err(_)) | None => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(reply: &str, expected: Option<Value>) {
        assert_eq!(
            read_json(reply, |value| value.get("a").is_some()),
            expected,
            "{reply}"
        );
    }

    #[test]
    fn a_reply_is_read_whatever_stands_around_it() {
        let meant = Some(json!({ "a": 1 }));
        check(r#"{"a": 1}"#, meant.clone());
        check("~~~JSON\n{\"a\": 1}\n~~~", meant.clone());
        check(r#"First {"b": {"a": 2}}, then {no} and {"a": 1} {"a": 3}"#, meant);
        check("3", Some(json!(3)));
    }

    #[test]
    fn what_is_not_meant_is_not_taken() {
        check("```rust\nlet a = {\"a\": 1};\n```", None);
        check(&"{".repeat(STARTS_TRIED_MAX + 1), None);
        check(&format!("{{\"a\": \"{}\"}}", "x".repeat(REPLY_BYTES_MAX)), None);
    }
}
