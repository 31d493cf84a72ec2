//! What a host keeps in this process: bounded, the oldest gives way.

use super::wire::KeepWish;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{OverflowContent, OverflowEntry};
use impresario_policies::overflow_preview::{preview_of, replacement_text};
use std::collections::VecDeque;

/// So many entries.
const ENTRIES_MAX: usize = 64;
/// So large together. One is bounded by what fits into a message.
const BYTES_MAX: usize = 64_000_000;
/// So much of the beginning and of the end is shown at once.
const PREVIEW_UNITS: usize = 1_000;

/// The entries of a host.
#[derive(Debug, Default)]
pub(super) struct OwnMemory {
    entries: VecDeque<(OverflowEntry, OverflowContent)>,
    given: u32,
}

impl OwnMemory {
    /// Keeps a text, and gives what can stand in its place.
    pub(super) fn keep(&mut self, wish: KeepWish) -> Result<String, String> {
        let bytes = wish.text.len();
        if bytes > BYTES_MAX {
            return Err(format!("This is {bytes} bytes; at most {BYTES_MAX} are kept."));
        }
        while self.entries.len() >= ENTRIES_MAX || self.bytes() + bytes > BYTES_MAX {
            self.entries.pop_front();
        }
        self.given = self.given.saturating_add(1);
        let entry = OverflowEntry {
            handle: self.given,
            server: String::new(),
            tool: wish.tool,
            at: SystemWallClock.now(),
            bytes: bytes as u64,
        };
        let preview = preview_of(&wish.text, PREVIEW_UNITS, PREVIEW_UNITS);
        let shown = replacement_text(&entry.name(), bytes, &preview, "read", "search");
        self.entries.push_back((entry, OverflowContent::from(wish.text)));
        Ok(shown)
    }

    pub(super) fn entries(&self) -> Vec<OverflowEntry> {
        self.entries.iter().map(|(entry, _)| entry.clone()).collect()
    }

    pub(super) fn content(&self, handle: u32) -> Option<OverflowContent> {
        let mut entries = self.entries.iter();
        let (_, content) = entries.find(|(entry, _)| entry.handle == handle)?;
        Some(content.clone())
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|(entry, _)| entry.bytes as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(memory: &mut OwnMemory, text: &str) -> String {
        let wish = KeepWish {
            text: text.to_string(),
            tool: "build".to_string(),
        };
        memory.keep(wish).expect("room")
    }

    #[test]
    fn the_oldest_gives_way_and_no_handle_means_two_things() {
        let mut memory = OwnMemory::default();
        for number in 0..ENTRIES_MAX + 2 {
            keep(&mut memory, &number.to_string());
        }
        assert_eq!(memory.content(1), None);
        assert_eq!(memory.content(3).as_deref(), Some("2"));
        assert_eq!(memory.entries().len(), ENTRIES_MAX);
    }

    #[test]
    fn what_stands_in_its_place_says_how_to_read_on() {
        let shown = keep(&mut OwnMemory::default(), &"line\n".repeat(10_000));
        assert!(shown.contains("overflow_1") && shown.len() < 4_000, "{shown}");
        assert!(shown.contains("read") && shown.contains("search"), "{shown}");
    }
}
