//! What the model reads.

use super::call::{AnchorPage, ContextRefusal};
use super::pivot::Pivot;
use super::recall::RecalledAnchor;

/// So much of an id is shown.
const SHORT_ID: usize = 8;
/// A page ends behind so many characters, whatever was asked for.
const PAGE_CHARS_MAX: usize = 40_000;
/// So much of the first line of a summary is shown of what was found.
const LINE_CHARS_MAX: usize = 100;

/// The result that is an anchor begins so; other parts know it by that.
pub fn describe_anchored(name: &str, summary: &str) -> String {
    format!("[Anchor: {name}]\n{summary}")
}

/// A page of anchors, and how many of its rows fit.
pub fn describe_page(page: &AnchorPage) -> (String, usize) {
    if page.rows.is_empty() {
        let text = format!(
            "None of {} anchors is on this page.{}",
            page.total,
            not_shown(page.hidden_on_branch)
        );
        return (text, 0);
    }
    let mut rows = String::new();
    let mut shown = 0;
    for row in &page.rows {
        let mark = if row.anchor.on_branch { '●' } else { '○' };
        let newest = if row.is_newest { "  newest" } else { "" };
        let text = format!(
            "\n{mark} {}  {}{newest}\n  {}",
            row.anchor.name,
            short(&row.anchor.target),
            row.anchor.summary.replace('\n', "\n  "),
        );
        if shown > 0 && rows.len() + text.len() > PAGE_CHARS_MAX {
            break;
        }
        rows.push_str(&text);
        shown += 1;
    }
    let unshown = &page.rows[shown..];
    let hidden = page.hidden_on_branch + unshown.iter().filter(|row| row.anchor.on_branch).count();
    let first = page.offset.saturating_add(1);
    let head = format!(
        "Anchors {first} to {} of {}; ● is on this branch, ○ is not.",
        page.offset.saturating_add(shown),
        page.total
    );
    (format!("{head}{rows}{}", not_shown(hidden)), shown)
}

fn not_shown(hidden_on_branch: usize) -> String {
    match hidden_on_branch {
        0 => String::new(),
        1 => "\n1 more on this branch is not shown.".to_string(),
        more => format!("\n{more} more on this branch are not shown."),
    }
}

/// What a model is told of a pivot that waits.
pub fn describe_scheduled(pivot: &Pivot) -> String {
    let message = match pivot.message {
        Some(_) => " and your message is sent there",
        None => "",
    };
    format!(
        "Scheduled: when this turn is over, the session goes back to {} ({}), with what you carry over{message}. End the turn now, without further calls.",
        pivot.named,
        short(&pivot.target)
    )
}

/// What was found, and whether all sessions were looked through.
pub fn describe_recalled(
    found: &[RecalledAnchor],
    total: usize,
    offset: usize,
    unread: usize,
    place: &str,
) -> String {
    let mut text = match (found.is_empty(), total) {
        (true, 0) => "No anchor of a session has these words.".to_string(),
        (true, _) => format!("None of {total} is on this page."),
        (false, _) => format!(
            "{} to {} of {total}, the newest first; their files are below {place}.",
            offset.saturating_add(1),
            offset.saturating_add(found.len())
        ),
    };
    for anchor in found {
        let line: String = first_line(&anchor.summary).chars().take(LINE_CHARS_MAX).collect();
        let day = anchor.at.get(..10).unwrap_or("no date");
        text.push_str(&format!(
            "\n{}  {}  {}  {day}\n  {line}",
            anchor.name,
            short(&anchor.entry),
            anchor.file
        ));
    }
    if unread > 0 {
        text.push_str(&format!(
            "\n{unread} files of sessions are not looked through yet. Ask again for the rest."
        ));
    }
    text
}

fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default()
}

fn short(id: &str) -> &str {
    let end = id.char_indices().nth(SHORT_ID).map_or(id.len(), |(end, _)| end);
    &id[..end]
}

