//! `read`: the lines of a file, numbered.

use crate::tools::place::{Workspace, plain};
use impresario_policies::anchored_edit::anchored_text;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;

pub(super) const DESCRIPTION: &str = "Reads lines of a text file in the workspace. Shows `path#Lfirst-Llast` and the lines with their numbers.";

/// Said in addition to those who can edit by anchors.
pub(super) const ANCHORED: &str = " Before the | of a line stands its anchor, number and letters (41#KXVTB), by which hashline_edit names it.";

/// A larger file is not read.
const FILE_BYTES_MAX: u64 = 10_000_000;
const LINES_DEFAULT: usize = 200;
const LINES_MAX: usize = 2_000;
const SHOWN_BYTES_MAX: usize = 48_000;
const LINE_BYTES_MAX: usize = 1_000;

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Relative to the workspace." },
            "offset": { "type": "integer", "minimum": 1, "description": "First line, from 1." },
            "limit": { "type": "integer", "minimum": 1, "maximum": LINES_MAX, "description": "How many lines; 200 unless told." }
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct ReadArguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// How lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Numbered,
    /// For who edits by anchors.
    Anchored,
}

pub(super) fn run(workspace: &Workspace, arguments: &ReadArguments, shown: Shown) -> Result<String, String> {
    let place = workspace.resolve(&arguments.path)?;
    let shown_path = workspace.show(&place);
    let metadata = place
        .metadata()
        .map_err(|error| format!("{shown_path} cannot be read: {}.", plain(&error)))?;
    if metadata.is_dir() {
        return Err(format!("{shown_path:?} is a directory; list it with find."));
    }
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(format!(
            "{shown_path} is not read: {} bytes, or no plain file.",
            metadata.len()
        ));
    }
    let mut bytes = Vec::new();
    let opened = File::open(&place).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    opened.map_err(|error| format!("{shown_path} cannot be read: {}.", plain(&error)))?;
    if bytes.iter().take(8_000).any(|byte| *byte == 0) {
        return Err(format!("{shown_path} is not text."));
    }
    show(&shown_path, &String::from_utf8_lossy(&bytes), arguments, shown)
}

fn show(path: &str, text: &str, arguments: &ReadArguments, shown: Shown) -> Result<String, String> {
    let total = text.lines().count();
    let first = arguments.offset.unwrap_or(1).max(1);
    if total == 0 {
        return Ok(format!("{path} is empty."));
    }
    if first > total {
        return Err(format!("{path} has {total} lines; there is no line {first}."));
    }
    let limit = arguments.limit.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    let mut picked = Vec::new();
    let mut length = 0;
    for line in text.lines().skip(first - 1).take(limit) {
        length += line.len().min(LINE_BYTES_MAX);
        if length > SHOWN_BYTES_MAX {
            break;
        }
        picked.push(line);
    }
    let last = first + picked.len().max(1) - 1;
    let lines = match shown {
        Shown::Numbered => numbered(&picked, first),
        Shown::Anchored => anchored(&picked, first),
    };
    let rest = if last < total {
        format!(
            "({} of {total} lines shown; go on with offset {})\n",
            last + 1 - first,
            last + 1
        )
    } else {
        String::new()
    };
    Ok(format!("{path}#L{first}-L{last}\n{lines}{rest}"))
}

fn numbered(picked: &[&str], first: usize) -> String {
    let mut lines = String::new();
    for (number, line) in (first..).zip(picked) {
        let _ = writeln!(lines, "{number:>5}| {}", cut(line));
    }
    lines
}

/// An anchor is that of the whole line, however much of it is shown.
fn anchored(picked: &[&str], first: usize) -> String {
    let text = anchored_text(&format!("{}\n", picked.join("\n")), first as u64);
    text.lines()
        .fold(String::with_capacity(text.len()), |mut lines, line| {
            lines.push_str(cut(line));
            lines.push('\n');
            lines
        })
}

fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE_BYTES_MAX.min(line.len()))]
}
