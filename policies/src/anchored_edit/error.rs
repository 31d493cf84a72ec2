//! Why a call is refused, for whoever has to write it again: what, where, and what to do.

use super::anchor::Anchor;
use super::edit::EditOp;
use crate::compat::{cut_units, last_units, trim_end, trim_start, units};
use thiserror::Error;

/// So much of a text is shown in an error.
const SHOWN_UNITS_MAX: usize = 100;

/// The lines an edit is about, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditLines {
    /// Which edit, from 0.
    pub edit: usize,
    /// What it does.
    pub op: EditOp,
    /// Its first line.
    pub first: u64,
    /// Its last line.
    pub last: u64,
}

/// Two edits that want the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// One of them.
    pub one: EditLines,
    /// The other.
    pub other: EditLines,
}

/// Why nothing was changed. Edits are counted from 1 in what is said, as models count.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// There is no such operation.
    #[error("edit {}: there is no op {op:?}; use replace, append, prepend, replace_text, insert_after, insert_before or replace_range", .edit + 1)]
    UnknownOp {
        /// Which edit, from 0.
        edit: usize,
        /// What it wants.
        op: String,
    },
    /// An anchor is missing.
    #[error("edit {}: {op} needs {missing:?}, the anchor of a line as it was read (12#KXVTB)", .edit + 1)]
    NoAnchor {
        /// Which edit, from 0.
        edit: usize,
        /// What it wants.
        op: String,
        /// The field.
        missing: &'static str,
    },
    /// What stands for an anchor is none.
    #[error("edit {}: {} is no anchor; write what stands before the | of a line as it was read, such as 12#KXVTB", .edit + 1, shown(anchor))]
    NoSuchAnchor {
        /// Which edit, from 0.
        edit: usize,
        /// What was written.
        anchor: String,
    },
    /// A range whose end comes first.
    #[error("edit {}: line {end} (end) comes before line {start} (pos); write them the other way round", .edit + 1)]
    Backwards {
        /// Which edit, from 0.
        edit: usize,
        /// The line of `pos`.
        start: u64,
        /// The line of `end`.
        end: u64,
    },
    /// The file has no such line.
    #[error("edit {}: {anchor} is outside of the file, which has {file_lines} {}; it ends like this now:\n{}", .edit + 1, lines_word(*file_lines), context.join("\n"))]
    OutOfRange {
        /// Which edit, from 0.
        edit: usize,
        /// The anchor.
        anchor: Anchor,
        /// How many lines there are.
        file_lines: u64,
        /// The last lines with their anchors.
        context: Vec<String>,
    },
    /// The line is another one by now.
    #[error("edit {}: {anchor} does not fit: line {} is {now} now. The file has changed since it was read, or the anchor was not copied exactly. Nothing was written; these are the lines there now:\n{}", .edit + 1, anchor.line, context.join("\n"))]
    Stale {
        /// Which edit, from 0.
        edit: usize,
        /// The anchor.
        anchor: Anchor,
        /// The anchor that the line has.
        now: Anchor,
        /// The lines around it with their anchors.
        context: Vec<String>,
    },
    /// Two edits about the same lines, or an insert within lines that another edit replaces.
    #[error("edit {} ({}, {}) and edit {} ({}, {}) are about the same lines; all edits of a call are about the file as it was read, so make one edit of them", overlap.one.edit + 1, overlap.one.op.name(), place(&overlap.one), overlap.other.edit + 1, overlap.other.op.name(), place(&overlap.other))]
    Overlaps {
        /// Which.
        overlap: Overlap,
    },
    /// No text to look for.
    #[error("edit {}: oldText is empty; write the text to be replaced as it stands in the file", .edit + 1)]
    NoText {
        /// Which edit, from 0.
        edit: usize,
    },
    /// The text does not stand in the file.
    #[error("edit {}: oldText does not stand in the file as it was read: {}; read the lines again and copy them without their anchors", .edit + 1, shown(text))]
    NoMatch {
        /// Which edit, from 0.
        edit: usize,
        /// The text.
        text: String,
    },
    /// The text stands in the file more than once.
    #[error("edit {}: oldText stands in the file {count} times, first in lines {}; write more of what is around it, or use replace with an anchor", .edit + 1, listed(first_lines))]
    ManyMatches {
        /// Which edit, from 0.
        edit: usize,
        /// How often.
        count: u64,
        /// Where the first three begin.
        first_lines: Vec<u64>,
    },
    /// A line that is to be written begins with an anchor.
    #[error("edit {}: lines[{line}] begins with an anchor: {}; write lines as they shall stand in the file, without what stands before the | (replace_text writes such a text if you mean it)", .edit + 1, shown(text))]
    AnchorInLines {
        /// Which edit, from 0.
        edit: usize,
        /// Which of its lines, from 0.
        line: usize,
        /// The line.
        text: String,
    },
    /// What comes out is larger than a file that is edited may be.
    #[error("the file would have {bytes} bytes; at most {bytes_max} are edited")]
    TooLarge {
        /// How large.
        bytes: usize,
        /// What is allowed.
        bytes_max: usize,
    },
}

