//! What of a sub-agent's answer is not meant for the user?
//!
//! Fenced blocks that hold traces of tools, and bare lines of JSON-RPC. What lies inside other fenced blocks is
//! code and stays as it is, blank lines included. Every step is linear in the text, whatever it holds.

use crate::compat::{cut_units, is_line_end, is_space, trim, units};
use aho_corasick::AhoCorasick;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Labels of blocks that are traces, in lower case.
const TRACE_LABELS: [&str; 12] = [
    "tool_use",
    "tool_result",
    "tool-use",
    "tool-result",
    "mcp",
    "mcp_envelope",
    "mcp-envelope",
    "codebase-retrieval",
    "codebase_retrieval",
    "auggie",
    "scratchpad",
    "internal",
];
const FENCE: &str = "```";
/// How far into its line a JSON-RPC envelope may reach.
const ENVELOPE_UNITS_MAX: usize = 4_000;

/// What is done to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SanitizerSettings {
    /// Off: nothing.
    pub enabled: bool,
    /// Remove traces of tools.
    pub strip_tool_traces: bool,
    /// Cut to so many units, the mark included; 0 for no limit.
    pub units_max: usize,
}

/// An answer as the user gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// How many traces were removed.
    pub removed_sections: usize,
    /// It was cut.
    pub truncated: bool,
    /// Length before.
    pub original_units: usize,
    /// Length after.
    pub final_units: usize,
}

impl Sanitized<'_> {
    /// Something was taken away.
    pub fn changed(&self) -> bool {
        self.truncated || self.removed_sections > 0
    }
}

/// Takes from an answer what is not meant for the user.
pub fn sanitize_output<'a>(text: &'a str, settings: &SanitizerSettings) -> Sanitized<'a> {
    let original_units = units(text);
    let untouched = Sanitized {
        text: Cow::Borrowed(text),
        removed_sections: 0,
        truncated: false,
        original_units,
        final_units: original_units,
    };
    if !settings.enabled {
        return untouched;
    }
    let stripped = if settings.strip_tool_traces {
        strip_traces(text)
    } else {
        (Cow::Borrowed(text), 0)
    };
    let (kept, removed_sections) = stripped;
    let kept_units = if removed_sections == 0 {
        original_units
    } else {
        units(&kept)
    };
    let truncated = settings.units_max > 0 && kept_units > settings.units_max;
    let text = if truncated {
        Cow::Owned(capped(&kept, settings.units_max))
    } else {
        kept
    };
    let final_units = if truncated { units(&text) } else { kept_units };
    Sanitized {
        text,
        removed_sections,
        truncated,
        final_units,
        ..untouched
    }
}

/// At most `limit` units, the mark among them; no mark where it does not fit.
fn capped(text: &str, limit: usize) -> String {
    let mark = format!("\n\n[…final output truncated by output sanitizer at {limit} chars]");
    match limit.checked_sub(units(&mark)) {
        Some(room) => format!("{}{mark}", cut_units(text, room)),
        None => cut_units(text, limit).to_string(),
    }
}

fn strip_traces(text: &str) -> (Cow<'_, str>, usize) {
    let (text, blocks) = remove_blocks(text);
    let (text, envelopes) = remove_envelopes(text);
    if blocks + envelopes == 0 {
        return (text.text, 0);
    }
    let text = collapse_blank_lines(&text);
    let trimmed = trim(&text);
    let text = if trimmed.len() == text.len() {
        text
    } else {
        trimmed.to_string()
    };
    (Cow::Owned(text), blocks + envelopes)
}

/// A text and which parts of it are code.
struct Marked<'a> {
    text: Cow<'a, str>,
    code: Vec<Range<usize>>,
}

/// A fenced block with a label.
struct Block {
    range: Range<usize>,
    is_trace: bool,
    /// It ends in a line that is a closing fence and nothing else.
    is_code: bool,
}

