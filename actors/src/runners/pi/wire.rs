//! The JSON of Pi's RPC mode, as 0.74.2 and 0.87.1 write and read it.
//!
//! A line is read into one flat, borrowed envelope whose parts stay raw until somebody needs them: an internally
//! tagged enum would copy every line first and cost five times as much.

use crate::gateways::{Outline, ToolAnswer};
use impresario_policies::cache_markers::{Block as PromptBlock, BlockKind, Lifetime, MarkerEdit};
use impresario_policies::domain::Picture;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Any line Pi prints. Which parts are there depends on `kind`; none is trusted to have the right shape. One field that
/// borrows lets all of them borrow.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    /// The id of a response or of a request of an extension.
    pub id: Option<&'a RawValue>,
    /// The command a response answers.
    pub command: Option<&'a RawValue>,
    /// A response or a retry went well.
    pub success: Option<&'a RawValue>,
    /// Why a response is a refusal.
    pub error: Option<&'a RawValue>,
    pub data: Option<&'a RawValue>,
    /// The message of a message event, or the text of a request of an extension.
    pub message: Option<&'a RawValue>,
    /// All messages of a run.
    pub messages: Option<&'a RawValue>,
    /// The delta of a message update.
    pub assistant_message_event: Option<&'a RawValue>,
    /// Another low-level run follows by itself.
    pub will_retry: Option<&'a RawValue>,
    pub tool_call_id: Option<&'a RawValue>,
    pub tool_name: Option<&'a RawValue>,
    /// What the tool is called with.
    pub args: Option<&'a RawValue>,
    pub result: Option<&'a RawValue>,
    pub is_error: Option<&'a RawValue>,
    pub attempt: Option<&'a RawValue>,
    /// How long until the retry.
    pub delay_ms: Option<&'a RawValue>,
    /// Why there is a retry.
    pub error_message: Option<&'a RawValue>,
    /// Which dialog an extension wants.
    pub method: Option<&'a RawValue>,
    /// The title of that dialog.
    pub title: Option<&'a RawValue>,
    /// The text an editor dialog begins with.
    pub prefill: Option<&'a RawValue>,
    /// The hint of an input dialog.
    pub placeholder: Option<&'a RawValue>,
}

/// A message of the conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message<'a> {
    #[serde(borrow)]
    pub role: Cow<'a, str>,
    /// Blocks, or plain text.
    pub content: Option<&'a RawValue>,
    pub stop_reason: Option<&'a RawValue>,
    /// How it ended in the provider's own words.
    pub raw_stop_reason: Option<&'a RawValue>,
    pub error_message: Option<&'a RawValue>,
    pub usage: Option<&'a RawValue>,
    /// The model that answered, where the provider says it.
    pub response_model: Option<&'a RawValue>,
}

/// A block of a message or of a tool's result.
#[derive(Debug, Deserialize)]
pub struct Block<'a> {
    /// `text`, `thinking`, `toolCall`, `image`.
    #[serde(rename = "type", borrow)]
    pub kind: Option<&'a RawValue>,
    /// The text of a text block.
    pub text: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub struct ToolOutput<'a> {
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

/// The delta of a message update.
#[derive(Debug, Deserialize)]
pub struct MessageDelta<'a> {
    /// `text_delta`, `toolcall_delta`, `thinking_end`, …
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    pub delta: Option<&'a RawValue>,
}

/// What a call used, as Pi counts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input: f64,
    pub output: f64,
    /// Input tokens read from a cache.
    pub cache_read: f64,
    /// Input tokens written to a cache.
    pub cache_write: f64,
    pub cost: Cost,
}

/// What a call cost; zero where Pi knows no price.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cost {
    pub total: f64,
}

/// What `get_state` says, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// A run is under way.
    pub is_streaming: bool,
    /// The conversation is being summarised.
    pub is_compacting: bool,
}

/// What we say to Pi, one line each.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command<'a> {
    /// Begins a run. The answer means accepted, not done.
    Prompt {
        /// Our name for it.
        id: &'a str,
        message: &'a str,
    },
    /// Tells a run that is under way something, before its next call of the model.
    Steer {
        /// Our name for it.
        id: &'a str,
        message: &'a str,
    },
    /// Goes on with the session in this file, or begins it there.
    SwitchSession {
        /// Our name for it.
        id: &'a str,
        #[serde(rename = "sessionPath")]
        session_path: &'a str,
    },
    Abort {
        /// Our name for it.
        id: &'a str,
    },
    /// Ends the wait for a retry.
    AbortRetry {
        /// Our name for it.
        id: &'a str,
    },
    /// Asks whether anything is under way.
    GetState {
        /// Our name for it.
        id: &'a str,
    },
    /// Answers a dialog of an extension.
    ExtensionUiResponse {
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        confirmed: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cancelled: Option<bool>,
    },
}

impl Command<'_> {
    /// The line, with its end. JSON escapes every line feed inside.
    pub fn to_line(&self) -> Vec<u8> {
        // Strings, numbers and booleans always have a JSON form.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Whether this line says that another session was gone over to, asked for by this name; none where it says nothing of
/// it.
pub fn switched(line: &[u8], id: &str) -> Option<bool> {
    let said: Envelope<'_> = serde_json::from_slice(line).ok()?;
    if said.kind != "response" || text(said.id).as_deref() != Some(id) {
        return None;
    }
    let outcome = said.data.map(|data| serde_json::from_str::<Switched>(data.get()));
    Some(flag(said.success) == Some(true) && matches!(outcome, Some(Ok(Switched { cancelled: false }))))
}

#[derive(Deserialize)]
struct Switched {
    cancelled: bool,
}

/// What our child extension is told when a call of the model may be made: the variables that what it starts from then on
/// carries, and how the cache markers of the request change, by the place of the block.
pub fn call_allowed(environment: &BTreeMap<String, String>, edits: &[MarkerEdit]) -> String {
    let markers = edits
        .iter()
        .map(|edit| (edit.place, edit.marker.map(MarkerTtl::from)));
    let markers = markers.collect::<Vec<_>>();
    format!(
        "go {}",
        serde_json::json!({ "environment": environment, "markers": markers })
    )
}

/// How long a marker lives, as the provider says it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum MarkerTtl {
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}

