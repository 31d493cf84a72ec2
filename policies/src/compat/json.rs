//! JSON as JavaScript reads and writes it.
//!
//! Differs from `serde_json` where files of peers need it: keys keep their order, but for those that are whole
//! numbers, which come first and ascend; a number too large is infinite rather than an error, half a surrogate pair is read as U+FFFD, and nesting has no limit for the
//! reader. What lies deeper than [`DEPTH_MAX`] is checked but read as null, so nothing here can exhaust a stack.

use super::number_text;
use std::collections::BTreeMap;

/// How deep values are kept.
const DEPTH_MAX: usize = 96;
/// The keys of an object with fewer entries are looked through one by one.
const SMALL_OBJECT: usize = 16;

/// A JSON value with its keys in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number, as a double.
    Number(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object; of two equal keys the first gives the place and the last the value.
    Object(Vec<(String, Json)>),
}

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {what} at line {line}, column {column}")]
pub struct JsonError {
    /// What was wrong.
    pub what: &'static str,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Json {
    /// Reads exactly one value; white space may stand around it.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let mut reader = Reader { text, at: 0 };
        let value = reader
            .document()
            .map_err(|what| position(text, reader.at, what))?;
        Ok(value)
    }

    /// Reads one object that starts at the first byte, and says where it ends; whatever follows is ignored.
    pub fn parse_start(text: &str) -> Option<(Self, usize)> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value().ok()?;
        Some((value, reader.at))
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Json::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The entries in order, if this is an object.
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// What `typeof` says, with arrays named as such.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null | Json::Object(_) => "object",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
        }
    }

    /// `JSON.stringify(value)`.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write(self, None, 0, &mut out);
        out
    }

    /// `JSON.stringify(value, null, 2)`.
    pub fn to_pretty(&self) -> String {
        let mut out = String::new();
        write(self, Some(2), 0, &mut out);
        out
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(flag) => Json::Bool(*flag),
            serde_json::Value::Number(number) => Json::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Json::String(text.clone()),
            serde_json::Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            serde_json::Value::Object(map) => Json::Object(
                map.iter()
                    .map(|(key, value)| (key.clone(), Json::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<&Json> for serde_json::Value {
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(flag) => serde_json::Value::Bool(*flag),
            Json::Number(number) => number_value(*number),
            Json::String(text) => serde_json::Value::String(text.clone()),
            Json::Array(items) => serde_json::Value::Array(items.iter().map(Self::from).collect()),
            Json::Object(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// `String(value)`.
pub fn string_of(value: &Json) -> String {
    match value {
        Json::Null => "null".to_string(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => number_text(*number),
        Json::String(text) => text.clone(),
        Json::Object(_) => "[object Object]".to_string(),
        Json::Array(items) => {
            let shown = items.iter().map(|item| match item {
                Json::Null => String::new(),
                item => string_of(item),
            });
            shown.collect::<Vec<_>>().join(",")
        }
    }
}

fn number_value(number: f64) -> serde_json::Value {
    const SAFE: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= SAFE {
        return serde_json::Value::from(number as i64);
    }
    serde_json::Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

fn position(text: &str, at: usize, what: &'static str) -> JsonError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    JsonError { what, line, column }
}

/// Looks at all of them, which is quicker than to stop at the first.
fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |found, byte| found | (*byte < 0x20))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// A container that was opened and not yet closed.
enum Open {
    Array(Vec<Json>),
    Object(ObjectBuilder),
}

#[derive(Default)]
struct ObjectBuilder {
    entries: Vec<(String, Json)>,
    /// Where the keys of an object with many of them stand; those of a small one are looked through.
    places: BTreeMap<String, usize>,
    key: String,
}

impl ObjectBuilder {
    fn put(&mut self, value: Json) {
        let key = std::mem::take(&mut self.key);
        match self.place_of(&key) {
            Some(place) => self.entries[place].1 = value,
            None => self.entries.push((key, value)),
        }
    }

    fn place_of(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() < SMALL_OBJECT {
            return self.entries.iter().position(|(known, _)| known == key);
        }
        let unplaced = self.entries.iter().enumerate().skip(self.places.len());
        self.places
            .extend(unplaced.map(|(place, (known, _))| (known.clone(), place)));
        self.places.get(key).copied()
    }

    /// The entries in their order: those with an index for a key first.
    fn finish(mut self) -> Vec<(String, Json)> {
        if self.entries.iter().any(|(key, _)| index_of(key).is_some()) {
            self.entries
                .sort_by_key(|(key, _)| index_of(key).unwrap_or(u32::MAX));
        }
        self.entries
    }
}

/// The number of a key that is written like an index of an array.
fn index_of(key: &str) -> Option<u32> {
    let plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
    if !plain {
        return None;
    }
    key.parse().ok().filter(|index| *index < u32::MAX)
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Json, &'static str> {
        let value = self.value()?;
        self.skip_space();
        if self.at < self.text.len() {
            Err("text after the value")
        } else {
            Ok(value)
        }
    }

    /// One value, without recursion: open containers are on a stack of our own.
    fn value(&mut self) -> Result<Json, &'static str> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let mut value = match self.peek() {
                Some(b'[') => {
                    self.at += 1;
                    self.skip_space();
                    if !self.take(b']') {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    Json::Array(Vec::new())
                }
                Some(b'{') => {
                    self.at += 1;
                    self.skip_space();
                    if !self.take(b'}') {
                        let key = self.key()?;
                        open.push(Open::Object(ObjectBuilder {
                            key,
                            ..ObjectBuilder::default()
                        }));
                        continue;
                    }
                    Json::Object(Vec::new())
                }
                _ => self.scalar()?,
            };
            // Close as many containers as end here.
            loop {
                let depth = open.len();
                let Some(container) = open.last_mut() else {
                    return Ok(value);
                };
                if depth > DEPTH_MAX {
                    value = Json::Null;
                }
                self.skip_space();
                let (goes_on, closes) = match container {
                    Open::Array(items) => {
                        items.push(value);
                        (self.take(b','), self.take(b']'))
                    }
                    Open::Object(object) => {
                        object.put(value);
                        let goes_on = self.take(b',');
                        if goes_on {
                            self.skip_space();
                            object.key = self.key()?;
                        }
                        (goes_on, !goes_on && self.take(b'}'))
                    }
                };
                if goes_on && !closes {
                    break;
                }
                if !closes || goes_on {
                    return Err("expected a comma or the end of the container");
                }
                value = match open.pop() {
                    Some(Open::Array(items)) => Json::Array(items),
                    Some(Open::Object(object)) => Json::Object(object.finish()),
                    None => return Err("nothing is open"),
                };
            }
        }
    }

    fn key(&mut self) -> Result<String, &'static str> {
        if self.peek() != Some(b'"') {
            return Err("expected a key in double quotes");
        }
        let key = self.string()?;
        self.skip_space();
        if self.take(b':') {
            Ok(key)
        } else {
            Err("expected a colon")
        }
    }

    fn scalar(&mut self) -> Result<Json, &'static str> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err("expected a value"),
            None => Err("the text ends where a value should be"),
        }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, &'static str> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err("expected a value")
        }
    }

    fn number(&mut self) -> Result<Json, &'static str> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err("a number needs a digit");
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err("a number needs a digit after the point");
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err("a number needs a digit in its exponent");
            }
        }
        self.text[start..self.at]
            .parse()
            .map(Json::Number)
            .map_err(|_| "not a number")
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, &'static str> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let end = memchr::memchr2(b'"', b'\\', rest);
            let plain = &rest[..end.unwrap_or(rest.len())];
            if has_control(plain) {
                self.at += plain.iter().take_while(|byte| **byte >= 0x20).count();
                return Err("a control character stands in a string");
            }
            let Some(end) = end else {
                return Err("a string is not closed");
            };
            out.push_str(&self.text[self.at..self.at + end]);
            self.at += end;
            if rest[end] == b'"' {
                self.at += 1;
                return Ok(out);
            }
            self.escape(&mut out)?;
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), &'static str> {
        self.at += 1;
        let Some(kind) = self.peek() else {
            return Err("a string is not closed");
        };
        self.at += 1;
        let plain = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                out.push(self.code_point(first));
                return Ok(());
            }
            _ => {
                self.at -= 1;
                return Err("an unknown escape");
            }
        };
        out.push(plain);
        Ok(())
    }

    fn hex(&mut self) -> Result<u16, &'static str> {
        let digits = self
            .text
            .as_bytes()
            .get(self.at..self.at + 4)
            .ok_or("an escape needs four digits")?;
        let mut value = 0u16;
        for digit in digits {
            let digit = char::from(*digit)
                .to_digit(16)
                .ok_or("an escape needs four digits")?;
            value = value * 16 + digit as u16;
        }
        self.at += 4;
        Ok(value)
    }

    /// Joins a pair; half a pair becomes U+FFFD.
    fn code_point(&mut self, first: u16) -> char {
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            if let Ok(second) = self.hex()
                && (0xDC00..0xE000).contains(&second)
            {
                let scalar = 0x1_0000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                return char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = back;
        }
        char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }
}

