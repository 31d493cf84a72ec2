//! Names of things that live longer than one process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use ts_rs::TS;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS: usize = 9;
const RANDOM_DIGITS: usize = 7;

/// A run, for ever. Sixteen characters that sort by time of acceptance: nine of milliseconds, seven of chance.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
#[ts(type = "string")]
pub struct RunId(String);

impl RunId {
    /// Names a run accepted at `unix_ms`; `chance` tells apart those of one millisecond.
    pub fn new(unix_ms: u64, chance: u64) -> Self {
        let mut text = String::with_capacity(TIME_DIGITS + RANDOM_DIGITS);
        push_digits(&mut text, unix_ms, TIME_DIGITS);
        push_digits(&mut text, chance, RANDOM_DIGITS);
        Self(text)
    }

    /// This id as text, safe in a path and in an environment variable.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn push_digits(text: &mut String, value: u64, digits: usize) {
    for place in (0..digits).rev() {
        let digit = (value >> (5 * place)) & 31;
        text.push(char::from(ALPHABET[digit as usize]));
    }
}

/// Why a text is not a [`RunId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a run id has 16 characters of 0-9 and a-z, got {0:?}")]
pub struct RunIdError(pub String);

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        let right_length = text.len() == TIME_DIGITS + RANDOM_DIGITS;
        if right_length && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(text))
        } else {
            Err(RunIdError(text.chars().take(40).collect()))
        }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> String {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message to a run, for ever: `m` and eight characters of chance.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
#[ts(type = "string")]
pub struct MessageId(String);

const MESSAGE_DIGITS: usize = 8;

impl MessageId {
    /// Names a message by `chance`.
    pub fn new(chance: u64) -> Self {
        let mut text = "m".to_string();
        push_digits(&mut text, chance, MESSAGE_DIGITS);
        Self(text)
    }

    /// This id as text, safe in a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is not a [`MessageId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the id of a message is an m and 8 characters of 0-9 and a-z, got {0:?}")]
pub struct MessageIdError(pub String);

impl TryFrom<String> for MessageId {
    type Error = MessageIdError;

    fn try_from(text: String) -> Result<Self, MessageIdError> {
        let digits = text.strip_prefix('m').unwrap_or_default();
        let is_one = digits.len() == MESSAGE_DIGITS && digits.bytes().all(|byte| ALPHABET.contains(&byte));
        match is_one {
            true => Ok(Self(text)),
            false => Err(MessageIdError(text.chars().take(40).collect())),
        }
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> String {
        id.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One session of a host, as the host names it (in Pi: its session id).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(transparent)]
#[schemars(inline)]
#[ts(type = "string")]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which try inside a run this is, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptNumber(pub u32);

impl fmt::Display for AttemptNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_sort_by_time_of_acceptance() {
        let earlier = RunId::new(1_795_251_600_000, u64::MAX);
        let later = RunId::new(1_795_251_600_001, 0);
        assert!(earlier < later);
    }

    #[test]
    fn a_run_id_survives_its_text() {
        let id = RunId::new(1_795_251_600_000, 42);
        assert_eq!(RunId::try_from(id.to_string()), Ok(id));
    }

    #[test]
    fn the_id_of_a_message_survives_its_text_and_nothing_else_is_one() {
        let id = MessageId::new(u64::MAX);
        assert_eq!(MessageId::try_from(id.to_string()), Ok(id));
        for other in ["", "m", "m0000000", "x00000000", "m../../ab", "m000000000"] {
            assert!(MessageId::try_from(other.to_string()).is_err(), "{other}");
        }
    }

    #[test]
    fn path_characters_make_no_run_id() {
        assert!(RunId::try_from("../../etc/passwd".to_string()).is_err());
    }
}
