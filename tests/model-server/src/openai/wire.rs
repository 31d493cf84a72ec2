//! OpenAI chat completions, as bytes: a streamed answer, a whole one, an error.

use serde_json::{Value, json};

use crate::playback::ErrorReply;
use crate::script::{Fault, Stop, Usage};
use crate::speech::{Frame, Part, Speech};

/// A fixed moment: answers of one script are equal, byte for byte, whenever they are given.
const CREATED: u64 = 1_700_000_000;

/// A streamed answer. The usage is told only to a client that asked for it, as the provider does.
pub(crate) fn stream(speech: &Speech, with_usage: bool) -> Vec<Frame> {
    let mut frames = vec![delta(
        speech,
        Part::Opening,
        &json!({"role": "assistant", "content": ""}),
    )];
    if let Some(thinking) = &speech.thinking {
        frames.push(delta(
            speech,
            Part::Around,
            &json!({"reasoning_content": thinking}),
        ));
    }
    frames.extend(
        speech
            .text
            .iter()
            .map(|text| delta(speech, Part::Text, &json!({"content": text}))),
    );
    frames.extend(
        speech
            .refusal
            .iter()
            .map(|words| delta(speech, Part::Text, &json!({"refusal": words}))),
    );
    for (index, call) in speech.calls.iter().enumerate() {
        let opened = json!({"tool_calls": [{"index": index, "id": call_id(speech, index), "type": "function",
            "function": {"name": call.name, "arguments": ""}}]});
        frames.push(delta(speech, Part::Around, &opened));
        for fragment in &call.arguments {
            let arguments = json!({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]});
            frames.push(delta(speech, Part::Arguments, &arguments));
        }
    }
    let choice = json!({"index": 0, "delta": {}, "finish_reason": finish_reason(speech)});
    frames.push(frame(Part::Closing, &chunk(speech, &json!([choice]), None)));
    if with_usage {
        frames.push(frame(
            Part::Closing,
            &chunk(speech, &json!([]), Some(usage(speech.usage))),
        ));
    }
    frames.push(Frame {
        bytes: "data: [DONE]\n\n".to_owned(),
        part: Part::Closing,
    });
    frames
}

/// A whole answer.
pub(crate) fn whole(speech: &Speech) -> Value {
    let calls: Vec<Value> = speech
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({"id": call_id(speech, index), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.concat()}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": text_or_null(&speech.text), "refusal": text_or_null(&speech.refusal)});
    if let Some(thinking) = &speech.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({"id": format!("chatcmpl-{}", speech.number), "object": "chat.completion", "created": CREATED,
        "model": speech.model, "usage": usage(speech.usage),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(speech)}]})
}

/// The answer to a request that fails before any content, in the provider's own words.
pub(crate) fn error(fault: &Fault, model: &str) -> Option<ErrorReply> {
    let reply = match fault {
        Fault::Status { status, message, error_type, retry_after } => {
            let error_type = error_type.as_deref().unwrap_or_else(|| type_of(*status));
            ErrorReply::new(*status, body(message, error_type, None)).retry_after(*retry_after)
        }
        Fault::Unauthorized => ErrorReply::new(
            401,
            body(
                "Incorrect API key provided: dummy-key. You can find your API key at https://platform.openai.com/account/api-keys.",
                "invalid_request_error",
                Some("invalid_api_key"),
            ),
        ),
        Fault::Forbidden => ErrorReply::new(
            403,
            body(
                &format!("Project `proj_scripted` does not have access to model `{model}`"),
                "invalid_request_error",
                Some("model_not_found"),
            ),
        ),
        Fault::ModelNotFound => ErrorReply::new(
            404,
            body(
                &format!("The model `{model}` does not exist or you do not have access to it."),
                "invalid_request_error",
                Some("model_not_found"),
            ),
        ),
        Fault::RateLimited { retry_after } => ErrorReply::new(
            429,
            body(
                &format!("Rate limit reached for {model} in organization org-scripted on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s."),
                "requests",
                Some("rate_limit_exceeded"),
            ),
        )
        .retry_after(*retry_after),
        Fault::QuotaExhausted => ErrorReply::new(
            429,
            body(
                "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
                "insufficient_quota",
                Some("insufficient_quota"),
            ),
        ),
        Fault::ServerError => ErrorReply::new(
            500,
            body(
                "The server had an error while processing your request. Sorry about that!",
                "server_error",
                None,
            ),
        ),
        Fault::Overloaded => ErrorReply::new(
            529,
            body("The engine is currently overloaded, please try again later", "server_error", None),
        ),
        Fault::ContextOverflow => ErrorReply::new(
            400,
            body(
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130204 tokens. Please reduce the length of the messages.",
                "invalid_request_error",
                Some("context_length_exceeded"),
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
    format!("data: {}\n\n", body(message, "server_error", None))
}

fn body(message: &str, error_type: &str, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": error_type, "param": null, "code": code}})
}

fn type_of(status: u16) -> &'static str {
    match status {
        429 => "requests",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

fn delta(speech: &Speech, part: Part, delta: &Value) -> Frame {
    frame(
        part,
        &chunk(
            speech,
            &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            None,
        ),
    )
}

fn chunk(speech: &Speech, choices: &Value, usage: Option<Value>) -> Value {
    let mut chunk = json!({"id": format!("chatcmpl-{}", speech.number), "object": "chat.completion.chunk",
        "created": CREATED, "model": speech.model, "choices": choices});
    if let Some(usage) = usage {
        chunk["usage"] = usage;
    }
    chunk
}

fn frame(part: Part, data: &Value) -> Frame {
    Frame {
        bytes: format!("data: {data}\n\n"),
        part,
    }
}

pub(crate) fn call_id(speech: &Speech, index: usize) -> String {
    speech.calls[index]
        .id
        .clone()
        .unwrap_or_else(|| format!("call_{}_{index}", speech.number))
}

fn text_or_null(deltas: &[String]) -> Value {
    if deltas.is_empty() {
        Value::Null
    } else {
        json!(deltas.concat())
    }
}

fn finish_reason(speech: &Speech) -> &'static str {
    match speech.stop {
        Stop::End if speech.calls.is_empty() => "stop",
        Stop::End => "tool_calls",
        Stop::Length => "length",
        Stop::ContentFilter => "content_filter",
        Stop::Refusal => "stop",
    }
}

/// What of it can be told: writing to a cache has no word here and counts as fresh input.
pub(crate) fn tellable(usage: Usage) -> Usage {
    Usage {
        input: usage.input + usage.cache_write,
        cache_write: 0,
        ..usage
    }
}

fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({"prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read}})
}
