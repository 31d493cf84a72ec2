//! What does the sub-agent see in place of a result that was kept aside?
//!
//! Handle, size, a preview that is never larger than the ceiling, and how to read the rest.

use crate::compat::{cut_units, grouped, last_units, units};
use crate::domain::OverflowSettings;
use crate::sub_agent_prompt::RETRIEVAL_TOOL;

/// What a sub-agent calls to read on.
pub const READ_TOOL: &str = "overflow_read";
/// What it calls to find a place.
pub const SEARCH_TOOL: &str = "overflow_search";

const MIDDLE_MARK: &str = "\n... <middle omitted> ...\n";
/// What is said of a retrieval that could not be kept.
pub const TOO_LARGE: &str =
    "Result too large. Please refine your codebase-retrieval query to be more specific.";
/// What the replacement says besides the preview has at most so many bytes.
const WORDS_AROUND_BYTES: usize = 512;

/// Start and end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverflowPreview {
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

/// What is said of a result that could not be kept.
pub fn too_large_text(tool: &str, bytes: usize, ceiling: usize) -> String {
    if tool == RETRIEVAL_TOOL {
        return TOO_LARGE.to_string();
    }
    let (bytes, ceiling) = (grouped(bytes as u64), grouped(ceiling as u64));
    format!(
        "Result too large: {bytes} bytes, where {ceiling} can be shown. Please ask {tool} for less, or in parts."
    )
}

/// What stands in place of a result that was kept: in all no more than the ceiling, which is 1,000 bytes or more.
pub fn replacement_within(id: &str, result: &str, memory: &OverflowSettings, ceiling: usize) -> String {
    let (head, tail) = (memory.preview_head_units, memory.preview_tail_units);
    let preview = preview_within(result, head, tail, ceiling.saturating_sub(WORDS_AROUND_BYTES));
    replacement_text(id, result.len(), &preview, READ_TOOL, SEARCH_TOOL)
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

    #[test]
    fn what_cannot_be_kept_is_refused_in_the_words_of_its_tool() {
        assert_eq!(too_large_text(RETRIEVAL_TOOL, 9_000, 1_000), TOO_LARGE);
        assert_eq!(
            too_large_text("bash", 26_000, 25_000),
            "Result too large: 26,000 bytes, where 25,000 can be shown. Please ask bash for less, or in parts."
        );
    }

    proptest::proptest! {
        #[test]
        fn a_replacement_is_never_above_the_ceiling(
            text in "(.|\n|漢){0,200}", head in 0usize..100_000, tail in 0usize..100_000, over in 0usize..20_000
        ) {
            let memory = OverflowSettings { preview_head_units: head, preview_tail_units: tail, ..OverflowSettings::default() };
            let ceiling = 1_000 + over;
            let replacement = replacement_within("overflow_4294967295", &text.repeat(120), &memory, ceiling);
            proptest::prop_assert!(replacement.len() <= ceiling, "{} > {ceiling}", replacement.len());
        }

        #[test]
        fn any_text_has_a_preview(text in "(.|\n){0,80}", head in 0usize..40, tail in 0usize..40, limit in 0usize..200) {
            let _ = preview_of(&text, head, tail);
            proptest::prop_assert!(preview_within(&text, head, tail, limit).text.len() <= limit);
        }
    }
}