fn write(value: &Json, indent: Option<usize>, depth: usize, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) if number.is_finite() => out.push_str(&number_text(*number)),
        Json::Number(_) => out.push_str("null"),
        Json::String(text) => write_string(text, out),
        Json::Array(items) if items.is_empty() => out.push_str("[]"),
        Json::Object(entries) if entries.is_empty() => out.push_str("{}"),
        Json::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                begin_item(place, indent, depth, out);
                write(item, indent, depth + 1, out);
            }
            end_items(indent, depth, out);
            out.push(']');
        }
        Json::Object(entries) => {
            out.push('{');
            for (place, (key, item)) in entries.iter().enumerate() {
                begin_item(place, indent, depth, out);
                write_string(key, out);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write(item, indent, depth + 1, out);
            }
            end_items(indent, depth, out);
            out.push('}');
        }
    }
}

fn begin_item(place: usize, indent: Option<usize>, depth: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
    end_items(indent, depth + 1, out);
}

fn end_items(indent: Option<usize>, depth: usize, out: &mut String) {
    if let Some(width) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            0..=0x1F => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_the_last_value() {
        let value = Json::parse(r#"{"b":1,"a":2,"b":3}"#).unwrap();
        assert_eq!(value.to_text(), r#"{"b":3,"a":2}"#);
    }

    #[test]
    fn keys_that_are_indexes_come_first() {
        let value = Json::parse(r#"{"b":1,"10":2,"01":3,"2":4,"a":5,"4294967295":6}"#).unwrap();
        assert_eq!(
            value.to_text(),
            r#"{"2":4,"10":2,"b":1,"01":3,"a":5,"4294967295":6}"#
        );
    }

    #[test]
    fn a_key_said_again_in_a_large_object_is_found() {
        for count in [SMALL_OBJECT - 1, SMALL_OBJECT, SMALL_OBJECT + 1, 100] {
            let entries: Vec<_> = (0..count).map(|at| format!("\"k{at}\":0")).collect();
            let text = format!("{{{},\"k3\":1,\"k3\":2}}", entries.join(","));
            let value = Json::parse(&text).unwrap();
            assert_eq!(value.as_object().map(<[_]>::len), Some(count));
            assert_eq!(value.get("k3"), Some(&Json::Number(2.0)));
        }
    }

    #[test]
    fn numbers_too_large_are_infinite() {
        assert_eq!(Json::parse("1e999"), Ok(Json::Number(f64::INFINITY)));
        assert!(Json::parse("[01]").is_err());
    }

    #[test]
    fn pairs_join_and_halves_are_replaced() {
        assert_eq!(
            Json::parse(r#""\ud83d\ude00\ud83d""#),
            Ok(Json::String("😀\u{FFFD}".into()))
        );
        assert_eq!(
            Json::parse(r#""\ud83d\u0041""#),
            Ok(Json::String("\u{FFFD}A".into()))
        );
    }

    #[test]
    fn a_deep_nest_is_read_without_a_deep_stack() {
        let text = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(Json::parse(&text).is_ok());
        assert!(Json::parse(&text[..200_001]).is_err());
    }

    #[test]
    fn an_error_says_where() {
        let error = Json::parse("{\n  \"a\": nope }").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
    }

    #[test]
    fn pretty_text_reads_back() {
        let value = Json::parse(r#"{"a":[1,{"b":[]}],"c":{},"d":"\u0001\n\""}"#).unwrap();
        assert_eq!(Json::parse(&value.to_pretty()), Ok(value.clone()));
        assert!(
            value
                .to_pretty()
                .starts_with("{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = Json::parse(&text);
        }

        #[test]
        fn agrees_with_serde_json_on_what_is_json(text in r#"[\[\]{}:,"a\\0-9.eE+\- tf]{0,24}"#) {
            let ours = Json::parse(&text).is_ok();
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let overflow = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
            proptest::prop_assert!(overflow || ours == theirs.is_ok(), "{text:?}");
        }
    }
}
