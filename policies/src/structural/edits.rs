//! A text and what changes in it.

use std::ops::Range;

/// What one place of a text becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub bytes: Range<usize>,
    /// What stands there instead.
    pub text: String,
}

/// The text after these edits, which are in its order and do not overlap.
pub fn apply_edits(old: &str, edits: &[Edit]) -> String {
    let mut new = String::with_capacity(old.len());
    let mut done = 0;
    for edit in edits {
        new.push_str(old.get(done..edit.bytes.start).unwrap_or_default());
        new.push_str(&edit.text);
        done = edit.bytes.end;
    }
    new.push_str(old.get(done..).unwrap_or_default());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_edited_stays() {
        let edit = |bytes, text: &str| Edit {
            bytes,
            text: text.to_string(),
        };
        let edits = [edit(0..1, "A"), edit(2..2, "-"), edit(4..6, "")];
        assert_eq!(apply_edits("abcdef", &edits), "Ab-cd");
        assert_eq!(apply_edits("ä\r\n", &[]), "ä\r\n");
    }
}
