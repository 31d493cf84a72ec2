//! Values that stand behind a name: `token=…`, `"password": "…"`, `--api-key …`, `<secret>…</secret>`.

use super::names::{ENDINGS, Says, says};
use super::text::{after_space, ahead, is_word, line_before, run, run_back, until};
use super::values::{LOOKED_AT_BYTES_MAX, Written, is_chosen, is_count, is_random, is_secret};
use crate::compat::is_space;
use std::ops::Range;

/// The longest part of a name that is read on either side of its word.
const NAME_BYTES_MAX: usize = 64;
const SPACE_MAX: usize = 64;
const LINE_BYTES_MAX: usize = 160;
const BACKSLASHES_MAX: usize = 7;
/// What is called with a name and a password.
const PAIRS: [&str; 5] = [
    "basic_auth",
    "basicauth",
    "networkcredential",
    "passwordcredential",
    "passwordauthentication",
];

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// `=`, `:`, `:=`, `=>`
    Sign,
    /// `<name>value</name>`
    Element,
    /// `--name value`
    Flag,
    /// `PASSWORD 'value'`, and other values in quotes that nothing else announces.
    Space,
    /// `name is value`
    Is,
}

struct Name<'a> {
    text: &'a str,
    letters: Range<usize>,
    quoted: bool,
}

/// Where the value is that belongs to the name around a word, if it is a secret. `seen` is the end of the last
/// name that was looked at: each is looked at once.
pub(super) fn found(text: &str, word: Range<usize>, seen: &mut usize) -> Option<Range<usize>> {
    if word.start < *seen {
        return None;
    }
    let of_name = |byte: u8| is_word(byte) || matches!(byte, b'-' | b'.');
    let start = run_back(text, word.start, NAME_BYTES_MAX, of_name);
    let end = run(text, word.end, NAME_BYTES_MAX, |byte| {
        is_word(byte) || byte == b'-'
    });
    let end = run_back(text, end, end - word.end, |byte| byte == b'-');
    *seen = end;
    let mut said = says(text.get(start..end)?);
    // `api key: x`
    let spoken = text
        .get(word.clone())
        .is_some_and(|word| word.eq_ignore_ascii_case("key"))
        && text.get(..start).is_some_and(|before| {
            let bytes = before.as_bytes();
            let word = bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default();
            word.eq_ignore_ascii_case(b"api ")
        });
    if spoken && end == word.end {
        said = Says::Secret;
    }
    // `${TOKEN:-x}`, `unexpected token: x`
    let before = text.get(..start)?;
    let spoken_of = ["${", "unexpected ", "expected ", "Unexpected ", "found ", "per "];
    match said {
        Says::Nothing => return None,
        _ if spoken_of.iter().any(|of| before.ends_with(of)) => said = Says::Perhaps,
        _ => {}
    }
    let start = if spoken { start - 4 } else { start };
    // `case "token":` of a program.
    if before.trim_end_matches(['"', '\'']).ends_with("case ") {
        return None;
    }
    let (between, mut at, quoted) = between(text, start, end, said)?;
    // `!!str x`
    if text[at..].starts_with("!!") {
        at = after_space(text, until(text, at, SPACE_MAX, is_space), SPACE_MAX)?;
    }
    let name = Name {
        text,
        letters: start..end,
        quoted,
    };
    // `password: |`, and the value in the line below.
    if between == Between::Sign
        && ["|\n", "|-\n", ">\n", ">-\n", "|+\n", "|2\n"]
            .iter()
            .any(|fold| text[at..].starts_with(fold))
    {
        at = until(text, at, 4, |letter| letter == '\n');
        at = after_space(text, at, SPACE_MAX)?;
    }
    value(&name, at, between, said)
}

