//! One line about a tool call, and the first words of what came back.

use super::wire;
use crate::runners::overflow_tools::OverflowTool;
use crate::runners::preview::{LOOKED_AT_BYTES_MAX, preview_of};
use impresario_policies::added_tools::AddedTool;
use impresario_policies::call_words::telling_argument;
use impresario_policies::domain::Replay;
use impresario_policies::redact::redact_beginning;
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use serde_json::value::RawValue;

const SUMMARY_CHARACTERS_MAX: usize = 200;
/// Of a tool's result, so much is put together: more than is looked at, so that it is seen where something follows.
const BEGINNING_BYTES_MAX: usize = LOOKED_AT_BYTES_MAX + 4;
/// Arguments above this are shown as they stand instead of being understood.
const UNDERSTOOD_BYTES_MAX: usize = 256 * 1024;

/// Whether one of Pi's tools may run again on our own initiative. What is not known changes something.
pub fn replay_of(tool: &str) -> Replay {
    match tool {
        "read" | "grep" | "find" | "ls" | RETRIEVAL_TOOL => Replay::Safe,
        _ if OverflowTool::named(tool).is_some() => Replay::Safe,
        _ => AddedTool::named(tool).map_or(Replay::Unsafe, AddedTool::replay),
    }
}

/// What a tool is called with: one line, at most 200 characters, redacted.
pub fn summarize_arguments(arguments: Option<&RawValue>) -> String {
    let Some(raw) = arguments else {
        return String::new();
    };
    one_line(
        &understood(raw).unwrap_or_else(|| raw.get().to_string()),
        SUMMARY_CHARACTERS_MAX,
    )
}

/// The argument a person wants to see, where the arguments are small enough to be understood.
fn understood(raw: &RawValue) -> Option<String> {
    if raw.get().len() > UNDERSTOOD_BYTES_MAX {
        return None;
    }
    telling_argument(&serde_json::from_str(raw.get()).ok()?)
}

/// What came back of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSummary {
    /// All of its text, in bytes.
    pub bytes: u64,
    /// The first characters, redacted.
    pub preview: String,
}

/// Measures a tool's result and keeps its beginning.
pub fn summarize_result(result: Option<&RawValue>) -> ResultSummary {
    let output: Option<wire::ToolOutput<'_>> = result.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let mut bytes = 0;
    let mut beginning = String::new();
    wire::each_text(output.and_then(|output| output.content), |text| {
        bytes += text.len() as u64;
        beginning.push_str(up_to(text, BEGINNING_BYTES_MAX.saturating_sub(beginning.len())));
    });
    ResultSummary {
        bytes,
        preview: preview_of(&beginning),
    }
}

/// The beginning of a text from outside on one line, redacted.
pub fn one_line(text: &str, characters_max: usize) -> String {
    let beginning = redact_beginning(text, LOOKED_AT_BYTES_MAX);
    let mut line = String::new();
    let mut characters = 0;
    for word in beginning.split(|character: char| character.is_whitespace() || character.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
            characters += 1;
        }
        for character in word.chars() {
            if characters >= characters_max {
                return line;
            }
            line.push(character);
            characters += 1;
        }
    }
    line
}

/// The longest beginning of a text that is at most so many bytes.
pub fn up_to(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_string()).expect("the test's JSON is valid")
    }

    #[track_caller]
    fn check_summary(arguments: &str, expected: &str) {
        assert_eq!(summarize_arguments(Some(&raw(arguments))), expected);
    }

    #[test]
    fn a_summary_is_the_telling_argument_on_one_line() {
        check_summary(
            r#"{"command":"cargo test\n  --all","timeout":5}"#,
            "cargo test --all",
        );
        check_summary(r#"{"path":"src/lib.rs","offset":10}"#, "src/lib.rs");
        check_summary(r#"{"pattern":"fn main","path":"src"}"#, "fn main in src");
        check_summary(r#"{"other":[1,2]}"#, r#"{"other":[1,2]}"#);
        check_summary("{}", "{}");
    }

    #[test]
    fn a_summary_is_short_and_holds_no_secrets() {
        let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(100_000));
        assert_eq!(summarize_arguments(Some(&raw(&long))).len(), 200);
        check_summary(
            r#"{"command":"curl -H 'Authorization: Bearer abcdefghijklmnopqrst'"}"#,
            "curl -H 'Authorization: [REDACTED]'",
        );
    }

    #[test]
    fn deeply_nested_arguments_are_shown_and_not_followed() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(summarize_arguments(Some(&raw(&deep))), "[".repeat(200));
    }

    #[test]
    fn a_result_is_measured_whole_and_kept_in_part() {
        let text = "é".repeat(10_000);
        let result = raw(&format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}},{{"type":"image"}},{{"type":"text","text":"!"}}]}}"#
        ));
        let summary = summarize_result(Some(&result));
        assert_eq!(summary.bytes, 20_001);
        assert_eq!(summary.preview, "é".repeat(500));
    }

    #[test]
    fn only_reading_tools_may_run_again() {
        assert_eq!(replay_of("read"), Replay::Safe);
        assert_eq!(replay_of("bash"), Replay::Unsafe);
        assert_eq!(replay_of("some_extension_tool"), Replay::Unsafe);
    }
}