fn remove_blocks(text: &str) -> (Marked<'_>, usize) {
    let blocks = blocks_in(text);
    let removed = blocks.iter().filter(|block| block.is_trace).count();
    if removed == 0 {
        let code = blocks
            .into_iter()
            .filter(|block| block.is_code)
            .map(|block| block.range)
            .collect();
        return (
            Marked {
                text: Cow::Borrowed(text),
                code,
            },
            0,
        );
    }
    let mut kept = String::with_capacity(text.len());
    let mut code = Vec::new();
    let mut from = 0;
    for block in blocks {
        kept.push_str(&text[from..block.range.start]);
        from = block.range.end;
        if block.is_trace {
            continue;
        }
        let start = kept.len();
        kept.push_str(&text[block.range]);
        if block.is_code {
            code.push(start..kept.len());
        }
    }
    kept.push_str(&text[from..]);
    (
        Marked {
            text: Cow::Owned(kept),
            code,
        },
        removed,
    )
}

/// Three backticks, a label, the end of the line; then as little as possible up to a line that starts with
/// three backticks. An opening that is never closed is no block, and neither is any after it.
fn blocks_in(text: &str) -> Vec<Block> {
    let fence = memmem::Finder::new(FENCE);
    let closing = memmem::Finder::new("\n```");
    let bytes = text.as_bytes();
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(found) = fence.find(&bytes[at..]) {
        let start = at + found;
        let Some((label, body)) = opening(text, start) else {
            at = start + 1;
            continue;
        };
        let is_trace = is_trace_label(label);
        let end = if is_trace && is_closing_fence(&text[body..]) {
            // An empty trace; to look for a fence after a line end would swallow what follows.
            Some(body + FENCE.len())
        } else {
            closing
                .find(&bytes[body..])
                .map(|close| body + close + 1 + FENCE.len())
        };
        let Some(end) = end else { break };
        let is_code = !is_trace && is_closing_fence(&text[end - FENCE.len()..]);
        blocks.push(Block {
            range: start..end,
            is_trace,
            is_code,
        });
        at = end;
    }
    blocks
}

/// The label of an opening fence at `start` and where the block's body begins.
fn opening(text: &str, start: usize) -> Option<(&str, usize)> {
    let after = &text[start + FENCE.len()..];
    let is_label_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = after.bytes().take_while(|byte| is_label_byte(byte)).count();
    let rest = &after[length..];
    let line_end = if rest.starts_with('\n') {
        1
    } else if rest.starts_with("\r\n") {
        2
    } else {
        return None;
    };
    (length > 0).then(|| (&after[..length], start + FENCE.len() + length + line_end))
}

/// Three backticks and nothing else up to the end of the line.
fn is_closing_fence(text: &str) -> bool {
    text.strip_prefix(FENCE).is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '\t']);
        rest.is_empty() || rest.starts_with(['\n', '\r'])
    })
}

fn is_trace_label(label: &str) -> bool {
    TRACE_LABELS.iter().any(|trace| label.eq_ignore_ascii_case(trace))
}

/// How a bare line of JSON-RPC begins.
static ENVELOPE_STARTS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new([r#"{"jsonrpc""#, r#"{"tool_use_id""#, r#"{"tool_call_id""#]).ok());

fn remove_envelopes(marked: Marked<'_>) -> (Marked<'_>, usize) {
    let Some(starts) = &*ENVELOPE_STARTS else {
        return (marked, 0);
    };
    let text = &*marked.text;
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for found in starts.find_iter(text) {
        let last_end = cuts.last().map_or(0, |cut| cut.end);
        if found.start() < last_end || contains(&marked.code, found.start()) {
            continue;
        }
        let Some(from) = line_start_before(text, found.start(), last_end) else {
            continue;
        };
        let Some(to) = envelope_end(text, found.end()) else {
            continue;
        };
        cuts.push(from..to);
    }
    if cuts.is_empty() {
        return (marked, 0);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in &cuts {
        kept.push_str(&text[from..cut.start]);
        from = cut.end;
    }
    kept.push_str(&text[from..]);
    let code = moved(&marked.code, &cuts);
    (
        Marked {
            text: Cow::Owned(kept),
            code,
        },
        cuts.len(),
    )
}

/// Whether one of the ordered ranges holds this place.
fn contains(ranges: &[Range<usize>], place: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= place);
    ranges.get(after).is_some_and(|range| range.start <= place)
}

/// The first start of a line, not before `floor`, from which only white space leads to `place`.
fn line_start_before(text: &str, place: usize, floor: usize) -> Option<usize> {
    let blank = text[floor..place].trim_end_matches(is_space).len() + floor;
    let starts_line = |at: usize| text[..at].chars().next_back().is_none_or(is_line_end);
    if starts_line(blank) {
        return Some(blank);
    }
    let line_end = text[blank..place].char_indices().find(|(_, c)| is_line_end(*c));
    line_end.map(|(at, c)| blank + at + c.len_utf8())
}

/// Where an envelope ends whose key ends at `key_end`: after the last brace that is followed by nothing but
/// white space up to the end of a line, and after that white space except the last line end.
fn envelope_end(text: &str, key_end: usize) -> Option<usize> {
    let rest = &text[key_end..];
    let line = &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())];
    let window = cut_units(line, ENVELOPE_UNITS_MAX + 1);
    window.rmatch_indices('}').find_map(|(brace, _)| {
        let after = key_end + brace + 1;
        let blank = text[after..].len() - text[after..].trim_start_matches(is_space).len();
        if after + blank == text.len() {
            return Some(text.len());
        }
        let last_line_end = text[after..after + blank]
            .char_indices()
            .rfind(|(_, c)| is_line_end(*c));
        last_line_end.map(|(at, _)| after + at)
    })
}

