//! What of a sub-agent's answer is not meant for the user?
//!
//! Fenced blocks that hold traces of tools, and bare lines of JSON-RPC. What lies inside other fenced blocks is
//! code and stays as it is, blank lines included. Every step is linear in the text, whatever it holds.

use crate::compat::{cut_units, is_line_end, is_space, last_units, trim, units};
use crate::domain::{RunRequest, WhatToRun};
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
    pub enabled: bool,
    /// Remove traces of tools.
    pub strip_tool_traces: bool,
    /// Cut to so many units, the mark included; 0 for no limit.
    pub units_max: usize,
    /// What is kept of one that is cut.
    pub keeps: Keeps,
}

/// What is kept of an answer that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// As much of the beginning as there is room for.
    Beginning,
    /// As much of the beginning as of the end: an agent's verdict and its summary stand last.
    BothEnds,
}

impl From<&RunRequest> for SanitizerSettings {
    fn from(request: &RunRequest) -> Self {
        Self {
            enabled: request.terms.answer.sanitize,
            strip_tool_traces: request.terms.answer.strip_tool_traces,
            units_max: request.answer_chars_max,
            keeps: match &request.what {
                WhatToRun::Agent(_) => Keeps::BothEnds,
                WhatToRun::Skill(_) => Keeps::Beginning,
            },
        }
    }
}

/// An answer as the user gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized<'a> {
    pub text: Cow<'a, str>,
    /// All of it, without the traces; none where nothing was cut.
    pub whole: Option<Cow<'a, str>>,
    /// How many traces were removed.
    pub removed_sections: usize,
    pub truncated: bool,
    pub original_units: usize,
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
        whole: None,
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
    if !truncated {
        return Sanitized {
            text: kept,
            removed_sections,
            final_units: kept_units,
            ..untouched
        };
    }
    let (text, final_units) = match settings.keeps {
        Keeps::Beginning => capped(&kept, settings.units_max),
        Keeps::BothEnds => both_ends(&kept, settings.units_max),
    };
    Sanitized {
        text: Cow::Owned(text),
        whole: Some(kept),
        removed_sections,
        truncated,
        final_units,
        ..untouched
    }
}

/// At most `limit` units, the mark among them, and how many; no mark where it does not fit.
fn capped(text: &str, limit: usize) -> (String, usize) {
    let mark = format!("\n\n[…final output truncated by output sanitizer at {limit} chars]");
    let mark_units = units(&mark);
    match limit.checked_sub(mark_units) {
        Some(room) => {
            let kept = cut_units(text, room);
            (format!("{kept}{mark}"), units(kept) + mark_units)
        }
        None => {
            let kept = cut_units(text, limit);
            (kept.to_string(), units(kept))
        }
    }
}

/// At most `limit` units of a text that has more, and how many: its beginning, a mark, its end; where the mark does not
/// fit, the beginning.
fn both_ends(text: &str, limit: usize) -> (String, usize) {
    const MARK: &str = "\n[... truncated ...]\n";
    let cut = match limit.checked_sub(units(MARK)) {
        None | Some(0) => cut_units(text, limit).to_string(),
        Some(room) => {
            let head = room / 2;
            format!("{}{MARK}{}", cut_units(text, head), last_units(text, room - head))
        }
    };
    let count = units(&cut);
    (cut, count)
}

