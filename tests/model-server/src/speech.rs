//! A turn made ready to be said to one request: placeholders filled, text cut into deltas.
//!
//! `{{model}}`, `{{first_user}}`, `{{last_user}}` and `{{last_tool_result}}` in texts and in the strings of
//! arguments stand for what the request says, so that a test can see that words reached the model.

use serde_json::Value;

use crate::request::RequestSummary;
use crate::script::{Place, Stop, ToolCall, Turn, Usage};

/// Characters in a delta where the script does not say.
const DELTA_CHARS: usize = 24;

/// What is said, whatever the protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speech {
    /// The number of the call, from which ids are made.
    pub number: u64,
    /// The model that the answer says it is from.
    pub model: String,
    /// Thinking.
    pub thinking: Option<String>,
    /// The text in deltas.
    pub text: Vec<String>,
    /// The words of a refusal in deltas; empty where the model does not refuse.
    pub refusal: Vec<String>,
    /// Tool calls.
    pub calls: Vec<SpokenCall>,
    /// Why the answer stops.
    pub stop: Stop,
    /// Token counts.
    pub usage: Usage,
}

/// A tool call with its arguments as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpokenCall {
    /// Its id, where the script gives one.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments in fragments.
    pub arguments: Vec<String>,
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// The bytes on the wire.
    pub bytes: String,
    /// What they are a part of.
    pub part: Part,
}

/// What a frame is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The opening of the answer.
    Opening,
    /// Content that no fault stands in: thinking, frames around content.
    Around,
    /// A delta of text or of a refusal.
    Text,
    /// A fragment of the arguments of a tool call.
    Arguments,
    /// The end of the answer.
    Closing,
}

impl Speech {
    /// Makes a turn ready for this request.
    pub(crate) fn of(turn: &Turn, request: &RequestSummary, number: u64) -> Self {
        let chars = turn.delta_chars.unwrap_or(DELTA_CHARS).max(1);
        let mut text = cut(&fill(&turn.text, request), chars);
        text.extend(turn.deltas.iter().map(|delta| fill(delta, request)));
        let refusal = turn
            .refusal
            .as_deref()
            .map(|words| cut(&fill(words, request), chars));
        let stop_by_content = if refusal.is_some() {
            Stop::Refusal
        } else {
            Stop::End
        };
        Self {
            number,
            model: turn.model.clone().unwrap_or_else(|| request.model.clone()),
            thinking: turn.thinking.clone(),
            text,
            refusal: refusal.unwrap_or_default(),
            calls: turn
                .tools
                .iter()
                .map(|call| SpokenCall::of(call, request))
                .collect(),
            stop: turn.stop.unwrap_or(stop_by_content),
            usage: turn.usage,
        }
    }
}

impl SpokenCall {
    fn of(call: &ToolCall, request: &RequestSummary) -> Self {
        let arguments = match &call.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(raw) => fill(raw, request),
            object => fill_value(object, request).to_string(),
        };
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: cut(&arguments, DELTA_CHARS),
        }
    }
}

/// The index in front of which a fault at this place stands.
pub(crate) fn index_of(place: Place, frames: &[Frame]) -> usize {
    let behind_first = |part: Part| {
        frames
            .iter()
            .position(|frame| frame.part == part)
            .map(|index| index + 1)
    };
    let found = match place {
        Place::Start => behind_first(Part::Opening),
        Place::MidText => behind_first(Part::Text),
        Place::MidToolCall => behind_first(Part::Arguments),
        Place::BeforeEnd => frames.iter().position(|frame| frame.part == Part::Closing),
    };
    found.unwrap_or(frames.len())
}

/// Cuts a text into pieces of so many characters, but into two at least where that is possible, so that there is
/// always a middle.
fn cut(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    let half = all.len().div_ceil(2).max(1);
    all.chunks(chars.min(half))
        .map(|piece| piece.iter().collect())
        .collect()
}

fn fill(text: &str, request: &RequestSummary) -> String {
    if !text.contains("{{") {
        return text.to_owned();
    }
    text.replace("{{model}}", &request.model)
        .replace("{{first_user}}", request.first_user())
        .replace("{{last_user}}", request.last_user())
        .replace("{{last_tool_result}}", &request.last_tool_result)
}

fn fill_value(value: &Value, request: &RequestSummary) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, request)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, request)).collect(),
        Value::Object(map) => {
            let filled = map
                .iter()
                .map(|(key, value)| (key.clone(), fill_value(value, request)));
            Value::Object(filled.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_cut_between_characters_and_has_a_middle() {
        assert_eq!(cut("äöü", 24), ["äö", "ü"]);
        assert_eq!(cut("abcdef", 2), ["ab", "cd", "ef"]);
        assert_eq!(cut("a", 24), ["a"]);
        assert_eq!(cut("", 24), Vec::<String>::new());
    }

    #[test]
    fn placeholders_stand_for_what_the_request_says() {
        let request = RequestSummary {
            model: "m".into(),
            users: vec!["first".into(), "last".into()],
            last_tool_result: "42".into(),
            ..RequestSummary::default()
        };
        let turn = Turn::text("{{model}} {{first_user}} {{last_user}} {{last_tool_result}}")
            .in_deltas_of(100)
            .and_tool("echo", json!({"text": ["{{last_user}}"]}));
        let speech = Speech::of(&turn, &request, 1);
        assert_eq!(speech.text.concat(), "m first last 42");
        assert_eq!(speech.calls[0].arguments.concat(), r#"{"text":["last"]}"#);
    }

    #[test]
    fn arguments_given_as_a_string_are_sent_as_they_are() {
        let turn = Turn::tool("read", json!("{\"path\":"));
        let speech = Speech::of(&turn, &RequestSummary::default(), 1);
        assert_eq!(speech.calls[0].arguments.concat(), "{\"path\":");
    }
}
