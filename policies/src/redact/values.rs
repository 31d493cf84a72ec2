//! Is what stands behind a name a secret, or code, a word, or a place for one?

use super::names::Says;

/// How much of a value is looked at.
pub(super) const LOOKED_AT_BYTES_MAX: usize = 512;

/// How a value was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub quoted: bool,
    /// With space around what stands between name and value, or behind a colon.
    pub spaced: bool,
    /// What stands before the name in its line.
    pub before: &'a str,
    /// What follows the value.
    pub after: &'a str,
}

/// Whether a value is a secret, given what its name says.
pub(super) fn is_secret(value: &str, says: Says, written: &Written<'_>) -> bool {
    if is_masked(value) || is_filled_in(value) {
        return false;
    }
    match says {
        Says::Nothing => false,
        Says::Perhaps => is_random(value.trim_end_matches([',', ';', '.', ')'])),
        Says::Secret | Says::Password if written.quoted => !is_label(value),
        // How many, or which of a list.
        Says::Secret if written.spaced && is_short_number(value) => false,
        Says::Secret | Says::Password => {
            !is_word_of_code(value, written) && !is_code(value, written) && !is_prose(value, says, written)
        }
    }
}

/// How much of something there is, or which field of a message it is: `password: 16 bytes`, `string password = 2;`.
pub(super) fn is_count(value: &str, written: &Written<'_>) -> bool {
    const TYPES: [&str; 7] = ["string", "bytes", "bool", "int32", "int64", "uint32", "uint64"];
    const UNITS: [&str; 6] = ["bytes", "byte", "characters", "chars", "times", "entries"];
    let digits = value.trim_end_matches(';');
    let last_before = written.before.split_whitespace().next_back();
    let unit = written.after.split_whitespace().next();
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (last_before.is_some_and(|last| TYPES.contains(&last))
            || unit.is_some_and(|unit| UNITS.contains(&unit.trim_end_matches(['.', ',', ';']))))
}

/// A password as people make them: of two kinds of letters at least, with a digit or a sign that no name of code has.
pub(super) fn is_chosen(value: &str) -> bool {
    let kinds: [fn(&char) -> bool; 4] = [
        char::is_ascii_lowercase,
        char::is_ascii_uppercase,
        char::is_ascii_digit,
        |letter| "!@#$%^&*+~?".contains(*letter),
    ];
    let has = |kind: &fn(&char) -> bool| value.chars().any(|letter| kind(&letter));
    value.len() >= 6
        && !value.contains(char::is_whitespace)
        && kinds.iter().filter(|kind| has(kind)).count() >= 2
        && (kinds[2..].iter().any(has))
}

fn is_short_number(value: &str) -> bool {
    let bare = value.trim_end_matches([',', ';', ')', '}', ']', '.']);
    !bare.is_empty() && bare.len() <= 5 && bare.bytes().all(|byte| byte.is_ascii_digit())
}

/// Stars, dots or crosses, or told to be left out.
pub(super) fn is_masked(value: &str) -> bool {
    let bare = value.trim_matches(['"', '\'', '`', ',', ';', '.', ')']);
    let covers = |letter: char| {
        matches!(
            letter,
            '*' | '•' | '.' | '…' | 'x' | 'X' | '-' | '_' | '#' | '?' | '●' | '█'
        )
    };
    (value.chars().count() >= 3 && value.chars().all(covers))
        || ["xxxx", "XXXX", "***", "•••"].iter().any(|cover| value.contains(cover))
        || bare == super::REDACTED
        // `""` holds nothing.
        || (bare.is_empty() && value.len() >= 2)
        || (bare.len() <= 12 && (value.ends_with("...") || value.ends_with('…')))
}

