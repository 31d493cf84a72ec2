//! Where a pivot goes, and what is taken along.

use super::call::ContextRefusal;
use super::{Anchor, ContextFacts};

/// So many characters an id has at least.
const ID_CHARS_MIN: usize = 8;
/// So much of an id says which is meant.
const HINT_CHARS: usize = 12;

/// Going back to a place of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pivot {
    /// The entry.
    pub target: String,
    /// As it was named.
    pub named: String,
    /// What the agent knows there of what it left, with where that is found.
    pub carryover: String,
    /// What is said there first.
    pub message: Option<String>,
}

/// Finds the place, and refuses what cannot be done when the turn is over.
pub fn schedule_pivot(
    named: &str,
    carryover: &str,
    message: Option<&str>,
    facts: &ContextFacts,
) -> Result<Pivot, ContextRefusal> {
    let not_found = || ContextRefusal::TargetNotFound(named.chars().take(ID_CHARS_MIN * 10).collect());
    let target = find_target(named, facts).ok_or_else(not_found)?;
    if facts.leaf.as_deref() == Some(target) {
        return Err(ContextRefusal::TargetIsLeaf(target.to_string()));
    }
    if facts.pivot_waits {
        return Err(ContextRefusal::AlreadyWaits);
    }
    let left = facts.leaf.as_deref().map(way_back).unwrap_or_default();
    Ok(Pivot {
        target: target.to_string(),
        named: named.to_string(),
        carryover: format!("{carryover}{left}"),
        message: message.map(str::to_string),
    })
}

fn way_back(leaf: &str) -> String {
    let id: String = leaf.chars().take(HINT_CHARS).collect();
    format!("\n\nThe way back to what was left: pivot to {id}")
}

/// An entry, else an anchor, else a label.
fn find_target<'a>(named: &'a str, facts: &'a ContextFacts) -> Option<&'a str> {
    if facts.target_is_entry && is_id(named) {
        return Some(named);
    }
    let mut anchors = facts.anchors.iter();
    if let Some(anchor) = anchors.find(|anchor| anchor.name == named) {
        return Some(place_of(anchor, &facts.anchors));
    }
    let label = facts.labels.iter().find(|label| label.name == named);
    label.map(|label| label.entry.as_str())
}

/// Behind the result, so that the anchor stays on the branch. A record that fits no result is taken at its word.
fn place_of<'a>(anchor: &'a Anchor, all: &'a [Anchor]) -> &'a str {
    let result = all
        .iter()
        .find(|other| other.name == anchor.name && other.parent.as_deref() == Some(&anchor.target));
    result
        .and_then(|result| result.entry.as_deref())
        .unwrap_or(&anchor.target)
}

fn is_id(text: &str) -> bool {
    text.len() >= ID_CHARS_MIN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchors::Label;

    fn facts() -> ContextFacts {
        let anchor = |entry: &str, parent: &str, target: &str, name: &str| Anchor {
            entry: Some(entry.to_string()),
            parent: Some(parent.to_string()),
            name: name.to_string(),
            target: target.to_string(),
            ..Anchor::default()
        };
        let label = |name: &str, entry: &str| Label {
            name: name.to_string(),
            entry: entry.to_string(),
        };
        ContextFacts {
            anchors: vec![
                anchor("r1", "t1", "t1", "plan"),
                anchor("r2", "t2", "t2", "plan"),
                anchor("r3", "elsewhere", "t3", "moved"),
            ],
            labels: vec![label("deadbeef", "l1"), label("plan", "l2")],
            leaf: Some("0123456789abcdef".to_string()),
            ..ContextFacts::default()
        }
    }

    fn target(named: &str, facts: &ContextFacts) -> Result<String, ContextRefusal> {
        schedule_pivot(named, "kept", None, facts).map(|pivot| pivot.target)
    }

    #[test]
    fn an_entry_comes_before_an_anchor_and_that_before_a_label() {
        let facts = facts();
        assert_eq!(target("plan", &facts), Ok("r1".to_string()));
        assert_eq!(target("moved", &facts), Ok("t3".to_string()));
        assert_eq!(target("deadbeef", &facts), Ok("l1".to_string()));
        let entry = ContextFacts {
            target_is_entry: true,
            ..facts.clone()
        };
        assert_eq!(target("deadbeef", &entry), Ok("deadbeef".to_string()));
        assert_eq!(target("plan", &entry), Ok("r1".to_string()));
        let nowhere = ContextRefusal::TargetNotFound("PLAN".to_string());
        assert_eq!(target("PLAN", &facts), Err(nowhere));
    }

    #[test]
    fn what_was_left_can_be_found_again() {
        let pivot = schedule_pivot("plan", "kept", Some("go on"), &facts()).expect("it is there");
        assert_eq!(
            pivot.carryover,
            "kept\n\nThe way back to what was left: pivot to 0123456789ab"
        );
        assert_eq!(pivot.message.as_deref(), Some("go on"));
    }

    #[test]
    fn one_waits_at_a_time_and_none_goes_where_the_session_is() {
        let waits = ContextFacts {
            pivot_waits: true,
            ..facts()
        };
        assert_eq!(target("plan", &waits), Err(ContextRefusal::AlreadyWaits));
        let at = ContextFacts {
            leaf: Some("r1".to_string()),
            ..waits
        };
        assert_eq!(
            target("plan", &at),
            Err(ContextRefusal::TargetIsLeaf("r1".to_string()))
        );
    }
}
