//! Which parts of a text are secrets?
//!
//! Used on everything that is shown, logged, traced or kept: what a process wrote to stderr, tool arguments,
//! errors of providers. A secret is known by its shape ([`shapes`]), by the name it is given ([`names`]), or by
//! the place where it stands ([`places`], [`blocks`]).
//!
//! One pass over the text finds the words that announce a secret; around each of them a bounded stretch is
//! looked at, and more only where it is then hidden. So the time is proportional to the text, whatever is in it.

mod assigned;
mod blocks;
#[cfg(test)]
mod measured;
mod names;
mod places;
mod programs;
mod shapes;
mod text;
mod values;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";
/// What is hidden can lay bare a beginning that was none before; each pass sees what the one before left.
const PASSES_MAX: usize = 6;

/// Replaces everything that looks like a secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    for _ in 0..PASSES_MAX {
        let hidden = match secrets_in(&clean) {
            found if found.is_empty() => break,
            found => without(&clean, &found),
        };
        if hidden == clean {
            break;
        }
        clean = Cow::Owned(hidden);
    }
    clean
}

/// Redacts a text that was cut off at its beginning or at its end: the word that the cut went through is left out,
/// as a half of a secret may not look like one. At most [`WORD_BYTES_MAX`] of a word are left out.
pub fn redact_cut(text: &str, cut: Cut) -> Cow<'_, str> {
    let whole = match cut {
        Cut::Nowhere => text,
        Cut::Beginning => {
            let most = text.ceil_char_boundary(WORD_BYTES_MAX);
            let at = text[..most].find(char::is_whitespace).unwrap_or(most);
            &text[at..]
        }
        Cut::End => {
            let least = text.floor_char_boundary(text.len().saturating_sub(WORD_BYTES_MAX));
            let at = text[least..].rfind(char::is_whitespace).unwrap_or(0);
            &text[..least + at]
        }
    };
    redact(whole)
}

/// Redacts the beginning of a text, at most so many bytes of it.
pub fn redact_beginning(text: &str, bytes_max: usize) -> Cow<'_, str> {
    let beginning = &text[..text.floor_char_boundary(bytes_max)];
    match beginning.len() < text.len() {
        true => redact_cut(beginning, Cut::End),
        false => redact(text),
    }
}

/// So much of a word that was cut is left out: more than a key is long.
const WORD_BYTES_MAX: usize = 512;

/// Where a text was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// All of it is there.
    Nowhere,
    /// What came before it is gone.
    Beginning,
    /// What came behind it is gone.
    End,
}

/// Whether a text holds a key that is known by its shape. Prose about keys holds none.
pub fn holds_key(text: &str) -> bool {
    let Some(words) = &SIGNS.words else { return false };
    words.find_overlapping_iter(text).any(|hit| {
        let at = hit.start();
        let begins_a_word =
            || !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        match SIGNS.looks.get(hit.pattern().as_usize()) {
            Some(Look::Shape(shape)) => begins_a_word() && shapes::found(text, at, shape).is_some(),
            Some(Look::Block) => blocks::found(text, at).is_some(),
            _ => false,
        }
    })
}