/// Reads on from the end of a name to the beginning of its value; says whether the name was in quotes.
fn between(text: &str, start: usize, end: usize, said: Says) -> Option<(Between, usize, bool)> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let before = start.checked_sub(1).and_then(byte);
    if byte(end) == Some(b'>') && (before == Some(b'<') || before == Some(b':')) {
        let close = until(text, end + 1, LOOKED_AT_BYTES_MAX, |letter| {
            letter == '<' || letter == '\n'
        });
        return text[close..]
            .starts_with("</")
            .then_some((Between::Element, end + 1, false));
    }
    let slashes = run(text, end, BACKSLASHES_MAX, |byte| byte == b'\\');
    let quoted = matches!(byte(slashes), Some(b'"' | b'\'' | b'`'));
    let mut at = if quoted { slashes + 1 } else { end };
    if byte(at) == Some(b']') {
        at += 1;
    }
    if !quoted && matches!(byte(at), Some(b'?' | b'!')) && matches!(byte(at + 1), Some(b':')) {
        at += 1;
    }
    // `<string name="token">value</string>`
    if quoted && byte(at) == Some(b'>') {
        let close = until(text, at + 1, LOOKED_AT_BYTES_MAX, |letter| {
            letter == '<' || letter == '\n'
        });
        return text[close..]
            .starts_with("</")
            .then_some((Between::Element, at + 1, false));
    }
    // `token%3Dx`, in addresses within addresses.
    if ["%3D", "%3d", "%3A", "%3a"]
        .iter()
        .any(|sign| text[at..].starts_with(sign))
    {
        return Some((Between::Sign, at + 3, true));
    }
    let signed = after_space(text, at, SPACE_MAX)?;
    // What was there before, as a program asks for it: `Secret Access Key [None]: x`.
    if let Some(asked) = ["[None]:", "[]:"]
        .iter()
        .find(|asked| text[signed..].starts_with(**asked))
    {
        return Some((
            Between::Sign,
            after_space(text, signed + asked.len(), SPACE_MAX)?,
            quoted,
        ));
    }
    let flagged = before == Some(b'-') || text.get(start..end)?.starts_with('-');
    let width = match (byte(signed), byte(signed + 1), byte(signed + 2)) {
        (Some(b'='), Some(b'='), _) | (Some(b':'), Some(b':'), _) | (Some(b'='), Some(b'~'), _) => {
            return None;
        }
        // An arrow stands between a name and a value in some languages, and begins a function in others.
        (Some(b'='), Some(b'>'), _) => 2,
        (Some(b':' | b'?' | b'|'), Some(b'='), _) => 2,
        // `arn:aws:x:secret:name`
        (Some(b':'), Some(next), _) if before == Some(b':') && next != b' ' => 0,
        (Some(b'=' | b':'), ..) => 1,
        _ => 0,
    };
    if width > 0 {
        let arrow = byte(signed + 1) == Some(b'>') && width == 2;
        // `**Password:** x`
        let bold = run(text, signed + width, 3, |byte| byte == b'*');
        let sign_end = if bold > signed + width && byte(bold) == Some(b' ') {
            bold
        } else {
            signed + width
        };
        let value = after_space(text, sign_end, SPACE_MAX)?;
        let stars = run(text, value, 3, |byte| byte == b'*');
        let emphasized = stars == value + 2 && byte(stars).is_some_and(|first| first.is_ascii_alphanumeric());
        let value = if emphasized { stars } else { value };
        let spaced_arrow = arrow
            && !quoted
            && (signed > at || value > signed + width)
            && !matches!(byte(value), Some(b'"' | b'\''));
        return (!spaced_arrow).then_some((Between::Sign, value, quoted));
    }
    if byte(at) == Some(b'(') && in_quotes(text, at + 1).is_some() {
        let (inside, _) = in_quotes(text, at + 1)?;
        let name = text.get(start..end)?.to_ascii_lowercase();
        if PAIRS.iter().any(|pair| name.ends_with(pair)) {
            return Some((Between::Sign, at, true));
        }
        return is_random(text.get(inside)?).then_some((Between::Sign, at + 1, true));
    }
    // `append("X-Api-Key", "x")`, `fill_in 'Password', with: 'x'`
    if quoted
        && byte(at) == Some(b',')
        && let Some(second) = after_space(text, at + 1, SPACE_MAX)
    {
        let with = text[second..].starts_with("with: ");
        let second = if with { second + "with: ".len() } else { second };
        if let Some((inside, _)) = in_quotes(text, second) {
            let value = text.get(inside)?;
            if is_random(value) || (said != Says::Perhaps && is_chosen(value)) {
                return Some((Between::Sign, second, true));
            }
        }
    }
    if let Some(value) = named_value(text, at) {
        return Some((Between::Sign, value, true));
    }
    if signed == at || quoted && !flagged {
        return None;
    }
    if flagged && byte(signed) != Some(b'-') {
        return Some((Between::Flag, signed, quoted));
    }
    // `**Password:** x`, `| API key | x |`, `token -> x`, `.bearer_auth("x")`
    let rest = ahead(text, signed, 8);
    if let Some(told) = ["-> ", "| `", "| "].iter().find(|told| rest.starts_with(**told)) {
        return Some((Between::Is, signed + told.len(), false));
    }
    for is in ["is ", "was ", "is: ", "are "] {
        if rest
            .get(..is.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(is))
        {
            return Some((
                Between::Is,
                after_space(text, signed + is.len(), SPACE_MAX)?,
                false,
            ));
        }
    }
    let of_variable = matches!(said, Says::Secret | Says::Password);
    let next = until(text, signed, LOOKED_AT_BYTES_MAX, is_space);
    let word = text.get(signed..next)?;
    let mixed = said == Says::Password
        && word.len() >= 8
        && !word.contains(['(', '/', '=', ':', '.', '_', '-'])
        && word.contains(|one: char| one.is_ascii_digit())
        && word.contains(char::is_lowercase)
        && word.contains(char::is_uppercase);
    if of_variable && signed == at + 1 && (mixed || is_random(word)) {
        return Some((Between::Flag, signed, false));
    }
    // `WITH PASSWORD 'x'`
    if said == Says::Password && matches!(byte(signed), Some(b'"' | b'\'')) && signed == at + 1 {
        return Some((Between::Space, signed, false));
    }
    // `ENV TOKEN x`, `setx TOKEN x`, `login bob password x`
    let line = line_before(text, start, LINE_BYTES_MAX).trim_start();
    let told = ["ENV ", "ARG ", "setx ", "SETX "].contains(&line);
    let netrc = || {
        let mut from = start.saturating_sub(LINE_BYTES_MAX);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let words: Vec<&str> = text
            .get(from..start)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        words.iter().rev().nth(1) == Some(&"login")
    };
    let directive =
        line.is_empty() && ["requirepass", "masterauth", "masteruser"].contains(&text.get(start..end)?);
    (told || directive || (said == Says::Password && netrc())).then_some((Between::Flag, signed, false))
}

