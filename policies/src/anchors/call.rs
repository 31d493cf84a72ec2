//! What a call of the tool asks for. A call that cannot be done is answered like any other, with why.

use super::pivot::{Pivot, schedule_pivot};
use super::recall::{RecallRequest, words_wanted};
use super::{Anchor, ContextFacts, by_nearness, newest_on_branch};

/// Limits of what is written down, in characters. The names are read in one line of a list.
const NAME_CHARS_MAX: usize = 120;
const TEXT_CHARS_MAX: usize = 16_000;
const KEYWORD_CHARS_MAX: usize = 500;
/// Rows on a page, unless the call says otherwise, and at most.
const ROWS: usize = 30;
const ROWS_MAX: usize = 200;
const HITS: usize = 10;
const HITS_MAX: usize = 100;

/// What the model gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextCall {
    pub action: String,
    pub limit: Option<f64>,
    pub offset: Option<f64>,
    pub keyword: Option<String>,
    pub scope: Option<String>,
    pub name: Option<String>,
    pub summary: Option<String>,
    pub target: Option<String>,
    pub carryover: Option<String>,
    pub message: Option<String>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextAnswer {
    /// The answer is the anchor.
    Anchored {
        name: String,
        target: String,
        summary: String,
    },
    View(AnchorPage),
    /// Asks for a look at other sessions.
    Recall(RecallRequest),
    /// The host goes there when the turn is over.
    Scheduled(Pivot),
    Refused(ContextRefusal),
}

/// A page of the anchors of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorPage {
    pub rows: Vec<AnchorRow>,
    pub total: usize,
    pub offset: usize,
    pub limit: usize,
    pub has_more: bool,
    /// Of the branch, and not on this page.
    pub hidden_on_branch: usize,
}

/// An anchor in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorRow {
    pub anchor: Anchor,
    /// The newest on the branch.
    pub is_newest: bool,
}

/// Why a call is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextRefusal {
    NoAnchors,
    MissingKeyword,
    MissingNameOrSummary,
    MissingTarget,
    MissingCarryover,
    /// The field, and how many characters it may have.
    TooLong(&'static str, usize),
    /// A name is one line.
    NameOfLines,
    DuplicateAnchor(String),
    DuplicateLabel(String),
    NoLeaf,
    TargetNotFound(String),
    TargetIsLeaf(String),
    AlreadyWaits,
    UnknownAction(String),
}

/// Decides what a call comes to.
pub fn answer_call(call: &ContextCall, facts: &ContextFacts) -> ContextAnswer {
    let answered = match call.action.as_str() {
        "view" => view(call, facts),
        "recall" => recall(call),
        "anchor" => set_anchor(call, facts),
        "pivot" => pivot(call, facts),
        other => Err(ContextRefusal::UnknownAction(
            other.chars().take(NAME_CHARS_MAX).collect(),
        )),
    };
    answered.unwrap_or_else(ContextAnswer::Refused)
}

type Answered = Result<ContextAnswer, ContextRefusal>;

fn set_anchor(call: &ContextCall, facts: &ContextFacts) -> Answered {
    let missing = ContextRefusal::MissingNameOrSummary;
    let (name, summary) = given(&call.name).zip(given(&call.summary)).ok_or(missing)?;
    if name.chars().any(char::is_control) {
        return Err(ContextRefusal::NameOfLines);
    }
    within("name", name, NAME_CHARS_MAX)?;
    within("summary", summary, TEXT_CHARS_MAX)?;
    if facts.anchors.iter().any(|anchor| anchor.name == name) {
        return Err(ContextRefusal::DuplicateAnchor(name.to_string()));
    }
    if facts.labels.iter().any(|label| label.name == name) {
        return Err(ContextRefusal::DuplicateLabel(name.to_string()));
    }
    let target = facts.leaf.clone().ok_or(ContextRefusal::NoLeaf)?;
    Ok(ContextAnswer::Anchored {
        name: name.to_string(),
        target,
        summary: summary.to_string(),
    })
}

fn view(call: &ContextCall, facts: &ContextFacts) -> Answered {
    if facts.anchors.is_empty() {
        return Err(ContextRefusal::NoAnchors);
    }
    let (limit, offset) = (
        count(call.limit, ROWS, ROWS_MAX),
        count(call.offset, 0, usize::MAX),
    );
    let all = by_nearness(&facts.anchors);
    let on_branch = all.iter().filter(|anchor| anchor.on_branch).count();
    let newest = newest_on_branch(&facts.anchors);
    let shown = all.iter().skip(offset).take(limit);
    let rows: Vec<AnchorRow> = shown
        .map(|anchor| AnchorRow {
            anchor: (*anchor).clone(),
            is_newest: newest.is_some_and(|newest| std::ptr::eq(newest, *anchor)),
        })
        .collect();
    let shown_on_branch = rows.iter().filter(|row| row.anchor.on_branch).count();
    Ok(ContextAnswer::View(AnchorPage {
        total: all.len(),
        offset,
        limit,
        has_more: offset.saturating_add(rows.len()) < all.len(),
        hidden_on_branch: on_branch - shown_on_branch,
        rows,
    }))
}

fn recall(call: &ContextCall) -> Answered {
    let keyword = given(&call.keyword).ok_or(ContextRefusal::MissingKeyword)?;
    within("keyword", keyword, KEYWORD_CHARS_MAX)?;
    Ok(ContextAnswer::Recall(RecallRequest {
        words: words_wanted(keyword),
        everywhere: call.scope.as_deref() == Some("all"),
        limit: count(call.limit, HITS, HITS_MAX),
        offset: count(call.offset, 0, usize::MAX),
    }))
}

