//! What did the routing model answer: a brief, a verdict, or nothing that can be used?
//!
//! A field of the wrong type falls back alone. Prose around the JSON is forgiven; a block that says it is
//! another language is not taken for the reply.

use crate::compat::{cut_units, trim};
use crate::domain::{Brief, Route, Verdict};
use crate::json_reply::read_json;
use serde::Deserialize;
use serde_json::Value;

/// A longer reason is cut.
pub const ROUTE_REASON_UNITS_MAX: usize = 500;

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
    read_with_any(reply, &BRIEF_KEYS).map(|value| coerce_brief(&value))
}

/// Reads the verdict of a judge; `None` when the reply cannot be used.
pub fn read_verdict(reply: &str) -> Option<Verdict> {
    read_with_any(reply, &VERDICT_KEYS).map(|value| coerce_verdict(&value))
}

/// A member, if it is there and is what it should be.
fn member<'a, T: Deserialize<'a>>(value: &'a Value, key: &str) -> Option<T> {
    T::deserialize(value.get(key)?).ok()
}

/// Takes from any value what a brief can hold. Clarifications are the user's words only, never the model's.
fn coerce_brief(value: &Value) -> Brief {
    let constraints = value["constraints"].as_array().into_iter().flatten();
    Brief {
        user_goal: member(value, "userGoal").unwrap_or_default(),
        constraints: constraints
            .filter_map(|text| Some(text.as_str()?.to_string()))
            .collect(),
        known_context: member(value, "knownContext").unwrap_or_default(),
        user_clarifications: Vec::new(),
    }
}

/// Takes from any value what a verdict can hold; only an exact `true` counts.
fn coerce_verdict(value: &Value) -> Verdict {
    let holds = |key: &str| value[key] == true;
    let question = trim(member(value, "missingRequirementQuestion").unwrap_or(""));
    Verdict {
        has_user_goal: holds("hasUserGoal"),
        has_required_inputs: holds("hasRequiredInputs"),
        has_scope_boundary: holds("hasScopeBoundary"),
        is_unambiguous: holds("isUnambiguous"),
        missing_requirement_question: (!question.is_empty()).then(|| question.to_string()),
        execution_route: coerce_route(&value["executionRoute"]),
    }
}

/// Takes from any value what a route can hold.
pub fn coerce_route(value: &Value) -> Route {
    let nobody = Route::default();
    let confidence = member(value, "confidence").unwrap_or(nobody.confidence);
    let reason = cut_units(
        trim(member(value, "reason").unwrap_or("")),
        ROUTE_REASON_UNITS_MAX,
    );
    Route {
        tier: member(value, "tier").unwrap_or(nobody.tier),
        complexity: member(value, "complexity").unwrap_or(nobody.complexity),
        risk: member(value, "risk").unwrap_or(nobody.risk),
        // `-0` is no confidence either, and prints as 0.
        confidence: confidence.clamp(0.0, 1.0) + 0.0,
        reason: match reason {
            "" => nobody.reason,
            reason => reason.to_string(),
        },
    }
}

/// In prose, the first object that has one of the keys.
fn read_with_any(reply: &str, keys: &[&str]) -> Option<Value> {
    read_json(reply, |value| keys.iter().any(|key| value.get(key).is_some()))
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