/// What a word announces, and so how the text around it is read.
enum Look {
    Shape(&'static shapes::Shape),
    Name,
    Block,
    BlockEnd,
    Place(places::Place),
    Program(&'static programs::Program),
}

struct Signs {
    /// Finds the words, in any case, in one pass.
    words: Option<AhoCorasick>,
    looks: Vec<Look>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut signs: Vec<(&str, Look)> = Vec::new();
    signs.extend(
        shapes::SHAPES
            .iter()
            .map(|shape| (shape.start, Look::Shape(shape))),
    );
    signs.extend(names::WORDS.iter().map(|word| (*word, Look::Name)));
    signs.extend(
        places::SIGNS
            .iter()
            .map(|(word, place)| (*word, Look::Place(*place))),
    );
    signs.extend(
        programs::PROGRAMS
            .iter()
            .map(|program| (program.name, Look::Program(program))),
    );
    signs.push((blocks::BEGIN, Look::Block));
    signs.push((blocks::END, Look::BlockEnd));
    let (words, looks): (Vec<&str>, Vec<Look>) = signs.into_iter().unzip();
    let words = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok();
    Signs { words, looks }
});

/// Where the secrets stand, in the order of the text, none touching another.
fn secrets_in(text: &str) -> Vec<Range<usize>> {
    let Some(words) = &SIGNS.words else {
        return Vec::new();
    };
    let mut found = shapes::long_hex(text);
    let mut seen = Seen::default();
    for hit in words.find_overlapping_iter(text) {
        let at = hit.range();
        if at.start < seen.hidden {
            continue;
        }
        let secret = match SIGNS.looks.get(hit.pattern().as_usize()) {
            Some(Look::Shape(shape)) => shapes::found(text, at.start, shape),
            Some(Look::Name) => assigned::found(text, at, &mut seen.name),
            Some(Look::Block) => blocks::found(text, at.start),
            Some(Look::BlockEnd) => blocks::found_before(text, at.start, seen.hidden.max(seen.block)),
            Some(Look::Place(place)) => places::found(text, at.clone(), *place),
            Some(Look::Program(program)) => programs::found(text, at.clone(), program, &mut seen.program),
            None => None,
        };
        if matches!(SIGNS.looks.get(hit.pattern().as_usize()), Some(Look::BlockEnd)) {
            seen.block = hit.end();
        }
        if let Some(secret) =
            secret.filter(|secret| text.get(secret.clone()).is_some_and(|of| !of.is_empty()))
        {
            seen.hidden = seen.hidden.max(secret.end);
            found.extend(shapes::other_half(text, &secret));
            found.push(secret);
        }
    }
    apart(found)
}

/// How far the text was read, so that nothing of it is read again and again.
#[derive(Default)]
struct Seen {
    /// The end of what is hidden already.
    hidden: usize,
    /// The end of the last name that was looked at.
    name: usize,
    /// The end of the last stretch that was searched for what a program was called with.
    program: usize,
    /// The end of the last block of a key.
    block: usize,
}

/// Sorted, and those that touch made one.
fn apart(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|secret| (secret.start, secret.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.start < last.end => last.end = last.end.max(secret.end),
            _ => apart.push(secret),
        }
    }
    apart
}

