//! The last of what a process complained, however much that was.

use impresario_policies::redact::{Cut, redact_cut};
use std::collections::VecDeque;

const BYTES_KEPT: usize = 16 * 1024;
const CHARACTERS_SHOWN: usize = 2_000;

/// Keeps the end of a stream.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    bytes: VecDeque<u8>,
    /// Something came before them.
    is_cut: bool,
}

impl StderrTail {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let kept = &chunk[chunk.len().saturating_sub(BYTES_KEPT)..];
        let too_many = (self.bytes.len() + kept.len()).saturating_sub(BYTES_KEPT);
        self.is_cut |= too_many > 0 || kept.len() < chunk.len();
        self.bytes.drain(..too_many);
        self.bytes.extend(kept);
    }

    /// The last characters, without secrets and without colours.
    pub(crate) fn text(&mut self) -> String {
        let lossy = String::from_utf8_lossy(self.bytes.make_contiguous()).into_owned();
        let cut = if self.is_cut { Cut::Beginning } else { Cut::Nowhere };
        let clean = redact_cut(lossy.trim(), cut);
        let characters = clean.chars().count();
        let shown = clean.chars().skip(characters.saturating_sub(CHARACTERS_SHOWN));
        shown.filter(|one| !one.is_control() || *one == '\n').collect()
    }
}

#[cfg(test)]
mod tests {
    use super::StderrTail;

    #[test]
    fn a_flood_leaves_its_end() {
        let mut tail = StderrTail::default();
        for round in 0..10_000 {
            tail.push(format!("line {round} {}\n", "x".repeat(100)).as_bytes());
        }
        tail.push(b"the end");
        let text = tail.text();
        assert!(text.ends_with("the end"));
        assert_eq!(text.chars().count(), 2_000);
    }

    #[test]
    fn secrets_are_not_kept() {
        let mut tail = StderrTail::default();
        tail.push(b"failed with Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123");
        assert!(!tail.text().contains("abcdefghij"), "{}", tail.text());
    }
}
