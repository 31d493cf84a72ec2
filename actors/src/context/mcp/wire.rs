//! What goes to a server and what comes from it, between its shapes and ours.

use impresario_policies::capability::flatten::flatten_parameters;
use impresario_policies::capability::servers::ServerTool;
use impresario_policies::redact::redact;
use impresario_policies::retrieval_tool::{OfferedArgument, OfferedTool};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::{Map, Value};

/// An answer is shown up to so many bytes. What is above the run's own ceiling is kept aside by the runtime.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// An error is shown up to so many characters.
const ERROR_CHARACTERS_MAX: usize = 2_000;

/// The call that asks.
pub(super) fn call(tool: &str, argument: &str, query: &str) -> CallToolRequestParams {
    let mut arguments = Map::new();
    arguments.insert(argument.to_string(), Value::String(query.to_string()));
    CallToolRequestParams::new(tool.to_string()).with_arguments(arguments)
}

/// A tool as it is found by whoever looks for one.
pub(super) fn described(tool: &Tool) -> ServerTool {
    ServerTool {
        name: tool.name.to_string(),
        summary: tool.description.as_deref().unwrap_or_default().to_string(),
        params: flatten_parameters(&Value::Object((*tool.input_schema).clone())),
    }
}

/// A tool as far as it matters.
pub(super) fn offered(tool: &Tool) -> OfferedTool {
    let schema = &tool.input_schema;
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let argument = |(name, schema): (&String, &Value)| OfferedArgument {
        name: name.clone(),
        is_text: is_text(schema),
        is_required: required(name),
    };
    OfferedTool {
        name: tool.name.to_string(),
        arguments: properties.into_iter().flatten().map(argument).collect(),
    }
}

fn is_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    }
}

/// What a result says. Its texts; where there is none, its structured content, which elsewhere only repeats them.
pub(super) fn text_of(result: CallToolResult) -> Result<String, String> {
    let mut text = String::new();
    for block in &result.content {
        let shown = shown(block);
        if !text.is_empty() && !shown.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&shown);
    }
    if text.trim().is_empty()
        && let Some(structured) = &result.structured_content
    {
        text = serde_json::to_string_pretty(structured).unwrap_or_default();
    }
    if result.is_error == Some(true) {
        let said = redact(text.trim()).chars().take(ERROR_CHARACTERS_MAX).collect();
        return Err(said);
    }
    Ok(bounded(text))
}

fn shown(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}\n{text}"),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[{uri}: not text]"),
            _ => String::new(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        ContentBlock::Image(_) => "[an image]".to_string(),
        ContentBlock::Audio(_) => "[a sound]".to_string(),
        _ => String::new(),
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > ANSWER_BYTES_MAX {
        text.truncate(text.floor_char_boundary(ANSWER_BYTES_MAX));
        text.push_str("\n… (cut)\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(value: Value) -> CallToolResult {
        serde_json::from_value(value).expect("a result")
    }

    #[test]
    fn structured_content_is_shown_only_where_nothing_else_says_it() {
        let both = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }], "structuredContent": { "x": 1 } });
        assert_eq!(text_of(result(both)), Ok("a\n\nb".to_string()));
        let alone = json!({ "content": [], "structuredContent": { "x": 1 } });
        assert_eq!(text_of(result(alone)), Ok("{\n  \"x\": 1\n}".to_string()));
    }

    #[test]
    fn an_error_of_the_server_is_an_error() {
        let error = json!({ "content": [{ "type": "text", "text": "no index" }], "isError": true });
        assert_eq!(text_of(result(error)), Err("no index".to_string()));
    }

    #[test]
    fn a_large_answer_is_cut() {
        let text = "é".repeat(ANSWER_BYTES_MAX);
        let large = json!({ "content": [{ "type": "text", "text": text }] });
        let shown = text_of(result(large)).expect("an answer");
        assert!(shown.len() < ANSWER_BYTES_MAX + 20 && shown.ends_with("(cut)\n"));
    }
}
