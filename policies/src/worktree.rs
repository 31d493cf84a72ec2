//! What of a person's files goes into a git worktree, may a patch be applied, and what is a person told of it?

use crate::domain::{FileChange, Patch, PatchedFile, RunId};
use crate::figures::count_words;
use crate::projection::WorktreeProjection;
use std::fmt::Write;

/// A file that git does not know yet is left out above so many bytes.
pub const UNTRACKED_FILE_BYTES_MAX: u64 = 10_000_000;
/// All of them together have at most so many.
pub const UNTRACKED_BYTES_MAX: u64 = 200_000_000;
/// There are at most so many of them.
pub const UNTRACKED_FILES_MAX: usize = 20_000;
/// So many names stand in one note.
const NAMES_SHOWN: usize = 5;
/// So many files of a patch are named where a result is told.
const FILES_SHOWN: usize = 50;

/// What lies at a path that git does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File {
        bytes: u64,
    },
    Link,
    /// A repository within the repository.
    Directory,
    /// A socket, a pipe, a device.
    Special,
    /// It went away meanwhile.
    Gone,
}

/// Which of the files that git does not know are taken along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// By their place in the list.
    pub taken: Vec<usize>,
    /// What is left out, and why.
    pub notes: Vec<String>,
}

/// Chooses among the files that git does not know, in their order. Names are for the notes only.
pub fn choose_untracked(files: &[(String, FileKind)]) -> Selection {
    let mut taken = Vec::new();
    let (mut large, mut inner, mut special, mut beyond) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut bytes_taken = 0_u64;
    for (place, (name, kind)) in files.iter().enumerate() {
        let bytes = match kind {
            FileKind::File { bytes } => *bytes,
            FileKind::Link => 0,
            FileKind::Directory => {
                inner.push(name);
                continue;
            }
            FileKind::Special => {
                special.push(name);
                continue;
            }
            FileKind::Gone => continue,
        };
        if bytes > UNTRACKED_FILE_BYTES_MAX {
            large.push(name);
        } else if taken.len() >= UNTRACKED_FILES_MAX || bytes_taken + bytes > UNTRACKED_BYTES_MAX {
            beyond.push(name);
        } else {
            bytes_taken += bytes;
            taken.push(place);
        }
    }
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let notes = [
        note(
            &large,
            &format!("new and larger than {} MB", megabytes(UNTRACKED_FILE_BYTES_MAX)),
        ),
        note(
            &beyond,
            &format!(
                "new and more than {UNTRACKED_FILES_MAX} files or {} MB together",
                megabytes(UNTRACKED_BYTES_MAX)
            ),
        ),
        note(&inner, "a repository of its own"),
        note(&special, "neither file nor link"),
    ];
    Selection {
        taken,
        notes: notes.into_iter().flatten().collect(),
    }
}

/// `left out: a, b and 3 more (why)`; none for nothing.
pub fn note<Name: AsRef<str>>(names: &[Name], why: &str) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(AsRef::as_ref).collect();
    let more = match names.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("left out: {}{more} ({why})", shown.join(", ")))
}

