use super::{
    describe_ending, may_refuse_pictures, read_ending, retry_after, says_no_such_model,
    says_nobody_was_reached,
};
use crate::domain::{AttemptEnding, EndFacts, Overrun};
use AttemptEnding::*;
use std::time::Duration;

fn failed_with(message: &str) -> EndFacts {
    EndFacts {
        terminal_event: true,
        stop_reason: Some("error".to_string()),
        error_message: Some(message.to_string()),
        read_lines: 12,
        exit_code: Some(0),
        ..EndFacts::default()
    }
}

fn settled(stop_reason: &str, answer: &str) -> EndFacts {
    EndFacts {
        terminal_event: true,
        stop_reason: Some(stop_reason.to_string()),
        answer: answer.to_string(),
        read_lines: 12,
        ..EndFacts::default()
    }
}

#[track_caller]
fn check(facts: EndFacts, expected: AttemptEnding) {
    assert_eq!(read_ending(&facts), expected, "{facts:?}");
}

#[track_caller]
fn check_wordings(expected: AttemptEnding, messages: &[&str]) {
    for message in messages {
        check(failed_with(message), expected);
    }
}

#[test]
fn refused_credentials_are_authentication() {
    check_wordings(
        Authentication,
        &[
            "401 Incorrect API key provided",
            r#"401: {"message":"Incorrect API key provided","type":"authentication_error","code":"401"}"#,
            r#"401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            r#"401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired"}}"#,
            r#"403 {"error":{"message":"Your account does not have access","type":"permission_error"}}"#,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            "No API key found for anthropic. Use /login or set an environment variable.",
            "Failed to refresh OAuth token: invalid_grant",
            "The security token included in the request is expired",
            "Unauthorized",
        ],
    );
}

#[test]
fn a_request_to_slow_down_is_rate_limited() {
    check_wordings(
        RateLimited,
        &[
            r#"429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}"#,
            "429 You exceeded your current quota, please check your plan and billing details.",
            "429 status code (no body)",
            r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            r#"{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}"#,
            "ThrottlingException: Too many tokens, please wait before trying again.",
            "402 Insufficient credits",
            "You have hit your ChatGPT usage limit (plus plan). Try again in ~95 min.",
            "Rate limit reached for gpt-5 in organization org-x on tokens per min",
        ],
    );
}

#[test]
fn a_provider_that_cannot_be_had_is_unavailable() {
    check_wordings(
        Unavailable,
        &[
            r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "500 Internal server error",
            "502 Bad Gateway",
            "503 upstream connect error or disconnect/reset before headers",
            "terminated",
            "fetch failed",
            "connect ECONNREFUSED 127.0.0.1:443",
            "Request timed out.",
            "Connection error.",
            "socket hang up",
            "404 The model `gpt-nope` does not exist or you do not have access to it.",
            r#"404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}"#,
            "Stream ended without finish_reason",
            "getaddrinfo ENOTFOUND api.example.com",
            "something nobody has seen before",
            "",
        ],
    );
}

#[test]
fn what_nobody_answered_is_told_from_what_somebody_did() {
    for lost in [
        "Connection error.",
        "connect ECONNREFUSED 127.0.0.1:443",
        "getaddrinfo ENOTFOUND api.example.com",
        "fetch failed",
        "error sending request for url (http://127.0.0.1:9/): client error (Connect): Connection refused (os error 111)",
    ] {
        assert!(says_nobody_was_reached(lost), "{lost}");
    }
    for said in [
        "503 upstream connect error or disconnect/reset before headers",
        "529 Overloaded: connection refused by backend",
        "Stream ended without finish_reason",
        "Request timed out.",
        "",
    ] {
        assert!(!says_nobody_was_reached(said), "{said}");
    }
}

