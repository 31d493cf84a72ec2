//! Where do the bytes on the disk differ from those that were written?

use crate::compat::{cut_units, last_units, units};

/// So much is shown on each side of the first difference.
const WINDOW_UNITS: usize = 80;

/// The first difference. Places are counted from 1 and in UTF-16 units, as the host counts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// In which line.
    pub line: u64,
    /// Which character of it.
    pub column: u64,
    /// How much of the text is the same, from 0.
    pub offset: u64,
    /// What was to be there, from 80 units before it to 80 behind it.
    pub intended: String,
    /// What is there.
    pub actual: String,
}

/// Compares; none where both are the same.
pub fn first_difference(intended: &[u8], actual: &[u8]) -> Option<Difference> {
    if intended == actual {
        return None;
    }
    let (intended, actual) = (String::from_utf8_lossy(intended), String::from_utf8_lossy(actual));
    let pairs = intended.chars().zip(actual.chars());
    let same: usize = pairs
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one.len_utf8())
        .sum();
    let before = &intended[..same];
    let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
    let window = |text: &str| {
        let (head, tail) = text.split_at(same);
        format!(
            "{}{}",
            last_units(head, WINDOW_UNITS),
            cut_units(tail, WINDOW_UNITS)
        )
    };
    Some(Difference {
        line: before.matches('\n').count() as u64 + 1,
        column: units(&before[line_begin..]) as u64 + 1,
        offset: units(before) as u64,
        intended: window(&intended),
        actual: window(&actual),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_its_place() {
        assert_eq!(first_difference(b"a\nb", b"a\nb"), None);
        let difference =
            first_difference("l1\n日本語".as_bytes(), "l1\n日本人".as_bytes()).expect("a difference");
        assert_eq!((difference.line, difference.column, difference.offset), (2, 3, 5));
        let long = first_difference(&[b'q'; 500], &[b'q'; 300]).expect("a difference");
        assert_eq!(
            (long.offset, long.intended.len(), long.actual.len()),
            (300, 160, 80)
        );
        assert!(first_difference(b"\xFF", b"\xFE").is_some());
    }
}
