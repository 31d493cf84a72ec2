//! Secrets that are known by where they stand: in addresses, in headers, behind `IDENTIFIED BY`.

use super::text::{after_space, ahead, is_word, line_before, run, run_back, until};
use super::values::{LOOKED_AT_BYTES_MAX, is_filled_in, is_made, is_masked, is_random};
use crate::compat::is_space;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `scheme://user:password@host`
    Address,
    /// `Bearer x`
    Bearer,
    /// `Basic dXNlcjpwYXNz`
    Basic,
    /// `Authorization: scheme x`
    Authorization,
    /// `Cookie: a=b`
    Cookie,
    /// `?sig=x`
    Parameter,
    /// What stands behind it is the secret.
    Webhook,
    /// `MTk4….Gh3….x`
    Bot,
    /// `IDENTIFIED BY 'x'`
    Identified,
    /// `$2b$10$…`
    Crypt,
    /// `host:5432:database:user:password`
    PasswordFile,
    /// `"d":"…"` of a JSON Web Key
    WebKey,
    /// `user:password@tcp(host)`
    Socket,
    /// `Private-Lines: 14`
    Putty,
    /// `"AC…", "x"`: an account, and what opens it.
    Account,
    /// `Client("x")`, where `x` can only be made by chance.
    Client,
    /// `jdbc:oracle:thin:user/x@host`
    Oracle,
    /// `echo x | sudo -S`
    Piped,
}

use Place::{
    Account, Address, Authorization, Basic, Bearer, Bot, Client, Cookie, Crypt, Identified, Oracle,
    Parameter, PasswordFile, Piped, Putty, Socket, WebKey, Webhook,
};

pub(super) const SIGNS: [(&str, Place); 47] = [
    ("://", Address),
    ("bearer", Bearer),
    ("basic", Basic),
    ("authorization", Authorization),
    ("cookie", Cookie),
    ("key=", Parameter),
    ("sig=", Parameter),
    ("signature=", Parameter),
    ("auth=", Parameter),
    ("session=", Parameter),
    ("sessionid=", Parameter),
    ("code=", Parameter),
    ("assertion=", Parameter),
    ("hooks.slack.com/services/", Webhook),
    ("hooks.slack.com/workflows/", Webhook),
    ("hooks.slack.com/triggers/", Webhook),
    ("discord.com/api/webhooks/", Webhook),
    ("discordapp.com/api/webhooks/", Webhook),
    ("webhook.office.com/webhookb2/", Webhook),
    ("hooks.zapier.com/hooks/catch/", Webhook),
    ("api.telegram.org/bot", Webhook),
    ("open.feishu.cn/open-apis/bot/v2/hook/", Webhook),
    (".g", Bot),
    (".x", Bot),
    (".y", Bot),
    ("identified by", Identified),
    ("$2a$", Crypt),
    ("$2b$", Crypt),
    ("$2y$", Crypt),
    ("$5$", Crypt),
    ("$6$", Crypt),
    (":5432:", PasswordFile),
    ("\"d\":", WebKey),
    ("\"p\":", WebKey),
    ("\"q\":", WebKey),
    ("\"dp\":", WebKey),
    ("\"dq\":", WebKey),
    ("\"qi\":", WebKey),
    ("@tcp(", Socket),
    ("\"d\" :", WebKey),
    ("private-lines:", Putty),
    ("\"ac", Account),
    ("'ac", Account),
    ("client(", Client),
    ("clientv2(", Client),
    ("jdbc:oracle:thin:", Oracle),
    ("| sudo -s", Piped),
];

/// How much of an address is read for its user.
const USER_BYTES_MAX: usize = 256;
const AUTHORITY_BYTES_MAX: usize = 1024;
const SPACE_MAX: usize = 64;

/// What a decision is made on, and, once it is made, the end of all of it: so what is left is read once only.
fn decided_on<'a>(
    text: &'a str,
    from: usize,
    is_end: impl Fn(char) -> bool + 'a,
) -> (&'a str, impl FnOnce() -> usize + 'a) {
    let looked_at = until(text, from, LOOKED_AT_BYTES_MAX, &is_end);
    let beginning = text.get(from..looked_at).unwrap_or_default();
    (beginning, move || until(text, looked_at, usize::MAX, is_end))
}

