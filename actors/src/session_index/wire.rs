//! Lines of a session's file, as far as they matter here. A line that is anything else is none.

use impresario_policies::anchors::CONTEXT_TOOL;
use impresario_policies::utc_date::read_moment;
use serde::Deserialize;

/// So much is kept of what an anchor says, in characters; more is not written by the tool.
const NAME_CHARS_MAX: usize = 500;
const SUMMARY_CHARS_MAX: usize = 16_000;

/// The first line of a session's file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SessionHead {
    pub id: String,
    pub cwd: Option<String>,
}

/// An anchor, as a line says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenAnchor {
    pub entry: String,
    pub at: String,
    pub at_ms: Option<i64>,
    pub name: String,
    pub summary: String,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    tool_name: String,
    details: Details,
}

#[derive(Deserialize)]
struct Details {
    anchor: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    summary: String,
}

pub(super) fn head_in(line: &[u8]) -> SessionHead {
    let head = serde_json::from_slice::<Head>(line).ok();
    let head = head.filter(|head| head.kind == "session");
    head.map_or_else(SessionHead::default, |head| SessionHead {
        id: head.id.unwrap_or_default(),
        cwd: head.cwd,
    })
}

pub(super) fn anchor_in(line: &[u8]) -> Option<WrittenAnchor> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let Named { name, summary } = entry.message.details.anchor;
    let is_anchor = entry.message.role == "toolResult" && entry.message.tool_name == CONTEXT_TOOL;
    if !is_anchor || name.is_empty() || summary.is_empty() {
        return None;
    }
    let at = entry.timestamp.unwrap_or_default();
    Some(WrittenAnchor {
        entry: entry.id.unwrap_or_default(),
        at_ms: read_moment(&at),
        at,
        name: cut(name, NAME_CHARS_MAX),
        summary: cut(summary, SUMMARY_CHARS_MAX),
    })
}

fn cut(mut text: String, chars_max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars_max) {
        text.truncate(end);
    }
    text
}
