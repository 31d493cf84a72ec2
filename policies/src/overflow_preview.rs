//! What does the sub-agent see in place of a result that was kept aside?
//!
//! Handle, size, a preview that is never larger than the ceiling, and how to read the rest.

use crate::compat::{cut_units, grouped, last_units, units};

const MIDDLE_MARK: &str = "\n... <middle omitted> ...\n";
/// What is said of a result that could not be kept.
pub const TOO_LARGE: &str =
    "Result too large. Please refine your codebase-retrieval query to be more specific.";

/// Start and end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowPreview {
    /// What is shown.
    pub text: String,
    /// How many units are not.
    pub elided_units: usize,
}

/// Shows the whole, or so much of start and end.
pub fn preview_of(text: &str, head_units: usize, tail_units: usize) -> OverflowPreview {
    let total = units(text);
    let shown = head_units.saturating_add(tail_units);
    if total <= shown.saturating_add(MIDDLE_MARK.len()) {
        return OverflowPreview {
            text: text.to_string(),
            elided_units: 0,
        };
    }
    let (head, tail) = (cut_units(text, head_units), last_units(text, tail_units));
    OverflowPreview {
        text: format!("{head}{MIDDLE_MARK}{tail}"),
        elided_units: total - units(head) - units(tail),
    }
}

/// The same in at most `bytes_max` bytes: start and end give way in proportion.
pub fn preview_within(text: &str, head_units: usize, tail_units: usize, bytes_max: usize) -> OverflowPreview {
    let preview = preview_of(text, head_units, tail_units);
    if preview.text.len() <= bytes_max {
        return preview;
    }
    // A unit of UTF-16 takes at most three bytes of UTF-8.
    let room = bytes_max.saturating_sub(MIDDLE_MARK.len()) / 3;
    let asked = head_units.saturating_add(tail_units).max(1);
    let share = |part: usize| ((part as u128 * room as u128) / asked as u128) as usize;
    let (head, tail) = (
        share(head_units).min(head_units),
        share(tail_units).min(tail_units),
    );
    let (head, tail) = (cut_units(text, head), last_units(text, tail));
    let shown = units(head) + units(tail);
    let text_shown = if bytes_max < MIDDLE_MARK.len() {
        String::new()
    } else {
        format!("{head}{MIDDLE_MARK}{tail}")
    };
    let elided_units = units(text) - if text_shown.is_empty() { 0 } else { shown };
    OverflowPreview {
        text: text_shown,
        elided_units,
    }
}

/// What stands in the sub-agent's context in place of the result.
pub fn replacement_text(
    id: &str,
    bytes: usize,
    preview: &OverflowPreview,
    read_tool: &str,
    search_tool: &str,
) -> String {
    let size = grouped(bytes as u64);
    let mut text = format!("This result is {size} bytes, too large to show whole. It is kept as {id}.\n\n");
    text.push_str(&preview.text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if preview.elided_units > 0 {
        let elided = grouped(preview.elided_units as u64);
        text.push_str(&format!("\n{elided} characters are not shown. "));
    } else {
        text.push('\n');
    }
    text.push_str(&format!(
        "Read on with {read_tool} {{\"id\": \"{id}\", \"offset\": 0}}, find a place with \
         {search_tool} {{\"id\": \"{id}\", \"query\": \"…\"}}, or ask again more narrowly."
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_never_exceeds_its_limit() {
        let text = "漢字😀 and more ".repeat(500);
        for limit in [0, 10, 26, 30, 100, 1_000] {
            let preview = preview_within(&text, 4_000, 4_000, limit);
            assert!(preview.text.len() <= limit, "{limit}");
            assert!(preview.elided_units > 0);
        }
    }

    #[test]
    fn the_replacement_says_how_to_read_on() {
        let preview = preview_of(&"x".repeat(100), 10, 10);
        let text = replacement_text("overflow_1", 100, &preview, "overflow_read", "overflow_search");
        assert!(text.contains("overflow_read {\"id\": \"overflow_1\", \"offset\": 0}"));
        assert!(text.contains("80 characters are not shown"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_preview(text in "(.|\n){0,80}", head in 0usize..40, tail in 0usize..40, limit in 0usize..200) {
            let _ = preview_of(&text, head, tail);
            proptest::prop_assert!(preview_within(&text, head, tail, limit).text.len() <= limit);
        }
    }
}
