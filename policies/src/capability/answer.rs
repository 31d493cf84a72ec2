//! What a search says, for whoever asked: a model or a person.

use super::ranking::Confidence;
use crate::compat::collapse_spaces;

/// So much of a summary is shown in a line.
const SUMMARY_CHARS_MAX: usize = 200;

/// One of what was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    pub id: &'a str,
    pub summary: &'a str,
    pub score: f64,
}

/// A line that says how sure it is, one for each that was found, and what to do where that is little.
pub fn describe_found(found: &[Line<'_>], confidence: Confidence) -> String {
    if found.is_empty() {
        return "Nothing fits. Try other words for what is wanted, or go on without.".to_string();
    }
    let mut text = format!(
        "{} found, best first; confidence {}.",
        found.len(),
        confidence.as_str()
    );
    for Line { id, summary, score } in found {
        text.push_str(&format!("\n{score:.2}  {id}"));
        let summary = collapse_spaces(summary);
        if !summary.is_empty() {
            text.push_str(" — ");
            text.extend(summary.chars().take(SUMMARY_CHARS_MAX));
        }
    }
    match confidence {
        Confidence::High => {}
        Confidence::Medium => text.push_str("\nRead what each is for before you use one."),
        Confidence::Low => text.push_str(
            "\nProbably none of these is meant: they share a word with the request and no more. Try other words, or go on without.",
        ),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_says_how_sure_it_is() {
        let line = Line {
            id: "tool:pi:wash",
            summary: "Wash\n an animal.",
            score: 0.876,
        };
        assert_eq!(
            describe_found(&[line], Confidence::High),
            "1 found, best first; confidence high.\n0.88  tool:pi:wash — Wash an animal."
        );
        assert!(describe_found(&[line, line], Confidence::Low).contains("Probably none"));
        assert!(describe_found(&[], Confidence::Low).starts_with("Nothing fits."));
    }
}
