//! The beginning of what a tool gave, as it is shown and kept.

use impresario_policies::redact::redact_beginning;

/// So much of it is looked at for a preview, whatever follows.
pub const LOOKED_AT_BYTES_MAX: usize = 4 * 1024;
const PREVIEW_CHARACTERS_MAX: usize = 500;

/// Its first characters, redacted before they are cut.
pub fn preview_of(text: &str) -> String {
    let beginning = redact_beginning(text, LOOKED_AT_BYTES_MAX);
    beginning.chars().take(PREVIEW_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_the_preview_ends() {
        for before in 460..=500 {
            let text = format!(
                "{} {}{}",
                "x".repeat(before),
                "ghp_",
                "9fK2mQ7xLr4TzB1cVn8WpD3sHy6Jg5Ae0RuX"
            );
            assert!(!preview_of(&text).contains("ghp_"), "{before}");
        }
    }

    #[test]
    fn it_is_short() {
        assert_eq!(preview_of(&"a b ".repeat(10_000)).len(), PREVIEW_CHARACTERS_MAX);
        assert_eq!(preview_of("all of it"), "all of it");
    }
}