impl ContextRefusal {
    /// What is wrong, and what to do.
    pub fn text(&self) -> String {
        match self {
            Self::NoAnchors => {
                "This session has no anchors yet. `anchor` sets one, with a name and a summary.".to_string()
            }
            Self::MissingKeyword => {
                "`recall` needs `keyword`: a word or some of the anchor that you look for.".to_string()
            }
            Self::MissingNameOrSummary => "`anchor` needs `name` and `summary`.".to_string(),
            Self::MissingTarget => {
                "`pivot` needs `target`: an anchor, a label or the id of an entry.".to_string()
            }
            Self::MissingCarryover => {
                "`pivot` needs `carryover`: what you want to know there of what you leave.".to_string()
            }
            Self::TooLong(field, max) => format!("`{field}` is too long: at most {max} characters."),
            Self::NameOfLines => "`name` is one line without control characters.".to_string(),
            Self::DuplicateAnchor(name) => {
                format!("An anchor of this session is called {name:?} already. Choose another name.")
            }
            Self::DuplicateLabel(name) => {
                format!("A label of this session is called {name:?} already. Choose another name.")
            }
            Self::NoLeaf => "The session is empty: there is no place to anchor.".to_string(),
            Self::TargetNotFound(named) => {
                format!("Nothing in this session is called {named:?}. `view` lists the anchors.")
            }
            Self::TargetIsLeaf(target) => format!("The session is at {} already.", short(target)),
            Self::AlreadyWaits => "Another pivot waits for the end of this turn. End the turn.".to_string(),
            Self::UnknownAction(action) => {
                format!("There is no action {action:?}. There are view, recall, anchor, pivot and original.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchors::Anchor;
    use crate::anchors::call::AnchorRow;

    fn page(summaries: &[&str]) -> AnchorPage {
        let rows = summaries.iter().enumerate().map(|(place, summary)| AnchorRow {
            anchor: Anchor {
                name: format!("a{place}"),
                target: "0123456789ab".to_string(),
                summary: summary.to_string(),
                on_branch: true,
                ..Anchor::default()
            },
            is_newest: place == 0,
        });
        AnchorPage {
            rows: rows.collect(),
            total: 3,
            offset: 0,
            limit: 30,
            has_more: false,
            hidden_on_branch: 1,
        }
    }

    #[test]
    fn a_page_is_read_and_ends() {
        let (text, shown) = describe_page(&page(&["one\ntwo"]));
        assert_eq!(
            text,
            "Anchors 1 to 1 of 3; ● is on this branch, ○ is not.\n● a0  01234567  newest\n  one\n  two\n1 more on this branch is not shown."
        );
        assert_eq!(shown, 1);
        let long = "x".repeat(30_000);
        let (text, shown) = describe_page(&page(&[&long, &long]));
        assert_eq!(shown, 1);
        assert!(text.ends_with("2 more on this branch are not shown."));
        assert_eq!(describe_page(&page(&[])).1, 0);
    }

    #[test]
    fn what_was_found_is_a_list() {
        let anchor = RecalledAnchor {
            file: "--a--/b.jsonl".to_string(),
            session: "s".to_string(),
            directory: None,
            name: "auth".to_string(),
            summary: "\n  first\nsecond".to_string(),
            entry: "0123456789".to_string(),
            at: "2026-01-02T00:00:00Z".to_string(),
        };
        assert_eq!(
            describe_recalled(std::slice::from_ref(&anchor), 3, 1, 2, "/s"),
            "2 to 2 of 3, the newest first; their files are below /s.\nauth  01234567  --a--/b.jsonl  2026-01-02\n  first\n2 files of sessions are not looked through yet. Ask again for the rest."
        );
        assert_eq!(
            describe_recalled(&[], 0, 0, 0, "/s"),
            "No anchor of a session has these words."
        );
        assert_eq!(
            describe_recalled(&[], 2, 9, 0, "/s"),
            "None of 2 is on this page."
        );
    }

    #[test]
    fn what_the_model_is_told() {
        assert_eq!(describe_anchored("a", "b"), "[Anchor: a]\nb");
        let pivot = Pivot {
            target: "0123456789".to_string(),
            named: "a".to_string(),
            carryover: String::new(),
            message: None,
        };
        assert!(describe_scheduled(&pivot).contains("goes back to a (01234567)"));
        let refusal = ContextRefusal::TargetIsLeaf("ünicode-id".to_string());
        assert_eq!(refusal.text(), "The session is at ünicode- already.");
    }
}
