//! Which parts of a text are secrets?
//!
//! Used on everything that is shown, logged, traced or kept: what a process wrote to stderr, tool arguments,
//! errors of providers. Every pattern is matched in time linear in the text.

use crate::compat::SPACE_CLASS;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Replaces everything that looks like a secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    let patterns = &*PATTERNS;
    let wanted = patterns.wanted(text);
    let mut text = Cow::Borrowed(text);
    for (at, pattern) in patterns.list.iter().enumerate() {
        // What an earlier pattern replaces takes nothing from a later one that was not there before.
        if wanted & (1 << at) == 0 {
            continue;
        }
        if let Cow::Owned(replaced) = pattern.apply(&text) {
            text = Cow::Owned(replaced);
        }
    }
    text
}

/// The patterns of keys that are known by how they look, whatever stands before them.
const KEY_PATTERNS: [usize; 9] = [4, 12, 13, 14, 15, 16, 25, 26, 27];

/// Whether a text holds a key that is known by its shape. Prose about keys holds none.
pub fn holds_key(text: &str) -> bool {
    let begins_a_word =
        |at: usize| !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    KEY_PATTERNS
        .iter()
        .filter_map(|pattern| PATTERNS.list.get(*pattern))
        .any(|pattern| {
            let mut found = pattern.regex.find_iter(text);
            found.any(|key| begins_a_word(key.start()))
        })
}