fn pivot(call: &ContextCall, facts: &ContextFacts) -> Answered {
    let target = given(&call.target).ok_or(ContextRefusal::MissingTarget)?;
    let carryover = given(&call.carryover).ok_or(ContextRefusal::MissingCarryover)?;
    within("carryover", carryover, TEXT_CHARS_MAX)?;
    let message = given(&call.message);
    message.map_or(Ok(()), |message| within("message", message, TEXT_CHARS_MAX))?;
    schedule_pivot(target, carryover, message, facts).map(ContextAnswer::Scheduled)
}

/// What only consists of spaces is not given.
fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.trim().is_empty())
}

fn within(field: &'static str, text: &str, max: usize) -> Result<(), ContextRefusal> {
    match text.chars().count() > max {
        true => Err(ContextRefusal::TooLong(field, max)),
        false => Ok(()),
    }
}

/// A whole number from 0 to `max`.
fn count(said: Option<f64>, otherwise: usize, max: usize) -> usize {
    said.map_or(otherwise, |number| (number as usize).min(max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchors::Label;

    fn call(action: &str) -> ContextCall {
        let some = |text: &str| Some(text.to_string());
        ContextCall {
            action: action.to_string(),
            name: some("plan"),
            summary: some("What is known."),
            keyword: some("plan"),
            target: some("plan"),
            carryover: some("What was learned."),
            ..ContextCall::default()
        }
    }

    fn facts() -> ContextFacts {
        ContextFacts {
            leaf: Some("leaf".to_string()),
            ..ContextFacts::default()
        }
    }

    fn with(name: &str) -> ContextFacts {
        let anchor = Anchor {
            name: name.to_string(),
            target: "t".to_string(),
            on_branch: true,
            ..Anchor::default()
        };
        ContextFacts {
            anchors: vec![anchor],
            ..facts()
        }
    }

    fn refused(call: &ContextCall, facts: &ContextFacts) -> ContextRefusal {
        match answer_call(call, facts) {
            ContextAnswer::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_anchor_stands_where_the_session_is() {
        let expected = ContextAnswer::Anchored {
            name: "plan".to_string(),
            target: "leaf".to_string(),
            summary: "What is known.".to_string(),
        };
        assert_eq!(answer_call(&call("anchor"), &facts()), expected);
        assert_eq!(answer_call(&call("anchor"), &with("other")), expected);
    }

    #[test]
    fn a_name_is_given_once_and_is_one_line() {
        let duplicate = ContextRefusal::DuplicateAnchor("plan".to_string());
        assert_eq!(refused(&call("anchor"), &with("plan")), duplicate);
        let label = Label {
            name: "plan".to_string(),
            entry: "e".to_string(),
        };
        let labelled = ContextFacts {
            labels: vec![label],
            ..facts()
        };
        let duplicate = ContextRefusal::DuplicateLabel("plan".to_string());
        assert_eq!(refused(&call("anchor"), &labelled), duplicate);
        let named = |name: &str| ContextCall {
            name: Some(name.to_string()),
            ..call("anchor")
        };
        assert_eq!(refused(&named("a\nb"), &facts()), ContextRefusal::NameOfLines);
        let long = ContextRefusal::TooLong("name", NAME_CHARS_MAX);
        assert_eq!(refused(&named(&"n".repeat(121)), &facts()), long);
        assert_eq!(
            refused(&named(" "), &facts()),
            ContextRefusal::MissingNameOrSummary
        );
        assert_eq!(
            refused(&call("anchor"), &ContextFacts::default()),
            ContextRefusal::NoLeaf
        );
    }

    #[test]
    fn a_page_says_what_it_does_not_show() {
        let mut facts = with("a");
        facts.anchors.push(Anchor {
            name: "b".to_string(),
            ..facts.anchors[0].clone()
        });
        let page = |limit: f64, offset: f64| {
            let call = ContextCall {
                limit: Some(limit),
                offset: Some(offset),
                ..call("view")
            };
            match answer_call(&call, &facts) {
                ContextAnswer::View(page) => (page.rows.len(), page.has_more, page.hidden_on_branch),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(page(30.0, 0.0), (2, false, 0));
        assert_eq!(page(1.9, 0.9), (1, true, 1));
        assert_eq!(page(-5.0, f64::INFINITY), (0, false, 2));
        assert_eq!(
            refused(&call("view"), &ContextFacts::default()),
            ContextRefusal::NoAnchors
        );
    }

    #[test]
    fn what_is_missing_or_too_much_is_said() {
        let without = |action: &str| ContextCall {
            action: action.to_string(),
            ..ContextCall::default()
        };
        let unknown = ContextRefusal::UnknownAction("jump".to_string());
        let said = [
            (without("recall"), ContextRefusal::MissingKeyword),
            (without("anchor"), ContextRefusal::MissingNameOrSummary),
            (without("pivot"), ContextRefusal::MissingTarget),
            (without("jump"), unknown),
        ];
        for (call, why) in said {
            assert_eq!(refused(&call, &facts()), why);
        }
        let nothing_kept = ContextCall {
            carryover: None,
            ..call("pivot")
        };
        assert_eq!(
            refused(&nothing_kept, &with("plan")),
            ContextRefusal::MissingCarryover
        );
        let long = ContextCall {
            message: Some("m".repeat(TEXT_CHARS_MAX + 1)),
            ..call("pivot")
        };
        let too_long = ContextRefusal::TooLong("message", TEXT_CHARS_MAX);
        assert_eq!(refused(&long, &with("plan")), too_long);
    }
}
