//! What we do instead of the peer's faults. Ids as in its description; a predicate sees the case and our answer.

use crate::compare::same_without_halves;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::Json;

/// Whether our answer is the one we want where the peer shows this fault.
pub fn accepts(defect: &str, case: &Case, ours: &Answer) -> bool {
    match defect {
        "D06" => usage_is_explained(case, ours),
        "D11" => halves_are_left_out(case, ours),
        "D47" => whole_word_is_refused(case, ours),
        _ => false,
    }
}

/// A trace command that cannot be meant is explained, not looked up as a skill.
fn usage_is_explained(case: &Case, ours: &Answer) -> bool {
    let typed = case.text("text").contains("/skill:trace-");
    let usage = ours.get("usage").as_str().unwrap_or("");
    typed && ours.get("kind").as_str() == Some("usage") && usage.starts_with("/skill trace-")
}

/// No code point is split; nothing else differs.
fn halves_are_left_out(case: &Case, ours: &Answer) -> bool {
    match (&case.expected, ours) {
        (Answer::Value(expected), Answer::Value(ours)) => same_without_halves(expected, ours),
        _ => false,
    }
}

/// The first word is refused as a whole; the peer runs the skill its start happens to name.
fn whole_word_is_refused(case: &Case, ours: &Answer) -> bool {
    let Answer::Value(expected) = &case.expected else {
        return false;
    };
    let name = expected.get("name").and_then(Json::as_str).unwrap_or("");
    let refused = ours.get("refused").as_str().unwrap_or("");
    refused.starts_with(name) && refused.len() > name.len()
}
