//! How is a brief put to the sub-agent?

use crate::compat::{cut_units, trim, units};
use crate::domain::Brief;

/// The known context is cut to so many units.
const KNOWN_CONTEXT_UNITS_MAX: usize = 500;
/// What stands where a text was cut.
pub const TRUNCATED_MARK: &str = "\n[...truncated]";

/// Writes the user prompt of a sub-agent: parts separated by blank lines, empty ones left out.
pub fn render_brief(brief: &Brief) -> String {
    let goal = if brief.user_goal.is_empty() {
        "(unspecified)"
    } else {
        &brief.user_goal
    };
    let mut prompt = format!("User Goal: {goal}");
    push_list(&mut prompt, "Constraints", &brief.constraints);
    let context = cut_with_mark(trim(&brief.known_context), KNOWN_CONTEXT_UNITS_MAX);
    if !context.is_empty() {
        prompt.push_str("\n\nKnown Context:\n");
        prompt.push_str(&context);
    }
    push_list(&mut prompt, "User Clarifications", &brief.user_clarifications);
    prompt
}

fn push_list(prompt: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    prompt.push_str("\n\n");
    prompt.push_str(title);
    prompt.push(':');
    for item in items {
        prompt.push_str("\n- ");
        prompt.push_str(item);
    }
}

/// At most `limit` units, and the mark on top where that cut something.
pub fn cut_with_mark(text: &str, limit: usize) -> String {
    if units(text) <= limit {
        return text.to_string();
    }
    format!("{}{TRUNCATED_MARK}", cut_units(text, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_known_leaves_only_the_goal() {
        assert_eq!(render_brief(&Brief::default()), "User Goal: (unspecified)");
    }

    #[test]
    fn a_cut_says_so() {
        assert_eq!(cut_with_mark("abcdef", 3), "abc\n[...truncated]");
        assert_eq!(cut_with_mark("abc", 3), "abc");
    }
}
