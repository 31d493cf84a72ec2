//! What the provider's cache holds, as far as can be told from here, and what a request is charged.

use super::prompt::{Block, Lifetime, Prompt};
use super::rules::CachePrices;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

/// Of one model. More prefixes are not remembered; what ends first goes first.
const ENTRIES_MAX: usize = 2_048;

/// How a request's tokens are charged, but for its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charge {
    pub read: u64,
    pub written: u64,
    pub written_for_an_hour: u64,
    pub plain: u64,
}

impl Charge {
    /// In tokens that are neither read nor written.
    pub fn cost(&self, prices: CachePrices) -> f64 {
        self.read as f64 * prices.read
            + self.written as f64 * prices.written
            + self.written_for_an_hour as f64 * prices.written_for_an_hour
            + self.plain as f64
    }

    pub fn tokens(&self) -> u64 {
        self.read + self.written + self.written_for_an_hour + self.plain
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
        self.written_for_an_hour += other.written_for_an_hour;
        self.plain += other.plain;
    }
}

/// The prefixes of one model that are in the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptCache {
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    until: Duration,
    lives: Duration,
}

fn time_of(lives: Lifetime) -> Duration {
    match lives {
        Lifetime::FiveMinutes => Duration::from_secs(300),
        Lifetime::OneHour => Duration::from_secs(3_600),
    }
}

impl PromptCache {
    /// Makes a request: says what it is charged, and has what it marked in the cache.
    pub fn charge(
        &mut self,
        now: Duration,
        blocks: &[Block],
        prompt: &Prompt,
        lookback: usize,
        tokens_min: u64,
    ) -> Charge {
        let marked = marked(blocks);
        let hit = marked
            .iter()
            .filter_map(|(place, _)| self.seen_from(now, prompt, *place, lookback))
            .max();
        let read = hit.map_or(0, |place| prompt.tokens_to(place));
        let written_to = |wanted: Option<Lifetime>| {
            let last = marked
                .iter()
                .rev()
                .find(|(_, lives)| wanted.is_none_or(|wanted| *lives == wanted));
            let tokens = last.map_or(0, |(place, _)| prompt.tokens_to(*place));
            if tokens < tokens_min {
                0
            } else {
                tokens.saturating_sub(read)
            }
        };
        let (written, written_for_an_hour) = (written_to(None), written_to(Some(Lifetime::OneHour)));
        if let Some(entry) = hit.and_then(|place| self.entries.get_mut(&prompt.prefix(place)?)) {
            entry.until = now + entry.lives;
        }
        for (place, lives) in &marked {
            if prompt.tokens_to(*place) >= tokens_min
                && let Some(prefix) = prompt.prefix(*place)
            {
                self.remember(now, prefix, time_of(*lives));
            }
        }
        Charge {
            read,
            written: written - written_for_an_hour.min(written),
            written_for_an_hour,
            plain: prompt.tokens_before(prompt.len()) - read - written.max(written_for_an_hour),
        }
    }

    /// The end of the longest prefix that is in the cache, wherever markers stand.
    pub fn longest_live(&self, now: Duration, prompt: &Prompt) -> Option<usize> {
        (0..prompt.len())
            .rev()
            .find(|place| self.is_live(now, prompt, *place))
    }

    /// The longest prefix that a marker at this place reads.
    pub(super) fn seen_from(
        &self,
        now: Duration,
        prompt: &Prompt,
        marker: usize,
        lookback: usize,
    ) -> Option<usize> {
        let in_sight = |place: &usize| {
            prompt
                .steps_back(marker, *place)
                .is_some_and(|steps| steps < lookback)
        };
        let mut places = (0..=marker).rev().take_while(in_sight);
        places.find(|place| self.is_live(now, prompt, *place))
    }

    fn is_live(&self, now: Duration, prompt: &Prompt, place: usize) -> bool {
        prompt.prefix(place).is_some_and(|prefix| self.has(now, prefix))
    }

    pub(super) fn has(&self, now: Duration, prefix: u64) -> bool {
        self.entries.get(&prefix).is_some_and(|entry| now < entry.until)
    }

    fn remember(&mut self, now: Duration, prefix: u64, lives: Duration) {
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.retain(|_, entry| now < entry.until);
        }
        while self.entries.len() >= ENTRIES_MAX {
            let first = self.entries.iter().min_by_key(|(_, entry)| entry.until);
            let Some((&first, _)) = first else { break };
            self.entries.remove(&first);
        }
        self.entries.insert(
            prefix,
            Entry {
                until: now + lives,
                lives,
            },
        );
    }
}

/// Where markers stand, in order. One within a result counts where the result stands, the request's own on the last block.
fn marked(blocks: &[Block]) -> Vec<(usize, Lifetime)> {
    let marked = blocks
        .iter()
        .enumerate()
        .filter_map(|(place, block)| Some((place, block.marker?)));
    marked.collect()
}