#[test]
fn a_conversation_that_does_not_fit_is_context_overflow() {
    check_wordings(
        ContextOverflow,
        &[
            r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            r#"413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            "400 Your input exceeds the context window of this model. Please adjust your input and try again.",
            "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
            r#"400 {"error":{"code":"context_length_exceeded"}}"#,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
            "400 Please reduce the length of the messages or completion.",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "500 the request exceeds the available context size, try increasing it",
            "Input is too long for requested model.",
            "prompt too long; exceeded max context length by 12 tokens",
            "400 status code (no body)",
        ],
    );
}

#[test]
fn a_model_that_declines_is_refused() {
    check_wordings(
        Refused,
        &[
            "The model refused to complete the request",
            "Provider finish_reason: content_filter",
            "Provider stopped with: sensitive",
            "Provider stopped with: SAFETY",
            "400 The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            "This request violates our usage policies.",
            "An unknown error occurred",
        ],
    );
}

#[test]
fn the_reason_of_the_provider_tells_a_refusal_whatever_the_text_says() {
    let mut facts = failed_with("This topic is not something I can help with.");
    facts.raw_stop_reason = Some("refusal".to_string());
    check(facts, Refused);
}

#[test]
fn an_answer_is_an_answer_whatever_the_exit_code() {
    for exit_code in [None, Some(0), Some(1), Some(143)] {
        let facts = EndFacts {
            exit_code,
            ..settled("stop", "42")
        };
        check(facts, Answered);
    }
}

#[test]
fn an_answer_that_was_complete_before_the_stop_counts() {
    check(
        EndFacts {
            stop_ordered: true,
            ..settled("stop", "42")
        },
        Answered,
    );
}

#[test]
fn whatever_else_follows_our_stop_is_cancelled() {
    for stop_reason in ["error", "aborted", "toolUse"] {
        check(
            EndFacts {
                stop_ordered: true,
                ..settled(stop_reason, "")
            },
            Cancelled,
        );
    }
    let killed = EndFacts {
        stop_ordered: true,
        exit_signal: Some(9),
        read_lines: 4,
        ..EndFacts::default()
    };
    check(killed, Cancelled);
    let aborted = EndFacts {
        stop_ordered: true,
        ..failed_with("This operation was aborted")
    };
    check(aborted, Cancelled);
}

#[test]
fn blank_text_is_no_answer() {
    check(settled("stop", " \n"), EmptyAnswer);
    check(settled("length", ""), EmptyAnswer);
    check(settled("toolUse", ""), EmptyAnswer);
}

#[test]
fn what_was_said_on_the_way_is_no_answer() {
    let spoke = EndFacts {
        terminal_event: true,
        answer: "I look at it.".to_string(),
        ..EndFacts::default()
    };
    let over_budget = EndFacts {
        over_budget: Some("nothing is left".to_string()),
        ..spoke.clone()
    };
    check(over_budget, OverBudget);
    let malformed = EndFacts {
        malformed: Some("it is not JSON".to_string()),
        ..spoke
    };
    assert_eq!(describe_ending(&malformed, MalformedAnswer), "it is not JSON");
    check(malformed, MalformedAnswer);
}

#[test]
fn a_cut_answer_is_one_and_says_so() {
    let facts = settled("length", "half a");
    assert_eq!(read_ending(&facts), Answered);
    assert!(describe_ending(&facts, Answered).contains("output limit"));
}

#[test]
fn no_terminal_event_is_a_crash_even_with_exit_code_0() {
    check(
        EndFacts {
            exit_code: Some(0),
            read_lines: 3,
            ..EndFacts::default()
        },
        Crashed,
    );
    check(
        EndFacts {
            exit_code: Some(0),
            ..EndFacts::default()
        },
        Crashed,
    );
}

#[test]
fn a_sub_agent_that_somebody_killed_is_our_loss() {
    let by_signal = EndFacts {
        exit_signal: Some(9),
        read_lines: 3,
        ..EndFacts::default()
    };
    assert!(describe_ending(&by_signal, Lost).contains("signal 9"));
    let by_us = EndFacts {
        killed_by_us: true,
        ..by_signal.clone()
    };
    check(by_us, Crashed);
    check(by_signal, Lost);
    for code in [129, 130, 137, 143] {
        let by_shell = EndFacts {
            exit_code: Some(code),
            ..EndFacts::default()
        };
        check(by_shell, Lost);
    }
    check(settled("aborted", "half an"), Lost);
    let keeper = EndFacts {
        keeper_died: true,
        ..EndFacts::default()
    };
    assert!(describe_ending(&keeper, Lost).contains("keeper"));
    check(keeper, Lost);
    let answered_before = EndFacts {
        keeper_died: true,
        ..settled("stop", "42")
    };
    check(answered_before, Answered);
}

