//! Models of providers, called over the network with keys of the environment.
//!
//! One call is one request: what follows a failure is the run's to decide, so nothing is tried again here.

use crate::gateways::{
    ModelClient, ModelError, ModelMessage, ModelReply, ModelRequest, ModelRole, ModelUsage, TextDeltas,
    ToolCall,
};
use crate::http_clients::{build_client, with_causes};
use async_trait::async_trait;
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ChatStreamEvent, ContentPart,
    MessageContent, StopReason, StreamEnd, Tool, ToolResponse, Usage,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use impresario_policies::attempt_ending::{read_words, says_no_such_model, shorten};
use impresario_policies::domain::{AttemptEnding, ReasoningEffort};
use impresario_policies::providers::{Dialect, NoTarget, Target, find_target};
use impresario_policies::redact::redact;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

/// A provider that does not take a connection within this is not there.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// What a provider says of a failure, in characters; the rest is cut.
const WHY_CHARACTERS_MAX: usize = 1_000;
/// Text of one reply, in bytes.
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Calls the models of all providers that the environment has keys for.
#[derive(Default)]
pub struct ProviderModels {
    client: OnceLock<Client>,
    /// These come before the environment's.
    variables: BTreeMap<String, String>,
}

impl ProviderModels {
    /// Nothing is read and nobody is called before a model is asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// A variable that stands for the one of the environment: a key that comes from elsewhere, another address.
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    fn variable(&self, name: &str) -> Option<String> {
        let own = self.variables.get(name).cloned();
        own.or_else(|| std::env::var(name).ok())
    }

    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = new_client().map_err(|why| ModelError::Unavailable(with_causes(&*why)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn new_client() -> Result<Client, Box<dyn std::error::Error>> {
    let http = build_client(|client| {
        client
            .connect_timeout(CONNECT_WITHIN)
            // A key goes to the address that was given, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("impresario/", env!("CARGO_PKG_VERSION")))
    })?;
    Ok(Client::builder().with_reqwest(http).build()?)
}

#[async_trait(?Send)]
impl ModelClient for ProviderModels {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let (nobody, _) = tokio::sync::mpsc::channel(1);
        self.stream(request, nobody).await
    }

    fn marks_prompts(&self, model: &str) -> bool {
        let target = find_target(model, |name| self.variable(name));
        target.is_ok_and(|target| target.dialect == Dialect::Anthropic)
    }

    async fn stream(&self, request: ModelRequest, text: TextDeltas) -> Result<ModelReply, ModelError> {
        let target = find_target(&request.model, |name| self.variable(name)).map_err(no_target)?;
        let dialect = target.dialect;
        let client = self.client()?;
        let (asked, mut options) = (chat_request(&request, dialect), chat_options(&request, dialect));
        options.prompt_cache_key = takes_cache_key(&target.url).then(|| cache_key(&request));
        let reply = client.exec_chat_stream(service(target), asked, Some(&options));
        let mut events = reply.await.map_err(read_error)?.stream;
        let mut bytes = 0;
        while let Some(event) = events.next().await {
            match event.map_err(read_error)? {
                ChatStreamEvent::Chunk(chunk) => {
                    bytes += chunk.content.len();
                    if bytes > TEXT_BYTES_MAX {
                        return Err(ModelError::Unavailable(format!(
                            "the reply is longer than {TEXT_BYTES_MAX} bytes"
                        )));
                    }
                    // Nobody has to listen.
                    let _ = text.send(chunk.content).await;
                }
                ChatStreamEvent::End(end) => return read_end(end),
                _ => {}
            }
        }
        Err(ModelError::Unavailable(
            "the reply was cut off before its end".to_string(),
        ))
    }
}

fn no_target(why: NoTarget) -> ModelError {
    match why {
        NoTarget::NoKey { .. } => ModelError::Authentication(why.to_string()),
        NoTarget::NotAName(_)
        | NoTarget::UnknownProvider(_)
        | NoTarget::NoUrl { .. }
        | NoTarget::BadUrl { .. } => ModelError::UnknownModel(why.to_string()),
    }
}

fn service(target: Target) -> ServiceTarget {
    let adapter = match target.dialect {
        Dialect::Anthropic => AdapterKind::Anthropic,
        Dialect::Gemini => AdapterKind::Gemini,
        Dialect::Ollama => AdapterKind::Ollama,
        Dialect::OpenAi => AdapterKind::OpenAI,
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(target.url),
        // A server that wants no key is sent one that says nothing.
        auth: AuthData::from_single(target.key.unwrap_or_else(|| "none".to_string())),
        model: ModelIden::new(adapter, target.model),
    }
}

fn chat_request(request: &ModelRequest, dialect: Dialect) -> ChatRequest {
    let system = ChatMessage::system(request.system.clone());
    let mut messages = vec![system];
    messages.extend(request.messages.iter().map(chat_message));
    if dialect == Dialect::Anthropic {
        // What stands before a mark is read from the cache next time: instructions and tools, and the talk so far.
        let last = messages.len() - 1;
        for place in [0, last] {
            messages[place].options = Some(CacheControl::Ephemeral.into());
        }
    }
    let tools = request.tools.iter().map(|tool| {
        Tool::new(tool.name.clone())
            .with_description(tool.description.clone())
            .with_schema(tool.parameters.clone())
    });
    ChatRequest::new(messages).with_tools(tools.collect::<Vec<_>>())
}

fn chat_message(message: &ModelMessage) -> ChatMessage {
    match message.role {
        ModelRole::User => {
            let pictures = message.pictures.iter().map(|picture| {
                ContentPart::from_binary_base64(picture.media_type.clone(), picture.base64.clone(), None)
            });
            let text = ContentPart::Text(message.text.clone());
            ChatMessage::user(MessageContent::from_parts(
                pictures.chain([text]).collect::<Vec<_>>(),
            ))
        }
        ModelRole::Tool => {
            let call = message.answers_call.clone().unwrap_or_default();
            ChatMessage::tool(MessageContent::from_parts(vec![ContentPart::ToolResponse(
                ToolResponse::new(call, message.text.clone()),
            )]))
        }
        ModelRole::Assistant => {
            let text = (!message.text.is_empty()).then(|| ContentPart::Text(message.text.clone()));
            let calls = message.tool_calls.iter().map(|call| {
                ContentPart::ToolCall(genai::chat::ToolCall {
                    call_id: call.id.clone(),
                    fn_name: call.tool.clone(),
                    fn_arguments: call.arguments.clone(),
                    thought_signatures: None,
                })
            });
            ChatMessage::assistant(MessageContent::from_parts(
                text.into_iter().chain(calls).collect::<Vec<_>>(),
            ))
        }
    }
}

/// Servers that only speak like OpenAI's may refuse what they do not know.
fn takes_cache_key(url: &str) -> bool {
    url.starts_with("https://api.openai.com/")
}

/// The provider looks for a cached prompt where others with this key were served: those of one agent, whatever their task.
fn cache_key(request: &ModelRequest) -> String {
    let mut hasher = Sha256::new();
    hasher.update(&request.model);
    hasher.update(&request.system);
    for tool in &request.tools {
        hasher.update(&tool.name);
        hasher.update(&tool.description);
        hasher.update(tool.parameters.to_string());
    }
    let digest = hasher.finalize();
    let digits = digest.iter().take(20).map(|byte| format!("{byte:02x}"));
    format!("impresario-{}", digits.collect::<String>())
}

fn chat_options(request: &ModelRequest, dialect: Dialect) -> ChatOptions {
    ChatOptions {
        temperature: request.temperature,
        reasoning_effort: reasoning_effort(request, dialect),
        max_tokens: Some(request.tokens_max),
        capture_usage: Some(true),
        capture_content: Some(true),
        capture_tool_calls: Some(true),
        response_format: request.json.then_some(ChatResponseFormat::JsonMode),
        ..ChatOptions::default()
    }
}

/// Anthropic wants the thoughts of an earlier turn back with the results of its tools, and we keep none: there a model
/// can only be told not to think.
fn reasoning_effort(request: &ModelRequest, dialect: Dialect) -> Option<genai::chat::ReasoningEffort> {
    use genai::chat::ReasoningEffort as Effort;
    let effort = match request.reasoning_effort? {
        ReasoningEffort::Off => Effort::Zero,
        _ if dialect == Dialect::Anthropic => return None,
        ReasoningEffort::Minimal => Effort::Minimal,
        ReasoningEffort::Low => Effort::Low,
        ReasoningEffort::Medium => Effort::Medium,
        ReasoningEffort::High => Effort::High,
        ReasoningEffort::Xhigh => Effort::XHigh,
    };
    Some(effort)
}

fn read_end(end: StreamEnd) -> Result<ModelReply, ModelError> {
    if let Some(StopReason::ContentFilter(why)) = &end.captured_stop_reason {
        return Err(ModelError::Refused(why.clone()));
    }
    let usage = end
        .captured_usage
        .as_ref()
        .map_or_else(ModelUsage::default, read_usage);
    let content = end.captured_content.unwrap_or_default();
    let text = content.texts().concat();
    let calls = content.tool_calls().into_iter().map(|call| ToolCall {
        id: call.call_id.clone(),
        tool: call.fn_name.clone(),
        arguments: call.fn_arguments.clone(),
    });
    Ok(ModelReply {
        text,
        tool_calls: calls.collect(),
        usage,
        served: None,
    })
}

/// The library counts what a cache took or gave as input too; we count each token once.
fn read_usage(usage: &Usage) -> ModelUsage {
    let count = |tokens: Option<i32>| tokens.map_or(0, |tokens| u64::try_from(tokens).unwrap_or(0));
    let details = usage.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|details| details.cached_tokens));
    let cache_write = count(details.and_then(|details| details.cache_creation_tokens));
    ModelUsage {
        input: count(usage.prompt_tokens).saturating_sub(cache_read + cache_write),
        output: count(usage.completion_tokens),
        cache_read,
        cache_write,
        cost_usd: None,
    }
}

