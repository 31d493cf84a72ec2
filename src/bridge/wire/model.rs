//! A model call that the host makes for us with the user's own credentials.

use impresario_actors::gateways::{
    ModelError, ModelMessage, ModelReply, ModelRequest, ModelRole, ModelUsage, ToolCall, ToolDefinition,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The name that means the session's own model.
pub const HOST_MODEL: &str = "session";

/// Which of these models can the host call? Nothing is called, so it costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelsCheck {
    /// As `provider/id`.
    pub models: Vec<String>,
}

/// Whether the host can call a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ModelStanding {
    /// It is known, and there are credentials for it.
    Ready,
    /// The host has no model of that name.
    Unknown,
    /// It is known, and nobody is logged in for its provider.
    NotLoggedIn,
}

/// The answer to [`ModelsCheck`], in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelsChecked {
    /// One for each model.
    pub standings: Vec<ModelStanding>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum WireModelRole {
    /// The person, or whoever stands for them.
    User,
    /// The model.
    Assistant,
    /// The result of a tool.
    Tool,
}

/// A call of a tool by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WireToolCall {
    /// The id the model gave it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[ts(type = "Record<string, unknown>")]
    pub arguments: serde_json::Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WireModelMessage {
    /// Who speaks.
    pub role: WireModelRole,
    /// What is said; for a tool, its result.
    pub text: String,
    /// The calls an assistant message makes.
    #[serde(default)]
    pub tool_calls: Vec<WireToolCall>,
    /// For a tool message: the call it answers.
    #[serde(default)]
    pub answers_call: Option<String>,
}

/// What the model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WireToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    #[ts(type = "Record<string, unknown>")]
    pub parameters: serde_json::Value,
}

/// Call this model once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelComplete {
    /// `provider/id`, or `session` for the session's own model.
    pub model: String,
    /// What stands before the conversation.
    pub system: String,
    /// The conversation.
    pub messages: Vec<WireModelMessage>,
    /// The tools offered.
    #[serde(default)]
    pub tools: Vec<WireToolDefinition>,
    /// Sampling temperature, where the provider takes one.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// At most so many tokens in the reply.
    pub tokens_max: u32,
}

/// What a call used, as the provider counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WireModelUsage {
    /// Fresh input tokens.
    #[ts(type = "number")]
    pub input: u64,
    /// Output tokens.
    #[ts(type = "number")]
    pub output: u64,
    /// Input tokens read from a prompt cache.
    #[ts(type = "number")]
    pub cache_read: u64,
    /// Input tokens written to a prompt cache.
    #[ts(type = "number")]
    pub cache_write: u64,
    /// In US dollars, where the price is known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
}

/// The answer to [`ModelComplete`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelCompleted {
    /// The text.
    pub text: String,
    /// The calls it makes.
    #[serde(default)]
    pub tool_calls: Vec<WireToolCall>,
    /// What it used.
    pub usage: WireModelUsage,
}

/// Stands in the `data` of the error that answers a [`ModelComplete`] which failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case", tag = "failure", content = "why")]
pub enum ModelFailure {
    /// 5xx, overloaded, connection refused.
    Unavailable(String),
    /// 429, quota.
    RateLimited(String),
    /// 401, 403, nobody logged in.
    Authentication(String),
    /// The conversation does not fit.
    ContextOverflow(String),
    /// The host has no such model.
    UnknownModel(String),
    /// The model declined.
    Refused(String),
}

impl From<ModelFailure> for ModelError {
    fn from(failure: ModelFailure) -> Self {
        match failure {
            ModelFailure::Unavailable(why) => Self::Unavailable(why),
            ModelFailure::RateLimited(why) => Self::RateLimited(why),
            ModelFailure::Authentication(why) => Self::Authentication(why),
            ModelFailure::ContextOverflow(why) => Self::ContextOverflow(why),
            ModelFailure::UnknownModel(why) => Self::UnknownModel(why),
            ModelFailure::Refused(why) => Self::Refused(why),
        }
    }
}

impl From<ModelRole> for WireModelRole {
    fn from(role: ModelRole) -> Self {
        match role {
            ModelRole::User => Self::User,
            ModelRole::Assistant => Self::Assistant,
            ModelRole::Tool => Self::Tool,
        }
    }
}

impl From<ToolCall> for WireToolCall {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.id,
            tool: call.tool,
            arguments: call.arguments,
        }
    }
}

impl From<WireToolCall> for ToolCall {
    fn from(call: WireToolCall) -> Self {
        Self {
            id: call.id,
            tool: call.tool,
            arguments: call.arguments,
        }
    }
}

impl From<ModelMessage> for WireModelMessage {
    fn from(message: ModelMessage) -> Self {
        Self {
            role: message.role.into(),
            text: message.text,
            tool_calls: message.tool_calls.into_iter().map(Into::into).collect(),
            answers_call: message.answers_call,
        }
    }
}

impl From<ToolDefinition> for WireToolDefinition {
    fn from(tool: ToolDefinition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        }
    }
}

impl From<ModelRequest> for ModelComplete {
    fn from(request: ModelRequest) -> Self {
        Self {
            model: request.model,
            system: request.system,
            messages: request.messages.into_iter().map(Into::into).collect(),
            tools: request.tools.into_iter().map(Into::into).collect(),
            temperature: request.temperature,
            tokens_max: request.tokens_max,
        }
    }
}

impl From<WireModelUsage> for ModelUsage {
    fn from(usage: WireModelUsage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost_usd: usage.cost_usd,
        }
    }
}

impl From<ModelCompleted> for ModelReply {
    fn from(reply: ModelCompleted) -> Self {
        Self {
            text: reply.text,
            tool_calls: reply.tool_calls.into_iter().map(Into::into).collect(),
            usage: reply.usage.into(),
        }
    }
}
