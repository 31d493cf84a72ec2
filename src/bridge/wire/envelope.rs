//! JSON-RPC 2.0 around the messages. Bodies stay unparsed until somebody knows their type.

use super::DEPTH_MAX;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The id of a request, as its sender chose it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageId {
    /// What both sides use.
    Number(u64),
    /// What JSON-RPC allows as well; answered alike.
    Text(String),
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// The codes an error can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// Not JSON.
    Parse,
    /// JSON, but no JSON-RPC message.
    InvalidRequest,
    /// No such method.
    UnknownMethod,
    /// The parameters do not fit the method.
    InvalidParams,
    /// Something broke on the side that answers.
    Internal,
    /// The runtime says no and tells why; `data` holds `{code, hint}`.
    Refused,
    /// Too early: `hello` comes first. Or too late: it is stopping.
    NotReady,
    /// A line above the limit was thrown away.
    LineTooLong,
    /// Nesting above the limit.
    TooDeep,
    /// Too many requests wait already.
    Busy,
    /// No protocol version is spoken by both sides.
    NoCommonVersion,
    /// The host has nobody to ask, or another session is open.
    NobodyThere,
    /// A model call failed; `data` holds a `ModelError`.
    Model,
    /// The request was cancelled by its sender.
    Cancelled,
}

impl ErrorCode {
    /// Every code, for documentation and tests.
    pub const ALL: [Self; 14] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::UnknownMethod,
        Self::InvalidParams,
        Self::Internal,
        Self::Refused,
        Self::NotReady,
        Self::LineTooLong,
        Self::TooDeep,
        Self::Busy,
        Self::NoCommonVersion,
        Self::NobodyThere,
        Self::Model,
        Self::Cancelled,
    ];

    /// The number on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::UnknownMethod => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::Refused => -32001,
            Self::NotReady => -32002,
            Self::LineTooLong => -32003,
            Self::TooDeep => -32004,
            Self::Busy => -32005,
            Self::NoCommonVersion => -32006,
            Self::NobodyThere => -32007,
            Self::Model => -32008,
            Self::Cancelled => -32800,
        }
    }
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// One of [`ErrorCode`], or something a newer host says.
    pub code: i32,
    /// For a person.
    pub message: String,
    /// For a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<serde_json::Value>>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.number(),
            message: message.into(),
            data: None,
        }
    }

    /// The same with data for a program.
    pub fn with_data(self, data: serde_json::Value) -> Self {
        Self {
            data: Some(Box::new(data)),
            ..self
        }
    }
}

/// One line, sorted by what it is.
#[derive(Debug)]
pub enum Envelope<'line> {
    /// Wants an answer.
    Call {
        /// To answer with.
        id: MessageId,
        /// What is asked.
        method: Cow<'line, str>,
        /// Unparsed.
        params: Option<&'line RawValue>,
    },
    /// Wants none.
    Notify {
        /// What is said.
        method: Cow<'line, str>,
        /// Unparsed.
        params: Option<&'line RawValue>,
    },
    /// Answers a request of ours.
    Answer {
        /// The id we chose; none when the other side could not read the request at all.
        id: Option<MessageId>,
        /// The result or why there is none.
        outcome: Result<&'line RawValue, ErrorObject>,
    },
}

#[derive(Deserialize)]
struct Members<'line> {
    #[serde(borrow)]
    jsonrpc: Cow<'line, str>,
    #[serde(default)]
    id: Option<MessageId>,
    #[serde(borrow, default)]
    method: Option<Cow<'line, str>>,
    #[serde(borrow, default)]
    params: Option<&'line RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'line RawValue>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

/// Keeps a `null` apart from nothing.
fn present<'line, D: Deserializer<'line>>(deserializer: D) -> Result<Option<&'line RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line. An error is what the sender is answered with, and the id to answer to where it could be read.
pub fn read_envelope(line: &[u8]) -> Result<Envelope<'_>, (Option<MessageId>, ErrorObject)> {
    if is_deeper_than(line, DEPTH_MAX) {
        let message = format!("read a line nested deeper than {DEPTH_MAX} levels");
        return Err((None, ErrorObject::new(ErrorCode::TooDeep, message)));
    }
    let members: Members<'_> = serde_json::from_slice(line).map_err(|error| (None, unreadable(&error)))?;
    if members.jsonrpc != "2.0" {
        let message = "read a message whose jsonrpc is not \"2.0\"";
        return Err((members.id, ErrorObject::new(ErrorCode::InvalidRequest, message)));
    }
    sort(members)
}