/// A path as a person and JSON can have it: what is no plain text is quoted as git quotes it.
pub fn readable_path(path: &[u8]) -> String {
    let plain = |letter: char| !letter.is_control() && letter != '"' && letter != '\\';
    if let Ok(text) = std::str::from_utf8(path)
        && text.chars().all(plain)
    {
        return text.to_string();
    }
    let mut quoted = String::from("\"");
    for byte in path {
        match byte {
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            other => {
                // A string takes whatever is written.
                let _ = write!(quoted, "\\{other:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}

/// A file as git sees it: its mode and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitEntry {
    /// `100644`, `100755`, `120000`, `160000`.
    pub mode: String,
    pub hash: String,
}

/// The mode of a submodule.
pub const SUBMODULE: &str = "160000";

/// What lies where a patch wants to change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    Absent,
    There(GitEntry),
    /// Something that the patch cannot replace.
    Obstructed(String),
}

/// A file of a patch, and the person's file at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileToApply {
    /// For the person.
    pub path: String,
    /// When the run began.
    pub before: Option<GitEntry>,
    /// When the run had ended.
    pub after: Option<GitEntry>,
    pub now: Now,
}

/// What becomes of a patch that is to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyDecision {
    /// These files are changed, by their place in the list.
    Apply(Vec<usize>),
    /// Everything is as the patch wants it.
    AppliedAlready,
    /// Nothing is changed: these stand in the way, each with why.
    Refuse(Vec<String>),
}

/// Decides whether a patch is applied: every file is as it was when the run began, or as the patch wants it, or nothing
/// is touched.
pub fn decide_apply(files: &[FileToApply]) -> ApplyDecision {
    let mut wanted = Vec::new();
    let mut conflicts = Vec::new();
    for (place, file) in files.iter().enumerate() {
        let entries = || file.before.iter().chain(&file.after);
        let is = |entry: &Option<GitEntry>| match (&file.now, entry) {
            (Now::Absent, None) => true,
            (Now::There(now), Some(entry)) => now == entry,
            (Now::Absent | Now::There(_) | Now::Obstructed(_), _) => false,
        };
        if entries().any(|entry| entry.mode == SUBMODULE) {
            conflicts.push(format!("{}: is a submodule; change it there", file.path));
        } else if is(&file.after) {
            continue;
        } else if is(&file.before) {
            wanted.push(place);
        } else {
            let why = match &file.now {
                Now::Absent => "is not there any more",
                Now::There(_) if file.before.is_none() => "is there meanwhile",
                Now::There(_) => "was changed meanwhile",
                Now::Obstructed(why) => why,
            };
            conflicts.push(format!("{}: {why}", file.path));
        }
    }
    match (conflicts.is_empty(), wanted.is_empty()) {
        (false, _) => ApplyDecision::Refuse(conflicts),
        (true, true) => ApplyDecision::AppliedAlready,
        (true, false) => ApplyDecision::Apply(wanted),
    }
}

/// What a person, and a model that delegated, is told of the changes of a run; none while it works.
pub fn describe_changes(run: &RunId, worktree: &WorktreeProjection) -> Option<String> {
    let kept = worktree.kept.as_ref()?;
    let made = &worktree.worktree;
    let directory = made.directory.display();
    let mut lines = Vec::new();
    match &kept.patch {
        Err(why) => lines.push(format!(
            "What was changed could not be made a patch ({why}). It lies in the git worktree {directory}, which stays."
        )),
        Ok(patch) if patch.files_in_all == 0 => {
            lines.push("Nothing was changed in its git worktree.".to_string());
        }
        Ok(patch) => {
            lines.push(format!(
                "Changed in a git worktree of its own, not in your files: {}.",
                sums(patch)
            ));
            lines.extend(patch.files.iter().take(FILES_SHOWN).map(file_line));
            let more = (patch.files_in_all as usize).saturating_sub(patch.files.len().min(FILES_SHOWN));
            if more > 0 {
                lines.push(format!("  and {more} more"));
            }
            lines.push(format!("Apply: `impresario worktrees apply {run}`"));
            lines.push(format!(
                "Look: `impresario worktrees show --patch {run}`; forget: `impresario worktrees discard {run}`"
            ));
            lines.push(format!(
                "base {}, ref {}, patch {}",
                made.base.as_deref().map_or("none", short),
                made.reference,
                patch.file.display()
            ));
        }
    }
    if let Ok(patch) = &kept.patch {
        if !worktree.cleared && patch.files_in_all > 0 {
            let why = worktree.stays.as_deref().map(|why| format!(": {why}"));
            lines.push(format!(
                "The worktree {directory} is still there{}.",
                why.unwrap_or_default().trim_end_matches('.')
            ));
        }
        lines.extend(patch.notes.iter().cloned());
    }
    lines.extend(made.notes.iter().map(|note| format!("At the beginning {note}")));
    Some(lines.join("\n"))
}

fn sums(patch: &Patch) -> String {
    let files = count_words(patch.files_in_all as usize, "file");
    let sum = |lines: fn(&PatchedFile) -> Option<u64>| patch.files.iter().filter_map(lines).sum::<u64>();
    format!(
        "{files}, +{} -{}",
        sum(|file| file.added),
        sum(|file| file.removed)
    )
}

/// `  M src/a.rs +4 -3 (1a2b3c4 -> 5d6e7f8)`
pub fn file_line(file: &PatchedFile) -> String {
    let name = match &file.from {
        Some(from) => format!("{from} -> {}", file.path),
        None => file.path.clone(),
    };
    let lines = match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("+{added} -{removed}"),
        (None, _) | (_, None) => "binary".to_string(),
    };
    let mode = if file.mode_changed { ", mode changed" } else { "" };
    let hash = |hash: &Option<String>| hash.as_deref().map_or("none", short).to_string();
    let hashes = match file.change {
        FileChange::Added => hash(&file.after),
        FileChange::Deleted => hash(&file.before),
        FileChange::Modified | FileChange::Renamed | FileChange::Retyped => {
            format!("{} -> {}", hash(&file.before), hash(&file.after))
        }
    };
    format!("  {} {name} {lines} ({hashes}{mode})", file.change.letter())
}

