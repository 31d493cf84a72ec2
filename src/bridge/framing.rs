//! Lines: LF ends one, nothing else does, and none is longer than the limit.

use std::io::{self, Read};

const CHUNK_BYTES: usize = 256 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum LineEvent<'a> {
    /// A whole line, without its LF.
    Line(&'a [u8]),
    /// A line above the limit was thrown away; reading goes on behind it.
    TooLong {
        /// How long it was.
        bytes: usize,
    },
    /// Nothing will come any more. A line without LF at the very end is dropped: it may be half a message.
    End,
}

/// Splits what it reads into lines, holding at most one line and one chunk.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    line_bytes_max: usize,
    buffer: Vec<u8>,
    /// Where the line that is being looked for starts.
    start: usize,
    /// Up to where no LF was found.
    scanned: usize,
    /// How much is filled.
    filled: usize,
    /// Bytes thrown away of a line that is too long.
    dropped: usize,
}

impl<R: Read> LineReader<R> {
    /// Reads lines of at most `line_bytes_max` bytes.
    pub fn new(input: R, line_bytes_max: usize) -> Self {
        Self {
            input,
            line_bytes_max,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            filled: 0,
            dropped: 0,
        }
    }

    /// Waits for the next line.
    pub fn next_line(&mut self) -> io::Result<LineEvent<'_>> {
        loop {
            let unseen = self.buffer.get(self.scanned..self.filled).unwrap_or_default();
            if let Some(offset) = memchr::memchr(b'\n', unseen) {
                let end = self.scanned + offset;
                return Ok(self.finish_line(end));
            }
            self.scanned = self.filled;
            self.throw_away_if_too_long();
            if self.fill()? == 0 {
                return Ok(LineEvent::End);
            }
        }
    }

    fn finish_line(&mut self, end: usize) -> LineEvent<'_> {
        let start = std::mem::replace(&mut self.start, end + 1);
        self.scanned = end + 1;
        let dropped = std::mem::take(&mut self.dropped);
        let bytes = dropped + (end - start);
        if bytes > self.line_bytes_max {
            return LineEvent::TooLong { bytes };
        }
        LineEvent::Line(self.buffer.get(start..end).unwrap_or_default())
    }

    fn throw_away_if_too_long(&mut self) {
        let pending = self.filled - self.start;
        if self.dropped > 0 || pending > self.line_bytes_max {
            self.dropped += pending;
            self.start = self.filled;
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.make_room();
        loop {
            let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
            match self.input.read(room) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves what is left to the front, and keeps room for a chunk behind it.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.filled == 0 && self.buffer.len() > 4 * CHUNK_BYTES {
            self.buffer.truncate(CHUNK_BYTES);
            self.buffer.shrink_to_fit();
        }
        if self.buffer.len() < self.filled + CHUNK_BYTES / 4 {
            self.buffer.resize(self.filled + CHUNK_BYTES, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it holds in bites of a fixed size.
    struct Bites<'a>(&'a [u8], usize);

    impl Read for Bites<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(room.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            room[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn read_all(input: &[u8], bite: usize, line_bytes_max: usize) -> Vec<String> {
        let mut reader = LineReader::new(Bites(input, bite), line_bytes_max);
        let mut seen = Vec::new();
        loop {
            match reader.next_line().expect("the bites never fail") {
                LineEvent::Line(line) => seen.push(String::from_utf8_lossy(line).into_owned()),
                LineEvent::TooLong { bytes } => seen.push(format!("<{bytes}>")),
                LineEvent::End => return seen,
            }
        }
    }

    #[test]
    fn only_lf_ends_a_line_however_it_arrives() {
        let input = "one\r\ntwo\u{2028}still two\u{85}and\u{b}so\u{c}on\n\nthree\nhalf".as_bytes();
        for bite in 1..input.len() {
            let expected = [
                "one\r",
                "two\u{2028}still two\u{85}and\u{b}so\u{c}on",
                "",
                "three",
            ];
            assert_eq!(read_all(input, bite, 100), expected);
        }
    }

    #[test]
    fn a_line_at_the_limit_passes_and_one_above_is_thrown_away_alone() {
        let input = b"12345\n123456\nok\n12345678901234567890\nok too\n";
        for bite in 1..input.len() {
            assert_eq!(read_all(input, bite, 5), ["12345", "<6>", "ok", "<20>", "<6>"]);
        }
    }

    #[test]
    fn a_flood_without_an_end_is_not_held() {
        let mut reader = LineReader::new(io::repeat(b'x').take(64 * 1024 * 1024), 1024);
        assert_eq!(reader.next_line().expect("memory never fails"), LineEvent::End);
        assert!(
            reader.buffer.len() < 1024 * 1024,
            "held {} bytes",
            reader.buffer.len()
        );
    }
}
