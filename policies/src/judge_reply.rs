//! What did the routing model answer: a brief, a verdict, or nothing that can be used?
//!
//! A field of the wrong type falls back alone. Prose around the JSON is forgiven; a block that says it is
//! another language is not taken for the reply.

use crate::compat::{Json, cut_units, trim};
use crate::domain::{Brief, Complexity, ROUTE_UNAVAILABLE, Risk, Route, Tier, Verdict};

/// A longer reply is not read.
pub const REPLY_BYTES_MAX: usize = 256 * 1024;
/// A longer reason is cut.
pub const ROUTE_REASON_UNITS_MAX: usize = 500;
/// How many braces in prose are tried as the start of the reply.
const STARTS_TRIED_MAX: usize = 16;
/// What a reply may be fenced with.
const FENCES: [&str; 2] = ["```", "~~~"];

const BRIEF_KEYS: [&str; 3] = ["userGoal", "constraints", "knownContext"];
const VERDICT_KEYS: [&str; 5] = [
    "hasUserGoal",
    "hasRequiredInputs",
    "hasScopeBoundary",
    "isUnambiguous",
    "executionRoute",
];

/// Reads the brief an actor pass wrote; `None` when the reply cannot be used.
pub fn read_brief(reply: &str) -> Option<Brief> {
    read_json(reply, &BRIEF_KEYS).map(|value| coerce_brief(&value))
}

/// Reads the verdict of a judge; `None` when the reply cannot be used.
pub fn read_verdict(reply: &str) -> Option<Verdict> {
    read_json(reply, &VERDICT_KEYS).map(|value| coerce_verdict(&value))
}

/// Takes from any value what a brief can hold. Clarifications are the user's words only, never the model's.
pub fn coerce_brief(value: &Json) -> Brief {
    let constraints = value
        .get("constraints")
        .and_then(Json::as_array)
        .unwrap_or_default();
    Brief {
        user_goal: text_of(value.get("userGoal")),
        constraints: constraints
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect(),
        known_context: text_of(value.get("knownContext")),
        user_clarifications: Vec::new(),
    }
}

/// Takes from any value what a verdict can hold; only an exact `true` counts.
pub fn coerce_verdict(value: &Json) -> Verdict {
    let holds = |key: &str| value.get(key) == Some(&Json::Bool(true));
    let question = trim(
        value
            .get("missingRequirementQuestion")
            .and_then(Json::as_str)
            .unwrap_or(""),
    );
    Verdict {
        has_user_goal: holds("hasUserGoal"),
        has_required_inputs: holds("hasRequiredInputs"),
        has_scope_boundary: holds("hasScopeBoundary"),
        is_unambiguous: holds("isUnambiguous"),
        missing_requirement_question: (!question.is_empty()).then(|| question.to_string()),
        execution_route: coerce_route(value.get("executionRoute").unwrap_or(&Json::Null)),
    }
}

/// Takes from any value what a route can hold.
pub fn coerce_route(value: &Json) -> Route {
    let word = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or("");
    let confidence = value
        .get("confidence")
        .and_then(Json::as_number)
        .filter(|number| number.is_finite());
    let reason = cut_units(trim(word("reason")), ROUTE_REASON_UNITS_MAX);
    Route {
        tier: tier_named(word("tier")).unwrap_or(Tier::Balanced),
        complexity: match word("complexity") {
            "low" => Complexity::Low,
            "high" => Complexity::High,
            _ => Complexity::Medium,
        },
        risk: match word("risk") {
            "read_only" => Risk::ReadOnly,
            "small_edit" => Risk::SmallEdit,
            "multi_file_edit" => Risk::MultiFileEdit,
            "architecture_change" => Risk::ArchitectureChange,
            _ => Risk::Unknown,
        },
        // `-0` is no confidence either, and prints as 0.
        confidence: confidence.map_or(0.0, |number| number.clamp(0.0, 1.0) + 0.0),
        reason: if reason.is_empty() {
            ROUTE_UNAVAILABLE
        } else {
            reason
        }
        .to_string(),
    }
}

/// The tier of that exact name.
pub fn tier_named(name: &str) -> Option<Tier> {
    match name {
        "cheap" => Some(Tier::Cheap),
        "balanced" => Some(Tier::Balanced),
        "frontier" => Some(Tier::Frontier),
        _ => None,
    }
}

fn text_of(value: Option<&Json>) -> String {
    value.and_then(Json::as_str).unwrap_or("").to_string()
}

fn read_json(reply: &str, keys: &[&str]) -> Option<Json> {
    if reply.len() > REPLY_BYTES_MAX {
        return None;
    }
    let reply = trim(reply);
    let fence = FENCES.into_iter().find(|fence| reply.starts_with(fence));
    let inner = fence.map_or(reply, |fence| without_fence(reply, fence));
    if let Ok(value) = Json::parse(inner) {
        return Some(value);
    }
    // Still behind a fence: it is labelled as something else.
    let foreign = fence.is_some() && !inner.starts_with(['{', '[']);
    if foreign {
        None
    } else {
        object_in_prose(inner, keys)
    }
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

/// The first object in the text that has one of the keys.
fn object_in_prose(text: &str, keys: &[&str]) -> Option<Json> {
    let mut at = 0;
    for _ in 0..STARTS_TRIED_MAX {
        at += text[at..].find('{')?;
        match Json::parse_start(&text[at..]) {
            Some((value, _)) if keys.iter().any(|key| value.get(key).is_some()) => return Some(value),
            Some((_, length)) => at += length,
            None => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_goal(reply: &str, goal: Option<&str>) {
        assert_eq!(
            read_brief(reply).map(|brief| brief.user_goal).as_deref(),
            goal,
            "{reply}"
        );
    }

    #[test]
    fn a_fence_of_tildes_is_a_fence() {
        for fence in ["~~~json", "~~~JSON", "~~~", "```json", "```"] {
            let close = &fence[..3];
            check_goal(&format!("{fence}\n{{\"userGoal\":\"g\"}}\n{close}"), Some("g"));
            check_goal(&format!("{fence}\r\n{{\"userGoal\":\"g\"}}"), Some("g"));
        }
    }

    #[test]
    fn prose_around_the_reply_is_forgiven() {
        check_goal(r#"Here is: {"userGoal":"g"} Good luck!"#, Some("g"));
        check_goal("Sure.\n```json\n{\"userGoal\":\"g\"}\n```\nThanks", Some("g"));
        check_goal(r#"I used {} and {"x":1}. {"userGoal":"g"}"#, Some("g"));
    }

    #[test]
    fn another_language_is_not_the_reply() {
        check_goal("```js\n{\"userGoal\":\"g\"}\n```", None);
        check_goal("````json\n{\"userGoal\":\"g\"}\n````", None);
        check_goal("~~~js\n{\"userGoal\":\"g\"}\n~~~", None);
        check_goal("~~~~json\n{\"userGoal\":\"g\"}\n~~~~", None);
        check_goal("no braces", None);
    }

    #[test]
    fn many_unclosed_objects_end_soon() {
        check_goal(&"{\"a\":".repeat(50_000), None);
    }

    proptest::proptest! {
        #[test]
        fn any_reply_is_read_or_refused(reply in r#"(```)?(json)?[{}\[\]":a-z\\, \n`]{0,80}"#) {
            let _ = (read_brief(&reply), read_verdict(&reply));
        }
    }
}
