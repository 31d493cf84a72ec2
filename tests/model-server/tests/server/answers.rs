//! What a client sees of each kind of turn, in both protocols.

use std::time::Duration;

use crate::client::{Answer, anthropic, ask, openai};
use impresario_model_server::{Fault, ModelServer, Place, Script, Stop, Turn, Usage};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
/// How long silence must last to count as a hang.
const SILENCE: Duration = Duration::from_secs(2);

fn openai_hears(turn: Turn) -> Answer {
    hears(turn, openai("hi", true))
}

fn anthropic_hears(turn: Turn) -> Answer {
    hears(turn, anthropic("hi", true))
}

fn hears(turn: Turn, request: (&str, Value)) -> Answer {
    let patience = match turn.fault {
        Some(Fault::Hang { .. } | Fault::HangBeforeHeaders) => SILENCE,
        _ => PATIENCE,
    };
    let server = ModelServer::start_blocking(Script::turns([turn])).unwrap();
    ask(server.port(), request, patience)
}

fn openai_text(answer: &Answer) -> String {
    let text = |frame: &Value| {
        frame["choices"][0]["delta"]["content"]
            .as_str()
            .map(str::to_owned)
    };
    answer.frames().iter().filter_map(text).collect()
}

fn anthropic_text(answer: &Answer) -> String {
    let text = |frame: &Value| frame["delta"]["text"].as_str().map(str::to_owned);
    answer.frames().iter().filter_map(text).collect()
}

fn finish_reason(answer: &Answer) -> Value {
    let reason = |frame: &Value| frame["choices"][0]["finish_reason"].clone();
    answer
        .frames()
        .iter()
        .map(reason)
        .rfind(|reason| !reason.is_null())
        .unwrap_or_default()
}

fn stop_reason(answer: &Answer) -> Value {
    let reason = |frame: &Value| frame["delta"]["stop_reason"].clone();
    answer
        .frames()
        .iter()
        .map(reason)
        .rfind(|reason| !reason.is_null())
        .unwrap_or_default()
}

#[test]
fn text_comes_in_deltas_and_ends() {
    let turn = || Turn::text("a longer answer that needs more than one delta");
    let answer = openai_hears(turn());
    assert_eq!(
        openai_text(&answer),
        "a longer answer that needs more than one delta"
    );
    assert!(answer.complete && answer.body.ends_with("data: [DONE]\n\n"));
    assert_eq!(finish_reason(&answer), "stop");
    let answer = anthropic_hears(turn());
    assert_eq!(
        anthropic_text(&answer),
        "a longer answer that needs more than one delta"
    );
    assert!(answer.complete && answer.body.contains("event: message_stop"));
    assert_eq!(stop_reason(&answer), "end_turn");
}

#[test]
fn deltas_of_the_script_come_as_they_are() {
    let answer = openai_hears(Turn::deltas(["a", "", "\u{2028}b"]));
    let deltas: Vec<Value> = answer
        .frames()
        .iter()
        .map(|frame| frame["choices"][0]["delta"]["content"].clone())
        .collect();
    assert_eq!(deltas[1..4], [json!("a"), json!(""), json!("\u{2028}b")]);
}

#[test]
fn thinking_comes_before_the_text() {
    let turn = || Turn::text("so").and_thinking("hmm");
    let answer = openai_hears(turn());
    assert!(answer.body.find("\"reasoning_content\":\"hmm\"") < answer.body.find("\"content\":\"s\""));
    let answer = anthropic_hears(turn());
    assert!(answer.body.find("\"thinking\":\"hmm\"") < answer.body.find("\"text\":\"s\""));
    assert!(answer.body.contains("signature_delta"));
}

