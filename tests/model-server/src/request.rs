//! What a request says, as far as rules and the ledger need to know.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Neither: answered with 404.
    Unknown,
}

impl Wire {
    /// Reads the protocol from the path of a request.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        if path.ends_with("/chat/completions") {
            Self::OpenAi
        } else if path.ends_with("/messages") {
            Self::Anthropic
        } else {
            Self::Unknown
        }
    }
}

/// A request, summed up the same way for both protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestSummary {
    /// The requested model.
    pub model: String,
    /// The system prompt (or developer message).
    pub system: String,
    /// Every text of a user, in order; results of tools are not texts of a user.
    pub users: Vec<String>,
    /// The last result of a tool.
    pub last_tool_result: String,
    /// Names of the tools on offer.
    pub tools: Vec<String>,
    /// Messages in the conversation.
    pub message_count: usize,
    /// Assistant messages since the last text of a user.
    pub assistants_since_user: usize,
    /// Whether the answer should be streamed.
    pub streaming: bool,
}

impl RequestSummary {
    /// Sums up the body of a request.
    #[must_use]
    pub fn read(wire: Wire, body: &Value) -> Self {
        let no_messages = Vec::new();
        let messages = body["messages"].as_array().unwrap_or(&no_messages);
        let mut summary = Self {
            model: text_of(&body["model"]),
            system: if wire == Wire::Anthropic {
                text_of(&body["system"])
            } else {
                String::new()
            },
            tools: tool_names(&body["tools"]),
            message_count: messages.len(),
            streaming: body["stream"].as_bool().unwrap_or(false),
            ..Self::default()
        };
        for message in messages {
            summary.read_message(message);
        }
        summary
    }

    /// The first text of a user.
    #[must_use]
    pub fn first_user(&self) -> &str {
        self.users.first().map_or("", String::as_str)
    }

    /// The last text of a user.
    #[must_use]
    pub fn last_user(&self) -> &str {
        self.users.last().map_or("", String::as_str)
    }

    fn read_message(&mut self, message: &Value) {
        let content = &message["content"];
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => {
                if !self.system.is_empty() {
                    self.system.push('\n');
                }
                self.system.push_str(&text_of(content));
            }
            "assistant" => self.assistants_since_user += 1,
            "tool" => self.last_tool_result = text_of(content),
            "user" => self.read_user(content),
            _ => {}
        }
    }

    fn read_user(&mut self, content: &Value) {
        let no_blocks = Vec::new();
        let blocks = content.as_array().unwrap_or(&no_blocks);
        let (results, texts): (Vec<&Value>, Vec<&Value>) =
            blocks.iter().partition(|block| block["type"] == "tool_result");
        if let Some(last) = results.last() {
            self.last_tool_result = text_of(&last["content"]);
        }
        let text = if content.is_string() {
            text_of(content)
        } else {
            let said = |block: &&&Value| !is_about_context(block["text"].as_str().unwrap_or_default());
            join_texts(&texts.iter().filter(said).copied().collect::<Vec<_>>())
        };
        let only_results = !results.is_empty() && text.is_empty();
        let tells = |block: &&Value| is_about_context(block["text"].as_str().unwrap_or_default());
        let only_about_context = text.is_empty() && texts.iter().any(tells);
        if !only_results && !only_about_context && !is_about_context(&text) {
            self.users.push(text);
            self.assistants_since_user = 0;
        }
    }
}

/// The line that tells a model about its context is nobody's words.
fn is_about_context(text: &str) -> bool {
    text.starts_with("[context] model=")
}

fn tool_names(tools: &Value) -> Vec<String> {
    let no_tools = Vec::new();
    let tools = tools.as_array().unwrap_or(&no_tools);
    let name = |tool: &Value| {
        let openai = tool["function"]["name"].as_str();
        openai
            .or_else(|| tool["name"].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    tools.iter().map(name).collect()
}

/// The text of a string or of a list of content blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => join_texts(&blocks.iter().collect::<Vec<_>>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn join_texts(blocks: &[&Value]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_path_says_the_protocol() {
        assert_eq!(Wire::of_path("/v1/chat/completions"), Wire::OpenAi);
        assert_eq!(Wire::of_path("/v1/messages"), Wire::Anthropic);
        assert_eq!(Wire::of_path("/v1/models"), Wire::Unknown);
    }

    #[test]
    fn an_openai_request_is_summed_up() {
        let body = json!({"model": "m", "stream": true, "tools": [{"type": "function", "function": {"name": "read"}}],
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "tool_calls": []}, {"role": "tool", "content": "42"}]});
        let expected = RequestSummary {
            model: "m".into(),
            system: "be brief".into(),
            users: vec!["hi".into()],
            last_tool_result: "42".into(),
            tools: vec!["read".into()],
            message_count: 4,
            assistants_since_user: 1,
            streaming: true,
        };
        assert_eq!(RequestSummary::read(Wire::OpenAi, &body), expected);
    }

    #[test]
    fn an_anthropic_request_is_summed_up() {
        let body = json!({"model": "m", "tools": [{"name": "read"}], "system": [{"type": "text", "text": "be brief"}],
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": []},
                {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "42"}]}]}]});
        let expected = RequestSummary {
            model: "m".into(),
            system: "be brief".into(),
            users: vec!["hi".into()],
            last_tool_result: "42".into(),
            tools: vec!["read".into()],
            message_count: 3,
            assistants_since_user: 1,
            streaming: false,
        };
        assert_eq!(RequestSummary::read(Wire::Anthropic, &body), expected);
    }

    #[test]
    fn a_body_of_the_wrong_shape_is_an_empty_request() {
        assert_eq!(
            RequestSummary::read(Wire::OpenAi, &json!([1, 2])),
            RequestSummary::default()
        );
    }
}