/// A place where somebody, or something, puts a secret later.
pub(super) fn is_filled_in(value: &str) -> bool {
    if value.starts_with("\"\".") || value.starts_with("''.") {
        return true;
    }
    let bare = value.trim_start_matches(['"', '\'', '`']);
    let lower = bare
        .get(..bare.len().min(40))
        .unwrap_or(bare)
        .to_ascii_lowercase();
    let opens = [
        "<", "{", "[", "(", "$", "%(", "#{", "@{", "%{", "%s", "%d", "%v", "%q", "&", "^", "\\w", "...",
        ".*", ".+", "\\s", "\\d", "!secret", "!ref", "!sub", "!env",
    ];
    let refers = [
        "vault:",
        "op://",
        "arn:aws",
        "env:",
        "env.",
        "file:",
        "secret://",
        "keychain:",
        "ref+",
        "ssm:",
        "enc[",
    ];
    let begins = [
        "your",
        "http://",
        "https://",
        "required",
        "nullable",
        "my-",
        "my_",
        "example",
        "sample",
        "dummy",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "replace",
        "insert-",
        "insert_",
        "enter-",
        "enter_",
        "todo",
        "fixme",
        "redacted",
        "hidden",
        "masked",
        "some-",
        "some_",
        "fake-",
        "fake_",
        "put-",
        "put_",
        "paste",
        "a-secret",
        "not-a-",
    ];
    // `$ecret99` is a password, `$SECRET` and `$secret` are not.
    let dollar = |rest: &str| {
        if !rest.is_empty() && rest.len() <= 2 && rest.bytes().all(|byte| byte.is_ascii_digit()) {
            return true;
        }
        let name = rest.trim_end_matches(['"', '\'', '`', ',', ';', ')', '}', ']']);
        rest.starts_with(['{', '('])
            || (!name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "_:.->?[]$@'\"".contains(letter))
                && !is_random(name)
                && !name.contains(|digit: char| digit.is_ascii_digit()))
    };
    if let Some(rest) = bare.strip_prefix('$') {
        return dollar(rest);
    }
    if let Some(rest) = bare.strip_prefix('%')
        && let Some((name, _)) = rest.split_once('%')
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    {
        return true;
    }
    // `{…}` can be a secret that a program hid its own way.
    if bare
        .strip_prefix('{')
        .is_some_and(|inner| is_random(inner.trim_end_matches('}')))
    {
        return false;
    }
    if bare == "?" || bare == "?," {
        return true;
    }
    let opened = opens.iter().any(|open| {
        lower.starts_with(open)
            && (*open != "&"
                || lower.starts_with("&str")
                || lower.starts_with("&'")
                || lower.starts_with("&mut")
                || lower.starts_with("&self")
                || is_name(&lower[1..]))
    });
    let mentions = [
        "your-",
        "your_",
        "-here",
        "_here",
        "goes-here",
        "${",
        "{{",
        "}}",
        "$(",
        "<your",
    ];
    opened
        || refers.iter().any(|refer| lower.starts_with(refer))
        || begins.iter().any(|begin| lower.starts_with(begin))
        || mentions.iter().any(|mention| lower.contains(mention))
        || is_path(bare)
}

/// `/run/secrets/db`, `./token.txt`, `~/.netrc`: more than one part, each of them words.
fn is_path(value: &str) -> bool {
    let bare = value.trim_end_matches(['"', '\'', '`', ',', ';', ')']);
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| bare.starts_with(root));
    let parts = || bare.split('/').filter(|part| !part.is_empty());
    rooted
        && parts().count() >= 2
        && parts().all(|part| {
            part.len() <= 24
                && !is_random(part)
                && part
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "._-~".contains(letter))
        })
}

