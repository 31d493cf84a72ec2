//! What providers write when they do not answer. The texts are theirs; the order of the questions is ours.

use crate::domain::AttemptEnding;
use regex::{Regex, RegexSet};
use std::sync::LazyLock;
use std::time::Duration;

/// Says which ending the text of a failed model call stands for. What nobody can place is `Unavailable`:
/// the call was made and brought nothing.
pub(super) fn classify(text: &str, raw_stop_reason: Option<&str>) -> AttemptEnding {
    if raw_stop_reason.is_some_and(|reason| REFUSAL_REASONS.is_match(reason)) || REFUSAL.is_match(text) {
        return AttemptEnding::Refused;
    }
    if OVERFLOW.is_match(text) && !THROTTLE.is_match(text) {
        return AttemptEnding::ContextOverflow;
    }
    match status(text) {
        Some(401 | 403) => return AttemptEnding::Authentication,
        Some(402 | 429) => return AttemptEnding::RateLimited,
        Some(413) => return AttemptEnding::ContextOverflow,
        Some(404 | 408 | 500..=599) => return AttemptEnding::Unavailable,
        Some(_) | None => {}
    }
    if CREDENTIALS.is_match(text) {
        return AttemptEnding::Authentication;
    }
    if THROTTLE.is_match(text) || QUOTA.is_match(text) {
        return AttemptEnding::RateLimited;
    }
    AttemptEnding::Unavailable
}

/// Whether a text says that there is no login, or none that is accepted.
pub(super) fn lacks_credentials(text: &str) -> bool {
    CREDENTIALS.is_match(text)
}

/// Whether a text says that no connection came about or held, rather than what somebody answered.
pub(super) fn nobody_was_reached(text: &str) -> bool {
    status(text).is_none() && NO_CONNECTION.is_match(text)
}

/// `529 {"type":"error","error":{"message":"Overloaded"}}` becomes `529 Overloaded`.
pub fn shorten(text: &str) -> String {
    let Some(brace) = text.find('{') else {
        return text.trim().to_string();
    };
    let Some(message) = message_in(&text[brace..]) else {
        return text.trim().to_string();
    };
    let before = text[..brace].trim().trim_end_matches(':');
    format!("{before} {message}").trim().to_string()
}

/// `retry after 12 s`, `try again in 1m30s`, `"retryDelay": "34s"`: what is said first counts.
pub(super) fn retry_after(text: &str) -> Option<Duration> {
    let found = RETRY_AFTER.captures(text)?;
    let number = |place: usize| {
        found
            .get(place)
            .and_then(|part| part.as_str().parse::<f64>().ok())
    };
    let seconds = match (number(1), number(2), number(3)) {
        (Some(minutes), Some(seconds), _) => minutes * 60.0 + seconds,
        (_, _, Some(count)) => {
            let unit = found
                .get(4)
                .map_or(String::new(), |unit| unit.as_str().to_lowercase());
            count
                * match unit.as_str() {
                    "ms" | "milli" => 0.001,
                    "m" => 60.0,
                    _ => 1.0,
                }
        }
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn message_in(json: &str) -> Option<String> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Value>();
    let value = values.next()?.ok()?;
    let nested = value
        .pointer("/error/message")
        .or_else(|| value.pointer("/message"));
    nested.and_then(|message| message.as_str()).map(str::to_string)
}

pub(super) fn status(text: &str) -> Option<u16> {
    status_first(text).or_else(|| number(STATUS_NAMED.captures(text)?))
}

pub(super) fn status_first(text: &str) -> Option<u16> {
    number(STATUS_FIRST.captures(text)?)
}

fn number(found: regex::Captures<'_>) -> Option<u16> {
    found.get(1)?.as_str().parse().ok()
}

static STATUS_FIRST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(?:error:?\s*)?([1-5]\d\d)\b"));
static STATUS_NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"\b(?:(?:status(?:[ _]?code)?|code)\W{1,4}|http(?:/[\d.]+)?[ :]{1,2})([1-5]\d\d)\b"#)
});

static RETRY_AFTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:retry[-_ ]?after|retry[-_ ]?delay|(?:try|retry) again in|retry in)\W{0,5}",
        r"(?:(\d{1,4})m(\d{1,3}(?:\.\d+)?)s|(\d{1,6}(?:\.\d+)?)\s?(ms|milli|s|m)?)",
    ))
});