/// As much of a hash as a person reads.
pub fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hash: &str) -> GitEntry {
        GitEntry {
            mode: "100644".into(),
            hash: hash.into(),
        }
    }

    fn file(before: Option<&str>, after: Option<&str>, now: Option<&str>) -> FileToApply {
        FileToApply {
            path: "a".into(),
            before: before.map(entry),
            after: after.map(entry),
            now: now.map_or(Now::Absent, |hash| Now::There(entry(hash))),
        }
    }

    #[test]
    fn a_file_is_changed_only_from_what_the_run_saw() {
        let values = [None, Some("1"), Some("2"), Some("3")];
        for before in values {
            for after in values.into_iter().filter(|after| *after != before) {
                for now in values {
                    let decision = decide_apply(&[file(before, after, now)]);
                    let expected = if now == after {
                        ApplyDecision::AppliedAlready
                    } else if now == before {
                        ApplyDecision::Apply(vec![0])
                    } else {
                        assert!(
                            matches!(decision, ApplyDecision::Refuse(_)),
                            "{before:?} {after:?} {now:?}"
                        );
                        continue;
                    };
                    assert_eq!(decision, expected, "{before:?} {after:?} {now:?}");
                }
            }
        }
    }

    #[test]
    fn one_conflict_keeps_everything_as_it_is_and_all_are_named() {
        let mut obstructed = file(None, Some("2"), None);
        obstructed.now = Now::Obstructed("a directory is in the way".into());
        let files = [
            file(Some("1"), Some("2"), Some("1")),
            file(Some("1"), Some("2"), Some("3")),
            obstructed,
        ];
        let ApplyDecision::Refuse(conflicts) = decide_apply(&files) else {
            panic!("not refused");
        };
        assert_eq!(
            conflicts,
            ["a: was changed meanwhile", "a: a directory is in the way"]
        );
    }

    #[test]
    fn a_mode_is_part_of_a_file_and_a_submodule_is_not_changed() {
        let mut made_executable = file(Some("1"), Some("1"), Some("1"));
        made_executable.after.as_mut().unwrap().mode = "100755".into();
        assert_eq!(decide_apply(&[made_executable]), ApplyDecision::Apply(vec![0]));
        let mut submodule = file(Some("1"), Some("2"), Some("1"));
        submodule.before.as_mut().unwrap().mode = SUBMODULE.into();
        assert!(matches!(decide_apply(&[submodule]), ApplyDecision::Refuse(_)));
    }

    #[test]
    fn what_is_left_out_is_said_with_why() {
        let file = |name: &str, bytes| (name.to_string(), FileKind::File { bytes });
        let files = [
            file("small", 10),
            file("large", UNTRACKED_FILE_BYTES_MAX + 1),
            ("inner/".to_string(), FileKind::Directory),
            ("socket".to_string(), FileKind::Special),
            ("link".to_string(), FileKind::Link),
            ("gone".to_string(), FileKind::Gone),
        ];
        let selection = choose_untracked(&files);
        assert_eq!(selection.taken, [0, 4]);
        assert_eq!(
            selection.notes,
            [
                "left out: large (new and larger than 10 MB)",
                "left out: inner/ (a repository of its own)",
                "left out: socket (neither file nor link)"
            ]
        );
        let many = vec![file("f", UNTRACKED_FILE_BYTES_MAX); 21];
        let selection = choose_untracked(&many);
        assert_eq!(selection.taken.len(), 20);
        assert!(
            selection.notes[0].contains("200 MB together"),
            "{:?}",
            selection.notes
        );
    }

    #[test]
    fn names_that_are_no_plain_text_are_quoted_as_git_does() {
        assert_eq!(readable_path("grün/a b.txt".as_bytes()), "grün/a b.txt");
        assert_eq!(readable_path(b"two\nlines"), "\"two\\nlines\"");
        assert_eq!(readable_path(b"\xff\""), "\"\\377\\\"\"");
    }
}
