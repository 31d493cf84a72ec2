//! One call to a language model.

#![warn(missing_docs)]

use async_trait::async_trait;
pub use impresario_policies::domain::ModelUsage;
use impresario_policies::domain::{Picture, ReasoningEffort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ModelRole {
    /// The person, or whoever stands for them.
    User,
    /// The model.
    Assistant,
    /// The result of a tool the model called.
    Tool,
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: ModelRole,
    /// What is said; for a tool, its result.
    pub text: String,
    /// The calls an assistant message makes.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// For a tool message: the call it answers.
    #[serde(default)]
    pub answers_call: Option<String>,
    /// Pictures beside what the person says. A host is asked for briefs only, which have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    #[ts(skip)]
    pub pictures: Vec<Picture>,
}

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolCall {
    /// The id the model gave it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[ts(type = "Record<string, unknown>")]
    pub arguments: serde_json::Value,
}

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ToolDefinition {
    /// `[A-Za-z0-9_-]+`: providers refuse anything else.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    #[ts(type = "Record<string, unknown>")]
    pub parameters: serde_json::Value,
}

/// One request. Content, order and sampling are the caller's; credentials are the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelRequest {
    /// `provider/id`, `offline`, or `session` for the model of the host's session.
    pub model: String,
    /// What stands before the conversation.
    pub system: String,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// The tools offered.
    pub tools: Vec<ToolDefinition>,
    /// Sampling temperature, where the provider takes one.
    pub temperature: Option<f64>,
    /// How much the model thinks; none for what its provider does. A host is asked for briefs only, which leave it open.
    #[serde(skip)]
    #[ts(skip)]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The reply must be one JSON object.
    pub json: bool,
    /// At most so many tokens in the reply.
    pub tokens_max: u32,
}

/// What a picture costs, as text: about 1,600 tokens, the most of one that Anthropic does not scale down.
const PICTURE_AS_TEXT_BYTES: usize = 6_400;

impl ModelRequest {
    /// About how large it is, in bytes of text.
    pub fn bytes(&self) -> u64 {
        let of_call = |call: &ToolCall| call.tool.len() + call.arguments.to_string().len();
        let of_message = |message: &ModelMessage| {
            let pictures = message.pictures.len() * PICTURE_AS_TEXT_BYTES;
            message.text.len() + message.tool_calls.iter().map(of_call).sum::<usize>() + pictures
        };
        let of_tool = |tool: &ToolDefinition| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        };
        let messages = self.messages.iter().map(of_message).sum::<usize>();
        let tools = self.tools.iter().map(of_tool).sum::<usize>();
        (self.system.len() + messages + tools) as u64
    }
}

/// One reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelReply {
    /// The text.
    pub text: String,
    /// The calls it makes.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// What it used.
    pub usage: ModelUsage,
    /// The model that answered, where the provider says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub served: Option<String>,
}

/// Why there was no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "failure", content = "why")]
pub enum ModelError {
    /// 5xx, overloaded, connection refused.
    #[error("reach the model: {0}")]
    Unavailable(String),
    /// 429, quota.
    #[error("call the model, which asks to slow down: {0}")]
    RateLimited(String),
    /// 401, 403, nobody logged in.
    #[error("authenticate with the model's provider: {0}")]
    Authentication(String),
    /// The conversation does not fit.
    #[error("fit the conversation into the model's context: {0}")]
    ContextOverflow(String),
    /// The provider has no such model.
    #[error("find the model: {0}")]
    UnknownModel(String),
    /// The model declined.
    #[error("get an answer: the model declined: {0}")]
    Refused(String),
}

/// Where the text of a reply goes as it comes, in parts. Nobody has to listen at the other end.
pub type TextDeltas = tokio::sync::mpsc::Sender<String>;

/// Calls a language model.
#[async_trait(?Send)]
pub trait ModelClient {
    /// One call, one reply; dropping the future cancels the call.
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError>;

    /// Whether prompts of this model go out with cache markers, behind the system prompt and at their end. It is asked
    /// before each call, and says so at once.
    fn marks_prompts(&self, _model: &str) -> bool {
        false
    }

    /// As [`complete`](Self::complete), and the text is told as it comes; a model that cannot do that tells it at once.
    async fn stream(&self, request: ModelRequest, text: TextDeltas) -> Result<ModelReply, ModelError> {
        let reply = self.complete(request).await?;
        if !reply.text.is_empty() {
            let _ = text.send(reply.text.clone()).await;
        }
        Ok(reply)
    }
}