static NO_CONNECTION: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        // The SDKs of OpenAI and Anthropic, and `fetch` of Node.
        r"^connection error",
        r"fetch failed",
        r"socket hang up",
        r"getaddrinfo",
        r"\be(conn(refused|reset|aborted)|notfound|ai_again|netunreach|hostunreach|timedout|pipe)\b",
        // reqwest, and the system behind it.
        r"error sending request",
        r"(dns error|failed to lookup address|network is unreachable|no route to host|connection refused)",
    ])
});

static REFUSAL_REASONS: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"^refusal$",
        r"^content_filter(ed)?$",
        r"^sensitive$",
        r"safety",
        r"prohibited_content",
        r"^blocklist$",
        r"^spii$",
        r"recitation",
        r"guardrail_intervened",
    ])
});

static REFUSAL: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"refused to (complete|answer|respond)",
        r"\brefusal\b",
        r"content[_ ]filter",
        r"content[ _](management )?policy",
        r"finish_reason: (content_filter|sensitive)",
        r"stopped with: (sensitive|refusal|safety|image_safety|(image_)?prohibited_content|blocklist|spii|(image_)?recitation|content_filtered|guardrail_intervened)",
        r"(violat\w+|against) .{0,40}(usage|content|acceptable use|safety) polic",
        r"blocked (by|due to|for) .{0,30}(safety|content|policy)",
        r"safety (system|filter|reasons|settings)",
        r"flagged (by|for|as)\b",
        r"responsible ?ai",
        // Pi 0.74 has only these words for an answer that the provider ended with `refusal` or `sensitive`.
        r"^an unknown error occurred$",
    ])
});

static OVERFLOW: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"prompt (is )?too long",
        r"request_too_large",
        r"input is too long",
        r"exceeds? (the )?(model'?s? )?(context|maximum context|available context)",
        r"maximum context length",
        r"context[_ ]length[_ ]exceeded",
        r"context_window_exceeded",
        r"context window exceeds limit",
        r"greater than the context length",
        r"longer than the model'?s context",
        r"input token count.*exceeds",
        r"exceeds (the )?maximum (number of|allowed input) (tokens|length)",
        r"maximum prompt length is \d",
        r"reduce the length of the (messages|prompt)",
        r"exceeds the limit of \d",
        r"exceeded model token limit",
        r"too large for model with \d",
        r"configured context size is \d",
        r"range of input length should be",
        r"too many (input )?tokens",
        r"token limit exceeded",
        r"context overflow",
        r"4(00|13)\s*(status code)?\s*\(no body\)",
    ])
});

static CREDENTIALS: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"(invalid|incorrect|missing|no|expired|revoked|bad|wrong) (x-)?api[- _]?key",
        r"api[- _]?key (is )?(not valid|invalid|not found|missing|expired|required)",
        r"invalid_api_key",
        r"authentication[_ ](error|failed|required)",
        r"could not resolve authentication",
        r"\bunauthorized\b",
        r"\bunauthenticated\b",
        r"permission[_ ](error|denied)",
        r"\bforbidden\b",
        r"invalid_grant",
        r"invalid (bearer|access|auth\w*) token",
        r"(token|credentials?|login|session) (has |have )?(been )?(expired|revoked)",
        r"(expired|invalid) (token|credentials?)",
        r"oauth .{0,40}(failed|not supported|not allowed)",
        r"no (auth|credentials?|api key)\b",
        r"not (logged|signed) in",
        r"(log|sign) in (again|first|to)",
        r"/login\b",
        r"security token .{0,40}(invalid|expired)",
    ])
});

static THROTTLE: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"rate.?limit",
        r"too many requests",
        r"throttl",
        r"\bslow down\b",
        r"resource.?exhausted",
        r"retry delay",
        r"requests? per (minute|second|day|hour)",
    ])
});

static QUOTA: LazyLock<RegexSet> = LazyLock::new(|| {
    any(&[
        r"quota",
        r"usage.?limit",
        r"credit balance",
        r"insufficient (credits?|balance|funds)",
        r"available balance",
        r"out of budget",
        r"payment required",
        r"\bbilling\b",
        r"spend(ing)? limit",
    ])
});

fn any(patterns: &[&str]) -> RegexSet {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants; a test compiles each"
    )]
    regex::RegexSetBuilder::new(patterns)
        .case_insensitive(true)
        .build()
        .expect("patterns of the wordings compile")
}

fn pattern(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants; a test compiles each"
    )]
    regex::RegexBuilder::new(text)
        .case_insensitive(true)
        .build()
        .expect("patterns of the wordings compile")
}