fn without(text: &str, secrets: &[Range<usize>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for secret in secrets {
        clean.push_str(&text[at..secret.start]);
        clean.push_str(REDACTED);
        at = secret.end;
    }
    clean.push_str(&text[at..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn every_word_is_looked_for() {
        assert_eq!(
            SIGNS.words.as_ref().map(AhoCorasick::patterns_len),
            Some(SIGNS.looks.len())
        );
    }

    #[test]
    fn names_places_and_beginnings_announce_what_follows() {
        let samples = [
            "\"authorization\": \"abcdef1\"",
            "\"credentials\":\"a\"",
            "'token': 'a'",
            "'token': x",
            "'my-api-key': x",
            "'passwd': x",
            "\"secret\" = x",
            "credentials: x",
            "x?sig=ab",
            "x?signature=ab",
            "x?auth=ab",
            "x?session=ab",
            "x?key=9fK2mQ7xLr4TzB1c",
            "ENCRYPTION_KEY=x",
            "Bearer a",
            "api_key=a",
            "secret=a",
            "token=a",
            "api key: x",
            "password=a",
            "passwd=a",
            "passphrase: x",
            "pwd=a",
            "private_key=a",
            "access-key: x",
            "bearer abcdef1",
            "Basic dXNlcjpwYXNz",
            "x://u:p@h",
            "DB_PASS=a",
            "PGPWD=a",
            "AccountKey=a",
            "Authorization: Digest a",
            "authorization: abcdef1",
            "Set-Cookie: a=b",
            "12345678:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "-----BEGIN RSA PRIVATE KEY-----\nabc",
        ];
        for sample in samples {
            assert!(redact(sample).contains(REDACTED), "{sample}");
        }
        let made = [
            ("sk-", 20),
            ("ghp_", 20),
            ("github_pat_", 20),
            ("glpat-", 20),
            ("xoxb-", 10),
            ("AIza", 35),
            ("npm_", 36),
            ("hf_", 30),
            ("AKIA", 16),
            ("sk_live_", 16),
            ("rk_test_", 16),
            ("pk-", 16),
            ("whsec_", 16),
            ("gsk_", 16),
            ("xai-", 16),
            ("pplx-", 16),
            ("r8_", 16),
            ("tvly-", 16),
            ("pypi-", 16),
            ("dckr_pat_", 16),
            ("lin_api_", 16),
            ("ntn_", 16),
            ("shpat_", 16),
            ("sbp_", 16),
            ("glsa_", 16),
            ("sntrys_", 16),
            ("NRAK-", 16),
            ("GOCSPX-", 16),
            ("ya29.", 16),
            ("hvs.", 16),
        ];
        for (start, length) in made {
            assert_eq!(
                redact(&format!("{start}{}", "A".repeat(length))),
                REDACTED,
                "{start}"
            );
        }
    }

    #[test]
    fn keys_are_known_by_their_shape() {
        for (start, letters) in [
            ("sk-", 20),
            ("sk-ant-api03-", 30),
            ("AKIA", 16),
            ("ghp_", 36),
            ("gho_", 36),
            ("github_pat_", 30),
            ("xoxb-", 20),
            ("AIza", 35),
            ("glpat-", 20),
            ("gsk_", 20),
        ] {
            let key = format!("{start}{}", "A".repeat(letters));
            assert!(
                holds_key(&key) && holds_key(&format!("use {key} here")),
                "{start}"
            );
        }
        assert!(holds_key(concat!("-----BEGIN RSA ", "PRIVATE KEY-----")));
        for none in [
            "about api keys",
            "a token: is needed",
            concat!("-----BEGIN ", "PUBLIC KEY-----"),
        ] {
            assert!(!holds_key(none), "{none}");
        }
        assert!(!holds_key(&format!("task-{}", "h".repeat(30))));
    }

    #[test]
    fn long_runs_of_digits_are_found_wherever_they_begin() {
        for before in 0..90 {
            let text = format!("{}{}", "x".repeat(before), "a1".repeat(22));
            assert_eq!(
                shapes::long_hex(&text).first(),
                Some(&(before..before + 44)),
                "{before}"
            );
            assert!(
                shapes::long_hex(&text[..before + 40]).is_empty(),
                "as long as a digest: {before}"
            );
            assert!(shapes::long_hex(&text[..before + 39]).is_empty(), "{before}");
        }
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
        check(r#"apiKey="a b" and on"#, "[REDACTED] and on");
        check("token: 'a b'; c", "[REDACTED]; c");
        check(r#"secret="a b"#, r#"[REDACTED] b"#);
    }

    #[test]
    fn prose_is_left_alone() {
        for text in [
            "the bearer of news",
            "Basic functionality works",
            "a token is needed",
            "tokens: 5k",
            "authorization: required",
            "the key: a value",
            "for key in map, map[key]=value",
            "cookie: yum",
            "task-1234567890abcdefgh",
            "it is risk-free-and-well-known",
            "primary_key = id",
            r#"{"max_tokens": 4096, "has_secret": true, "token": null}"#,
        ] {
            check(text, text);
        }
        check("bearer abc123", REDACTED);
        check("Basic dXNlcjpwYXNz", REDACTED);
    }

    #[test]
    fn half_a_secret_is_not_shown() {
        let text = format!("first {}{} last", "ghp_", "9fK2mQ7xLr4TzB1c");
        for at in 7..text.len() - 5 {
            assert_eq!(redact_cut(&text[..at], Cut::End), "first", "{at}");
            assert_eq!(redact_cut(&text[at..], Cut::Beginning), " last", "{at}");
        }
        assert_eq!(redact_cut("9fK2mQ7x", Cut::End), "");
        assert_eq!(redact_cut(&"x".repeat(600), Cut::Beginning).len(), 88);
        assert_eq!(redact_cut("a b", Cut::Nowhere), "a b");
        assert_eq!(redact_beginning(&text, 20), "first");
        assert_eq!(redact_beginning(&text, text.len()), "first [REDACTED] last");
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
