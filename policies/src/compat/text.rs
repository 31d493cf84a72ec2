//! Text as JavaScript sees it: lengths in UTF-16 units, its own idea of white space.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Whether `trim` and `\s` take this for white space: U+FEFF is, U+0085 is not.
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202F}'
            | '\u{205F}'
            | '\u{3000}'
            | '\u{FEFF}'
    )
}

/// Whether `^` and `$` stop here in multi-line patterns.
pub fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Without white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Without white space at the start.
pub fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Without white space at the end.
pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Every run of white space as one blank, none at the ends.
pub fn collapse_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Length in UTF-16 units.
pub fn units(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    // One unit a character, one more for those above the basic plane (four bytes, led by 0xF0 and up). Short
    // chunks fit their count into a byte, which lets many bytes be counted at once.
    const CHUNK: usize = 127;
    let chunks = text.as_bytes().chunks(CHUNK);
    chunks
        .map(|chunk| {
            let count = |sum: u8, byte: &u8| sum + u8::from((*byte as i8) >= -0x40) + u8::from(*byte >= 0xF0);
            usize::from(chunk.iter().fold(0, count))
        })
        .sum()
}

/// The longest start of `text` with at most `limit` units.
pub fn cut_units(text: &str, limit: usize) -> &str {
    &text[..offset_of(text, limit)]
}

/// The longest end of `text` with at most `limit` units.
pub fn last_units(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut left = limit;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        if c.len_utf16() > left {
            break;
        }
        left -= c.len_utf16();
        start = at;
    }
    &text[start..]
}

/// The code points that begin at or after `from` and before `to`, counted in units. Neighbouring ranges share
/// none and miss none, so that pages put together are the whole; a pair that begins in the range is whole.
pub fn units_starting_in(text: &str, from: usize, to: usize) -> &str {
    if to <= from {
        return "";
    }
    &text[first_at_or_after(text, from)..first_at_or_after(text, to)]
}

/// The byte offset of the first code point that begins at or after `position` units.
fn first_at_or_after(text: &str, position: usize) -> usize {
    let offset = offset_of(text, position);
    if offset < text.len() && units(&text[..offset]) < position {
        return offset + text[offset..].chars().next().map_or(0, char::len_utf8);
    }
    offset
}

/// The byte offset of the last code point boundary at or before `limit` units.
fn offset_of(text: &str, limit: usize) -> usize {
    // A byte never makes more than one unit.
    if text.len() <= limit {
        return text.len();
    }
    // Most text is ASCII, and that is found out many bytes at a time.
    let start = &text.as_bytes()[..limit];
    if start.is_ascii() {
        return limit;
    }
    let ascii = start.iter().take_while(|byte| byte.is_ascii()).count();
    let mut left = limit - ascii;
    for (at, c) in text[ascii..].char_indices() {
        if c.len_utf16() > left {
            return ascii + at;
        }
        left -= c.len_utf16();
    }
    text.len()
}

static UNITS_ESCAPED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    )
    .ok()
});

/// JSON in which half a surrogate pair is written, as it may be there, with U+FFFD in its place.
pub fn whole_pairs(json: &str) -> Cow<'_, str> {
    let Some(escapes) = UNITS_ESCAPED.as_ref() else {
        return Cow::Borrowed(json);
    };
    escapes.replace_all(json, |escape: &Captures<'_>| match escape.get(1) {
        Some(_) => r"\uFFFD".to_string(),
        None => escape[0].to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_counts_two_and_is_never_halved() {
        assert_eq!(units("a😀"), 3);
        assert_eq!(cut_units("a😀b", 2), "a");
        assert_eq!(cut_units("a😀b", 3), "a😀");
        assert_eq!(last_units("a😀b", 2), "b");
    }

    #[test]
    fn the_byte_order_mark_is_space_and_nel_is_not() {
        assert_eq!(trim("\u{FEFF} x\u{85}"), "x\u{85}");
    }

    #[test]
    fn limits_beyond_the_end_give_the_whole() {
        assert_eq!(cut_units("漢字", 99), "漢字");
        assert_eq!(last_units("漢字", 99), "漢字");
    }

    proptest::proptest! {
        #[test]
        fn units_agree_with_the_encoder(text in ".*") {
            assert_eq!(units(&text), text.encode_utf16().count());
        }

        #[test]
        fn pages_make_the_whole(text in ".*", size in 1usize..7) {
            let pages = (0..units(&text)).step_by(size);
            let whole: String = pages.map(|at| units_starting_in(&text, at, at + size)).collect();
            assert_eq!(whole, text);
        }

        #[test]
        fn cuts_keep_their_limit(text in ".*", limit in 0usize..40) {
            assert!(units(cut_units(&text, limit)) <= limit);
            assert!(units(last_units(&text, limit)) <= limit);
        }
    }
}
