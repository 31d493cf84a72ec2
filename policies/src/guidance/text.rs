//! The rules of a directory as the model reads them.

use std::path::Path;

/// The text of a file within so many bytes, and whether something was cut: never inside of a character.
pub fn cut_rules(text: &str, bytes_max: usize) -> (&str, bool) {
    match text.len() <= bytes_max {
        true => (text, false),
        false => (&text[..text.floor_char_boundary(bytes_max)], true),
    }
}

/// How a block begins; by this it is found again in a conversation.
pub fn begins_block(path: &Path) -> String {
    format!("[Directory Context: {}]", path.display())
}

/// One file as it stands behind a result.
pub fn rules_block(path: &Path, shown: &str, is_cut: bool) -> String {
    let begins = begins_block(path);
    let note = match is_cut {
        true => format!(
            "\n\n[Note: Content was truncated to save context window space. For full context, please read the file \
             directly: {}]",
            path.display()
        ),
        false => String::new(),
    };
    format!("\n\n{begins}\n{shown}{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut_rules("héé", 5), ("héé", false));
        assert_eq!(cut_rules("héé", 4), ("hé", true));
        assert_eq!(cut_rules("💖", 3), ("", true));
        assert_eq!(cut_rules("a", 0), ("", true));
        assert_eq!(cut_rules("", 0), ("", false));
    }

    #[test]
    fn a_block_names_its_file_and_says_what_is_cut() {
        let path = Path::new("/w/src/AGENTS.md");
        assert!(rules_block(path, "tabs", false).contains(&begins_block(path)));
        assert_eq!(
            rules_block(path, "tabs", false),
            "\n\n[Directory Context: /w/src/AGENTS.md]\ntabs"
        );
        assert!(rules_block(path, "ta", true).ends_with("please read the file directly: /w/src/AGENTS.md]"));
    }
}
