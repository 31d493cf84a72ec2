//! `12#KXVTB`: a line that somebody read and means.

use super::ids::{LineId, is_peer_id, line_id, peer_line_id};
use crate::compat::trim;
use std::fmt;

/// A line as it was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Its number, from 1; a number that no file has is as large as can be.
    pub line: u64,
    /// What stood in it.
    pub id: AnchorId,
}

/// What stood in a line, as far as letters say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorId {
    /// Five letters, as they are shown here.
    Ours(LineId),
    /// Two, as the peer shows them.
    Peers([u8; 2]),
}

impl Anchor {
    /// The anchor of a line.
    pub fn of(line: u64, text: &str) -> Self {
        Self {
            line,
            id: AnchorId::Ours(line_id(line, text)),
        }
    }

    /// Reads what somebody wrote: a number, `#`, five letters of ours or two of the peer's, and nothing else.
    pub fn read(text: &str) -> Option<Self> {
        let (number, letters) = trim(text).split_once('#')?;
        if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let line = number.parse().unwrap_or(u64::MAX);
        let id = match letters.as_bytes() {
            [one, other] if is_peer_id(letters.as_bytes()) => AnchorId::Peers([*one, *other]),
            letters => AnchorId::Ours(LineId::read(letters)?),
        };
        Some(Self { line, id })
    }

    /// Whether this is what stands in its line.
    pub fn fits(&self, text: &str) -> bool {
        match self.id {
            AnchorId::Ours(id) => id == line_id(self.line, text),
            AnchorId::Peers(id) => id == peer_line_id(self.line, text),
        }
    }
}

impl fmt::Display for AnchorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(id) => id.fmt(f),
            Self::Peers([one, other]) => write!(f, "{}{}", char::from(*one), char::from(*other)),
        }
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.line, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_read_as_it_is_written() {
        let anchor = Anchor::of(12, "fn main() {");
        assert_eq!(Anchor::read(&anchor.to_string()), Some(anchor));
        assert_eq!(Anchor::read(&format!(" 0{anchor}\n")), Some(anchor));
        assert!(anchor.fits("fn main() {  "));
        assert!(!anchor.fits("fn main() { }"));
    }

    #[test]
    fn the_two_letters_of_the_peer_are_understood() {
        let anchor = Anchor::read("1#QY").expect("an anchor");
        assert_eq!(anchor.id, AnchorId::Peers(*b"QY"));
        assert!(anchor.fits("abc"));
        assert_eq!(anchor.to_string(), "1#QY");
    }

    #[test]
    fn what_is_no_anchor_is_none() {
        for text in [
            "",
            "1",
            "1#",
            "1#Z",
            "1#ZPM",
            "1#ZPMQ",
            "1#AEIOU",
            "1#zpmqv",
            "1#ZPMQV|x",
            "-1#ZPMQV",
            "1#ZPMQVR",
        ] {
            assert_eq!(Anchor::read(text), None, "{text:?}");
        }
        assert_eq!(
            Anchor::read("99999999999999999999999#ZPMQV").map(|anchor| anchor.line),
            Some(u64::MAX)
        );
    }
}
