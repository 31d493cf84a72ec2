//! Splits a stream into lines at `\n` and nowhere else, with a limit on what one line may hold.
//!
//! U+2028, U+2029 and `\r` are ordinary characters here: they occur raw inside JSON strings.

/// What the splitter hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A line without its end.
    Line(&'a [u8]),
    /// A line above the limit went by; only its first bytes were kept.
    TooLong(&'a [u8]),
}

/// How much of a line above the limit is kept, to say what it was.
const HEAD_KEPT: usize = 200;

/// Splits chunks into lines. A line that lies in one chunk is handed out where it lies.
#[derive(Debug)]
pub struct LineSplitter {
    bytes_max: usize,
    partial: Vec<u8>,
    dropping: bool,
}

impl LineSplitter {
    /// Lines longer than `bytes_max` are dropped; reading goes on with the next one.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            partial: Vec::new(),
            dropping: false,
        }
    }

    /// Takes the next chunk and hands out every line it completes.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(Piece<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            self.complete(line, &mut each);
        }
        self.keep(rest);
    }

    /// The stream ended: hands out what stood behind the last `\n`.
    pub fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if self.dropping || !self.partial.is_empty() {
            self.complete(&[], &mut each);
        }
    }

    fn complete(&mut self, line: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        if self.partial.is_empty() && !self.dropping {
            if line.len() > self.bytes_max {
                each(Piece::TooLong(&line[..self.head_kept()]));
            } else {
                each(Piece::Line(line));
            }
            return;
        }
        self.keep(line);
        if self.dropping {
            each(Piece::TooLong(&self.partial));
        } else {
            each(Piece::Line(&self.partial));
        }
        self.dropping = false;
        self.partial.clear();
        self.partial.shrink_to(64 * 1024);
    }

    fn keep(&mut self, part: &[u8]) {
        if self.dropping {
            return;
        }
        self.partial.extend_from_slice(part);
        if self.partial.len() > self.bytes_max {
            self.dropping = true;
            self.partial.truncate(self.head_kept());
            self.partial.shrink_to(HEAD_KEPT);
        }
    }

    fn head_kept(&self) -> usize {
        HEAD_KEPT.min(self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::{LineSplitter, Piece};
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]], bytes_max: usize) -> Vec<String> {
        let mut splitter = LineSplitter::new(bytes_max);
        let mut lines = Vec::new();
        let mut note = |piece: Piece<'_>| {
            lines.push(match piece {
                Piece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Piece::TooLong(head) => format!("too long: {}", head.len()),
            });
        };
        for chunk in chunks {
            splitter.feed(chunk, &mut note);
        }
        splitter.finish(&mut note);
        lines
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let lines = split(&["a\u{2028}b\rc\r\nd".as_bytes()], 100);
        assert_eq!(lines, ["a\u{2028}b\rc\r", "d"]);
    }

    #[test]
    fn a_line_above_the_limit_is_dropped_and_the_next_one_read() {
        let long = "x".repeat(1_000);
        for cut in [1, 10, 99, 100, 101, 999, 1_000, 1_001, 1_002] {
            let text = format!("{long}\nnext\n");
            let (first, second) = text.as_bytes().split_at(cut);
            let lines = split(&[first, second], 100);
            assert_eq!(lines, ["too long: 100", "next"], "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn where_the_chunks_are_cut_does_not_matter(text in "[a-c\n\u{2028}]{0,60}", cuts in prop::collection::vec(0usize..60, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(split(&chunks, 8), split(&[bytes], 8));
        }
    }
}