pub(super) fn found(text: &str, at: Range<usize>, place: Place) -> Option<Range<usize>> {
    match place {
        Address => in_address(text, at.start, at.end),
        Bearer => bearer(text, &at),
        Basic => basic(text, &at),
        Authorization => authorization(text, &at),
        Cookie => cookie(text, &at),
        Parameter => parameter(text, &at),
        Webhook => {
            let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"_-/:@.%".contains(letter);
            let (secret, end) = decided_on(text, at.end, is_end);
            let made = secret.len() >= 16 && secret.contains(|digit: char| digit.is_ascii_digit());
            (made && !is_masked(secret)).then(|| at.end..end())
        }
        Bot => bot(text, at.start),
        Identified => {
            let from = after_space(text, at.end, SPACE_MAX)?;
            let quote = text[from..]
                .chars()
                .next()
                .filter(|quote| matches!(quote, '"' | '\''))?;
            let end = until(text, from + 1, 512, |letter| letter == quote || letter == '\n');
            let secret = text.get(from + 1..end)?;
            (!is_masked(secret) && !is_filled_in(secret) && !secret.is_empty()).then_some(from + 1..end)
        }
        Crypt => {
            let end = run(text, at.end, usize::MAX, |byte| {
                byte.is_ascii_alphanumeric() || b"./$=".contains(&byte)
            });
            (end - at.end >= 40).then_some(at.start..end)
        }
        PasswordFile => {
            let part = |from: usize| {
                let end = until(text, from, 64, |letter| letter == ':' || is_space(letter));
                (text.as_bytes().get(end) == Some(&b':') && end > from).then_some(end + 1)
            };
            let from = part(part(at.end)?)?;
            let end = until(text, from, usize::MAX, is_space);
            (end > from).then_some(from..end)
        }
        WebKey => {
            let from = after_space(text, at.end, SPACE_MAX)?;
            let from = text[from..].starts_with('"').then_some(from + 1)?;
            let end = run(text, from, usize::MAX, |byte| is_word(byte) || byte == b'-');
            (end - from >= 40).then_some(from..end)
        }
        Socket => {
            let sign = |byte: u8| byte.is_ascii_graphic() && !b"\"'`=".contains(&byte);
            let from = run_back(text, at.start, USER_BYTES_MAX, sign);
            let colon = text.get(from..at.start)?.find(':')?;
            let secret = text.get(from + colon + 1..at.start)?;
            (!secret.is_empty() && !is_masked(secret) && !is_filled_in(secret))
                .then_some(from + colon + 1..at.start)
        }
        Putty => {
            let from = until(text, at.end, 16, |letter| letter == '\n');
            let end = run(text, from, usize::MAX, |byte| {
                byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte)
            });
            // The last of it may be the name of the next field.
            let tail = run_back(text, end, end - from, |byte| byte != b'\n');
            let end = if text
                .as_bytes()
                .get(end)
                .is_some_and(|byte| matches!(byte, b'-' | b':'))
            {
                tail
            } else {
                end
            };
            (end > from + 1).then_some(from + 1..end)
        }
        Account => account(text, at.end),
        Client => {
            let from = at.end + 1;
            let end = run(text, from, LOOKED_AT_BYTES_MAX, is_word);
            let word = text.get(from..end)?;
            let quoted = text[at.end..].starts_with(['"', '\'']) && text[end..].starts_with(['"', '\'']);
            (quoted && word.len() >= 32 && !word.starts_with("AC") && is_made(word)).then_some(from..end)
        }
        Oracle => {
            let user = until(text, at.end, USER_BYTES_MAX, |letter| {
                is_space(letter) || matches!(letter, '/' | '@' | '"')
            });
            let end = until(text, user, USER_BYTES_MAX, |letter| {
                is_space(letter) || matches!(letter, '@' | '"')
            });
            let secret = text.get(user + 1..end)?;
            let told = text[user..].starts_with('/') && text[end..].starts_with('@');
            (told && !secret.is_empty() && !is_masked(secret) && !is_filled_in(secret))
                .then_some(user + 1..end)
        }
        Piped => {
            let line = line_before(text, at.start, SPACE_MAX * 2).trim_end();
            let said = line.find("echo ").map(|echo| echo + "echo ".len())?;
            let word = line
                .get(said..)?
                .trim_start_matches("-n ")
                .trim_matches(['"', '\'']);
            let from = text.get(..at.start)?.rfind(word)?;
            (!word.is_empty() && !is_masked(word) && !is_filled_in(word) && !word.starts_with('$'))
                .then(|| from..from + word.len())
        }
    }
}