/// Words that stand where a value could: of types, of languages, of sentences.
const WORDS: &[&str] = &[
    "string",
    "str",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "float",
    "double",
    "char",
    "text",
    "varchar",
    "bytes",
    "byte",
    "any",
    "unknown",
    "object",
    "undefined",
    "null",
    "none",
    "nil",
    "true",
    "false",
    "void",
    "never",
    "usize",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f64",
    "cstring",
    "secretstring",
    "self",
    "this",
    "super",
    "optional",
    "required",
    "expected",
    "unexpected",
    "missing",
    "invalid",
    "valid",
    "expired",
    "not",
    "is",
    "the",
    "a",
    "an",
    "be",
    "must",
    "should",
    "was",
    "were",
    "are",
    "has",
    "have",
    "had",
    "can",
    "cannot",
    "could",
    "will",
    "would",
    "in",
    "on",
    "of",
    "for",
    "to",
    "from",
    "by",
    "with",
    "without",
    "and",
    "or",
    "if",
    "when",
    "as",
    "at",
    "it",
    "its",
    "that",
    "new",
    "await",
    "async",
    "function",
    "fn",
    "func",
    "lambda",
    "return",
    "typeof",
    "yield",
    "match",
    "let",
    "const",
    "include",
    "same-origin",
    "omit",
    "required,",
    "basic",
    "bearer",
    "oauth",
    "oauth2",
    "jwt",
    "digest",
    "negotiate",
    "inherit",
    "auto",
    "default",
    "enabled",
    "disabled",
    "yes",
    "no",
    "ok",
    "done",
    "failed",
    "success",
    "error",
    "warning",
    "info",
    "see",
    "use",
    "set",
    "get",
    "got",
    "found",
    "either",
    "each",
    "every",
    "only",
    "no-store",
    "hidden",
    "password",
    "email",
    "date",
    "uuid",
    "write",
    "read",
    "array",
    "list",
    "map",
    "dict",
    "date-time",
    "enum",
    "struct",
    "type",
    "class",
    "one",
    "impl",
    "dyn",
    "mut",
    "pub",
    "unsafe",
    "try",
    "please",
    "check",
    "enter",
    "contact",
    "click",
    "forgot",
    "retry",
    "again",
    "provide",
    "what",
    "who",
    "how",
    "why",
    "where",
    "which",
    "there",
    "this",
    "you",
    "your",
    "we",
    "they",
    "all",
    "some",
    "up",
    "down",
    "raise",
    "throw",
    "pass",
    "continue",
    "break",
    "del",
    "print",
    "exit",
    "panic",
    "assert",
    "flag",
    "flags",
    "option",
    "options",
    "argument",
    "parameter",
    "value",
    "values",
    "field",
    "prompt",
    "support",
    "works",
    "does",
    "did",
    "may",
    "might",
    "but",
    "so",
    "then",
    "also",
    "instead",
];

/// What stands close behind `=` is a value, and no article.
fn is_word_of_code(value: &str, written: &Written<'_>) -> bool {
    let bare = value.trim_matches([
        '"', '\'', '`', ',', ';', ')', '}', ']', '?', '|', '.', ':', '>', '*', '{', '!',
    ]);
    let lower = bare.to_ascii_lowercase();
    (written.spaced || bare.len() > 2) && WORDS.contains(&lower.as_str())
}