/// `name="TOKEN" value="x"`, `- name: TOKEN\n  value: x`, `{"name": "TOKEN", "value": "x"}`.
fn named_value(text: &str, from: usize) -> Option<usize> {
    let sign = |letter: char| is_space(letter) || matches!(letter, ',' | '"' | '\'' | '\\');
    let at = until(text, from, SPACE_MAX, |letter| !sign(letter));
    let rest = text.get(at..)?;
    let word = ["value", "Value", "VALUE"]
        .iter()
        .find(|word| rest.starts_with(**word))?;
    let at = until(text, at + word.len(), 4, |letter| !sign(letter));
    let sign = *text.as_bytes().get(at)?;
    if !matches!(sign, b':' | b'=') || at == from {
        return None;
    }
    after_space(text, at + 1, SPACE_MAX)
}

/// What is hidden of a value that begins at `at`.
fn value(name: &Name<'_>, at: usize, between: Between, said: Says) -> Option<Range<usize>> {
    let text = name.text;
    let start = name.letters.start;
    let end = name.letters.end;
    let line = line_before(text, start, LINE_BYTES_MAX);
    let gap = text.get(end..at)?;
    let crossed = gap.contains('\n');
    let spaced = gap.ends_with(is_space) && !crossed;
    let shown_from = |of_value: usize| match name.quoted || between != Between::Sign {
        true => of_value,
        false => ending_start(text, &name.letters).unwrap_or(of_value),
    };
    // A list of one, or of more.
    let list = run(text, at, 1, |byte| byte == b'[');
    let is_list = list > at && in_quotes(text, list).is_some();
    let (at, said) = if is_list {
        (list, Says::Perhaps)
    } else {
        (at, said)
    };
    let letters = text.get(name.letters.clone())?.to_ascii_lowercase();
    let pair = letters.ends_with("auth") || PAIRS.iter().any(|pair| letters.ends_with(pair));
    if pair && text[at..].starts_with('(') {
        return of_pair(text, at + 1);
    }
    if let Some((inside, close)) = in_quotes(text, at) {
        // `"old" -> "new"`
        let (inside, close) = match text[close..]
            .starts_with(" -> ")
            .then(|| in_quotes(text, close + 4))
        {
            Some(Some((new, close))) => (inside.start..new.end, close),
            _ => (inside, close),
        };
        let said = if letters == "pass" { Says::Password } else { said };
        let content = text.get(inside.clone())?;
        let written = Written {
            quoted: true,
            spaced,
            before: line,
            after: "",
        };
        let said = if between == Between::Is {
            Says::Perhaps
        } else {
            said
        };
        if !is_secret(content, said, &written) {
            return None;
        }
        let from = shown_from(inside.start);
        return Some(from..if from == inside.start { inside.end } else { close });
    }
    // A quote that the whole was opened with ends it.
    let opened = opened_by(line, name.quoted);
    let is_end = |letter: char| match between {
        Between::Element => letter == '<' || letter == '\n',
        _ if said == Says::Perhaps || name.quoted => {
            is_space(letter) || matches!(letter, '"' | '\'' | '`' | ',' | ';' | '&' | '}' | ']' | '<' | ')')
        }
        _ => is_space(letter) || Some(letter) == opened,
    };
    let looked_at = until(text, at, LOOKED_AT_BYTES_MAX, is_end);
    let content = text.get(at..looked_at)?;
    if content.is_empty() {
        return None;
    }
    // A name whose value is hidden already goes with it.
    if content == super::REDACTED && said != Says::Perhaps && shown_from(at) < start.max(end) {
        return Some(shown_from(at)..looked_at);
    }
    // A scheme goes before what it is for.
    if said != Says::Perhaps
        && ["bearer", "basic", "token", "apikey"]
            .iter()
            .any(|scheme| content.eq_ignore_ascii_case(scheme))
        && !name.quoted
    {
        let next = after_space(text, looked_at, SPACE_MAX)?;
        let end = until(text, next, usize::MAX, is_end);
        let written = Written {
            quoted: false,
            spaced: true,
            before: line,
            after: "",
        };
        let named = text[next..].starts_with(|first: char| first.is_alphanumeric() || "+/_-".contains(first));
        if end > next
            && named
            && is_secret(
                text.get(next..end)?.get(..).unwrap_or_default(),
                Says::Password,
                &written,
            )
        {
            return Some(shown_from(at)..end);
        }
    }
    let written = Written {
        quoted: false,
        spaced,
        before: line,
        after: ahead(text, looked_at, 80),
    };
    let says_now = match between {
        Between::Is => {
            let bare = content.trim_end_matches(['.', ',', '!', ';']);
            let told = bare.len() >= 6
                && bare.contains(|letter: char| letter.is_ascii_digit())
                && bare.contains(|letter: char| letter.is_alphabetic())
                && !bare.contains(['(', '/']);
            return (told && said != Says::Perhaps && is_secret(bare, Says::Password, &written))
                .then_some(at..at + bare.len());
        }
        Between::Flag if !flag_takes(content, &written) => return None,
        _ => said,
    };
    if is_count(content, &written) {
        return None;
    }
    if is_number(content) && (name.quoted || says_now == Says::Perhaps) {
        return None;
    }
    // `pass:x`, of which there is much in reports of tests.
    let mixed = content.len() >= 6
        && content.contains(|letter: char| letter.is_ascii_digit())
        && content.contains(char::is_alphabetic);
    let says_now = match letters == "pass" && mixed && !spaced {
        true => Says::Password,
        false => says_now,
    };
    let nested = content.ends_with(':') || content == "-" || (crossed && content.starts_with("- "));
    if crossed && (nested || goes_on_as_prose(content, written.after)) {
        return None;
    }
    if between == Between::Element && content.trim().is_empty() {
        return None;
    }
    if !is_secret(content, says_now, &written) {
        return None;
    }
    // The rest of a value that is longer than what was looked at goes with it; more than one word make a phrase.
    let phrase = !name.quoted && (letters.ends_with("passphrase") || letters.ends_with("mnemonic"));
    let end = match phrase {
        true => until(text, looked_at, usize::MAX, |letter| letter == '\n'),
        false => until(text, looked_at, usize::MAX, is_end),
    };
    Some(shown_from(at)..end)
}

