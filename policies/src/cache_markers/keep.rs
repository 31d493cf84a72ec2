//! What is remembered between requests: what the provider's cache holds, and how conversations went.

use super::conversation::Conversation;
use super::plan::{MarkerEdit, plan_markers};
use super::prompt::{Block, BlockKind, Prompt};
use super::rules::tokens_min_of;
use super::service::{Charge, PromptCache};
use crate::domain::CacheTerms;
use std::collections::BTreeMap;
use std::time::Duration;

const CONVERSATIONS_MAX: usize = 64;
const MODELS_MAX: usize = 32;

/// A request that is about to go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerRequest {
    /// A session of a host, or a run.
    pub conversation: String,
    pub model: String,
    pub blocks: Vec<Block>,
}

/// What was planned for it, and what it has in common with what went before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planned {
    pub edits: Vec<MarkerEdit>,
    pub seen: PrefixSeen,
}

/// A request beside those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixSeen {
    /// Its blocks.
    pub blocks: usize,
    /// A guess.
    pub tokens: u64,
    /// The first block that is not as in an earlier request of the conversation, where that one had one there too.
    pub broke_at: Option<usize>,
    /// How long ago the request before it was.
    pub idle: Option<Duration>,
    /// What the service is expected to charge, by the same guess.
    pub expected: Charge,
    /// What it would be expected to charge if nothing were ever planned.
    pub unplanned: Charge,
}

/// Plans markers, with a memory.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    caches: BTreeMap<String, Caches>,
    conversations: BTreeMap<(String, String), Kept>,
}

/// Of one model.
#[derive(Debug, Clone, Default)]
struct Caches {
    as_planned: PromptCache,
    /// As if every request had gone out as it was.
    unplanned: PromptCache,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    conversation: Conversation,
    used: Duration,
}

impl Planner {
    /// Plans one request, and takes it to be sent with what was planned.
    pub fn plan(&mut self, request: &MarkerRequest, now: Duration, settings: &CacheTerms) -> Planned {
        let prompt = Prompt::of(&request.blocks);
        let (shared, idle) = self.compare(request, &prompt, now);
        let caches = self.caches_of(&request.model);
        let edits = match settings.enabled {
            true => plan_markers(
                &request.blocks,
                &prompt,
                shared,
                &caches.as_planned,
                now,
                settings,
            ),
            false => Vec::new(),
        };
        let tokens_min = tokens_min_of(&request.model, settings);
        let sent = with_edits(&request.blocks, &edits);
        let charge = |cache: &mut PromptCache, blocks: &[Block]| {
            cache.charge(now, blocks, &prompt, settings.lookback, tokens_min)
        };
        let expected = charge(&mut caches.as_planned, &sent);
        let unplanned = charge(&mut caches.unplanned, &request.blocks);
        let seen = PrefixSeen {
            blocks: prompt.len(),
            tokens: prompt.tokens_before(prompt.len()),
            broke_at: (!shared.goes_on && !shared.is_first).then_some(shared.to),
            idle,
            expected,
            unplanned,
        };
        Planned { edits, seen }
    }

    /// The prefix that requests of one agent share, tools and system prompt; none where it is too short for the cache, or
    /// is not marked.
    pub fn shared_prefix(request: &MarkerRequest, terms: &CacheTerms) -> Option<u64> {
        let of_agent = |block: &Block| matches!(block.kind, BlockKind::Tool | BlockKind::System);
        let end = request
            .blocks
            .iter()
            .rposition(|block| of_agent(block) && block.marker.is_some())?;
        let prompt = Prompt::of(&request.blocks);
        // Lengths are a guess: one that is nearly long enough may be so.
        let nearly = tokens_min_of(&request.model, terms).saturating_mul(3) / 4;
        let long_enough = prompt.tokens_to(end) >= nearly;
        prompt.prefix(end).filter(|_| terms.enabled && long_enough)
    }

    /// Whether such a prefix is in the cache of the model, as far as is known.
    pub fn is_warm(&self, model: &str, prefix: u64, now: Duration) -> bool {
        self.caches
            .get(model)
            .is_some_and(|caches| caches.as_planned.has(now, prefix))
    }

    fn compare(
        &mut self,
        request: &MarkerRequest,
        prompt: &Prompt,
        now: Duration,
    ) -> (super::Shared, Option<Duration>) {
        let key = (request.conversation.clone(), request.model.clone());
        if !self.conversations.contains_key(&key) && self.conversations.len() >= CONVERSATIONS_MAX {
            let oldest = self.conversations.iter().min_by_key(|(_, kept)| kept.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.conversations.remove(&oldest);
            }
        }
        let is_new = !self.conversations.contains_key(&key);
        let kept = self.conversations.entry(key).or_default();
        let idle = (!is_new).then(|| now.saturating_sub(kept.used));
        kept.used = now;
        (kept.conversation.take(prompt), idle)
    }

    fn caches_of(&mut self, model: &str) -> &mut Caches {
        if !self.caches.contains_key(model) && self.caches.len() >= MODELS_MAX {
            self.caches.clear();
        }
        self.caches.entry(model.to_string()).or_default()
    }
}

fn with_edits(blocks: &[Block], edits: &[MarkerEdit]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    for edit in edits {
        blocks[edit.place].marker = edit.marker;
    }
    blocks
}
