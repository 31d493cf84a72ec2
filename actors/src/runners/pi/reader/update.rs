//! Knows a line by how it begins, so that the lines that matter least, and are by far the most bytes, are not parsed.

use crate::runners::pi::wire::{self, Envelope, MessageDelta};
use memchr::memmem;
use std::borrow::Cow;

/// What the beginning of a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Skim<'a> {
    /// A line of Pi's of which nothing is needed.
    Nothing,
    /// The model begins a message.
    AssistantBegins,
    /// The message grew by this.
    Text(Cow<'a, str>),
    /// The line must be read.
    Unknown,
}

/// Lines of Pi's that say nothing an attempt needs, in either version.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "session"
            | "turn_start"
            | "turn_end"
            | "tool_execution_update"
            | "auto_retry_end"
            | "compaction_end"
            | "queue_update"
            | "entry_appended"
            | "session_info_changed"
            | "thinking_level_changed"
            | "model_changed"
            | "summarization_retry_scheduled"
            | "summarization_retry_attempt_start"
            | "summarization_retry_finished"
            | "bash_execution_update"
            | "extension_error"
    )
}

/// Looks at the beginning of a line only. Anything unusual is `Unknown`, never a guess.
pub(super) fn skim(line: &[u8]) -> Skim<'_> {
    let Some(rest) = line.strip_prefix(br#"{"type":""#) else {
        return Skim::Unknown;
    };
    if let Some(rest) = rest.strip_prefix(br#"message_update","#) {
        return skim_update(rest);
    }
    for kind in [
        &br#"tool_execution_update","#[..],
        br#"turn_end","#,
        br#"turn_start""#,
        br#"entry_appended","#,
    ] {
        if rest.starts_with(kind) {
            return Skim::Nothing;
        }
    }
    if let Some(rest) = rest.strip_prefix(br#"message_start","message":{"role":""#) {
        return skim_role(rest, Skim::AssistantBegins, &[br#"user","#]);
    }
    if let Some(rest) = rest.strip_prefix(br#"message_end","message":{"role":""#) {
        // What it was told is few, and a message to the run may be in it.
        return skim_role(rest, Skim::Unknown, &[]);
    }
    Skim::Unknown
}

fn skim_role<'a>(rest: &[u8], of_assistant: Skim<'a>, others: &[&[u8]]) -> Skim<'a> {
    if rest.starts_with(br#"assistant","#) {
        return of_assistant;
    }
    for role in [&br#"toolResult","#[..], br#"system","#].iter().chain(others) {
        if rest.starts_with(role) {
            return Skim::Nothing;
        }
    }
    Skim::Unknown
}

/// How far into an update its delta can begin: behind the usage, which is numbers.
const DELTA_WITHIN: usize = 1_024;

fn skim_update(rest: &[u8]) -> Skim<'_> {
    const DELTA: &[u8] = br#""assistantMessageEvent":{"type":""#;
    let at = if rest.starts_with(DELTA) {
        Some(0)
    } else if rest.starts_with(br#""usage":{"#) {
        memmem::find(&rest[..rest.len().min(DELTA_WITHIN)], DELTA)
    } else {
        None
    };
    let Some(at) = at else {
        return Skim::Unknown;
    };
    let delta = &rest[at + DELTA.len()..];
    if delta.starts_with(br#"text_delta","#) {
        return skim_text(&delta[br#"text_delta","#.len()..]);
    }
    for kind in [
        &b"toolcall_"[..],
        b"thinking_",
        b"text_start\"",
        b"text_end\"",
        b"start\"",
        b"done\"",
        b"error\"",
    ] {
        if delta.starts_with(kind) {
            return Skim::Nothing;
        }
    }
    Skim::Unknown
}

fn skim_text(rest: &[u8]) -> Skim<'_> {
    let Some(rest) = rest.strip_prefix(br#""contentIndex":"#) else {
        return Skim::Unknown;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let Some(quoted) = rest[digits..].strip_prefix(br#","delta":"#) else {
        return Skim::Unknown;
    };
    match first_string(quoted) {
        Some(text) => Skim::Text(text),
        None => Skim::Unknown,
    }
}

/// The JSON string a text begins with.
fn first_string(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', inner)?;
    if inner[end] == b'"' {
        return std::str::from_utf8(&inner[..end]).ok().map(Cow::Borrowed);
    }
    let mut strings = serde_json::Deserializer::from_slice(quoted).into_iter::<String>();
    strings.next()?.ok().map(Cow::Owned)
}

/// The text by which an update that had to be read makes the message grow.
pub(super) fn text_delta<'a>(envelope: &Envelope<'a>) -> Option<Cow<'a, str>> {
    let delta: MessageDelta<'a> = serde_json::from_str(envelope.assistant_message_event?.get()).ok()?;
    if delta.kind != "text_delta" {
        return None;
    }
    wire::text(delta.delta)
}

#[cfg(test)]
mod tests {
    use super::{Skim, skim};

    #[track_caller]
    fn check(line: &str, expected: Skim<'_>) {
        assert_eq!(skim(line.as_bytes()), expected);
    }

    #[test]
    fn the_delta_of_either_version_is_found_without_parsing_the_line() {
        check(
            r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"a b","partial":not json"#,
            Skim::Text("a b".into()),
        );
        check(
            r#"{"type":"message_update","usage":{"input":0,"cost":{"total":0}},"assistantMessageEvent":{"type":"text_delta","contentIndex":12,"delta":"a\n\u00e9"}}"#,
            Skim::Text("a\né".into()),
        );
    }

    #[test]
    fn what_is_not_needed_is_skipped() {
        check(
            r#"{"type":"message_update","assistantMessageEvent":{"type":"toolcall_delta","delta":"x"#,
            Skim::Nothing,
        );
        check(r#"{"type":"turn_start"}"#, Skim::Nothing);
        check(
            r#"{"type":"message_end","message":{"role":"toolResult","content"#,
            Skim::Nothing,
        );
        check(
            r#"{"type":"message_start","message":{"role":"assistant","content":[]"#,
            Skim::AssistantBegins,
        );
    }

    #[test]
    fn an_unusual_order_is_read_and_not_guessed() {
        check(
            r#"{"assistantMessageEvent":{},"type":"message_update"}"#,
            Skim::Unknown,
        );
        check(
            r#"{"type":"message_update","message":{},"assistantMessageEvent":{"type":"text_delta"}}"#,
            Skim::Unknown,
        );
        check(r#"{ "type":"turn_start"}"#, Skim::Unknown);
        check(
            r#"{"type":"message_end","message":{"role":"assistant","content":[]}}"#,
            Skim::Unknown,
        );
    }
}