fn sort(members: Members<'_>) -> Result<Envelope<'_>, (Option<MessageId>, ErrorObject)> {
    let Members {
        id,
        method,
        params,
        result,
        error,
        ..
    } = members;
    match (method, id, result, error) {
        (Some(method), Some(id), None, None) => Ok(Envelope::Call { id, method, params }),
        (Some(method), None, None, None) => Ok(Envelope::Notify { method, params }),
        (None, id, Some(result), None) => Ok(Envelope::Answer {
            id,
            outcome: Ok(result),
        }),
        (None, id, None, Some(error)) => Ok(Envelope::Answer {
            id,
            outcome: Err(error),
        }),
        (_, id, _, _) => {
            let message = "read a message that is neither a request nor an answer";
            Err((id, ErrorObject::new(ErrorCode::InvalidRequest, message)))
        }
    }
}

fn unreadable(error: &serde_json::Error) -> ErrorObject {
    match error.classify() {
        serde_json::error::Category::Data => ErrorObject::new(
            ErrorCode::InvalidRequest,
            format!("read the line as a JSON-RPC message: {error}"),
        ),
        _ => ErrorObject::new(ErrorCode::Parse, format!("read the line as JSON: {error}")),
    }
}

/// Counts brackets outside of strings; long strings are skipped at the speed of `memchr`.
fn is_deeper_than(line: &[u8], depth_max: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => at = end_of_string(line, at + 1),
            b'{' | b'[' => {
                depth += 1;
                if depth > depth_max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    false
}

/// The place of the quote that ends a string whose first character is at `from`, or the end of the line.
fn end_of_string(line: &[u8], mut from: usize) -> usize {
    while let Some(rest) = line.get(from..) {
        let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
            return line.len();
        };
        if rest.get(found) == Some(&b'"') {
            return from + found;
        }
        from += found + 2;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(line: &str) -> i32 {
        read_envelope(line.as_bytes())
            .expect_err("must be refused")
            .1
            .code
    }

    #[test]
    fn a_line_that_is_not_json_is_a_parse_error() {
        assert_eq!(code_of("hello there"), ErrorCode::Parse.number());
        assert_eq!(
            code_of(r#"{"jsonrpc":"2.0","id":1,"method":"x""#),
            ErrorCode::Parse.number()
        );
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        assert_eq!(code_of("[]"), ErrorCode::InvalidRequest.number());
        assert_eq!(code_of("17"), ErrorCode::InvalidRequest.number());
        assert_eq!(
            code_of(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#),
            ErrorCode::InvalidRequest.number()
        );
        assert_eq!(
            code_of(r#"{"jsonrpc":"2.0","id":1}"#),
            ErrorCode::InvalidRequest.number()
        );
    }

    #[test]
    fn brackets_in_strings_are_not_depth() {
        let text = "[".repeat(1000) + r#"\"["#;
        let line = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"text":"{text}"}}}}"#);
        assert!(matches!(
            read_envelope(line.as_bytes()),
            Ok(Envelope::Notify { .. })
        ));
    }

    #[test]
    fn nesting_above_the_limit_is_refused_without_recursion() {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"x","params":{}"#,
            "[".repeat(1_000_000)
        );
        assert_eq!(code_of(&line), ErrorCode::TooDeep.number());
    }

    #[test]
    fn a_null_result_is_an_answer() {
        let line = br#"{"jsonrpc":"2.0","id":1,"result":null}"#;
        assert!(matches!(
            read_envelope(line),
            Ok(Envelope::Answer { outcome: Ok(_), .. })
        ));
    }

    #[test]
    fn codes_are_distinct() {
        let mut numbers: Vec<i32> = ErrorCode::ALL.iter().map(|code| code.number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ErrorCode::ALL.len());
    }
}