fn is_name(value: &str) -> bool {
    let mut letters = value
        .trim_end_matches([',', ';', ')', '?', ']', '}', '>'])
        .chars();
    letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Members have no numbers for names, but of one digit: `pair.0`.
fn is_path_of_names(value: &str) -> bool {
    let path = value
        .split(['(', '[', '?', '!', '"', '\''])
        .next()
        .unwrap_or(value);
    let is_number = |part: &str| part.len() > 1 && part.starts_with(|first: char| first.is_ascii_digit());
    !path.split('.').any(is_number)
}

/// `next_token()`, `self.token`, `process.env.X`, `Option<String>`, `request_token;`.
fn is_code(value: &str, written: &Written<'_>) -> bool {
    let head_end = value
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .unwrap_or(value.len());
    let (head, rest) = value.split_at(head_end);
    let bare = value.trim_end_matches([',', ';', ')', '}', ']']);
    let plain_head = head
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        || (!is_random(head)
            && head.len() <= 24
            && head.starts_with(|first: char| first.is_alphabetic())
            && head.contains('_'));
    // A call, an index, a type with parameters, a path, a member.
    if !head.is_empty() && plain_head {
        let follows = ["(", "[", "<", "::", "->", "?.", "!.", "!(", "{", "??", "||", "|"]
            .iter()
            .any(|sign| rest.starts_with(sign));
        if follows && (written.spaced || rest.contains([')', ']', '>']) || rest.starts_with("::")) {
            return true;
        }
        if let Some(member) = rest.strip_prefix('.')
            && member.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && is_path_of_names(bare)
            && bare.split(['.', '(', '[', '?', '!', '"', '\'', ')']).all(|part| {
                !is_random(part)
                    && part
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
            })
            && (written.spaced
                || written.before.contains('(')
                || member.contains(['(', '.'])
                || NAMED
                    .iter()
                    .any(|word| member.to_ascii_lowercase().contains(word)))
        {
            return true;
        }
    }
    // `*next++`, `Read-Host`
    let pointed = value
        .strip_prefix('*')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()));
    let command = bare.split_once('-').is_some_and(|(verb, noun)| {
        is_capital(verb) && noun.starts_with(char::is_uppercase) && noun.chars().all(char::is_alphabetic)
    });
    if written.spaced && (pointed || command) {
        return true;
    }
    // A name that stands for the value.
    if is_name(value) && !value.contains(|letter: char| letter.is_ascii_digit()) {
        let ended = value.len() > bare.len();
        let declared = [
            "let ", "const ", "var ", "val ", "final ", "auto ", "mut ", "self.", "this.", "static ",
        ]
        .iter()
        .any(|word| {
            written
                .before
                .trim_start_matches(|letter: char| !letter.is_alphabetic())
                .contains(word)
        });
        let parts = bare.contains('_') || has_hump(bare);
        let named = NAMED.iter().any(|word| bare.to_ascii_lowercase().contains(word));
        let called = value.ends_with([')', '}']) || (ended && written.before.contains('('));
        return (written.spaced
            && (declared
                || (parts && (named || ended))
                || (named && ended)
                || (named
                    && !bare.eq_ignore_ascii_case("secret")
                    && is_ended(written.after)
                    && (parts
                        || is_capital(bare)
                        || bare == "token"
                        || bare == "password"
                        || bare == "api_key"))))
            || called;
    }
    false
}

/// What a program puts behind a name.
fn is_ended(after: &str) -> bool {
    let after = after.trim_start_matches([' ', '\t']);
    after.is_empty() || after.starts_with(['|', '=', ',', ')', '{', '}', '/', '#', '\n', ';', '?'])
}

const NAMED: &[&str] = &[
    "token",
    "secret",
    "passw",
    "key",
    "pwd",
    "credential",
    "auth",
    "pass",
    "hash",
];

/// `accessToken`: a small letter, then a capital.
fn has_hump(value: &str) -> bool {
    value
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
}

fn is_capital(value: &str) -> bool {
    let mut letters = value.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
}

/// A word that goes on as a sentence. What follows `password:` has to be a word that begins none.
fn is_prose(value: &str, says: Says, written: &Written<'_>) -> bool {
    if !written.spaced || !is_wording(value) {
        return false;
    }
    let line = written.after.split('\n').next().unwrap_or_default();
    let follow = line.split(' ').filter(|word| !word.is_empty());
    let follow = follow
        .take_while(|word| is_wording(word) && !word.ends_with(':'))
        .count();
    !value.ends_with(['.', ';']) && follow >= if says == Says::Password { 3 } else { 2 }
}

/// Letters, and a sign of a sentence behind them.
fn is_wording(word: &str) -> bool {
    let bare = word.trim_matches(['.', ',', ':', ';', '!', '?', '(', ')', '"', '\'', '`']);
    !bare.is_empty()
        && bare
            .chars()
            .all(|letter| letter.is_alphabetic() || matches!(letter, '\'' | '-' | '.'))
}

