//! One edit as a model writes it, and what it asks for.

use super::annotated::{anchor_before, without_anchor};
use super::error::EditError;

/// An edit as it came. Which of the fields count is a matter of `op`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenEdit {
    /// One of `replace`, `append`, `prepend`, `replace_text`, `insert_after`, `insert_before`, `replace_range`.
    pub op: String,
    /// The anchor of the first line.
    pub pos: Option<String>,
    /// The anchor of the last line.
    pub end: Option<String>,
    /// The lines that are written; none takes lines away.
    pub lines: Option<Vec<String>>,
    /// The text that is looked for.
    pub old_text: Option<String>,
    /// The text that takes its place.
    pub new_text: Option<String>,
}

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOp {
    /// New lines in the place of one line, or of a range.
    Replace,
    /// New lines behind a line, or behind the last one.
    Append,
    /// New lines before a line, or before the first one.
    Prepend,
    /// A text in the place of another one.
    ReplaceText,
}

impl EditOp {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::ReplaceText => "replace_text",
        }
    }
}

/// An edit of which it is known what it does. An empty anchor is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a> {
    /// Which one it is among those of the call, from 0.
    pub index: usize,
    /// What it does.
    pub op: EditOp,
    /// Its first line.
    pub pos: Option<&'a str>,
    /// Its last line.
    pub end: Option<&'a str>,
    given: &'a GivenEdit,
}

impl<'a> Edit<'a> {
    /// Reads what an edit asks for. `insert_after`, `insert_before` and `replace_range` are other words for `append`,
    /// `prepend` and `replace` which say themselves what anchors they want.
    pub fn read(given: &'a GivenEdit, index: usize) -> Result<Self, EditError> {
        let anchor = |anchor: &'a Option<String>| anchor.as_deref().filter(|anchor| !anchor.is_empty());
        let (pos, end) = (anchor(&given.pos), anchor(&given.end));
        let (op, wants_pos, wants_end) = match given.op.as_str() {
            "replace" => (EditOp::Replace, true, false),
            "replace_range" => (EditOp::Replace, true, true),
            "append" => (EditOp::Append, false, false),
            "insert_after" => (EditOp::Append, true, false),
            "prepend" => (EditOp::Prepend, false, false),
            "insert_before" => (EditOp::Prepend, true, false),
            "replace_text" => (EditOp::ReplaceText, false, false),
            _ => {
                return Err(EditError::UnknownOp {
                    edit: index,
                    op: given.op.chars().take(40).collect(),
                });
            }
        };
        let missing = match (wants_pos && pos.is_none(), wants_end && end.is_none()) {
            (true, _) => Some("pos"),
            (false, true) => Some("end"),
            (false, false) => None,
        };
        match missing {
            Some(missing) => Err(EditError::NoAnchor {
                edit: index,
                op: given.op.clone(),
                missing,
            }),
            None => Ok(Self {
                index,
                op,
                pos,
                end,
                given,
            }),
        }
    }

    /// The lines that it writes. With `strict`, one that still has an anchor before it is refused, since it was
    /// copied from what was read; otherwise the anchor is taken away.
    pub fn new_lines(&self, strict: bool) -> Result<Vec<&'a str>, EditError> {
        let lines = self.given.lines.as_deref().unwrap_or_default();
        if !strict {
            return Ok(lines.iter().map(|line| without_anchor(line)).collect());
        }
        match lines.iter().position(|line| anchor_before(line).is_some()) {
            None => Ok(lines.iter().map(String::as_str).collect()),
            Some(line) => Err(EditError::AnchorInLines {
                edit: self.index,
                line,
                text: lines[line].clone(),
            }),
        }
    }

    pub(super) fn old_text(&self) -> &'a str {
        self.given.old_text.as_deref().unwrap_or_default()
    }

    pub(super) fn new_text(&self) -> &'a str {
        self.given.new_text.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(op: &str, pos: Option<&str>, end: Option<&str>) -> GivenEdit {
        GivenEdit {
            op: op.into(),
            pos: pos.map(Into::into),
            end: end.map(Into::into),
            ..GivenEdit::default()
        }
    }

    #[test]
    fn other_words_want_their_anchors() {
        let read = |op: &str, pos, end| {
            Edit::read(&given(op, pos, end), 3)
                .map(|edit| edit.op)
                .map_err(|error| error.code())
        };
        assert_eq!(read("insert_after", Some("1#ZP"), None), Ok(EditOp::Append));
        assert_eq!(read("insert_before", Some("1#ZP"), None), Ok(EditOp::Prepend));
        assert_eq!(
            read("replace_range", Some("1#ZP"), Some("2#ZP")),
            Ok(EditOp::Replace)
        );
        for (op, pos, end) in [
            ("insert_after", None, None),
            ("insert_before", Some(""), None),
            ("replace_range", Some("1#ZP"), None),
            ("replace_range", None, Some("1#ZP")),
            ("replace", None, None),
            ("replace", Some(""), None),
        ] {
            assert_eq!(read(op, pos, end), Err("E_BAD_REF"), "{op}");
        }
        assert_eq!(read("append", None, None), Ok(EditOp::Append));
        assert_eq!(read("change", None, None), Err("E_INVALID_PATCH"));
    }

    #[test]
    fn lines_that_were_copied_with_their_anchors_are_refused_or_cleaned() {
        let mut given = given("append", None, None);
        given.lines = Some(vec!["a".into(), "7#KXVTB|b".into()]);
        let edit = Edit::read(&given, 0).expect("an edit");
        assert!(matches!(
            edit.new_lines(true),
            Err(EditError::AnchorInLines { line: 1, .. })
        ));
        assert_eq!(edit.new_lines(false), Ok(vec!["a", "b"]));
    }
}
