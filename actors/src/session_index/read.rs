//! Reads a session's file for its anchors.
//!
//! The file is whatever lies there: lines may be broken, endless or not JSON. Only lines that could be an anchor are parsed,
//! because nearly all of a session is something else.

use super::wire::{SessionHead, WrittenAnchor, anchor_in, head_in};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::io::{self, Read};

/// A longer line is passed over.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Read at a time.
const BLOCK_BYTES: usize = 256 << 10;
/// So many of one file.
const ANCHORS_MAX: usize = 10_000;

/// What stands in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadSession {
    pub head: SessionHead,
    pub anchors: Vec<WrittenAnchor>,
}

/// Reads up to so many bytes. What is not a whole line yet is read when the file has grown.
pub(super) fn read_session(file: impl Read, bytes_max: u64) -> io::Result<ReadSession> {
    let mut file = file.take(bytes_max);
    let mut session = ReadSession::default();
    let mut reading = Reading::default();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let count = match file.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        reading.take(&block[..count], &mut session);
    }
    reading.end(&mut session);
    Ok(session)
}

/// Where in the file it is.
struct Reading {
    finder: Finder<'static>,
    /// The line that began in an earlier block.
    begun: Vec<u8>,
    /// That line is longer than one may be.
    is_endless: bool,
    is_behind_head: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            finder: Finder::new("\"anchor\""),
            begun: Vec::new(),
            is_endless: false,
            is_behind_head: false,
        }
    }
}

impl Reading {
    fn take(&mut self, block: &[u8], session: &mut ReadSession) {
        let Some(end) = memchr(b'\n', block) else {
            return self.go_on(block);
        };
        self.go_on(&block[..end]);
        self.end(session);
        let rest = &block[end + 1..];
        let begins = memrchr(b'\n', rest).map_or(0, |last| last + 1);
        self.look(&rest[..begins], session);
        self.go_on(&rest[begins..]);
    }

    fn go_on(&mut self, part: &[u8]) {
        if self.begun.len() + part.len() > LINE_BYTES_MAX {
            self.is_endless = true;
            self.begun.clear();
        }
        if !self.is_endless {
            self.begun.extend_from_slice(part);
        }
    }

    fn end(&mut self, session: &mut ReadSession) {
        let line = std::mem::take(&mut self.begun);
        if !self.is_behind_head {
            session.head = head_in(&line);
            self.is_behind_head = true;
        }
        if !self.is_endless {
            self.look(&line, session);
        }
        self.is_endless = false;
        self.begun = line;
        self.begun.clear();
    }

    /// Whole lines.
    fn look(&self, lines: &[u8], session: &mut ReadSession) {
        let mut at = 0;
        while let Some(found) = self.finder.find(&lines[at..]) {
            let place = at + found;
            let begins = memrchr(b'\n', &lines[..place]).map_or(0, |before| before + 1);
            let ends = memchr(b'\n', &lines[place..]).map_or(lines.len(), |behind| place + behind);
            if session.anchors.len() < ANCHORS_MAX {
                session.anchors.extend(anchor_in(&lines[begins..ends]));
            }
            at = ends;
        }
    }
}
