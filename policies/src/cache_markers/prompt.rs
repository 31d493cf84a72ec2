//! A request without its text: blocks, what they weigh, and the prefixes they make.

use serde::{Deserialize, Serialize};

/// What a block is, as far as markers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    Tool,
    System,
    /// Text of a user's message.
    Text,
    /// Text of an assistant's message.
    Said,
    /// A message that is plain text instead of blocks: there is no place for a marker.
    Plain,
    /// A text of nothing, on which the provider takes no marker.
    Empty,
    Image,
    Document,
    /// Takes no marker.
    Thinking,
    ToolUse,
    ToolResult,
    /// A block within a tool's result.
    Nested,
    /// The request itself, whose marker stands for one on its last block.
    Request,
    /// Something newer than we are: its marker is left alone, and none is put there.
    Other,
}

impl BlockKind {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tool => "a tool",
            Self::System => "the system prompt",
            Self::Text | Self::Plain => "something said to the model",
            Self::Said => "something the model said",
            Self::Empty => "an empty text",
            Self::Image => "a picture",
            Self::Document => "a document",
            Self::Thinking => "a thought",
            Self::ToolUse => "a call of a tool",
            Self::ToolResult | Self::Nested => "the result of a tool",
            Self::Request => "the request itself",
            Self::Other => "something of a newer kind",
        }
    }

    /// Whether a marker may be put on it.
    pub(super) fn takes_marker(self) -> bool {
        match self {
            Self::Tool
            | Self::System
            | Self::Text
            | Self::Said
            | Self::Image
            | Self::Document
            | Self::ToolUse
            | Self::ToolResult => true,
            Self::Plain | Self::Empty | Self::Thinking | Self::Nested | Self::Request | Self::Other => false,
        }
    }

    /// Whether the provider refuses a request for a marker on it.
    pub(super) fn refuses_marker(self) -> bool {
        matches!(self, Self::Plain | Self::Empty | Self::Thinking)
    }

    /// Whether it is a part of the prompt by itself.
    pub(super) fn is_content(self) -> bool {
        !matches!(self, Self::Nested | Self::Request)
    }

    pub(super) fn is_of_messages(self) -> bool {
        !matches!(self, Self::Tool | Self::System | Self::Request)
    }
}

/// How long a marked prefix is kept after its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Five minutes, the provider's default.
    FiveMinutes,
    OneHour,
}

/// One block of a request, in the order in which the provider hashes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    /// A guess: four characters each.
    pub tokens: u64,
    /// Stands for its content; its marker is no part of it.
    pub content: u64,
    /// The marker it carries.
    pub marker: Option<Lifetime>,
    /// It is the result of a call that set an anchor.
    pub anchor: bool,
}

impl Block {
    /// As it is told of: its length in characters, and 16 hexadecimal digits for its content.
    pub fn outlined(kind: BlockKind, size: u32, content: &str, marker: Option<Lifetime>) -> Self {
        Self {
            kind,
            tokens: u64::from(size.div_ceil(CHARACTERS_PER_TOKEN)),
            content: u64::from_str_radix(content, 16).unwrap_or_default(),
            marker,
            anchor: false,
        }
    }
}

/// So many characters are taken for a token.
const CHARACTERS_PER_TOKEN: u32 = 4;

/// The prefixes of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    positions: Vec<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    /// Stands for everything up to here.
    prefix: u64,
    /// Of everything up to here.
    tokens: u64,
    /// A run of calls counts once for who looks back, and so does a run of results.
    step: u32,
    /// It is a part of the prompt by itself.
    is_content: bool,
}

impl Prompt {
    /// Hashes a request as the provider does.
    pub fn of(blocks: &[Block]) -> Self {
        let mut positions = Vec::<Position>::with_capacity(blocks.len());
        let mut before = None;
        let (mut prefix, mut tokens) = (0_u64, 0_u64);
        for block in blocks {
            tokens = tokens.saturating_add(if block.kind.is_content() { block.tokens } else { 0 });
            let step = positions.last().map_or(0, |last| last.step);
            let runs_on = before == Some(block.kind)
                && matches!(block.kind, BlockKind::ToolUse | BlockKind::ToolResult);
            // What is within a result, or around everything, is no position of its own.
            let stays = !block.kind.is_content() || runs_on || before.is_none();
            if block.kind.is_content() {
                prefix = mixed(prefix ^ block.content);
                before = Some(block.kind);
            }
            positions.push(Position {
                prefix,
                tokens,
                step: if stays { step } else { step + 1 },
                is_content: block.kind.is_content(),
            });
        }
        Self { positions }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Tokens of everything before this place.
    pub fn tokens_before(&self, place: usize) -> u64 {
        let last = place.checked_sub(1).and_then(|last| self.positions.get(last));
        last.map_or(0, |position| position.tokens)
    }

    /// Tokens of everything up to and with this place.
    pub(super) fn tokens_to(&self, place: usize) -> u64 {
        self.tokens_before(place + 1)
    }

    pub(super) fn prefix(&self, place: usize) -> Option<u64> {
        self.positions.get(place).map(|position| position.prefix)
    }

    /// The prefixes of its own blocks: markers within them come and go.
    pub(super) fn prefixes(&self) -> Vec<u64> {
        let content = self.positions.iter().filter(|position| position.is_content);
        content.map(|position| position.prefix).collect()
    }

    /// The place of its own block with this number, from 0; its length where it has fewer.
    pub(super) fn place_of(&self, number: usize) -> usize {
        let content = self
            .positions
            .iter()
            .enumerate()
            .filter(|(_, position)| position.is_content);
        content.map(|(place, _)| place).nth(number).unwrap_or(self.len())
    }

    /// How many positions a marker at `from` looks back to see `to`.
    pub(super) fn steps_back(&self, from: usize, to: usize) -> Option<usize> {
        let (from, to) = (self.positions.get(from)?, self.positions.get(to)?);
        Some(from.step.checked_sub(to.step)? as usize)
    }
}

/// Spreads the bits of a number (the finaliser of splitmix64).
fn mixed(number: u64) -> u64 {
    let mut number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Whether a call in a request is this one of the session. A host writes ids of another provider's calls anew: what a
/// provider does not take becomes `_`, and what is too long is cut.
pub fn is_same_call(in_request: &str, in_session: &str) -> bool {
    in_request == in_session || in_request == written_anew(in_session)
}

const CALL_CHARACTERS_MAX: usize = 64;

fn written_anew(call: &str) -> String {
    let taken = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let anew = call
        .chars()
        .map(|character| if taken(character) { character } else { '_' });
    anew.take(CALL_CHARACTERS_MAX).collect()
}