/// 32 letters behind an account of 32 letters, each in quotes.
fn account(text: &str, from: usize) -> Option<Range<usize>> {
    const LETTERS: usize = 32;
    let hex = |from: usize| {
        let end = run(text, from, LETTERS + 1, |byte| byte.is_ascii_hexdigit());
        (end - from == LETTERS && text[end..].starts_with(['"', '\''])).then_some(end)
    };
    let comma = hex(from)? + 1;
    let quote = after_space(
        text,
        text[comma..].starts_with(',').then_some(comma + 1)?,
        SPACE_MAX,
    )?;
    let secret = quote + 1;
    let end = hex(secret)?;
    text[quote..].starts_with(['"', '\'']).then_some(secret..end)
}

fn in_address(text: &str, colon: usize, from: usize) -> Option<Range<usize>> {
    if !text[..colon].ends_with(|before: char| before.is_ascii_alphanumeric()) {
        return None;
    }
    let is_end = |letter: char| is_space(letter) || matches!(letter, '"' | '\'' | '`' | '<' | '>' | '\\');
    let user = until(text, from, USER_BYTES_MAX, |letter| {
        (is_end(letter) && letter != '\\') || matches!(letter, ':' | '@' | '/' | '?' | '#')
    });
    let bytes = text.as_bytes();
    if bytes.get(user) == Some(&b'@') {
        let name = text.get(from..user)?;
        return is_made(name).then_some(from..user);
    }
    if bytes.get(user) != Some(&b':') {
        return None;
    }
    let password = user + 1;
    let whole = ahead(text, password, AUTHORITY_BYTES_MAX);
    let whole = whole.get(
        ..until(whole, 0, usize::MAX, |letter| {
            is_space(letter) || matches!(letter, '"' | '`')
        }),
    )?;
    let host = whole.find(['/', '?', '#']).unwrap_or(whole.len());
    let authority = whole.get(..host)?;
    let end = match authority.rfind('@') {
        Some(end) => end,
        // A port, and then a path with an `@` in it.
        None if authority.bytes().all(|byte| byte.is_ascii_digit()) => return None,
        None => {
            let end = whole.find('@')?;
            // Signs that should have been written as `%2F`; a path has more of them.
            (end <= 64 && !whole.get(..end)?.contains("//")).then_some(end)?
        }
    };
    let secret = whole.get(..end)?;
    let filled = is_masked(secret) || is_filled_in(secret) || secret.is_empty() || secret == super::REDACTED;
    // Both halves can be made by chance.
    let user = text.get(from..user)?;
    let start = if is_made(user) { from } else { password };
    (!filled || start == from).then_some(start..password + end)
}

/// Words that follow `Bearer` where it is spoken of.
const SPOKEN_OF: [&str; 60] = [
    "token",
    "tokens",
    "token.",
    "token,",
    "auth",
    "authentication",
    "authorization",
    "is",
    "of",
    "scheme",
    "realm",
    "error",
    "scope",
    "format",
    "prefix",
    "type",
    "header",
    "headers",
    "only",
    "and",
    "or",
    "with",
    "in",
    "for",
    "if",
    "the",
    "to",
    "must",
    "schema",
    "security",
    "mode",
    "based",
    "middleware",
    "strategy",
    "challenge",
    "credentials",
    "flow",
    "jwt",
    "jwts",
    "not",
    "required",
    "was",
    "has",
    "value",
    "should",
    "can",
    "from",
    "missing",
    "either",
    "here",
    "access",
    "key",
    "keys",
    "method",
    "methods",
    "login",
    "as",
    "are",
    "api",
    "tokenization",
];

