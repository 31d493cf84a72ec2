//! What a line is called beside its number: letters that say what stands in it.
//!
//! The letters are a hash of the number and of the text without what is at its end and cannot be seen. So an anchor
//! stands for one text in one place: where a line was changed, or another one came to its number, it no longer fits.

use crate::compat::trim_end;
use std::borrow::Cow;
use std::fmt;

/// No vowel, so that no id is a word; every letter of the peer's ids is among them.
const LETTERS: [u8; 21] = *b"BCDFGHJKLMNPQRSTVWXYZ";

/// 21 letters in five places are 4 084 101 ids, 21.96 bits: one stale anchor in four million fits by chance.
pub(super) const ID_LETTERS: usize = 5;

/// The sixteen letters of the peer, two of which are an id of its own.
const PEER_LETTERS: [u8; 16] = *b"ZPMQVRWSNKTXJBYH";

/// Odd, with as many ones as zeros, from the digits of pi.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const SEED: u64 = 0x243F_6A88_85A3_08D3;

/// The letters of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineId([u8; ID_LETTERS]);

impl LineId {
    /// Reads letters that somebody wrote; none where they are not five of ours.
    pub(super) fn read(letters: &[u8]) -> Option<Self> {
        let letters: [u8; ID_LETTERS] = letters.try_into().ok()?;
        let all_ours = letters.iter().all(|letter| LETTERS.contains(letter));
        all_ours.then_some(Self(letters))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        // They are letters of ours, which are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for LineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The letters of the line with this number, which counts from 1.
pub fn line_id(number: u64, text: &str) -> LineId {
    let text = without_what_is_not_seen(text);
    let mut rest = hash(number, text.as_bytes());
    let mut letters = [0; ID_LETTERS];
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(rest % LETTERS.len() as u64) as usize];
        rest /= LETTERS.len() as u64;
    }
    LineId(letters)
}

/// The two letters that the peer would give the line. They hold eight bits: taken where a model still writes them.
pub fn peer_line_id(number: u64, text: &str) -> [u8; 2] {
    let text = without_what_is_not_seen(text);
    // Everything counts in the lowest byte alone, and so it is counted in a byte.
    let begin = (number as u8).wrapping_mul(31);
    let hash = text
        .encode_utf16()
        .fold(begin, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit as u8));
    [
        PEER_LETTERS[usize::from(hash & 15)],
        PEER_LETTERS[usize::from(hash >> 4)],
    ]
}

/// Whether these are letters of the peer's.
pub(super) fn is_peer_id(letters: &[u8]) -> bool {
    letters.len() == 2 && letters.iter().all(|letter| PEER_LETTERS.contains(letter))
}

/// Spaces at the end and carriage returns: a line that differs in them looks the same to whoever wrote the anchor.
fn without_what_is_not_seen(text: &str) -> Cow<'_, str> {
    let text = match text.as_bytes().last() {
        // Most lines end in a letter or a sign, and need no second look.
        Some(last) if last.is_ascii_graphic() => text,
        _ => trim_end(text),
    };
    match memchr::memchr(b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(trim_end(&text.replace('\r', "")).to_string()),
    }
}

fn hash(number: u64, bytes: &[u8]) -> u64 {
    let mut hash = folded(SEED ^ number, FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = folded(hash ^ u64::from_le_bytes(*word), FACTOR);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // With the length, a text and the same text with a NUL behind it are two.
    hash = folded(hash ^ u64::from_le_bytes(last), FACTOR);
    folded(hash ^ bytes.len() as u64, SEED)
}

/// Both halves of the product: each bit of either side is in each bit of it.
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_does_not_count() {
        let plain = line_id(3, "let x = 1;");
        for text in [
            "let x = 1; ",
            "let x = 1;\t\t",
            "let x = 1;\r",
            "let x = 1;\u{FEFF}",
            "let\r x = 1; \r",
        ] {
            assert_eq!(line_id(3, text), plain, "{text:?}");
        }
        assert_ne!(line_id(3, " let x = 1;"), plain);
        assert_ne!(line_id(4, "let x = 1;"), plain);
        assert_ne!(line_id(3, "let x = 1;\0"), plain);
    }

    /// What the peer cannot tell from each other: equal text 256 lines apart, letters that differ by 256.
    #[test]
    fn what_the_peer_takes_for_one_are_two() {
        assert_eq!(peer_line_id(1, "x"), peer_line_id(257, "x"));
        assert_ne!(line_id(1, "x"), line_id(257, "x"));
        assert_eq!(peer_line_id(7, "A"), peer_line_id(7, "Ł"));
        assert_ne!(line_id(7, "A"), line_id(7, "Ł"));
    }

    /// Anchors are written into conversations that are resumed later: the same text has the same id in every version.
    #[test]
    fn ids_stay_as_they_are() {
        let ids =
            [(1, ""), (1, "fn main() {"), (42, "日本"), (100_000, "}")].map(|(n, text)| line_id(n, text));
        assert_eq!(ids.map(|id| id.to_string()), ["HBBRB", "SYZPV", "BJLDS", "LNNCR"]);
    }

    /// A line is edited and its old anchor is used: of ten million such anchors fewer than one in a million fit.
    /// The lines are as alike as lines of programs are: one letter, one digit, two words exchanged.
    #[test]
    fn a_stale_anchor_fits_less_than_once_in_a_million() {
        let (mut stale, mut fits) = (0_u64, 0_u64);
        for number in 1..=1_200_u64 {
            let text = |change: u64| match change % 4 {
                0 => format!("    let value_{change} = table[{number}];"),
                1 => format!("    let value_{number} = table[{change}];"),
                2 => format!("{}}}", " ".repeat(change as usize)),
                _ => format!("    call({change}, {number});"),
            };
            let ids: Vec<LineId> = (0..60).map(|change| line_id(number, &text(change))).collect();
            for (at, id) in ids.iter().enumerate() {
                stale += (ids.len() - at - 1) as u64;
                fits += ids[at + 1..].iter().filter(|other| *other == id).count() as u64;
            }
        }
        assert!(stale > 2_000_000);
        assert!(fits as f64 / (stale as f64) < 1e-6, "{fits} of {stale}");
    }
}