/// What a person reads: `"password": "Enter your password"`, `"token": "string"`.
fn is_label(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).collect();
    let lower = value.to_ascii_lowercase();
    let [first, others @ ..] = words.as_slice() else {
        return true;
    };
    if others.is_empty() {
        let dotted = value.split('.').count() >= 3
            && value.split('.').all(|part| {
                !part.is_empty() && part.chars().all(|letter| letter.is_alphabetic() || letter == '_')
            });
        // `auth.token`: the name of a text.
        let text = value.split_once('.').is_some_and(|(from, to)| {
            NAMED.iter().any(|word| to.to_ascii_lowercase().contains(word))
                && is_wording(from)
                && is_wording(to)
        });
        let code = value.contains("process.env") || value.contains("os.environ");
        return (lower.len() > 1 && WORDS.contains(&lower.as_str()))
            || is_capital(value)
            || dotted
            || text
            || code
            || value == ":";
    }
    let sentence = words.iter().all(|word| is_wording(word));
    let told = words.iter().any(|word| {
        let word = word
            .trim_matches(|letter: char| !letter.is_alphabetic())
            .to_lowercase();
        (WORDS.contains(&word.as_str()) && (2..9).contains(&word.len()))
            || ["your", "please", "enter"].contains(&word.as_str())
            || NAMED.iter().any(|named| word.contains(named))
    });
    let begins = first.chars().next().is_some_and(char::is_uppercase);
    sentence && (told || begins)
}

/// Words with signs between them: `learn-something-new`, `primary_key`.
pub(super) fn is_wordy(value: &str) -> bool {
    const LONG: usize = 15;
    let parts = || value.split(['-', '_', '.', '/']).filter(|part| !part.is_empty());
    let is_part = |part: &str| {
        let small = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_lowercase());
        (part.len() <= LONG
            && (small(part) || part.get(1..).is_some_and(small))
            && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
            || (part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    parts().count() >= 2 && parts().all(is_part)
}

/// How long a value is at least that chance made.
const RANDOM_BYTES_MIN: usize = 16;

/// A token in the place of a name.
pub(super) fn is_made(word: &str) -> bool {
    let hex = word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.len() >= 20 && (hex || is_random(word))
}

/// Whether a value has the look of chance: no words, and the kind of its letters changes all the time. Names of
/// contents (digests, UUIDs) look so too, and are none.
pub(super) fn is_random(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '`']);
    let looked_at = value.get(..value.len().min(LOOKED_AT_BYTES_MAX)).unwrap_or(value);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~%!@#$^&*:".contains(&byte);
    if looked_at.len() < RANDOM_BYTES_MIN
        || !looked_at.bytes().all(fits)
        || is_digest(value)
        || is_uuid(value)
        || is_wordy(value)
    {
        return false;
    }
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let letters: Vec<u8> = looked_at.bytes().map(kind).filter(|kind| *kind < 3).collect();
    let changes = letters
        .windows(2)
        .filter(|pair| pair.first() != pair.last())
        .count();
    let digits = letters.iter().filter(|kind| **kind == 0).count();
    let signs = looked_at.len() - letters.len();
    let counted = digits * 10 < looked_at.len() * 8;
    counted
        && signs * 4 <= looked_at.len()
        && changes * 10 >= letters.len() * 3
        && (digits > 0 || looked_at.len() >= 24)
}

fn is_digest(value: &str) -> bool {
    let (of, digits) = value.rsplit_once([':', '-', '=']).unwrap_or(("", value));
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = ["sha", "md5", "blake"].iter().any(|name| of.contains(name));
    (hex && [40, 56, 64, 96, 128].contains(&digits.len())) || named
}

fn is_uuid(value: &str) -> bool {
    let parts: Vec<usize> = value.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_told_from_words() {
        for made in ["9fK2mQ7xLr4TzB1c", "a8f3k2l9x0c7v5b1", "dXNlcjpodW50ZXIyMjI="] {
            assert!(is_random(made), "{made}");
        }
        for words in [
            "getUserByIdAndName",
            "primary_key_of_table",
            "linux-cargo-release",
            "550e8400-e29b-41d4-a716-446655440000",
            "2026-11-23T07:00:00Z",
        ] {
            assert!(!is_random(words), "{words}");
        }
    }

    #[test]
    fn a_place_for_a_secret_is_none() {
        for place in [
            "<token>",
            "${TOKEN}",
            "$TOKEN",
            "{{ .Values.token }}",
            "your-api-key",
            "/run/secrets/token",
            "%TOKEN%",
        ] {
            assert!(is_filled_in(place), "{place}");
        }
        for secret in ["$ecret99", "hunter2", "/9fK2mQ7xLr4TzB1c"] {
            assert!(!is_filled_in(secret), "{secret}");
        }
    }
}
