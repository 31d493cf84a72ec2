//! What must not be shown or kept? Shapes of secrets in text that came from outside.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Takes what looks like a secret out of a text: keys of known shapes, bearer tokens, values of names that sound
/// like secrets, passwords in addresses. Never fails; a secret of unknown shape without such a name stays.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !MAYBE.is_match(text) {
        return Cow::Borrowed(text);
    }
    let mut clean = Cow::Borrowed(text);
    for (pattern, replacement) in SECRETS.iter() {
        if let Cow::Owned(cleaner) = pattern.replace_all(&clean, *replacement) {
            clean = Cow::Owned(cleaner);
        }
    }
    clean
}

/// Key shapes of model providers, code hosts, clouds and chats; and JSON web tokens.
const KEYS: &str = concat!(
    r"\b(?:sk|rk|pk)[-_][A-Za-z0-9_\-]{16,}",
    r"|\b(?:gh[pousr]|github_pat|glpat|xai|gsk|hf|r8|npm)[-_][A-Za-z0-9_\-]{16,}",
    r"|\bxox[abposr]-[A-Za-z0-9\-]{10,}",
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"|\bAIza[A-Za-z0-9_\-]{30,}",
    r"|\bya29\.[A-Za-z0-9_\-.]{20,}",
    r"|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}",
);

const BEARER: &str = r"(?i)\b(bearer|basic)\s+[A-Za-z0-9_\-.=+/~]{12,}";

const NAMED: &str = concat!(
    r"(?i)\b([A-Za-z0-9_\-]*(?:api[_-]?key|secret|token|passw(?:or)?d|credential)[A-Za-z0-9_\-]*",
    r#"\\?["']?\s*[=:]\s*\\?["']?)([^\s"',;}&\\]{6,})"#,
);

const ADDRESS: &str = r"\b([a-z][a-z0-9+.\-]*://[^\s/:@]+:)[^\s/@]+@";

static MAYBE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)sk[-_]|rk[-_]|pk[-_]|gh[pousr]_|github_pat|glpat|xai-|gsk_|hf_|r8_|npm_|xox|akia|asia|aiza|ya29|eyj|bearer|basic|key|secret|token|passw|credential|://",
    )
});

static SECRETS: LazyLock<[(Regex, &'static str); 4]> = LazyLock::new(|| {
    [
        (pattern(KEYS), "[redacted]"),
        (pattern(BEARER), "$1 [redacted]"),
        (pattern(NAMED), "${1}[redacted]"),
        (pattern(ADDRESS), "${1}[redacted]@"),
    ]
});

fn pattern(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants; the tests compile each"
    )]
    Regex::new(text).expect("patterns of secrets compile")
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn keys_of_known_shapes_are_taken_out() {
        check("401 for sk-ant-api03-abcdefghijklmnop", "401 for [redacted]");
        check(
            "git push https://x:ghp_abcdefghijklmnopqrst@github.com",
            "git push https://x:[redacted]@github.com",
        );
        check("AKIAABCDEFGHIJKLMNOP and more", "[redacted] and more");
    }

    #[test]
    fn values_of_names_that_sound_like_secrets_are_taken_out() {
        check(
            "OPENAI_API_KEY=abc123def456 cargo test",
            "OPENAI_API_KEY=[redacted] cargo test",
        );
        check(
            r#"{"password": "hunter2hunter2"}"#,
            r#"{"password": "[redacted]"}"#,
        );
        check(
            "Authorization: Bearer abcdefghijklmnop",
            "Authorization: Bearer [redacted]",
        );
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "the token stream is parsed",
            "read src/tokens.rs",
            "max_tokens: 100",
            "key: value",
            "https://example.com/a?b=c",
        ] {
            check(text, text);
        }
    }
}
