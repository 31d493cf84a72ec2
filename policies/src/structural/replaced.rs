//! What a model is told of what is replaced.

use super::matches::{Seen, describe_seen};
use std::fmt::Write;

/// Of the patch so much is shown.
const PATCH_BYTES_MAX: usize = 40_000;
/// So many files are named.
const NAMED_MAX: usize = 200;

/// What a replacement changes in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// As it is shown.
    pub path: String,
    /// How many places.
    pub count: usize,
}

/// What a replacement comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replacement {
    /// The files, by path.
    pub files: Vec<Changed>,
    /// Places that lie inside of others, and are not replaced with them.
    pub inside: usize,
    /// Where it was looked.
    pub seen: Seen,
}

impl Replacement {
    fn count(&self) -> usize {
        self.files.iter().map(|file| file.count).sum()
    }

    fn remarks(&self) -> String {
        let inside = match self.inside {
            0 => String::new(),
            inside => format!(
                "\n({inside} more inside of those are not replaced with them; look again afterwards)\n"
            ),
        };
        inside + &describe_seen(&self.seen, self.count())
    }
}

/// Nothing is changed yet.
pub fn describe_preview(replacement: &Replacement, patch: &str) -> String {
    if replacement.files.is_empty() {
        return format!("No matches found.{}", replacement.remarks());
    }
    format!(
        "Would replace {} match(es) in {} file(s). Nothing is changed yet: call again with dryRun false to apply it.\n\n{}{}",
        replacement.count(),
        replacement.files.len(),
        shortened(patch),
        replacement.remarks(),
    )
}

/// It is done, and can be taken back by this number.
pub fn describe_applied(replacement: &Replacement, number: u64, patch_file: &str) -> String {
    let mut text = format!(
        "Replaced {} match(es) in {} file(s):\n\n",
        replacement.count(),
        replacement.files.len()
    );
    for file in replacement.files.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "{}: {}", file.path, file.count);
    }
    if replacement.files.len() > NAMED_MAX {
        let _ = writeln!(text, "({} more)", replacement.files.len() - NAMED_MAX);
    }
    let _ = write!(
        text,
        "\nTake it back with ast_replace {{\"undo\": \"{number}\"}}. The patch is {patch_file}\n"
    );
    text + &replacement.remarks()
}

/// It is taken back.
pub fn describe_undone(number: u64, files: &[String]) -> String {
    let mut text = format!(
        "Took back replacement {number}; {} file(s) are as they were before it:\n\n",
        files.len()
    );
    for file in files.iter().take(NAMED_MAX) {
        let _ = writeln!(text, "{file}");
    }
    text
}

/// Cut where a line ends, with what is not shown counted.
fn shortened(patch: &str) -> String {
    if patch.len() <= PATCH_BYTES_MAX {
        return patch.to_string();
    }
    let cut = patch.floor_char_boundary(PATCH_BYTES_MAX);
    let kept = patch.get(..cut).unwrap_or_default();
    let kept = kept
        .rfind('\n')
        .and_then(|end| patch.get(..=end))
        .unwrap_or_default();
    let rest = patch.get(kept.len()..).unwrap_or_default().lines().count();
    format!("{kept}({rest} more lines of the patch)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacement() -> Replacement {
        let changed = |path: &str, count| Changed {
            path: path.to_string(),
            count,
        };
        Replacement {
            files: vec![changed("a.rs", 2), changed("b.rs", 1)],
            ..Replacement::default()
        }
    }

    #[test]
    fn a_preview_shows_the_patch_and_says_how_to_go_on() {
        let text = describe_preview(&replacement(), "--- a/a.rs\n");
        assert!(text.starts_with("Would replace 3 match(es) in 2 file(s). Nothing is changed yet"));
        assert!(text.ends_with("\n\n--- a/a.rs\n"));
        let mut nothing = Replacement::default();
        nothing.seen.files = 1;
        assert_eq!(describe_preview(&nothing, ""), "No matches found.");
    }

    #[test]
    fn a_long_patch_is_cut_at_a_line() {
        let line = "+some line\n";
        let text = describe_preview(&replacement(), &line.repeat(10_000));
        assert!(text.len() < PATCH_BYTES_MAX + 300);
        assert!(
            text.ends_with("+some line\n(6364 more lines of the patch)\n"),
            "{}",
            &text[text.len() - 80..]
        );
    }

    #[test]
    fn what_was_applied_names_its_files_and_the_way_back() {
        let mut applied = replacement();
        applied.inside = 4;
        let text = describe_applied(&applied, 7, "/s/7/changes.patch");
        let expected = "Replaced 3 match(es) in 2 file(s):\n\na.rs: 2\nb.rs: 1\n\nTake it back with ast_replace {\"undo\": \"7\"}. \
                        The patch is /s/7/changes.patch\n\n(4 more inside of those are not replaced with them; look again afterwards)\n";
        assert_eq!(text, expected);
        assert_eq!(
            describe_undone(7, &["a.rs".to_string()]),
            "Took back replacement 7; 1 file(s) are as they were before it:\n\na.rs\n"
        );
    }
}
