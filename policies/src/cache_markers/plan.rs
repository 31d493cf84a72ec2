//! Where do markers belong in one request?

use super::conversation::Shared;
use super::prompt::{Block, BlockKind, Lifetime, Prompt};
use super::service::PromptCache;
use crate::domain::CacheTerms;
use std::time::Duration;

/// A change to one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerEdit {
    /// Which, from 0.
    pub place: usize,
    /// The marker it shall carry; none takes it away.
    pub marker: Option<Lifetime>,
}

/// We and the service may count positions differently by one or two.
const LOOKBACK_MARGIN: usize = 2;

/// Plans the changes; none for a request that is fine as it is. One that carries no markers is left without: whoever
/// made it wants none.
///
/// Kept, in this order, as far as there is room: the host's last marker, from where the next request reads; one from
/// which the longest prefix that is in the cache can be read; the end of the system prompt; the newest anchor; whatever
/// else the host marked; the end of the turn before, to which a person may go back.
pub fn plan_markers(
    blocks: &[Block],
    prompt: &Prompt,
    shared: Shared,
    cache: &PromptCache,
    now: Duration,
    settings: &CacheTerms,
) -> Vec<MarkerEdit> {
    if blocks.iter().all(|block| block.marker.is_none()) {
        return Vec::new();
    }
    let request = Request {
        blocks,
        prompt,
        shared,
        cache,
        now,
        settings,
    };
    let markers = with_lifetimes(blocks, &request.places());
    let wanted = |place: usize| {
        markers
            .iter()
            .find(|(marked, _)| *marked == place)
            .map(|(_, lives)| *lives)
    };
    let edits = blocks.iter().enumerate().map(|(place, block)| {
        (
            block.marker,
            MarkerEdit {
                place,
                marker: wanted(place),
            },
        )
    });
    edits
        .filter(|(before, edit)| *before != edit.marker)
        .map(|(_, edit)| edit)
        .collect()
}

struct Request<'a> {
    blocks: &'a [Block],
    prompt: &'a Prompt,
    shared: Shared,
    cache: &'a PromptCache,
    now: Duration,
    settings: &'a CacheTerms,
}