fn strip_traces(text: &str) -> (Cow<'_, str>, usize) {
    let (text, blocks) = remove_trace_blocks(text);
    let (text, envelopes) = remove_envelopes(text);
    if blocks + envelopes == 0 {
        return (text, 0);
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

/// Takes out the fenced blocks that are traces; other blocks are stepped over whole.
///
/// A block is three backticks, a label, the end of the line; then as little as possible up to a line that starts
/// with three backticks. An opening that is never closed is no block, and neither is any after it.
fn remove_trace_blocks(text: &str) -> (Cow<'_, str>, usize) {
    let fence = memmem::Finder::new(FENCE);
    let closing = memmem::Finder::new("\n```");
    let bytes = text.as_bytes();
    let mut cuts: Vec<Range<usize>> = Vec::new();
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
        if is_trace {
            cuts.push(start..end);
        }
        at = end;
    }
    (without(text, &cuts), cuts.len())
}

fn without<'a>(text: &'a str, cuts: &[Range<usize>]) -> Cow<'a, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        kept.push_str(&text[from..cut.start]);
        from = cut.end;
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// The fenced blocks, with or without a label. Fences are lines; they come in pairs, and a pair whose second one
/// has a label is no block.
fn code_in(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open = None;
    for at in memmem::find_iter(text.as_bytes(), FENCE) {
        let starts_line = at == 0 || text.as_bytes()[at - 1] == b'\n';
        if !starts_line || !is_fence_line(&text[at..]) {
            continue;
        }
        match open.take() {
            None => open = Some(at),
            Some(start) if is_closing_fence(&text[at..]) => ranges.push(start..at + FENCE.len()),
            Some(_) => {}
        }
    }
    ranges
}

/// The label of an opening fence at `start` and where the block's body begins.
fn opening(text: &str, start: usize) -> Option<(&str, usize)> {
    let after = &text[start + FENCE.len()..];
    let length = after.bytes().take_while(is_label_byte).count();
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
    text.strip_prefix(FENCE).is_some_and(is_blank_line)
}

/// Three backticks and perhaps a label.
fn is_fence_line(text: &str) -> bool {
    let Some(after) = text.strip_prefix(FENCE) else {
        return false;
    };
    let label = after.bytes().take_while(is_label_byte).count();
    is_blank_line(&after[label..])
}

fn is_blank_line(text: &str) -> bool {
    let rest = text.trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}

fn is_label_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_trace_label(label: &str) -> bool {
    TRACE_LABELS.iter().any(|trace| label.eq_ignore_ascii_case(trace))
}

/// How a bare line of JSON-RPC begins.
static ENVELOPE_STARTS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new([r#"{"jsonrpc""#, r#"{"tool_use_id""#, r#"{"tool_call_id""#]).ok());

fn remove_envelopes(text: Cow<'_, str>) -> (Cow<'_, str>, usize) {
    let Some(starts) = &*ENVELOPE_STARTS else {
        return (text, 0);
    };
    // Most answers hold none; then nobody needs to know where code is.
    let mut candidates = starts.find_iter(&*text).peekable();
    if candidates.peek().is_none() {
        drop(candidates);
        return (text, 0);
    }
    let code = code_in(&text);
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for found in candidates {
        let last_end = cuts.last().map_or(0, |cut| cut.end);
        if found.start() < last_end || contains(&code, found.start()) {
            continue;
        }
        let Some(from) = line_start_before(&text, found.start(), last_end) else {
            continue;
        };
        let Some(to) = envelope_end(&text, found.end()) else {
            continue;
        };
        cuts.push(from..to);
    }
    if cuts.is_empty() {
        return (text, 0);
    }
    (Cow::Owned(without(&text, &cuts).into_owned()), cuts.len())
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

/// Three and more line feeds become two, outside code.
fn collapse_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for code in code_in(text) {
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
        keeps: Keeps::Beginning,
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
        let plain = "```\n{\"jsonrpc\":\"2.0\"}\n\n\n\nx\n```";
        check(&format!("{plain}\n```mcp\nx\n```"), plain);
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

    #[test]
    fn an_agents_answer_that_is_cut_keeps_its_end() {
        let settings = SanitizerSettings {
            units_max: 40,
            keeps: Keeps::BothEnds,
            ..ALL
        };
        let text = format!("Found it. {}Verdict: Block", "and so on ".repeat(20));
        let cut = sanitize_output(&text, &settings);
        assert_eq!(cut.text, "Found it.\n[... truncated ...]\nict: Block");
        assert!(cut.truncated && cut.final_units == 40, "{cut:?}");
        let emoji = "😀".repeat(300);
        for units_max in 1..90 {
            let cut = sanitize_output(
                &emoji,
                &SanitizerSettings {
                    units_max,
                    ..settings
                },
            );
            assert!(
                cut.final_units <= units_max && cut.final_units + 2 >= units_max,
                "{cut:?}"
            );
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
