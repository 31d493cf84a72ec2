//! What is a model told of an edit that was made?

use super::edited::EditedText;
use super::preview::{Preview, change_preview};
use super::snapshot::{Snapshot, count_lines};

/// What became of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has so many lines now.
    Updated {
        /// Lines.
        line_count: usize,
    },
    /// It is what it was before, and was not written.
    Unchanged {
        /// Lines.
        line_count: usize,
    },
    /// It has another name now.
    Renamed {
        /// The new path, as it was asked for.
        to: String,
    },
    /// It is gone.
    Deleted {
        /// The path, as it was asked for.
        path: String,
    },
}

impl EditedText {
    /// How many lines came out.
    pub fn line_count(&self) -> usize {
        count_lines(&self.bytes)
    }

    /// What is said of the change.
    pub fn preview(&self, before: &Snapshot<'_>) -> Preview {
        change_preview(before, &Snapshot::of(&self.bytes), &self.windows)
    }
}

/// The reply: what became of the file, the anchors around each change, and what changed.
pub fn reply_words(outcome: &Outcome, preview: Option<&Preview>) -> String {
    let mut words = match outcome {
        Outcome::Updated { line_count } => format!("File updated. {line_count} lines."),
        Outcome::Unchanged { line_count } => {
            format!("Nothing to change: the file is like that already. {line_count} lines.")
        }
        Outcome::Renamed { to } => format!("File edited and renamed to {to}"),
        Outcome::Deleted { path } => format!("Deleted {path}"),
    };
    let Some(preview) = preview else {
        return words;
    };
    for (title, block) in [
        ("Updated anchors", &preview.anchors),
        ("Diff preview", &preview.diff),
    ] {
        if !block.is_empty() {
            words.push_str(&format!("\n\n--- {title} ---\n{block}"));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_the_anchors_that_hold_now() {
        let preview = Preview {
            ranges: Vec::new(),
            anchors: "1#KXVTB|x".into(),
            diff: "+ 1#KXVTB| x".into(),
        };
        let reply = reply_words(&Outcome::Updated { line_count: 3 }, Some(&preview));
        let expected = "File updated. 3 lines.\n\n--- Updated anchors ---\n1#KXVTB|x\n\n--- Diff preview ---\n+ 1#KXVTB| x";
        assert_eq!(reply, expected);
        assert_eq!(
            reply_words(&Outcome::Deleted { path: "a".into() }, None),
            "Deleted a"
        );
    }
}