/// The ranges after the cuts were taken out; a cut never overlaps one.
fn moved(ranges: &[Range<usize>], cuts: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut gone = 0;
    let mut next = cuts.iter().peekable();
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        while let Some(cut) = next.next_if(|cut| cut.end <= range.start) {
            gone += cut.len();
        }
        out.push(range.start - gone..range.end - gone);
    }
    out
}

/// Three and more line feeds become two, outside code.
fn collapse_blank_lines(marked: &Marked<'_>) -> String {
    let text = &*marked.text;
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for code in &marked.code {
        push_collapsed(&text[from..code.start], &mut out);
        out.push_str(&text[code.clone()]);
        from = code.end;
    }
    push_collapsed(&text[from..], &mut out);
    out
}

fn push_collapsed(text: &str, out: &mut String) {
    let mut from = 0;
    let bytes = text.as_bytes();
    for found in memmem::find_iter(bytes, "\n\n\n") {
        let end = found + bytes[found..].iter().take_while(|byte| **byte == b'\n').count();
        if found < from {
            continue;
        }
        out.push_str(&text[from..found]);
        out.push_str("\n\n");
        from = end;
    }
    out.push_str(&text[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SanitizerSettings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: true,
        units_max: 0,
    };

    fn check(text: &str, expected: &str) {
        assert_eq!(sanitize_output(text, &ALL).text, expected);
    }

    #[test]
    fn an_empty_trace_block_swallows_nothing() {
        check(
            "```tool_use\n```\nKEEP\n```ts\ncode\n```\nend",
            "KEEP\n```ts\ncode\n```\nend",
        );
    }

    #[test]
    fn code_stays_as_it_is() {
        let code = "```json\n{\"jsonrpc\":\"2.0\"}\n\n\n\nx\n```";
        check(&format!("{code}\n```mcp\nx\n```"), code);
    }

    #[test]
    fn the_cap_includes_its_mark() {
        for limit in 1..200 {
            let settings = SanitizerSettings {
                units_max: limit,
                ..ALL
            };
            let text = "😀".repeat(300);
            assert!(units(&sanitize_output(&text, &settings).text) <= limit);
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_clean_text_is_untouched(
            text in r#"(```|tool_use|ts|\n|\r\n| |\{"jsonrpc":|\{"tool_use_id"|\}|x|😀|\u{2028}|\u{FEFF}){0,40}"#,
            limit in 0usize..90,
        ) {
            let settings = SanitizerSettings { units_max: limit, ..ALL };
            let sanitized = sanitize_output(&text, &settings);
            proptest::prop_assert_eq!(sanitized.final_units, units(&sanitized.text));
            proptest::prop_assert!(limit == 0 || sanitized.final_units <= limit);
            proptest::prop_assert!(sanitized.changed() || sanitized.text == text);
        }
    }
}
