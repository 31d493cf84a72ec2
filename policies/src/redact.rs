//! Which parts of a text are secrets?
//!
//! Used on everything that is shown, logged, traced or kept: what a process wrote to stderr, tool arguments,
//! errors of providers. Every pattern is matched in time linear in the text.

use crate::compat::SPACE_CLASS;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Replaces everything that looks like a secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    let patterns = &*PATTERNS;
    let mut text = Cow::Borrowed(text);
    for (at, pattern) in patterns.list.iter().enumerate() {
        // What an earlier pattern replaced can only take away from a later one, and the mark matches none.
        if !may_match(at, &text) {
            continue;
        }
        if let Cow::Owned(replaced) = pattern.apply(&text) {
            text = Cow::Owned(replaced);
        }
    }
    text
}

fn may_match(at: usize, text: &str) -> bool {
    PATTERNS.list[at].regex.is_match(text)
}

/// What a match is replaced by.
enum Replace {
    /// All of it.
    Whole,
    /// The group `secret` of it.
    Secret,
    /// All of it, if the group `secret` has the look of a generated token.
    IfToken,
    /// All of it, if the group `secret` is base64 of `user:password`.
    IfCredentials,
}

struct Pattern {
    regex: Regex,
    replace: Replace,
}

impl Pattern {
    fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.regex.replace_all(text, |captures: &Captures<'_>| {
            let whole = captures.get(0).map_or("", |found| found.as_str());
            let Some(secret) = captures.name("secret") else {
                return REDACTED.to_string();
            };
            match self.replace {
                Replace::Whole => REDACTED.to_string(),
                Replace::Secret => {
                    let start = captures.get(0).map_or(0, |found| found.start());
                    let (from, to) = (secret.start() - start, secret.end() - start);
                    format!("{}{REDACTED}{}", &whole[..from], &whole[to..])
                }
                Replace::IfToken if is_token(secret.as_str()) => REDACTED.to_string(),
                Replace::IfCredentials if is_credentials(secret.as_str()) => REDACTED.to_string(),
                Replace::IfToken | Replace::IfCredentials => whole.to_string(),
            }
        })
    }
}

/// Long, or with a digit in it: not a word of prose.
fn is_token(text: &str) -> bool {
    const LONG: usize = 20;
    text.len() >= LONG || (text.len() >= 6 && text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Base64 of printable ASCII with a colon in it.
fn is_credentials(text: &str) -> bool {
    let mut bits = 0u32;
    let mut held = 0u32;
    let mut colon = false;
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return false,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            let decoded = ((held >> bits) & 0xFF) as u8;
            if !(0x20..0x7F).contains(&decoded) {
                return false;
            }
            colon |= decoded == b':';
        }
    }
    colon
}

struct Patterns {
    list: Vec<Pattern>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    use Replace::{IfCredentials, IfToken, Secret, Whole};
    let space = format!("[{SPACE_CLASS}]");
    let dark = format!("[^{SPACE_CLASS}]");
    let assigned = format!("{space}*[:=]{space}*{dark}+");
    let quoted = r#"(?<secret>(?:[^"\\]|\\.)+)"#;
    let sources: Vec<(String, Replace)> = vec![
        // The peer's six, in its order.
        (format!("Bearer{space}+[A-Za-z0-9._~+/-]+=*"), Whole),
        (format!("(?i-u:api[-_]?key){assigned}"), Whole),
        (format!("(?i-u:secret){assigned}"), Whole),
        (format!("(?i-u:token){assigned}"), Whole),
        ("sk-[A-Za-z0-9._-]{20,}".into(), Whole),
        ("(?i-u:[0-9a-f]{40,})".into(), Whole),
        // What it misses.
        (format!(r#""(?i-u:[\w.-]*(?:api[-_ ]?key|secret|token|passw(?:or)?d|authorization|credentials?|private[-_]?key|access[-_]?key)[\w.-]*)"{space}*:{space}*"{quoted}""#), Secret),
        (format!("(?i-u:api[ ]key){assigned}"), Whole),
        (format!("(?i-u:passw(?:or)?d|passphrase|pwd){assigned}"), Whole),
        (format!("(?i-u:(?:secret|private|access)[-_](?:access[-_])?key){assigned}"), Whole),
        (format!("(?i-u:bearer){space}+(?<secret>[A-Za-z0-9._~+/-]+=*)"), IfToken),
        (format!("(?i-u:basic){space}+(?<secret>[A-Za-z0-9+/]{{6,}}={{0,2}})"), IfCredentials),
        (r"eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*".into(), Whole),
        (r"\b(?-u:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b".into(), Whole),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{20,}".into(), Whole),
        (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{35}|\bnpm_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30,}".into(), Whole),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?".into(), Whole),
        (r"[a-z][a-z0-9+.-]*://[^\s/:@]*:(?<secret>[^\s/@]+)@".into(), Secret),
    ];
    let list = sources
        .into_iter()
        .filter_map(|(source, replace)| Regex::new(&source).ok().map(|regex| Pattern { regex, replace }))
        .collect();
    Patterns { list }
});

/// Whether every pattern compiles; a test holds it.
#[cfg(test)]
fn pattern_count() -> usize {
    PATTERNS.list.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(pattern_count(), 18);
    }

    #[test]
    fn secrets_in_json_lose_their_value() {
        check(r#"{"token":"abc","n":1}"#, r#"{"token":"[REDACTED]","n":1}"#);
        check(r#""api_key": "x\"y""#, r#""api_key": "[REDACTED]""#);
        check(r#""user": "name""#, r#""user": "name""#);
    }

    #[test]
    fn shapes_of_known_keys_are_found_anywhere() {
        let id = format!("AKIA{}", "IOSFODNN7EXAMPLE");
        check(&format!("id {id}."), "id [REDACTED].");
        check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", REDACTED);
        check("https://me:hunter2@host/x", "https://me:[REDACTED]@host/x");
        check("api key: x", REDACTED);
        check("Password = x y", "[REDACTED] y");
    }

    #[test]
    fn prose_is_left_alone() {
        for text in [
            "the bearer of news",
            "Basic functionality works",
            "a token is needed",
            "tokens: 5k",
        ] {
            check(text, text);
        }
        check("bearer abc123", REDACTED);
        check("Basic dXNlcjpwYXNz", REDACTED);
    }

    #[test]
    fn a_second_time_changes_nothing() {
        let once = redact("token=a Bearer b \"secret\":\"c\"").into_owned();
        assert_eq!(redact(&once), once);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in r#"((token|Bearer |api_key|secret|"|:|=| |sk-|eyJ|basic |[a-f0-9]{8}|😀|\\|@|://)){0,30}"#) {
            let _ = redact(&text);
        }
    }
}