impl From<Lifetime> for MarkerTtl {
    fn from(lives: Lifetime) -> Self {
        match lives {
            Lifetime::FiveMinutes => Self::FiveMinutes,
            Lifetime::OneHour => Self::OneHour,
        }
    }
}

impl From<MarkerTtl> for Lifetime {
    fn from(ttl: MarkerTtl) -> Self {
        match ttl {
            MarkerTtl::FiveMinutes => Self::FiveMinutes,
            MarkerTtl::OneHour => Self::OneHour,
        }
    }
}

/// What our child extension asks before a call of the model.
#[derive(Debug, Deserialize)]
pub struct ModelCallAsked {
    /// `provider/id`.
    pub model: String,
    /// The size of the request.
    pub bytes: u64,
    /// Its blocks, where it takes cache markers: kind, length in characters, what stands for the content, marker.
    #[serde(default)]
    pub blocks: Vec<(BlockKind, u32, String, Option<MarkerTtl>)>,
}

impl ModelCallAsked {
    /// The request without its text.
    pub fn outline(&self) -> Option<Outline> {
        let blocks = self.blocks.iter().map(|(kind, size, content, marker)| {
            PromptBlock::outlined(*kind, *size, content, marker.map(Lifetime::from))
        });
        (!self.blocks.is_empty()).then(|| Outline {
            blocks: blocks.collect(),
            is_open: true,
        })
    }
}

/// What our child extension asks before a tool begins.
#[derive(Debug, Deserialize)]
pub struct ToolStartAsked {
    /// The id that the model gave the call; the driver puts the name of the call in its place.
    pub call: String,
    pub tool: String,
    /// What it is called with.
    #[serde(default)]
    pub input: Option<Box<RawValue>>,
}

/// What our child extension asks before the model sees a result.
#[derive(Debug, Deserialize)]
pub struct ToolResultAsked {
    /// The id that the model gave the call; the driver puts the name of the call in its place.
    pub call: String,
    pub tool: String,
    /// It failed.
    #[serde(default)]
    pub failed: bool,
    /// What was said so far was replaced by a summary since the last result.
    #[serde(default)]
    pub compacted: bool,
    /// Of a `read`: the first line that it was to show.
    #[serde(default)]
    pub offset: Option<f64>,
}

/// A call of one of the runtime's own tools.
#[derive(Debug, Deserialize)]
pub struct OwnToolAsked {
    /// The id that the model gave the call; the driver puts the name of the call in its place.
    pub call: String,
    pub tool: String,
    /// As the model gave them.
    #[serde(default)]
    pub arguments: serde_json::Value,
}

/// What our child extension is told of such a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum OwnToolAnswer {
    Said {
        text: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
    },
    Failed {
        error: String,
    },
}

impl From<Result<ToolAnswer, String>> for OwnToolAnswer {
    fn from(answer: Result<ToolAnswer, String>) -> Self {
        match answer {
            Ok(ToolAnswer { text, pictures, .. }) => Self::Said { text, pictures },
            Err(error) => Self::Failed { error },
        }
    }
}

/// The text in a raw part, if it is a text.
pub fn text<'a>(raw: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let json = raw?.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(json).ok().map(Cow::Owned)
}

/// The truth value in a raw part, if it is one.
pub fn flag(raw: Option<&RawValue>) -> Option<bool> {
    match raw?.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The number in a raw part, if it is one and not negative.
pub fn number(raw: Option<&RawValue>) -> Option<f64> {
    let number: f64 = raw?.get().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Calls `each` with the text of every text block, or with the whole when it is plain text.
pub fn each_text(content: Option<&RawValue>, mut each: impl FnMut(&str)) {
    if let Some(plain) = text(content) {
        each(&plain);
        return;
    }
    each_element(content, |raw| {
        let Ok(block) = serde_json::from_str::<Block<'_>>(raw.get()) else {
            return;
        };
        if text(block.kind).as_deref() == Some("text")
            && let Some(text) = text(block.text)
        {
            each(&text);
        }
    });
}

/// How many blocks of this kind there are.
pub fn count_blocks(content: Option<&RawValue>, kind: &str) -> usize {
    let mut count = 0;
    each_element(content, |raw| {
        let block = serde_json::from_str::<Block<'_>>(raw.get());
        count += usize::from(block.is_ok_and(|block| text(block.kind).as_deref() == Some(kind)));
    });
    count
}

/// Calls `each` with every element of an array, one at a time: a hostile array costs no more memory than its text.
pub fn each_element<'a>(raw: Option<&'a RawValue>, each: impl FnMut(&'a RawValue)) {
    let Some(raw) = raw else { return };
    let mut elements = serde_json::Deserializer::from_str(raw.get());
    // What is no array has no elements; a broken one ends where it breaks.
    let _ = elements.deserialize_seq(Elements(each));
}

struct Elements<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'de RawValue>()? {
            (self.0)(element);
        }
        Ok(())
    }
}