/// What a match is replaced by.
enum Replace {
    Whole,
    /// The group `secret` of it.
    Secret,
    /// All of it, if the group `secret` has the look of a generated token.
    IfToken,
    /// The group `secret` of it, unless it is a number or a word of JSON.
    SecretUnlessPlain,
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
                Replace::SecretUnlessPlain if is_plain(secret.as_str()) => whole.to_string(),
                Replace::Secret | Replace::SecretUnlessPlain => {
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

/// How many tokens, or whether there is a secret.
fn is_plain(text: &str) -> bool {
    text.parse::<f64>().is_ok() || ["true", "false", "null"].contains(&text)
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
    /// Finds the words below, in one pass.
    words: Option<AhoCorasick>,
}

/// Without one of these words, in any case, the patterns behind it match nothing.
const WORDS: [(&str, &[u8]); 61] = [
    ("bearer", &[0, 10]),
    ("key", &[1, 6, 7, 9, 16, 18, 20, 24, 28]),
    ("secret", &[2, 6, 18, 28]),
    ("token", &[3, 6, 18, 28]),
    ("sk-", &[4]),
    ("passw", &[6, 8, 18, 28]),
    ("pass", &[20]),
    ("passphrase", &[8]),
    ("pwd", &[8, 20]),
    ("auth", &[20, 24]),
    ("authorization", &[6, 18, 21, 22, 28]),
    ("credential", &[6, 18, 19, 28]),
    ("cookie", &[23]),
    ("sig=", &[24]),
    ("signature=", &[24]),
    ("session", &[24]),
    ("basic", &[11]),
    ("eyj", &[12]),
    ("akia", &[13]),
    ("asia", &[13]),
    ("abia", &[13]),
    ("acca", &[13]),
    ("ghp_", &[14]),
    ("gho_", &[14]),
    ("ghu_", &[14]),
    ("ghs_", &[14]),
    ("ghr_", &[14]),
    ("github_pat_", &[14]),
    ("glpat-", &[14]),
    ("xox", &[15]),
    ("aiza", &[15]),
    ("npm_", &[15]),
    ("hf_", &[15]),
    ("://", &[17]),
    ("passwd", &[6, 8, 18, 28]),
    ("private", &[9, 16]),
    ("sk_", &[25]),
    ("rk_", &[25]),
    ("rk-", &[25]),
    ("pk_", &[25]),
    ("pk-", &[25]),
    ("whsec_", &[25]),
    ("gsk_", &[26]),
    ("xai-", &[26]),
    ("pplx-", &[26]),
    ("r8_", &[26]),
    ("tvly-", &[26]),
    ("pypi-", &[26]),
    ("dckr_pat_", &[26]),
    ("_api_", &[26]),
    ("ntn_", &[26]),
    ("shp", &[26]),
    ("sbp_", &[26]),
    ("glsa_", &[26]),
    ("sntrys_", &[26]),
    ("nrak-", &[26]),
    ("gocspx-", &[26]),
    ("ya29.", &[26]),
    ("hvs.", &[26]),
    ("sg.", &[27]),
    (":aa", &[27]),
];
/// The pattern of long runs of hexadecimal digits, which no word announces.
const HEX_PATTERN: u8 = 5;
const HEX_DIGITS_MIN: usize = 40;

impl Patterns {
    /// One bit for every pattern that may match.
    fn wanted(&self, text: &str) -> u32 {
        let Some(words) = &self.words else { return u32::MAX };
        let mut wanted = u32::from(has_long_hex(text.as_bytes())) << HEX_PATTERN;
        for found in words.find_overlapping_iter(text) {
            let (_, patterns) = WORDS[found.pattern().as_usize()];
            wanted |= patterns.iter().fold(0, |bits, pattern| bits | 1 << pattern);
        }
        wanted
    }
}

/// Looks at every fortieth byte, and around it only where it is a digit.
fn has_long_hex(bytes: &[u8]) -> bool {
    let mut at = HEX_DIGITS_MIN - 1;
    while at < bytes.len() {
        let back = bytes[..=at]
            .iter()
            .rev()
            .take(HEX_DIGITS_MIN)
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if back == HEX_DIGITS_MIN {
            return true;
        }
        // The run that reaches this byte is `back` long; a longer one can end no sooner than this.
        at += HEX_DIGITS_MIN - back;
    }
    false
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    use Replace::{IfCredentials, IfToken, Secret, SecretUnlessPlain, Whole};
    let space = format!("[{SPACE_CLASS}]");
    let dark = format!("[^{SPACE_CLASS}]");
    // What stands in quotes belongs to the value, spaces and all.
    let assigned = format!(r#"{space}*[:=]{space}*(?:"[^"\n]*"{dark}*|'[^'\n]*'{dark}*|{dark}+)"#);
    let quoted = r#"(?<secret>(?:[^"\\]|\\.)+)"#;
    let named = r"(?i-u:[\w.-]*(?:api[-_ ]?key|secret|token|passw(?:or)?d|authorization|credentials?|private[-_]?key|access[-_]?key)[\w.-]*)";
    let sources: Vec<(String, Replace)> = vec![
        // The peer's six, in its order.
        (format!("Bearer{space}+[A-Za-z0-9._~+/-]+=*"), Whole),
        (format!("(?i-u:api[-_]?key){assigned}"), Whole),
        (format!("(?i-u:secret){assigned}"), Whole),
        (format!("(?i-u:token){assigned}"), Whole),
        ("sk-[A-Za-z0-9._-]{20,}".into(), Whole),
        ("(?i-u:[0-9a-f]{40,})".into(), Whole),
        // What it misses.
        (format!(r#""{named}"{space}*:{space}*"{quoted}""#), Secret),
        (format!("(?i-u:api[ ]key){assigned}"), Whole),
        (format!("(?i-u:passw(?:or)?d|passphrase|pwd){assigned}"), Whole),
        (format!("(?i-u:(?:secret|private|access)[-_](?:access[-_])?key){assigned}"), Whole),
        (format!("(?i-u:bearer){space}+(?<secret>[A-Za-z0-9._~+/-]+=*)"), IfToken),
        (format!("(?i-u:basic){space}+(?<secret>[A-Za-z0-9+/]{{6,}}={{0,2}})"), IfCredentials),
        (r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*".into(), Whole),
        (r"\b(?-u:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}\b".into(), Whole),
        (r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{20,}".into(), Whole),
        (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{35}|\bnpm_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30,}".into(), Whole),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?".into(), Whole),
        (r"[a-z][a-z0-9+.-]*://[^\s/:@]*:(?<secret>[^\s/@]+)@".into(), Secret),
        // Names in single quotes, as Python and JavaScript write them; values without quotes, as YAML has them.
        (format!(r#"'{named}'{space}*:{space}*["'](?<secret>(?:[^"'\\\n]|\\.)+)["']"#), Secret),
        (format!("(?i-u:credentials?){assigned}"), Whole),
        // Names of variables and of parts of connection strings: a key of a map is written otherwise.
        (r#"\b(?-u:(?:[A-Z0-9]+_)*(?:KEY|PASS|PWD|AUTH)|[A-Za-z]*(?:Account|Shared|Access|Signing|Encryption)Key)=(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"',;&]+)"#.into(), Secret),
        // Headers. A scheme stays: it says what kind of login was refused.
        (format!(r"(?i-u:authorization){space}*:{space}*(?i-u:basic|bearer|token|digest|negotiate|apikey){space}+(?<secret>{dark}+)"), Secret),
        (format!(r"(?i-u:authorization){space}*:{space}*(?<secret>{dark}+)"), IfToken),
        (r"(?i-u:\b(?:set-)?cookie):[ \t]*(?<secret>[^\s=;]+=[^\n]*)".into(), Secret),
        // Parameters of signed addresses.
        (r"[?&](?i-u:key|sig|signature|x-amz-signature|x-goog-signature|auth|session(?:id)?)=(?<secret>[^&\s#]+)".into(), Secret),
        // Keys that begin with who gave them.
        (r"\b(?:[sr]k|pk)_[A-Za-z0-9_-]{16,}|\b[rp]k-[A-Za-z0-9_-]{16,}|\bwhsec_[A-Za-z0-9]{16,}".into(), Whole),
        (r"\b(?:gsk_|xai-|pplx-|r8_|tvly-|pypi-|dckr_pat_|lin_api_|ntn_|shp(?:at|ss|ca|pa)_|sbp_|glsa_|sntrys_|NRAK-|GOCSPX-|ya29\.|hvs\.)[A-Za-z0-9._=-]{16,}".into(), Whole),
        (r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}".into(), Whole),
        (format!(r#"["']{named}["']{space}*[:=]{space}*(?<secret>[^\s"',;{{}}\[\]]+)"#), SecretUnlessPlain),
    ];
    let list = sources
        .into_iter()
        .filter_map(|(source, replace)| Regex::new(&source).ok().map(|regex| Pattern { regex, replace }))
        .collect();
    let words = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(WORDS.map(|(word, _)| word))
        .ok();
    Patterns { list, words }
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.list.len(), 29);
    }

    #[test]
    fn no_pattern_needs_a_word_that_does_not_announce_it() {
        let samples = [
            "Bearer a",
            "api_key=a",
            "secret=a",
            "token=a",
            "api key: a",
            "password=a",
            "passwd=a",
            "passphrase: a",
            "pwd=a",
            "private_key=a",
            "access-key: a",
            "bearer abcdef1",
            "Basic dXNlcjpwYXNz",
            "\"authorization\": \"a\"",
            "\"credentials\":\"a\"",
            "x://u:p@h",
            "'token': 'a'",
            "'token': a",
            "'my-api-key': a",
            "'passwd': a",
            "'authorization': a",
            "\"secret\" = a",
            "\"credentials\": a",
            "credentials: a",
            "KEY=a",
            "DB_PASS=a",
            "PGPWD=a",
            "NPM_AUTH=a",
            "AccountKey=a",
            "Authorization: Digest a",
            "authorization: abcdef1",
            "Set-Cookie: a=b",
            "x?sig=a",
            "x?signature=a",
            "x?auth=a",
            "x?session=a",
            "x?key=a",
            "SG.aaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaa",
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
            let text = format!("{}{}", "x".repeat(before), "a1".repeat(20));
            assert!(has_long_hex(text.as_bytes()), "{before}");
            assert!(!has_long_hex(&text.as_bytes()[..before + 39]), "{before}");
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
        check("token: 'a b'; c", "[REDACTED] c");
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
