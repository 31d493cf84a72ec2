//! Recorded requests, without their texts.

use crate::sequences;
use impresario_policies::cache_markers::{Block, BlockKind, Charge, Lifetime};
use impresario_policies::domain::CacheTerms;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A row of requests of one conversation.
#[derive(Debug, Clone)]
pub struct Recording {
    pub name: String,
    pub model: String,
    pub tokens_min: u64,
    pub requests: Vec<Recorded>,
    /// The markers are those of the host already.
    pub of_host: bool,
    /// Ours have to save something.
    pub saves: bool,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// So long after the one before.
    pub after: Duration,
    pub blocks: Vec<Block>,
    pub expected: Option<Charge>,
}

impl Recording {
    pub fn terms(&self) -> CacheTerms {
        CacheTerms {
            tokens_min: self.tokens_min,
            ..CacheTerms::default()
        }
    }

    /// As Pi marks it: the last tool, the system prompt, the end of the last message of the user.
    pub fn with_hosts_markers(&self) -> Self {
        let mut recording = self.clone();
        if !self.of_host {
            for request in &mut recording.requests {
                mark_as_pi(&mut request.blocks, Lifetime::FiveMinutes);
            }
        }
        recording
    }
}

/// The layout of Pi 0.74.2 and 0.87.1.
pub fn mark_as_pi(blocks: &mut [Block], lives: Lifetime) {
    let last_tool = blocks.iter().rposition(|block| block.kind == BlockKind::Tool);
    let by_user = |block: &Block| {
        matches!(
            block.kind,
            BlockKind::Text | BlockKind::ToolResult | BlockKind::Image | BlockKind::Plain
        )
    };
    let tail = blocks.iter().rposition(by_user);
    for (place, block) in blocks.iter_mut().enumerate() {
        let marked = Some(place) == last_tool || Some(place) == tail || block.kind == BlockKind::System;
        block.marker = marked.then_some(lives);
    }
}

/// Everything there is to compare.
pub fn all() -> Vec<Recording> {
    let mut all = recorded();
    all.extend(sequences::all());
    all
}

/// The files of `tests/vectors/auto-context/cost`.
pub fn recorded() -> Vec<Recording> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/auto-context/cost");
    let names = ["tool-only", "truncated", "status-line", "peer-0.2.7"];
    names
        .map(|name| read(&directory.join(format!("{name}.json")), name))
        .into()
}

fn read(file: &Path, name: &str) -> Recording {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let json: Value = serde_json::from_slice(&text).expect("a recording is JSON");
    let gap = Duration::from_secs(json["gap_s"].as_u64().expect("a gap"));
    let requests = json["requests"].as_array().expect("requests").iter();
    Recording {
        name: name.to_string(),
        model: "claude".to_string(),
        tokens_min: json["min_tokens"].as_u64().expect("a minimum"),
        requests: requests.map(|request| read_request(request, gap)).collect(),
        of_host: name != "peer-0.2.7",
        saves: matches!(name, "status-line" | "peer-0.2.7"),
    }
}

fn read_request(request: &Value, after: Duration) -> Recorded {
    let blocks = request["blocks"].as_array().expect("blocks").iter();
    let tokens = |name: &str| request["expect"][name].as_u64().expect("tokens");
    Recorded {
        after,
        blocks: blocks.map(read_block).collect(),
        expected: Some(Charge {
            read: tokens("read"),
            written: tokens("write"),
            written_for_an_hour: 0,
            plain: tokens("plain"),
        }),
    }
}

fn read_block(block: &Value) -> Block {
    let content = block[0].as_str().expect("an id");
    Block {
        kind: match block[2].as_str() {
            Some("T") => BlockKind::Tool,
            Some("S") => BlockKind::System,
            Some("U") => BlockKind::ToolUse,
            Some("R") => BlockKind::ToolResult,
            _ => BlockKind::Text,
        },
        tokens: block[1].as_u64().expect("tokens"),
        content: u64::from_str_radix(content, 16).expect("hexadecimal"),
        marker: match block[3].as_str() {
            Some("5m") => Some(Lifetime::FiveMinutes),
            Some("1h") => Some(Lifetime::OneHour),
            _ => None,
        },
        anchor: block[4] == 1,
    }
}