#[test]
fn whoever_takes_too_much_ends_as_that() {
    let calls = EndFacts {
        overrun: Some(Overrun::Calls(300)),
        stop_ordered: true,
        ..settled("toolUse", "")
    };
    assert!(describe_ending(&calls, TooManyCalls).contains("300 tool calls"));
    check(calls, TooManyCalls);
    let processes = EndFacts {
        overrun: Some(Overrun::Processes(2_000)),
        exit_signal: Some(9),
        ..EndFacts::default()
    };
    assert!(describe_ending(&processes, TooManyProcesses).contains("2000 processes"));
    check(processes, TooManyProcesses);
}

#[test]
fn only_unreadable_output_is_a_protocol_error() {
    check(
        EndFacts {
            exit_code: Some(0),
            unread_lines: 3,
            ..EndFacts::default()
        },
        ProtocolError,
    );
    check(
        EndFacts {
            exit_code: Some(0),
            unread_lines: 3,
            read_lines: 1,
            ..EndFacts::default()
        },
        Crashed,
    );
}

#[test]
fn giving_up_before_any_event_is_a_failed_spawn() {
    let unknown_option = EndFacts {
        exit_code: Some(1),
        stderr_tail: "Error: Unknown option: --no-approve".to_string(),
        ..EndFacts::default()
    };
    assert_eq!(read_ending(&unknown_option), SpawnFailed);
    assert!(describe_ending(&unknown_option, SpawnFailed).contains("Unknown option"));
    let no_login = EndFacts {
        exit_code: Some(1),
        stderr_tail: "No API key found for openai.".to_string(),
        ..EndFacts::default()
    };
    check(no_login, Authentication);
}

#[test]
fn details_are_short_and_for_people() {
    let facts =
        failed_with(r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert_eq!(describe_ending(&facts, Unavailable), "529 Overloaded");
    let long = failed_with(&"x".repeat(5_000));
    assert_eq!(describe_ending(&long, Unavailable).chars().count(), 500);
}

#[test]
fn only_a_404_says_that_there_is_no_such_model() {
    assert!(says_no_such_model("404 The model `gpt-nope` does not exist"));
    assert!(!says_no_such_model("529 Overloaded"));
    assert!(!says_no_such_model(""));
}

#[test]
fn who_takes_no_pictures_says_that_the_request_is_wrong() {
    assert!(may_refuse_pictures(
        "400 image_url is only supported by certain models"
    ));
    assert!(may_refuse_pictures(
        "404 No endpoints found that support image input"
    ));
    for other in [
        "429 slow down",
        "500 sorry",
        "401 who are you",
        "no image today",
        "",
    ] {
        assert!(!may_refuse_pictures(other), "{other}");
    }
}

#[test]
fn a_provider_says_when_it_may_be_asked_again() {
    let said = [
        ("429 too many requests (retry after 12 s)", 12_000),
        ("Rate limit reached. Please try again in 1m30.5s.", 90_500),
        ("Please try again in 20s", 20_000),
        ("try again in 500ms", 500),
        (r#"429 {"retryDelay": "34s"}"#, 34_000),
        ("Retry-After: 7", 7_000),
        ("try again in 2 minutes", 120_000),
    ];
    for (words, milliseconds) in said {
        assert_eq!(
            retry_after(words),
            Some(Duration::from_millis(milliseconds)),
            "{words}"
        );
    }
    for silent in ["529 Overloaded", "retry after a while", "try again later", ""] {
        assert_eq!(retry_after(silent), None, "{silent}");
    }
}