fn read_error(error: genai::Error) -> ModelError {
    let why = words_of(origin(&error));
    match read_words(&why) {
        AttemptEnding::Authentication => ModelError::Authentication(why),
        AttemptEnding::RateLimited => ModelError::RateLimited(why),
        AttemptEnding::ContextOverflow => ModelError::ContextOverflow(why),
        AttemptEnding::Refused => ModelError::Refused(why),
        _ if says_no_such_model(&why) => ModelError::UnknownModel(why),
        _ => ModelError::Unavailable(why),
    }
}

/// A failed stream carries the failure of its request within.
fn origin(error: &genai::Error) -> &genai::Error {
    match error {
        genai::Error::WebStream { error: within, .. } => within.downcast_ref().map_or(error, origin),
        other => other,
    }
}

/// The status, what the provider said and when it may be asked again, as far as they are known.
fn words_of(error: &genai::Error) -> String {
    use genai::webc::Error::ResponseFailedStatus;
    let said = match error {
        genai::Error::HttpError { status, body, .. } => format!("{} {body}", status.as_u16()),
        genai::Error::WebModelCall {
            webc_error: ResponseFailedStatus { status, body, .. },
            ..
        } => format!("{} {body}", status.as_u16()),
        genai::Error::ChatResponse { body, .. } => body.to_string(),
        genai::Error::WebStream { error, .. } => with_causes(&**error),
        other => other.to_string(),
    };
    let said = redact(&shorten(&said))
        .chars()
        .take(WHY_CHARACTERS_MAX)
        .collect::<String>();
    let header = error.headers().and_then(|headers| headers.get("retry-after"));
    match header.and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok()) {
        Some(seconds) => format!("{said} (retry after {seconds} s)"),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::ToolDefinition;

    fn request(system: &str, task: &str, tools: &[&str]) -> ModelRequest {
        let tools = tools.iter().map(|name| ToolDefinition {
            name: (*name).to_string(),
            description: format!("{name}s something"),
            parameters: Default::default(),
        });
        let asks = ModelMessage {
            role: ModelRole::User,
            text: task.into(),
            tool_calls: Vec::new(),
            answers_call: None,
            pictures: Vec::new(),
        };
        ModelRequest {
            model: "openai/gpt-5".into(),
            system: system.into(),
            messages: vec![asks],
            tools: tools.collect(),
            temperature: None,
            reasoning_effort: None,
            json: false,
            tokens_max: 100,
        }
    }

    #[test]
    fn sub_agents_of_one_agent_have_one_key_and_others_have_others() {
        let key = |system, task, tools: &[&str]| cache_key(&request(system, task, tools));
        let explorer = key("Look.", "in the attic", &["read", "grep"]);
        assert_eq!(explorer, key("Look.", "in the cellar", &["read", "grep"]));
        assert!(explorer.len() <= 64, "OpenAI takes no longer one: {explorer}");
        let others = [
            key("Advise.", "in the attic", &["read", "grep"]),
            key("Look.", "in the attic", &["read"]),
            cache_key(&ModelRequest {
                model: "openai/gpt-5-mini".into(),
                ..request("Look.", "in the attic", &["read", "grep"])
            }),
        ];
        assert!(others.iter().all(|other| *other != explorer), "{others:?}");
    }

    #[test]
    fn only_openai_itself_is_told_a_key() {
        assert!(takes_cache_key("https://api.openai.com/v1/"));
        for other in ["https://api.example.com/v1/", "http://127.0.0.1:11434/v1/"] {
            assert!(!takes_cache_key(other), "{other}");
        }
    }
}