#[test]
fn parallel_tool_calls_come_in_fragments() {
    let turn = || Turn::tool("read", json!({"path": "a"})).and_tool("bash", json!({"command": "ls"}));
    let answer = openai_hears(turn());
    let mut arguments = [String::new(), String::new()];
    for frame in answer.frames() {
        let call = &frame["choices"][0]["delta"]["tool_calls"][0];
        if let Some(index) = call["index"].as_u64() {
            arguments[usize::try_from(index).unwrap()] += call["function"]["arguments"].as_str().unwrap();
        }
    }
    assert_eq!(arguments, [r#"{"path":"a"}"#, r#"{"command":"ls"}"#]);
    assert_eq!(finish_reason(&answer), "tool_calls");
    let answer = anthropic_hears(turn());
    let mut arguments = [String::new(), String::new()];
    for frame in answer.frames() {
        if let Some(fragment) = frame["delta"]["partial_json"].as_str() {
            arguments[usize::try_from(frame["index"].as_u64().unwrap()).unwrap()] += fragment;
        }
    }
    assert_eq!(arguments, [r#"{"path":"a"}"#, r#"{"command":"ls"}"#]);
    assert_eq!(stop_reason(&answer), "tool_use");
}

#[test]
fn a_whole_answer_says_the_same_as_a_streamed_one() {
    let turn = || {
        Turn::text("so")
            .and_thinking("hmm")
            .and_tool("read", json!({"path": "a"}))
    };
    let answer = hears(turn(), openai("hi", false)).json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], "so");
    assert_eq!(
        choice["message"]["tool_calls"][0]["function"]["arguments"],
        r#"{"path":"a"}"#
    );
    assert_eq!(choice["finish_reason"], "tool_calls");
    let answer = hears(turn(), anthropic("hi", false)).json();
    assert_eq!(answer["content"][1], json!({"type": "text", "text": "so"}));
    assert_eq!(answer["content"][2]["input"], json!({"path": "a"}));
    assert_eq!(answer["stop_reason"], "tool_use");
}

#[test]
fn usage_is_counted_as_each_provider_counts() {
    let usage = Usage {
        input: 5,
        output: 7,
        cache_read: 11,
        cache_write: 13,
    };
    let answer = openai_hears(Turn::text("so").and_usage(usage));
    let told = answer
        .frames()
        .into_iter()
        .find(|frame| frame["usage"].is_object())
        .unwrap();
    assert_eq!(
        told["usage"],
        json!({"prompt_tokens": 29, "completion_tokens": 7, "total_tokens": 36, "prompt_tokens_details": {"cached_tokens": 11}})
    );
    let answer = anthropic_hears(Turn::text("so").and_usage(usage));
    let told = answer
        .frames()
        .into_iter()
        .find(|frame| frame["type"] == "message_delta")
        .unwrap();
    assert_eq!(
        told["usage"],
        json!({"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11, "cache_creation_input_tokens": 13})
    );
}

#[test]
fn usage_is_not_told_to_an_openai_client_that_did_not_ask() {
    let (path, mut body) = openai("hi", true);
    body["stream_options"] = Value::Null;
    assert!(!hears(Turn::text("so"), (path, body)).body.contains("usage"));
}

#[test]
fn stops_are_said_in_each_providers_words() {
    let cases = [
        (Stop::Length, "length", "max_tokens"),
        (Stop::ContentFilter, "content_filter", "refusal"),
    ];
    for (stop, openai_word, anthropic_word) in cases {
        assert_eq!(
            finish_reason(&openai_hears(Turn::text("so").and_stop(stop))),
            openai_word
        );
        assert_eq!(
            stop_reason(&anthropic_hears(Turn::text("so").and_stop(stop))),
            anthropic_word
        );
    }
}

#[test]
fn a_refusal_is_said_in_each_providers_way() {
    let answer = openai_hears(Turn::refusal("I will not"));
    let refusals: String = answer
        .frames()
        .iter()
        .filter_map(|frame| {
            frame["choices"][0]["delta"]["refusal"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(refusals, "I will not");
    assert_eq!(finish_reason(&answer), "stop");
    let answer = anthropic_hears(Turn::refusal("I will not"));
    assert_eq!(anthropic_text(&answer), "I will not");
    assert_eq!(stop_reason(&answer), "refusal");
}

#[test]
fn the_answer_can_claim_another_model() {
    assert!(
        openai_hears(Turn::text("so").from_model("gpt-2"))
            .body
            .contains("\"model\":\"gpt-2\"")
    );
    assert!(
        anthropic_hears(Turn::text("so").from_model("gpt-2"))
            .body
            .contains("\"model\":\"gpt-2\"")
    );
}

#[test]
fn errors_come_with_the_status_and_the_words_of_the_provider() {
    let status = Fault::Status {
        status: 418,
        message: "teapot".into(),
        error_type: None,
        retry_after: None,
    };
    let cases = [
        (
            Fault::Unauthorized,
            (401, "invalid_api_key"),
            (401, "authentication_error"),
        ),
        (
            Fault::Forbidden,
            (403, "does not have access"),
            (403, "permission_error"),
        ),
        (
            Fault::ModelNotFound,
            (404, "model_not_found"),
            (404, "not_found_error"),
        ),
        (
            Fault::RateLimited { retry_after: None },
            (429, "rate_limit_exceeded"),
            (429, "rate_limit_error"),
        ),
        (
            Fault::QuotaExhausted,
            (429, "insufficient_quota"),
            (400, "credit balance is too low"),
        ),
        (Fault::ServerError, (500, "server_error"), (500, "api_error")),
        (Fault::Overloaded, (529, "overloaded"), (529, "overloaded_error")),
        (
            Fault::ContextOverflow,
            (400, "context_length_exceeded"),
            (400, "prompt is too long"),
        ),
        (status, (418, "teapot"), (418, "teapot")),
    ];
    for (fault, openai_expected, anthropic_expected) in cases {
        let heard = [
            openai_hears(Turn::fault(fault.clone())),
            anthropic_hears(Turn::fault(fault.clone())),
        ];
        for (answer, (status, word)) in heard.iter().zip([openai_expected, anthropic_expected]) {
            assert_eq!(answer.status, status, "{fault:?}");
            assert!(answer.body.contains(word), "{fault:?}: {}", answer.body);
            assert!(answer.json()["error"]["message"].is_string());
        }
    }
}

#[test]
fn a_rate_limit_says_when_to_come_back() {
    assert!(
        openai_hears(Turn::rate_limited(Some(7)))
            .head
            .contains("retry-after: 7")
    );
    assert!(
        anthropic_hears(Turn::rate_limited(Some(7)))
            .head
            .contains("retry-after: 7")
    );
    assert!(
        !openai_hears(Turn::rate_limited(None))
            .head
            .contains("retry-after")
    );
}

#[test]
fn a_cut_in_the_text_leaves_half_of_it() {
    let turn = || Turn::text("abcd").and_fault(Fault::Cut { at: Place::MidText });
    let answer = openai_hears(turn());
    assert_eq!((openai_text(&answer).as_str(), answer.complete), ("ab", false));
    let answer = anthropic_hears(turn());
    assert_eq!((anthropic_text(&answer).as_str(), answer.complete), ("ab", false));
}

#[test]
fn a_cut_in_a_tool_call_leaves_half_of_its_arguments() {
    let turn = || {
        Turn::tool("bash", json!({"command": "ls"})).and_fault(Fault::Cut {
            at: Place::MidToolCall,
        })
    };
    for answer in [openai_hears(turn()), anthropic_hears(turn())] {
        assert!(
            !answer.complete && answer.body.contains("comman"),
            "{}",
            answer.body
        );
        assert!(!answer.body.contains("ls\\\""), "{}", answer.body);
    }
}

#[test]
fn a_cut_before_the_headers_leaves_nothing() {
    assert_eq!(openai_hears(Turn::fault(Fault::CutBeforeHeaders)).head, "");
    assert_eq!(anthropic_hears(Turn::fault(Fault::CutBeforeHeaders)).head, "");
}

#[test]
fn a_hang_before_the_headers_says_nothing() {
    assert_eq!(openai_hears(Turn::fault(Fault::HangBeforeHeaders)).head, "");
}

#[test]
fn a_hang_in_the_body_stops_where_the_script_says() {
    for (at, text) in [
        (Place::Start, ""),
        (Place::MidText, "ab"),
        (Place::BeforeEnd, "abcd"),
    ] {
        let answer = anthropic_hears(Turn::text("abcd").and_fault(Fault::Hang { at }));
        assert_eq!(
            (answer.status, anthropic_text(&answer).as_str(), answer.complete),
            (200, text, false),
            "{at:?}"
        );
    }
}

#[test]
fn a_malformed_frame_stands_in_the_stream_and_the_rest_follows() {
    let turn = || Turn::text("abcd").and_fault(Fault::Malformed { at: Place::MidText });
    for answer in [openai_hears(turn()), anthropic_hears(turn())] {
        let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let broken = data.filter(|frame| *frame != "[DONE]" && serde_json::from_str::<Value>(frame).is_err());
        assert_eq!(broken.count(), 1);
        assert!(answer.complete);
    }
}

#[test]
fn an_error_event_ends_the_stream() {
    let fault = Fault::ErrorEvent {
        at: Place::MidText,
        message: "Overloaded".into(),
    };
    let answer = openai_hears(Turn::text("abcd").and_fault(fault.clone()));
    assert_eq!(answer.frames().last().unwrap()["error"]["message"], "Overloaded");
    let answer = anthropic_hears(Turn::text("abcd").and_fault(fault));
    assert_eq!(
        answer.frames().last().unwrap()["error"]["type"],
        "overloaded_error"
    );
}

#[test]
fn a_whole_answer_can_be_cut_and_garbled_too() {
    let cut = hears(
        Turn::text("abcd").and_fault(Fault::Cut { at: Place::MidText }),
        openai("hi", false),
    );
    assert!(!cut.complete && !cut.body.is_empty());
    let garbled = hears(
        Turn::text("abcd").and_fault(Fault::Malformed { at: Place::Start }),
        openai("hi", false),
    );
    assert!(garbled.complete && serde_json::from_str::<Value>(&garbled.body).is_err());
}

#[test]
fn words_of_the_request_can_be_said_back() {
    let answer = hears(Turn::text("you said {{last_user}}"), openai("the task", true));
    assert_eq!(openai_text(&answer), "you said the task");
}
