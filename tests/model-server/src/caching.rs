//! The provider's prompt cache, as its rules have it: what a request is charged, by what began to be answered before it.

use impresario_policies::cache_markers::{Block, BlockKind, Charge, Lifetime, Prompt, PromptCache};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::script::Usage;

const LOOKBACK: usize = 20;
const TOKENS_MIN: u64 = 1_024;
const CHARACTERS_PER_TOKEN: usize = 4;

/// The caches of all models of a server.
#[derive(Debug)]
pub(crate) struct Caching {
    began: Instant,
    models: Mutex<BTreeMap<String, PromptCache>>,
}

impl Default for Caching {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            models: Mutex::default(),
        }
    }
}

impl Caching {
    /// What a request is charged that comes now.
    pub(crate) fn charge(&self, body: &Value) -> Charge {
        self.with(body, |cache, now, blocks| take(&mut cache.clone(), now, blocks))
    }

    /// Its answer begins: from now on others read what it wrote.
    pub(crate) fn begin(&self, body: &Value) {
        self.with(body, take);
    }

    fn with(&self, body: &Value, act: impl FnOnce(&mut PromptCache, Duration, &[Block]) -> Charge) -> Charge {
        let model = body["model"].as_str().unwrap_or_default();
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = models.entry(model.to_owned()).or_default();
        act(cache, self.began.elapsed(), &blocks_of(body))
    }
}

fn take(cache: &mut PromptCache, now: Duration, blocks: &[Block]) -> Charge {
    cache.charge(now, blocks, &Prompt::of(blocks), LOOKBACK, TOKENS_MIN)
}

pub(crate) fn usage(charge: Charge, output: u64) -> Usage {
    Usage {
        input: charge.plain,
        output,
        cache_read: charge.read,
        cache_write: charge.written + charge.written_for_an_hour,
    }
}

/// The blocks of a request to Anthropic, in the order of the service: tools, system, messages. Tokens are characters of
/// JSON divided by four.
#[must_use]
pub fn blocks_of(body: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    let parts = |value: &Value| match value {
        Value::Array(parts) => parts.clone(),
        Value::Null => Vec::new(),
        // Plain text is a block of text to the service.
        other => vec![json!({"type": "text", "text": other})],
    };
    blocks.extend(
        parts(&body["tools"])
            .iter()
            .map(|tool| block(BlockKind::Tool, tool)),
    );
    blocks.extend(
        parts(&body["system"])
            .iter()
            .map(|part| block(BlockKind::System, part)),
    );
    for message in parts(&body["messages"]) {
        blocks.extend(parts(&message["content"]).iter().map(|part| {
            let kind = match part["type"].as_str() {
                Some("tool_use") => BlockKind::ToolUse,
                Some("tool_result") => BlockKind::ToolResult,
                _ => BlockKind::Text,
            };
            block(kind, part)
        }));
    }
    blocks
}

fn block(kind: BlockKind, part: &Value) -> Block {
    let mut bare = part.clone();
    let marker = bare.as_object_mut().and_then(|bare| bare.remove("cache_control"));
    let text = bare.to_string();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Block {
        kind,
        tokens: text.len().div_ceil(CHARACTERS_PER_TOKEN) as u64,
        content: hasher.finish(),
        marker: marker.map(|marker| match marker["ttl"].as_str() {
            Some("1h") => Lifetime::OneHour,
            _ => Lifetime::FiveMinutes,
        }),
        anchor: false,
    }
}