fn bearer(text: &str, at: &Range<usize>) -> Option<Range<usize>> {
    let from = after_space(text, at.end, SPACE_MAX)?;
    // `Bearer%20x`, in addresses.
    let from = match from == at.end && text[from..].starts_with("%20") {
        true => from + 3,
        false if from == at.end => return None,
        false => from,
    };
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"_.~+/-".contains(letter);
    let (secret, end) = decided_on(text, from, is_end);
    let word = secret.trim_end_matches(['.', '-']);
    if word.is_empty() || is_masked(secret) || is_filled_in(secret) {
        return None;
    }
    let spoken_of = SPOKEN_OF.iter().any(|of| word.eq_ignore_ascii_case(of))
        || ahead(text, from + secret.len(), 2) == "=\"";
    if spoken_of {
        return None;
    }
    let exact = text.get(at.clone())? == "Bearer";
    let own = text[..at.start]
        .chars()
        .next_back()
        .is_none_or(|before| !before.is_alphanumeric() && before != '_');
    (exact && own || is_token(secret)).then(|| at.start..run(text, end(), usize::MAX, |byte| byte == b'='))
}

/// Long, or with a digit in it: not a word of prose.
fn is_token(text: &str) -> bool {
    const LONG: usize = 20;
    text.len() >= LONG || (text.len() >= 6 && text.bytes().any(|byte| byte.is_ascii_digit()))
}

fn basic(text: &str, at: &Range<usize>) -> Option<Range<usize>> {
    let from = after_space(text, at.end, SPACE_MAX)?;
    if from == at.end {
        return None;
    }
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"+/".contains(letter);
    let (secret, end) = decided_on(text, from, is_end);
    (secret.len() >= 6 && is_credentials(secret)).then(|| at.start..run(text, end(), 2, |byte| byte == b'='))
}

/// Base64 of printable ASCII with a colon in it.
fn is_credentials(text: &str) -> bool {
    let mut bits = 0u32;
    let mut held = 0u32;
    let mut colon = false;
    for byte in text.bytes() {
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

/// A scheme stays: it says what kind of login was refused.
fn authorization(text: &str, at: &Range<usize>) -> Option<Range<usize>> {
    let quote = |at: usize| run(text, at, 9, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b'`'));
    let sign = after_space(text, quote(at.end), SPACE_MAX)?;
    let sign = match text.as_bytes().get(sign) {
        Some(b']') => after_space(text, sign + 1, SPACE_MAX)?,
        _ => sign,
    };
    if !matches!(text.as_bytes().get(sign), Some(b':' | b'=' | b',')) {
        return None;
    }
    let from = quote(after_space(text, sign + 1, SPACE_MAX)?);
    let scheme_end = run(text, from, 24, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'-'
    });
    let scheme = text.get(from..scheme_end)?.to_ascii_lowercase();
    let known = [
        "bearer",
        "basic",
        "token",
        "digest",
        "negotiate",
        "apikey",
        "aws4-hmac-sha256",
        "sharedkey",
        "oauth",
        "dpop",
        "key",
        "splunk",
        "genie-key",
        "bot",
        "ssws",
    ]
    .contains(&scheme.as_str());
    let is_end = |letter: char| is_space(letter) || matches!(letter, '"' | '\'' | '`' | '\\');
    let value = after_space(text, scheme_end, SPACE_MAX)?;
    if known && value > scheme_end {
        let to_line = ["digest", "aws4-hmac-sha256", "oauth"].contains(&scheme.as_str());
        let (secret, end) = decided_on(text, value, |letter| match to_line {
            true => letter == '\n',
            false => is_end(letter) || (scheme == "bearer" && matches!(letter, ',' | ';' | ')' | '}')),
        });
        let spoken = SPOKEN_OF
            .iter()
            .any(|of| secret.trim_end_matches('.').eq_ignore_ascii_case(of))
            || secret.starts_with("realm=");
        let from = if scheme == "bearer" { from } else { value };
        return (!secret.is_empty()
            && !spoken
            && !is_masked(secret)
            && !is_filled_in(secret)
            && secret.starts_with(|first: char| first.is_alphanumeric() || "/+_-".contains(first))
            && !secret.starts_with("+ "))
        .then(|| from..end());
    }
    let (secret, end) = decided_on(text, from, is_end);
    let code = secret.contains('(') || secret.contains('.') && !is_random(secret);
    let token =
        is_token(secret) && !code && !is_masked(secret) && !is_filled_in(secret) && secret != super::REDACTED;
    token.then(|| from..end())
}

