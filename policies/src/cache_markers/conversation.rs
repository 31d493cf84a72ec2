//! What the last requests of a conversation say about the next: is what was written read again?

use super::prompt::Prompt;
use std::collections::VecDeque;

/// A conversation is not one row of requests: summaries and titles are asked for in between.
const RECENT_MAX: usize = 4;
/// After so many requests in a row that nobody read on from, the next one is taken to be no different.
const UNREAD_MAX: u32 = 3;
/// A conversation that was misjudged is believed less easily.
const PATIENCE_MAX: u32 = 96;

/// The requests of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The prefixes of the last requests, the newest last.
    recent: VecDeque<Vec<u64>>,
    unread: u32,
    patience: u32,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            unread: 0,
            patience: UNREAD_MAX,
        }
    }
}

/// What a request has in common with those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shared {
    /// Up to this place it is as the one that has most in common with it.
    pub to: usize,
    /// It goes on from one of them: all of that one is in it.
    pub goes_on: bool,
    /// It is the first.
    pub is_first: bool,
    /// What is written behind the shared blocks will not be read: nobody went on from the last ones.
    pub breaks_again: bool,
}

impl Conversation {
    /// Compares a request with those before it, and remembers it.
    pub fn take(&mut self, prompt: &Prompt) -> Shared {
        let prefixes = prompt.prefixes();
        let in_common = |earlier: &Vec<u64>| {
            let same = earlier
                .iter()
                .zip(&prefixes)
                .take_while(|(before, now)| before == now);
            same.count()
        };
        let blocks = self.recent.iter().map(in_common).max().unwrap_or_default();
        let goes_on = self
            .recent
            .iter()
            .any(|earlier| in_common(earlier) == earlier.len());
        let is_first = self.recent.is_empty();
        if goes_on && self.unread >= self.patience {
            self.patience = (self.patience * 4).min(PATIENCE_MAX);
        }
        self.unread = if goes_on || is_first {
            0
        } else {
            self.unread.saturating_add(1)
        };
        while self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(prefixes);
        Shared {
            to: prompt.place_of(blocks),
            goes_on,
            is_first,
            breaks_again: self.unread >= self.patience,
        }
    }
}
