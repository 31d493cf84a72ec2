//! A request of an embedded sub-agent without its text, as its provider hashes it.

use crate::gateways::{ModelMessage, ModelRequest, ModelRole, Outline};
use impresario_policies::cache_markers::{Block, BlockKind, Lifetime};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The outline; `is_marked`: it goes out with cache markers behind the system prompt and at its end.
pub(super) fn outline(request: &ModelRequest, is_marked: bool) -> Outline {
    let tools = request.tools.iter().map(|tool| {
        let parameters = tool.parameters.to_string();
        block(BlockKind::Tool, &[&tool.name, &tool.description, &parameters])
    });
    let system = block(BlockKind::System, &[&request.system]);
    let mut blocks = tools.chain([system]).collect::<Vec<_>>();
    let system = blocks.len() - 1;
    for message in &request.messages {
        add(message, &mut blocks);
    }
    let last = blocks.len() - 1;
    for place in [system, last] {
        blocks[place].marker = is_marked.then_some(Lifetime::FiveMinutes);
    }
    // Its markers are placed where the request is made.
    Outline {
        blocks,
        is_open: false,
    }
}

fn add(message: &ModelMessage, blocks: &mut Vec<Block>) {
    let pictures = message.pictures.iter();
    blocks.extend(pictures.map(|picture| block(BlockKind::Image, &[&*picture.base64])));
    let kind = match message.role {
        ModelRole::User => BlockKind::Text,
        ModelRole::Assistant => BlockKind::Said,
        ModelRole::Tool => BlockKind::ToolResult,
    };
    if !message.text.is_empty() || kind != BlockKind::Said {
        let answers = message.answers_call.as_deref().unwrap_or_default();
        blocks.push(block(kind, &[answers, &message.text]));
    }
    for call in &message.tool_calls {
        let arguments = call.arguments.to_string();
        blocks.push(block(BlockKind::ToolUse, &[&call.id, &call.tool, &arguments]));
    }
}

/// So many characters are taken for a token.
const CHARACTERS_PER_TOKEN: usize = 4;

fn block(kind: BlockKind, parts: &[&str]) -> Block {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    let size = parts.iter().map(|part| part.len()).sum::<usize>();
    Block {
        kind,
        tokens: size.div_ceil(CHARACTERS_PER_TOKEN) as u64,
        content: hasher.finish(),
        marker: None,
        anchor: false,
    }
}
