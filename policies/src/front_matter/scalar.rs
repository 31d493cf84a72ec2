//! What is a scalar: a text, or something that only looks like one?

use super::{Refusal, TagName, is_plain, tag_name};
use crate::compat::number_text;
use granit_parser::{ScalarStyle, Tag};
use regex::Regex;
use std::sync::LazyLock;

/// A scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A text.
    Text(String),
    /// `null`, `~`, or nothing written.
    Nothing,
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A moment, or bytes: something nobody asks for here.
    Else(String),
    /// `<<`
    Merge,
}

impl Value {
    /// As the name of an entry.
    pub(super) fn as_key(&self) -> String {
        match self {
            Value::Text(text) | Value::Else(text) => text.clone(),
            Value::Nothing => "null".to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(number) => number_text(*number),
            Value::Merge => "<<".to_string(),
        }
    }
}

/// Takes a scalar for what it is. What is quoted or in a block is a text, unless a tag says otherwise.
pub(super) fn value_of(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, Refusal> {
    let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
    if !quoted && text.chars().any(is_unprintable) {
        return Err("a character stands here that cannot be printed");
    }
    // Nothing written is no text either; in quotes it is one.
    let nothing = is_plain(style) && text.is_empty();
    match tag.map(tag_name) {
        None if is_plain(style) => Ok(implicit(text)),
        None | Some(TagName::Plain) => Ok(Value::Text(text.to_string())),
        Some(TagName::Core(name)) => tagged(&name, text, nothing).ok_or("the value is not what its tag says"),
        Some(TagName::Foreign) => Err("a tag that is not known here"),
    }
}

fn tagged(name: &str, text: &str, nothing: bool) -> Option<Value> {
    match name {
        "str" => Some(Value::Text(text.to_string())),
        "null" if nothing => Some(Value::Nothing),
        "null" => null(text),
        "bool" => flag(text),
        "int" => whole(text),
        "float" => float(text),
        "timestamp" => moment(text),
        "merge" => (text == "<<" || nothing).then_some(Value::Merge),
        "binary" => is_base64(text).then(|| Value::Else(text.to_string())),
        _ => None,
    }
}

fn implicit(text: &str) -> Value {
    if text.is_empty() {
        return Value::Nothing;
    }
    if text == "<<" {
        return Value::Merge;
    }
    let value = null(text)
        .or_else(|| flag(text))
        .or_else(|| whole(text))
        .or_else(|| float(text))
        .or_else(|| moment(text));
    value.unwrap_or_else(|| Value::Text(text.to_string()))
}

fn null(text: &str) -> Option<Value> {
    matches!(text, "~" | "null" | "Null" | "NULL").then_some(Value::Nothing)
}

fn flag(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => Some(Value::Flag(true)),
        "false" | "False" | "FALSE" => Some(Value::Flag(false)),
        _ => None,
    }
}

/// Decimal, `0b`, `0x`, with a leading zero octal, or in parts of sixty; `_` may stand between digits.
fn whole(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let number = match digits.as_bytes() {
        [b'0'] => 0.0,
        [b'0', b'b', rest @ ..] => in_base(rest, 2)?,
        [b'0', b'x', rest @ ..] => in_base(rest, 16)?,
        [b'0', rest @ ..] => in_base(rest, 8)?,
        [b'1'..=b'9', ..] => match digits.split_once(':') {
            None => in_base(digits.as_bytes(), 10)?,
            Some((first, rest)) => {
                let sixties = rest.split(':').map(sixtieth);
                let first = in_base(first.as_bytes(), 10)?;
                sixties
                    .into_iter()
                    .try_fold(first, |sum, part| Some(sum * 60.0 + part?))?
            }
        },
        _ => return None,
    };
    Some(Value::Number(sign * number + 0.0))
}

fn in_base(digits: &[u8], base: u32) -> Option<f64> {
    let (mut number, mut any) = (0.0, false);
    for digit in digits.iter().filter(|digit| **digit != b'_') {
        number = number * f64::from(base) + f64::from(char::from(*digit).to_digit(base)?);
        any = true;
    }
    (any && !digits.ends_with(b"_")).then_some(number)
}

/// `0` to `59`.
fn sixtieth(part: &str) -> Option<f64> {
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    let number: u8 = part.parse().ok().filter(|_| digits && part.len() <= 2)?;
    (number < 60).then(|| f64::from(number))
}

static FLOAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?",
        r"|\.[0-9_]+(?:[eE][-+]?[0-9]+)?",
        r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*",
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    ))
    .ok()
});

fn float(text: &str) -> Option<Value> {
    if !FLOAT.as_ref()?.is_match(text) || text.ends_with('_') {
        return None;
    }
    // Only told apart from other keys by it; a float in parts of sixty is as good as any.
    let plain = text.replace('_', "").to_ascii_lowercase();
    Some(Value::Number(
        plain
            .replace(".inf", "inf")
            .replace(".nan", "nan")
            .parse()
            .unwrap_or(0.5),
    ))
}

static MOMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}",
        r"|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?",
        r"(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?)$",
    ))
    .ok()
});

fn moment(text: &str) -> Option<Value> {
    MOMENT
        .as_ref()?
        .is_match(text)
        .then(|| Value::Else(text.to_string()))
}

fn is_base64(text: &str) -> bool {
    let mut count = 0;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => count += 1,
            b'=' => {}
            _ => return false,
        }
        if byte == b'=' {
            count += 1;
        }
    }
    count % 4 == 0
}

fn is_unprintable(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{7F}'..='\u{84}' | '\u{86}'..='\u{9F}'
        | '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_only_look_like_something_else() {
        let texts = [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "08",
            "0o17",
            "+.5",
            "1:60",
            "0:5",
            "00:05",
            "1_",
            "0x",
            "0xg",
            "1e",
            "_1",
            "2024-1-1",
            "2024-01-01 x",
            "190:20:30x",
            "-.nan",
            "TrUe",
            "nUll",
            "1.2.3",
            "anthropic/claude-3-5-haiku",
        ];
        for text in texts {
            assert_eq!(implicit(text), Value::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn what_is_no_text() {
        let others = [
            "~",
            "Null",
            "TRUE",
            "5",
            "-0",
            "1_000",
            "1__0",
            "0b101",
            "017",
            "-0x1F",
            "190:20:30",
            "1:30",
            "-1:30",
            "1.5:30x",
        ];
        for text in &others[..others.len() - 1] {
            assert!(!matches!(implicit(text), Value::Text(_)), "{text}");
        }
        let floats = [
            "1e3",
            "-2E+3",
            ".5",
            "5.",
            "685.230_15e+03",
            "12e03",
            ".inf",
            "-.INF",
            ".NaN",
            "190:20:30.15",
        ];
        for text in floats {
            assert!(matches!(implicit(text), Value::Number(_)), "{text}");
        }
        let moments = [
            "2024-01-01",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14 21:59:43.10 -5",
            "2024-1-1 1:00:00",
        ];
        for text in moments {
            assert!(matches!(implicit(text), Value::Else(_)), "{text}");
        }
    }

    #[test]
    fn numbers_are_what_they_say() {
        assert_eq!(whole("0x1F"), Some(Value::Number(31.0)));
        assert_eq!(whole("017"), Some(Value::Number(15.0)));
        assert_eq!(whole("1:30"), Some(Value::Number(90.0)));
        assert_eq!(whole("-0b11"), Some(Value::Number(-3.0)));
        assert_eq!(float("1_0.5"), Some(Value::Number(10.5)));
    }
}
