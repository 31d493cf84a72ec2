//! Keys in PEM and PGP armour, whole or cut off at either end.

use super::text::{run, run_back};
use memchr::memmem;
use std::ops::Range;

pub(super) const BEGIN: &str = "-----BEGIN ";
pub(super) const END: &str = "-----END ";
const DASHES: &str = "-----";
/// `OPENSSH PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`
const LABEL_BYTES_MAX: usize = 64;
/// A line of base64 in a block that was cut off is at least so long, unless it is the last one.
const LINE_BYTES_MIN: usize = 16;

/// The block that begins here, with its marks if it ends.
pub(super) fn found(text: &str, at: usize) -> Option<Range<usize>> {
    let body = body_of(text, at, BEGIN)?;
    let rest = text.get(body..)?;
    let next = memmem::find(rest.as_bytes(), DASHES.as_bytes()).map(|next| body + next);
    if let Some(next) = next
        && let Some(end) = body_of(text, next, END)
    {
        return Some(at..end);
    }
    Some(at..end_of_lines(text, body, next.unwrap_or(text.len())))
}

/// What stands before an end without a beginning, not before `least`.
pub(super) fn found_before(text: &str, at: usize, least: usize) -> Option<Range<usize>> {
    let end = body_of(text, at, END)?;
    let mut from = at;
    while from > least {
        let line_end = run_back(text, from, from - least, is_between);
        let start = run_back(text, line_end, line_end - least, is_base64);
        // `\n` in a string: its letter is one of base64 too.
        let start = match text.as_bytes().get(start.wrapping_sub(1)) {
            Some(b'\\') if start > least && text.as_bytes().get(start) == Some(&b'n') => start + 1,
            _ => start,
        };
        let short = line_end.saturating_sub(start) < LINE_BYTES_MIN && from != at;
        if start >= line_end || short {
            // The beginning of a line that was cut off.
            if start < line_end && start == least {
                from = start;
            }
            break;
        }
        from = start;
    }
    Some(from..end)
}

/// The end of `-----BEGIN X PRIVATE KEY-----`, if that stands here.
fn body_of(text: &str, at: usize, mark: &str) -> Option<usize> {
    let from = at + mark.len();
    if text.get(at..from)? != mark {
        return None;
    }
    let end = run(text, from, LABEL_BYTES_MAX, |byte| {
        byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'/'
    });
    let label = text.get(from..end)?;
    let secret = label.contains("PRIVATE KEY") || label.contains("Static key");
    let dashes = run(text, end, DASHES.len(), |byte| byte == b'-');
    (secret && (dashes == end + DASHES.len() || dashes == text.len())).then_some(dashes)
}

/// Lines of base64 and of headers (`Proc-Type: 4,ENCRYPTED`), from `from` on.
fn end_of_lines(text: &str, from: usize, most: usize) -> usize {
    let mut at = from;
    loop {
        let start = run(text, at, most - at, is_between);
        let end = run(text, start, most - start, is_base64);
        if end == start {
            return at;
        }
        let header = text.as_bytes().get(end) == Some(&b':')
            || text.get(start..end).is_some_and(|word| word.contains('-'));
        if header {
            at = run(text, end, most - end, |byte| byte != b'\n' && byte != b'\\');
            continue;
        }
        // The line that was cut, or prose behind it.
        if end - start < LINE_BYTES_MIN && (end < most || at == from) && !ends_a_line(text, end) {
            return at;
        }
        at = end;
    }
}

fn ends_a_line(text: &str, at: usize) -> bool {
    matches!(
        text.as_bytes().get(at),
        None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'')
    )
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-')
}

/// White space, escapes, and what strings, lists and quotations put around lines.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'\\' | b'"' | b'\'' | b',' | b'>' | b'|' | b';' | b'.' | b'('
        )
}
