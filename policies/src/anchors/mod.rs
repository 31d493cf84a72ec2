//! Anchors: places in a session that its agent gave a name, with what it knew there.
//!
//! An anchor is a stored result of the tool `context` whose details say so. There is no other record of it, so what
//! happens to the session happens to its anchors.

pub mod answer;
pub mod call;
pub mod pivot;
pub mod recall;

/// The tool whose results are anchors.
pub const CONTEXT_TOOL: &str = "context";

/// An anchor of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchor {
    /// The result that is it; none while the host has not stored it.
    pub entry: Option<String>,
    /// What the result stands behind.
    pub parent: Option<String>,
    pub name: String,
    /// Where the session was: what the agent had said when it called the tool.
    pub target: String,
    pub summary: String,
    /// The target is on the branch that the session is on.
    pub on_branch: bool,
}

/// A name that a person gave an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub entry: String,
}

/// What is seen of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextFacts {
    /// The oldest first.
    pub anchors: Vec<Anchor>,
    /// In the order of their entries.
    pub labels: Vec<Label>,
    /// The newest entry of the branch.
    pub leaf: Option<String>,
    /// What a pivot names as its target is an entry.
    pub target_is_entry: bool,
    /// Another pivot waits for the end of the turn.
    pub pivot_waits: bool,
}

/// The anchor on the branch that was set last.
pub fn newest_on_branch(anchors: &[Anchor]) -> Option<&Anchor> {
    anchors.iter().rev().find(|anchor| anchor.on_branch)
}

/// Those of the branch, then the others, each the newest first.
pub fn by_nearness(anchors: &[Anchor]) -> Vec<&Anchor> {
    let of = |on_branch: bool| {
        anchors
            .iter()
            .rev()
            .filter(move |anchor| anchor.on_branch == on_branch)
    };
    of(true).chain(of(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(name: &str, on_branch: bool) -> Anchor {
        Anchor {
            name: name.to_string(),
            on_branch,
            ..Anchor::default()
        }
    }

    #[test]
    fn those_of_the_branch_come_first_and_the_newest_before_the_older() {
        let anchors = [
            anchor("a", true),
            anchor("b", false),
            anchor("c", true),
            anchor("d", false),
        ];
        let names: Vec<&str> = by_nearness(&anchors)
            .iter()
            .map(|anchor| anchor.name.as_str())
            .collect();
        assert_eq!(names, ["c", "a", "d", "b"]);
        assert_eq!(newest_on_branch(&anchors), Some(&anchors[2]));
        assert_eq!(newest_on_branch(&anchors[3..]), None);
    }
}