impl EditError {
    /// The word that stands before what is said, by which a model knows the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoAnchor { .. } | Self::NoSuchAnchor { .. } | Self::Backwards { .. } => "E_BAD_REF",
            Self::OutOfRange { .. } => "E_OUT_OF_RANGE",
            Self::Stale { .. } => "E_HASH_MISMATCH",
            Self::Overlaps { .. } => "E_OVERLAP",
            Self::NoText { .. } | Self::NoMatch { .. } => "E_NO_MATCH",
            Self::ManyMatches { .. } => "E_MULTI_MATCH",
            Self::UnknownOp { .. } | Self::AnchorInLines { .. } => "E_INVALID_PATCH",
            Self::TooLarge { .. } => "E_TOO_LARGE",
        }
    }
}

/// The beginning of a text in quotes.
pub(super) fn shown(text: &str) -> String {
    let kept = cut_units(text, SHOWN_UNITS_MAX);
    let rest = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept:?}{rest}")
}

fn lines_word(count: u64) -> &'static str {
    if count == 1 { "line" } else { "lines" }
}

fn place(lines: &EditLines) -> String {
    match lines.first == lines.last {
        true => format!("line {}", lines.first),
        false => format!("lines {}-{}", lines.first, lines.last),
    }
}

fn listed(lines: &[u64]) -> String {
    lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// A longer error is not said: what a model has to do stands at its beginning, the lines that it needs at its end.
const ERROR_UNITS_MAX: usize = 1_200;
const LEFT_OUT: &str = "[… the middle of this error is left out, as it would be far too long …]";

/// `[CODE] what`, at most 1 200 UTF-16 units of it.
pub fn error_words(code: &str, what: &str) -> String {
    bounded_error(&format!("[{code}] {what}"))
}

/// At most 1 200 units of an error: its beginning and its end.
pub fn bounded_error(text: &str) -> String {
    if units(text) <= ERROR_UNITS_MAX {
        return text.to_string();
    }
    let room = ERROR_UNITS_MAX - units(LEFT_OUT) - 4;
    let (head, tail) = (cut_units(text, room / 2), last_units(text, room - room / 2));
    format!("{}\n\n{LEFT_OUT}\n\n{}", trim_end(head), trim_start(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_never_longer_than_it_may_be() {
        for length in [10, 1_199, 1_200, 1_201, 100_000] {
            let bounded = bounded_error(&"é".repeat(length));
            assert_eq!(units(&bounded), length.min(1_200));
        }
        assert_eq!(error_words("E_X", "why"), "[E_X] why");
    }

    #[test]
    fn edits_are_counted_as_people_count() {
        let lines = |edit, op, first, last| EditLines {
            edit,
            op,
            first,
            last,
        };
        let overlap = Overlap {
            one: lines(0, EditOp::Replace, 2, 4),
            other: lines(1, EditOp::Append, 3, 3),
        };
        let said = EditError::Overlaps { overlap }.to_string();
        assert!(
            said.starts_with("edit 1 (replace, lines 2-4) and edit 2 (append, line 3) are"),
            "{said}"
        );
    }
}
