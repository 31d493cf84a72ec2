//! Where does a text stand in a file?

use super::snapshot::Snapshot;
use memchr::memmem::Finder;
use std::borrow::Cow;

/// How often a text stands somewhere, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatches {
    /// How often, no two of them sharing a byte; two where that is once and it stands there again, shifted.
    pub count: u64,
    /// The bytes at which the first of them begin, at most as many as were asked for.
    pub first: Vec<usize>,
}

/// Finds a text, which must not be empty, in time that grows with the length of both.
pub fn find_text(haystack: &[u8], text: &[u8], first_max: usize) -> TextMatches {
    let finder = Finder::new(text);
    let mut found = TextMatches {
        count: 0,
        first: Vec::new(),
    };
    if text.is_empty() {
        return found;
    }
    for at in finder.find_iter(haystack) {
        found.count += 1;
        if found.first.len() < first_max {
            found.first.push(at);
        }
    }
    // `aa` stands in `aaa` twice, and nobody knows which of them is meant.
    if let ([only], 1) = (found.first.as_slice(), found.count)
        && let Some(shift) = finder.find(&haystack[only + 1..])
    {
        found.count = 2;
        if first_max > 1 {
            found.first.push(only + 1 + shift);
        }
    }
    found
}

/// The text of a file with every line end a newline, so that a text is found whatever the lines end with.
pub(super) struct PlainText<'a> {
    text: Cow<'a, [u8]>,
    snapshot: &'a Snapshot<'a>,
    /// Where each line begins in the text; empty where that is where it begins in the file.
    begins: Vec<usize>,
}

impl<'a> PlainText<'a> {
    pub(super) fn of(snapshot: &'a Snapshot<'a>) -> Self {
        let (from, count) = (snapshot.begin_of(0), snapshot.line_count());
        // What is written behind an open last line is not in the file.
        let to = if snapshot.is_open() {
            snapshot.text_end_of(count - 1)
        } else {
            snapshot.end_of(count - 1)
        };
        let bytes = &snapshot.bytes()[from..to];
        if memchr::memmem::find(bytes, b"\r\n").is_none() {
            return Self {
                text: Cow::Borrowed(bytes),
                snapshot,
                begins: Vec::new(),
            };
        }
        let mut text = Vec::with_capacity(bytes.len());
        let mut begins = Vec::with_capacity(count);
        for index in 0..count {
            begins.push(text.len());
            text.extend_from_slice(snapshot.line(index));
            if index + 1 < count || !snapshot.is_open() {
                text.push(b'\n');
            }
        }
        Self {
            text: Cow::Owned(text),
            snapshot,
            begins,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The line in which a byte of the text lies, from 0, and where that byte lies in the file.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let lines = self.snapshot.line_count();
        let begin = |index: usize| match self.begins.get(index) {
            Some(begin) => *begin,
            None => self.snapshot.begin_of(index) - self.snapshot.begin_of(0),
        };
        let (mut low, mut high) = (0, lines);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match begin(middle) <= at {
                true => low = middle,
                false => high = middle,
            }
        }
        let within = at - begin(low);
        let in_line = self.snapshot.begin_of(low) + within;
        match within > self.snapshot.line(low).len() {
            true => (low, self.snapshot.end_of(low)),
            false => (low, in_line),
        }
    }
}

/// A text as it is looked for: with newlines for its line ends.
pub(super) fn plain(text: &str) -> Cow<'_, [u8]> {
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n").into_bytes()),
        false => Cow::Borrowed(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_overlaps_itself_stands_there_twice() {
        let find = |haystack: &str, text: &str| {
            let found = find_text(haystack.as_bytes(), text.as_bytes(), 3);
            (found.count, found.first)
        };
        assert_eq!(find("aaa", "aa"), (2, vec![0, 1]));
        assert_eq!(find("abab", "ab"), (2, vec![0, 2]));
        assert_eq!(find("xaax", "aa"), (1, vec![1]));
        assert_eq!(find("aaaaaaaaa", "aa"), (4, vec![0, 2, 4]));
        assert_eq!(find("abc", "d"), (0, vec![]));
        assert_eq!(find("abc", ""), (0, vec![]));
    }

    #[test]
    fn a_byte_of_the_text_has_its_place_in_the_file() {
        let bytes = b"\xEF\xBB\xBFab\r\nc\nd\r\n";
        let snapshot = Snapshot::of(bytes);
        let text = PlainText::of(&snapshot);
        assert_eq!(text.bytes(), b"ab\nc\nd\n");
        let places: Vec<(usize, usize)> = (0..=7).map(|at| text.place(at)).collect();
        let expected = [(0, 3), (0, 4), (0, 5), (1, 7), (1, 8), (2, 9), (2, 10), (2, 12)];
        assert_eq!(places, expected);
    }
}
