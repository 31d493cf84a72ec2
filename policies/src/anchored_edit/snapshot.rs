//! A file as it was read: where its lines begin and end, each with the line end that it has.

use memchr::memchr_iter;
use std::borrow::Cow;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What every edit of a call is about. Bytes that are no UTF-8 are nothing special here: they stay as they are.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// All of the file; where its last line has no end, one is written behind it, so that every line has.
    bytes: Cow<'a, [u8]>,
    /// Where the first line begins.
    begin: usize,
    /// Behind the end of each line, where the next one begins. All else of a line is found in the bytes, so that
    /// a long file costs little memory beside them.
    ends: Vec<usize>,
    /// The last line has no end in the file; here its text ends.
    open_at: Option<usize>,
}

impl<'a> Snapshot<'a> {
    /// Looks for the lines. A file without a byte has one, which is empty and has no end.
    pub fn of(bytes: &'a [u8]) -> Self {
        let begin = if bytes.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let is_open = bytes.len() > begin && bytes.last() != Some(&b'\n');
        let length = bytes.len();
        let mut bytes = Cow::Borrowed(bytes);
        if is_open {
            let end = last_line_end(&bytes);
            bytes.to_mut().extend_from_slice(end);
        }
        let mut ends: Vec<usize> = memchr_iter(b'\n', &bytes).map(|newline| newline + 1).collect();
        if ends.is_empty() {
            ends.push(begin);
        }
        Self {
            bytes,
            begin,
            ends,
            open_at: is_open.then_some(length),
        }
    }

    /// How many lines there are: at least one.
    pub fn line_count(&self) -> usize {
        self.ends.len()
    }

    /// The text of the line at `index`, from 0; what is no UTF-8 in it is shown as U+FFFD.
    pub fn text(&self, index: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(self.line(index))
    }

    /// The bytes of a line without its end; none where there is no such line.
    pub fn line(&self, index: usize) -> &[u8] {
        &self.bytes[self.begin_of(index)..self.text_end_of(index)]
    }

    /// How this line ends, so that what comes beside it ends alike.
    pub(super) fn line_end(&self, index: usize) -> &'static [u8] {
        match self.end_of(index) - self.text_end_of(index) {
            2 => b"\r\n",
            _ => b"\n",
        }
    }

    /// How many lines the file has; an empty one has none.
    pub(super) fn count_of_file(&self) -> usize {
        if self.is_empty() { 0 } else { self.line_count() }
    }

    pub(super) fn begin_of(&self, index: usize) -> usize {
        match index.checked_sub(1) {
            None => self.begin,
            Some(before) => self.end_of(before),
        }
    }

    pub(super) fn end_of(&self, index: usize) -> usize {
        self.ends.get(index).copied().unwrap_or(self.bytes.len())
    }

    /// Where the text of a line ends, before its line end.
    pub(super) fn text_end_of(&self, index: usize) -> usize {
        let (from, to) = (self.begin_of(index), self.end_of(index));
        match self.open_at {
            // A carriage return at the end of the file is text.
            Some(at) if index + 1 == self.ends.len() => at,
            // Only an empty file has a line without a byte.
            _ if from == to => to,
            _ if to - from > 1 && self.bytes[to - 2] == b'\r' => to - 2,
            _ => to - 1,
        }
    }

    /// The line whose end stands right before this byte.
    pub(super) fn line_ending_at(&self, byte: usize) -> usize {
        self.ends.partition_point(|end| *end < byte)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_open(&self) -> bool {
        self.open_at.is_some()
    }

    /// Nothing stands in the file, a byte order mark aside.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.len() == 1 && self.ends[0] == self.begin
    }
}

/// How many lines a file has, or a file whose last line has got an end; an empty one has none.
pub(super) fn count_lines(bytes: &[u8]) -> usize {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let is_open = text.last().is_some_and(|last| *last != b'\n');
    memchr_iter(b'\n', text).count() + usize::from(is_open)
}

/// How the last line that has an end ends.
fn last_line_end(bytes: &[u8]) -> &'static [u8] {
    match memchr::memrchr(b'\n', bytes) {
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => b"\r\n",
        _ => b"\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[(&[u8], &[u8])], is_open: bool) {
        let snapshot = Snapshot::of(bytes);
        let lines: Vec<(&[u8], &[u8])> = (0..snapshot.line_count())
            .map(|at| (snapshot.line(at), snapshot.line_end(at)))
            .collect();
        assert_eq!(lines, expected);
        assert_eq!(snapshot.is_open(), is_open);
    }

    #[test]
    fn lines_have_the_ends_they_have() {
        check(
            b"a\nb\r\n\nc\r\r\n",
            &[(b"a", b"\n"), (b"b", b"\r\n"), (b"", b"\n"), (b"c\r", b"\r\n")],
            false,
        );
        check(b"a\r\nb", &[(b"a", b"\r\n"), (b"b", b"\r\n")], true);
        check(b"a\nb\r", &[(b"a", b"\n"), (b"b\r", b"\n")], true);
        check(b"a\rb", &[(b"a\rb", b"\n")], true);
        check(b"\xFF\n", &[(b"\xFF", b"\n")], false);
    }

    #[test]
    fn an_empty_file_has_one_empty_line() {
        check(b"", &[(b"", b"\n")], false);
        check(b"\xEF\xBB\xBF", &[(b"", b"\n")], false);
        check(b"\n", &[(b"", b"\n")], false);
        assert!(Snapshot::of(b"\xEF\xBB\xBF").is_empty());
        assert!(!Snapshot::of(b"\n").is_empty());
    }

    #[test]
    fn lines_are_counted_as_they_are_found() {
        for bytes in [
            b"".as_slice(),
            b"\xEF\xBB\xBF",
            b"\n",
            b"a",
            b"a\nb",
            b"a\r\nb\n",
            b"\n\n",
        ] {
            assert_eq!(
                count_lines(bytes),
                Snapshot::of(bytes).count_of_file(),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(Snapshot::of(b"\xEF\xBB\xBFa\n").line(0), b"a");
    }
}