/// `auth=("name", "password")`
fn of_pair(text: &str, at: usize) -> Option<Range<usize>> {
    let (_, close) = in_quotes(text, at)?;
    let comma = text[close..].starts_with(',').then_some(close + 1)?;
    let second = after_space(text, comma, SPACE_MAX)?;
    let second = if text[second..].starts_with("Some(") {
        second + 5
    } else {
        second
    };
    let (inside, _) = in_quotes(text, second)?;
    let written = Written {
        quoted: true,
        spaced: false,
        before: "",
        after: "",
    };
    is_secret(text.get(inside.clone())?, Says::Password, &written).then_some(inside)
}

/// A word in capitals is what a help text calls a value.
fn flag_takes(content: &str, written: &Written<'_>) -> bool {
    let capitals = content
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let word = content.bytes().all(|byte| byte.is_ascii_lowercase());
    let follows = written.after.trim_start_matches(' ');
    let sentence = word
        && written.after.starts_with(' ')
        && follows
            .split(' ')
            .take(2)
            .filter(|next| next.len() > 1 && next.bytes().all(|byte| byte.is_ascii_lowercase()))
            .count()
            == 2;
    !capitals && !sentence && !content.starts_with(['|', '>', '&', ']', '=', ')', ',', '.', '`'])
}

