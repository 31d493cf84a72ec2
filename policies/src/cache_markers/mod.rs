//! Which prompt-cache markers should a request carry, so that the provider takes it and it costs least?
//!
//! The rules are Anthropic's (`cache_rules.tsv`, [`CacheTerms`](crate::domain::CacheTerms)): a request is hashed in the order tools, system,
//! messages; a marker writes everything before it into the cache, and reads the longest prefix there whose end lies few
//! positions before it. Only what stands in a request already is marked or unmarked; no text is touched.

mod conversation;
mod keep;
mod plan;
mod prompt;
mod rules;
mod service;
#[cfg(test)]
mod tests;

pub use conversation::{Conversation, Shared};
pub use keep::{MarkerRequest, Planned, Planner, PrefixSeen};
pub use plan::{MarkerEdit, plan_markers};
pub use prompt::{Block, BlockKind, Lifetime, Prompt, is_same_call};
pub use rules::{CachePrices, prices_of, tokens_min_of};
pub use service::{Charge, PromptCache};
