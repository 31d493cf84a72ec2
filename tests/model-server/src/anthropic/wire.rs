//! Anthropic messages, as bytes: a streamed answer, a whole one, an error.

use serde_json::{Value, json};

use crate::playback::ErrorReply;
use crate::script::{Fault, Stop, Usage};
use crate::speech::{Frame, Part, Speech};

/// A streamed answer.
pub(crate) fn stream(speech: &Speech) -> Vec<Frame> {
    let mut message = message(speech, &json!([]), Value::Null);
    message["usage"]["output_tokens"] = json!(1);
    let mut frames = vec![event(
        Part::Opening,
        &json!({"type": "message_start", "message": message}),
    )];
    let mut blocks = 0;
    if let Some(thinking) = &speech.thinking {
        let deltas = [
            json!({"type": "thinking_delta", "thinking": thinking}),
            json!({"type": "signature_delta", "signature": "scripted"}),
        ];
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        push_block(&mut frames, &mut blocks, &start, Part::Around, deltas);
    }
    let words: Vec<&String> = speech.text.iter().chain(&speech.refusal).collect();
    if !words.is_empty() {
        let deltas = words
            .iter()
            .map(|words| json!({"type": "text_delta", "text": words}));
        push_block(
            &mut frames,
            &mut blocks,
            &json!({"type": "text", "text": ""}),
            Part::Text,
            deltas,
        );
    }
    for (index, call) in speech.calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": call_id(speech, index), "name": call.name, "input": {}});
        let fragments = call.arguments.iter();
        let deltas = fragments.map(|json| json!({"type": "input_json_delta", "partial_json": json}));
        push_block(&mut frames, &mut blocks, &start, Part::Arguments, deltas);
    }
    let stopped = json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(speech), "stop_sequence": null},
        "usage": usage(speech.usage)});
    frames.push(event(Part::Closing, &stopped));
    frames.push(event(Part::Closing, &json!({"type": "message_stop"})));
    frames
}

/// A whole answer.
pub(crate) fn whole(speech: &Speech) -> Value {
    let mut content = Vec::new();
    if let Some(thinking) = &speech.thinking {
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": "scripted"}));
    }
    let text = speech.text.concat() + &speech.refusal.concat();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in speech.calls.iter().enumerate() {
        let arguments = call.arguments.concat();
        let input: Value = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
        content.push(
            json!({"type": "tool_use", "id": call_id(speech, index), "name": call.name, "input": input}),
        );
    }
    message(speech, &json!(content), json!(stop_reason(speech)))
}

/// The answer to a request that fails before any content, in the provider's own words.
pub(crate) fn error(fault: &Fault, model: &str) -> Option<ErrorReply> {
    let reply = match fault {
        Fault::Status {
            status,
            message,
            error_type,
            retry_after,
        } => {
            let error_type = error_type.as_deref().unwrap_or_else(|| type_of(*status));
            ErrorReply::new(*status, body(message, error_type)).retry_after(*retry_after)
        }
        Fault::Unauthorized => ErrorReply::new(401, body("invalid x-api-key", "authentication_error")),
        Fault::Forbidden => ErrorReply::new(
            403,
            body(
                "Your API key does not have permission to use the specified resource.",
                "permission_error",
            ),
        ),
        Fault::ModelNotFound => ErrorReply::new(404, body(&format!("model: {model}"), "not_found_error")),
        Fault::RateLimited { retry_after } => ErrorReply::new(
            429,
            body(
                "This request would exceed the rate limit for your organization of 50 requests per minute.",
                "rate_limit_error",
            ),
        )
        .retry_after(*retry_after),
        Fault::QuotaExhausted => ErrorReply::new(
            400,
            body(
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
                "invalid_request_error",
            ),
        ),
        Fault::ServerError => ErrorReply::new(500, body("Internal server error", "api_error")),
        Fault::Overloaded => ErrorReply::new(529, body("Overloaded", "overloaded_error")),
        Fault::ContextOverflow => ErrorReply::new(
            400,
            body(
                "prompt is too long: 213462 tokens > 200000 maximum",
                "invalid_request_error",
            ),
        ),
        Fault::HangBeforeHeaders
        | Fault::CutBeforeHeaders
        | Fault::Hang { .. }
        | Fault::Cut { .. }
        | Fault::Gate { .. }
        | Fault::Malformed { .. }
        | Fault::ErrorEvent { .. } => return None,
    };
    Some(reply)
}

/// The event with which the provider ends a stream that failed.
pub(crate) fn error_event(message: &str) -> String {
    event(Part::Closing, &body(message, "overloaded_error")).bytes
}

fn body(message: &str, error_type: &str) -> Value {
    json!({"type": "error", "error": {"type": error_type, "message": message}})
}

fn type_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

fn push_block(
    frames: &mut Vec<Frame>,
    blocks: &mut usize,
    start: &Value,
    part: Part,
    deltas: impl IntoIterator<Item = Value>,
) {
    let index = *blocks;
    let started = json!({"type": "content_block_start", "index": index, "content_block": start});
    frames.push(event(Part::Around, &started));
    for delta in deltas {
        frames.push(event(
            part,
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    frames.push(event(
        Part::Around,
        &json!({"type": "content_block_stop", "index": index}),
    ));
    *blocks += 1;
}

fn event(part: Part, data: &Value) -> Frame {
    let name = data["type"].as_str().unwrap_or_default();
    Frame {
        bytes: format!("event: {name}\ndata: {data}\n\n"),
        part,
    }
}

fn message(speech: &Speech, content: &Value, stop_reason: Value) -> Value {
    json!({"id": format!("msg_{}", speech.number), "type": "message", "role": "assistant", "model": speech.model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage(speech.usage)})
}

pub(crate) fn call_id(speech: &Speech, index: usize) -> String {
    speech.calls[index]
        .id
        .clone()
        .unwrap_or_else(|| format!("toolu_{}_{index}", speech.number))
}

fn stop_reason(speech: &Speech) -> &'static str {
    match speech.stop {
        Stop::End if speech.calls.is_empty() => "end_turn",
        Stop::End => "tool_use",
        Stop::Length => "max_tokens",
        Stop::ContentFilter | Stop::Refusal => "refusal",
    }
}

fn usage(usage: Usage) -> Value {
    json!({"input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write})
}