fn goes_on_as_prose(content: &str, after: &str) -> bool {
    let wording = |word: &str| {
        word.trim_end_matches(['.', ',', ':'])
            .chars()
            .all(char::is_alphabetic)
    };
    wording(content)
        && after.starts_with(' ')
        && after
            .split('\n')
            .next()
            .unwrap_or_default()
            .split(' ')
            .filter(|word| !word.is_empty() && wording(word))
            .count()
            >= 2
}

fn is_number(content: &str) -> bool {
    let bare = content.trim_end_matches([',', ';', '}', ']']);
    bare.parse::<f64>().is_ok() || ["true", "false", "null"].contains(&bare)
}

/// Where the word begins that says by itself that this is a secret: what stands before it may be shown.
fn ending_start(text: &str, name: &Range<usize>) -> Option<usize> {
    let letters = text.get(name.clone())?.as_bytes();
    let ending = ENDINGS.iter().find(|ending| {
        letters
            .len()
            .checked_sub(ending.len())
            .and_then(|at| letters.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
    })?;
    Some(name.end - ending.len())
}

/// The quote that was opened in a line, and not closed, before a name that is in none itself.
fn opened_by(line: &str, quoted: bool) -> Option<char> {
    let mut open = None;
    for letter in line.chars() {
        match open {
            None if matches!(letter, '"' | '\'' | '`') => open = Some(letter),
            Some(quote) if quote == letter => open = None,
            _ => {}
        }
    }
    open.filter(|quote| {
        !quoted && (*quote != '\'' || !line.trim_end_matches(is_space).ends_with(char::is_alphanumeric))
    })
}

/// What stands in quotes, and the end of the closing ones: `"…"`, `'…'`, `\"…\"`, `b"…"`, `@"…"`, `"""…"""`.
fn in_quotes(text: &str, at: usize) -> Option<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let letters = run(text, at, 3, |byte| {
        matches!(
            byte,
            b'b' | b'r' | b'u' | b'f' | b'L' | b'@' | b'#' | b'B' | b'R' | b'U'
        )
    });
    let slashes = run(text, letters, BACKSLASHES_MAX, |byte| byte == b'\\');
    let quote = *bytes.get(slashes)?;
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let depth = slashes - letters;
    let triple = bytes
        .get(slashes..slashes + 3)
        .is_some_and(|three| three.iter().all(|byte| *byte == quote));
    let open = slashes + if triple { 3 } else { 1 };
    let mut escapes = 0;
    for (place, byte) in bytes.iter().enumerate().skip(open) {
        match *byte {
            b'\\' => escapes += 1,
            b'\n' if !triple => return None,
            byte if byte == quote && triple => {
                if bytes
                    .get(place..place + 3)
                    .is_some_and(|three| three.iter().all(|byte| *byte == quote))
                {
                    return Some((open..place, place + 3));
                }
                escapes = 0;
            }
            // A quote with fewer escapes than the one that opened ends a text further out.
            byte if byte == quote && (escapes == depth || (depth == 0 && escapes % 2 == 0)) => {
                return (place > open).then_some((open..place - escapes.min(depth), place + 1));
            }
            byte if byte == quote && escapes < depth => return None,
            _ => escapes = 0,
        }
    }
    None
}