fn cookie(text: &str, at: &Range<usize>) -> Option<Range<usize>> {
    let quote = |at: usize| run(text, at, 9, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let sign = quote(at.end);
    if text.as_bytes().get(sign) != Some(&b':')
        || text[..at.start].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    {
        return None;
    }
    let blank = run(text, sign + 1, SPACE_MAX, |byte| byte == b' ' || byte == b'\t');
    let from = quote(blank);
    let opened = line_before(text, at.start, 160)
        .chars()
        .rev()
        .find(|letter| matches!(letter, '"' | '\''));
    let close = if from > blank {
        text[blank..from].chars().next_back()
    } else {
        opened
    };
    let (pair, end) = decided_on(text, from, |letter| {
        matches!(letter, '\n' | '\r') || Some(letter) == close
    });
    let (name, value) = pair.split_once('=')?;
    let named = !name.is_empty()
        && name.len() <= 256
        && !name.contains(|letter: char| is_space(letter) || letter == ';');
    (named && !value.is_empty() && !is_masked(value) && !is_filled_in(value) && value != super::REDACTED)
        .then(|| {
            let end = end();
            from..run_back(text, end, end - from, |byte| byte == b'\\')
        })
}

fn parameter(text: &str, at: &Range<usize>) -> Option<Range<usize>> {
    let start = run_back(text, at.start, 32, |byte| is_word(byte) || byte == b'-');
    if !text[..start].ends_with(['?', '&'])
        && !text[..start].ends_with("&amp;")
        && !text[..start].ends_with("\\u0026")
    {
        return None;
    }
    let is_end = |letter: char| {
        is_space(letter) || matches!(letter, '&' | '#' | '"' | '\'' | '`' | '<' | '>' | ')' | '\\')
    };
    let (secret, end) = decided_on(text, at.end, is_end);
    let name = text.get(start..at.end)?.to_ascii_lowercase();
    // A key or a code may be that of a map, or of an error; a signature is one of its own.
    let sure = name.contains("sig")
        || name.contains("auth")
        || name.contains("session")
        || name.contains("api")
        || name == "key=";
    let hidden = match sure {
        true => {
            secret.len() >= 2
                && !secret.bytes().all(|byte| byte.is_ascii_digit())
                && !(name == "key=" && secret.len() < 16)
        }
        false => is_random(secret),
    };
    (hidden && !is_masked(secret) && !is_filled_in(secret)).then(|| at.end..end())
}

/// Three parts, the first the digits of an account in base64: what Discord gives to bots.
fn bot(text: &str, dot: usize) -> Option<Range<usize>> {
    let letter = |byte: u8| is_word(byte) || byte == b'-';
    let from = run_back(text, dot, 32, letter);
    let first = text.get(from..dot)?;
    if !(23..=30).contains(&first.len()) || !first.starts_with(['M', 'N', 'O']) {
        return None;
    }
    let second = run(text, dot + 1, 8, letter);
    if second - dot - 1 != 6 || text.as_bytes().get(second) != Some(&b'.') {
        return None;
    }
    let third = run(text, second + 1, usize::MAX, letter);
    (third - second > 27).then_some(from..third)
}