impl Request<'_> {
    /// The places that are to carry a marker, in order.
    fn places(&self) -> Vec<usize> {
        let room = self
            .settings
            .markers_max
            .saturating_sub(self.settings.spare)
            .max(1);
        let tail = self.tail();
        let system = self
            .last_of(BlockKind::System)
            .or_else(|| self.last_of(BlockKind::Tool));
        let anchor = self.last_where(|block| block.anchor && block.kind.takes_marker());
        let reading = self.reading(&[tail, system, anchor]);
        let wished = [tail, reading, system, anchor].into_iter().flatten();
        let mut places = Vec::new();
        for place in wished.chain(self.hosts_own()).chain(self.turn_before()) {
            if places.len() < room && !places.contains(&place) && self.is_read_again(place) {
                places.push(place);
            }
        }
        places.sort_unstable();
        places
    }

    /// Where the beginning changes all the time, what stands behind it is written for nobody.
    fn is_read_again(&self, place: usize) -> bool {
        !self.shared.breaks_again || place < self.shared.to
    }

    /// From where the next request reads on.
    fn tail(&self) -> Option<usize> {
        if self.shared.breaks_again {
            return self.last_stable();
        }
        // Without a marker in the messages the conversation is paid for again and again.
        let end = || self.last_where(|block| block.kind.is_of_messages() && block.kind.takes_marker());
        self.whole().or_else(|| self.marked_last()).or_else(end)
    }

    fn marked_last(&self) -> Option<usize> {
        let counts = |block: &Block| block.kind.is_of_messages() && !block.kind.refuses_marker();
        self.last_where(|block| block.marker.is_some() && counts(block))
    }

    /// The request's own marker, where its last block has none of its own.
    fn whole(&self) -> Option<usize> {
        let last = self.last_where(|block| block.kind.is_content())?;
        let whole = self.last_where(|block| block.marker.is_some() && block.kind == BlockKind::Request);
        whole.filter(|_| self.blocks[last].marker.is_none())
    }

    /// The end of what did not change between the last requests.
    fn last_stable(&self) -> Option<usize> {
        (0..self.shared.to)
            .rev()
            .find(|place| self.blocks[*place].kind.takes_marker())
    }

    /// Where a marker has to stand so that the longest prefix in the cache is read, where none of these reads it.
    fn reading(&self, others: &[Option<usize>]) -> Option<usize> {
        let live = self.cache.longest_live(self.now, self.prompt)?;
        let lookback = self.settings.lookback.saturating_sub(LOOKBACK_MARGIN).max(1);
        let reads = |marker: usize| {
            let steps = self.prompt.steps_back(marker, live);
            steps.is_some_and(|steps| steps < lookback)
        };
        if others.iter().flatten().any(|other| reads(*other)) {
            return None;
        }
        let mut readers = (live..self.blocks.len()).rev().filter(|place| reads(*place));
        readers.find(|place| self.blocks[*place].kind.takes_marker())
    }

    /// What else the host marked: the newest of the messages last, for they are missed least.
    fn hosts_own(&self) -> impl Iterator<Item = usize> {
        let own = |wanted: fn(BlockKind) -> bool| {
            let marked = self.blocks.iter().enumerate().rev().filter(move |(_, block)| {
                block.marker.is_some() && wanted(block.kind) && !block.kind.refuses_marker()
            });
            marked.map(|(place, _)| place)
        };
        own(|kind| kind == BlockKind::System)
            .chain(own(|kind| kind == BlockKind::Tool))
            .chain(own(BlockKind::is_of_messages))
    }

    /// The end of everything before the last thing that a person said.
    fn turn_before(&self) -> Option<usize> {
        let is_prompt = |place: &usize| {
            let said_by_user = matches!(
                self.blocks[*place].kind,
                BlockKind::Text | BlockKind::Plain | BlockKind::Image
            );
            let after_answer = place.checked_sub(1).is_some_and(|before| {
                matches!(
                    self.blocks[before].kind,
                    BlockKind::Said | BlockKind::Thinking | BlockKind::ToolUse
                )
            });
            said_by_user && after_answer
        };
        let prompt = (0..self.blocks.len()).rev().find(is_prompt)?;
        let before = |place: &usize| {
            self.blocks[*place].kind.is_of_messages() && self.blocks[*place].kind.takes_marker()
        };
        (0..prompt).rev().find(before)
    }

    fn last_of(&self, kind: BlockKind) -> Option<usize> {
        self.last_where(|block| block.kind == kind)
    }

    fn last_where(&self, fits: impl Fn(&Block) -> bool) -> Option<usize> {
        self.blocks.iter().rposition(fits)
    }
}

/// Each keeps the lifetime it has; a new one takes that of the next one behind it. None lives an hour behind one that
/// lives five minutes: the provider refuses that.
fn with_lifetimes(blocks: &[Block], places: &[usize]) -> Vec<(usize, Lifetime)> {
    let of = |place: &usize| blocks[*place].marker;
    let first = places
        .iter()
        .find_map(of)
        .or_else(|| blocks.iter().find_map(|block| block.marker));
    let mut short_seen = false;
    let with_lifetime = |(at, place): (usize, &usize)| {
        let behind = places[at..].iter().find_map(of);
        let before = places[..at].iter().rev().find_map(of);
        let lives = behind.or(before).or(first).unwrap_or(Lifetime::FiveMinutes);
        short_seen = short_seen || lives == Lifetime::FiveMinutes;
        (*place, if short_seen { Lifetime::FiveMinutes } else { lives })
    };
    places.iter().enumerate().map(with_lifetime).collect()
}
