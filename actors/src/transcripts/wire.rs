//! The lines of nested sessions, as far as a person reads them: those of nested Pi and those of the embedded runner.

use impresario_policies::transcript::{Speaker, Spoken};
use serde::Deserialize;
use serde_json::Value;

/// A line of either kind; the other one's fields are empty.
#[derive(Deserialize)]
struct Line {
    /// Pi's: a message of a conversation.
    message: Option<PiMessage>,
    /// The embedded runner's.
    role: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    is_error: bool,
    error_message: Option<String>,
}

/// What a line says; none for a line that says nothing to anybody.
pub(super) fn read_line(line: &[u8]) -> Option<Spoken> {
    let line: Line = serde_json::from_slice(line).ok()?;
    match line.message {
        Some(message) => of_pi(message),
        None => {
            let speaker = speaker_of(&line.role?, String::new(), false)?;
            let calls = line.tool_calls.into_iter();
            Some(Spoken {
                speaker,
                text: line.text,
                thinking: String::new(),
                calls: calls
                    .map(|call| (call.tool, call.arguments.to_string()))
                    .collect(),
                fault: None,
            })
        }
    }
}

fn of_pi(message: PiMessage) -> Option<Spoken> {
    let speaker = speaker_of(&message.role, message.tool_name, message.is_error)?;
    let mut spoken = Spoken {
        speaker,
        text: String::new(),
        thinking: String::new(),
        calls: Vec::new(),
        fault: message.error_message,
    };
    match message.content {
        Value::String(text) => spoken.text = text,
        Value::Array(blocks) => blocks.iter().for_each(|block| read_block(block, &mut spoken)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
    Some(spoken)
}

fn read_block(block: &Value, spoken: &mut Spoken) {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => push(&mut spoken.text, text("text")),
        "thinking" => push(&mut spoken.thinking, text("thinking")),
        "toolCall" => {
            let arguments = block.get("arguments").map_or_else(String::new, Value::to_string);
            spoken.calls.push((text("name").to_string(), arguments));
        }
        "image" => push(&mut spoken.text, "[an image]"),
        _ => {}
    }
}

fn push(all: &mut String, text: &str) {
    if !all.is_empty() && !text.is_empty() {
        all.push('\n');
    }
    all.push_str(text);
}

/// What a host puts before a conversation is nobody's.
fn speaker_of(role: &str, name: String, is_error: bool) -> Option<Speaker> {
    match role {
        "user" => Some(Speaker::User),
        "assistant" => Some(Speaker::SubAgent),
        "tool" | "toolResult" => Some(Speaker::Tool { name, is_error }),
        _ => None,
    }
}
