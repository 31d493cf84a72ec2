//! A unified diff of what edits change in a text.

use super::edits::{Edit, apply_edits};
use std::fmt::Write;

/// Lines shown around what changes, as `diff` and `git` do.
const CONTEXT: usize = 3;
const NO_NEWLINE: &str = "\\ No newline at end of file\n";

/// Lines that become others.
struct Change<'a> {
    /// The first of them, from 0.
    first: usize,
    old: Vec<&'a str>,
    new: Vec<String>,
}

/// The patch of one file, by which `git apply` and `patch -p1` make the change; empty where nothing changes.
pub fn patch(path: &str, old: &str, edits: &[Edit]) -> String {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let changes = changes(old, &lines, edits);
    if changes.is_empty() {
        return String::new();
    }
    let mut patch = format!("--- {}\n+++ {}\n", quoted("a", path), quoted("b", path));
    let mut grown: isize = 0;
    for hunk in hunks(&changes) {
        grown = write_hunk(&mut patch, &lines, hunk, grown);
    }
    patch
}

/// As git writes names that would break a line.
fn quoted(side: &str, path: &str) -> String {
    let plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    match path.chars().all(plain) {
        true => format!("{side}/{path}"),
        false => format!("\"{side}/{}\"", path.escape_default()),
    }
}

fn changes<'a>(old: &str, lines: &[&'a str], edits: &[Edit]) -> Vec<Change<'a>> {
    let mut starts = Vec::with_capacity(lines.len() + 1);
    let mut at = 0;
    for line in lines {
        starts.push(at);
        at += line.len();
    }
    starts.push(at);
    let last_line = lines.len().saturating_sub(1);
    // What stands behind the last line end belongs to the line before it.
    let line_of = |byte: usize| {
        starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
            .min(last_line)
    };
    let mut changes = Vec::new();
    let mut rest = edits;
    while let Some(edit) = rest.first() {
        let first = line_of(edit.bytes.start);
        let mut last = line_of(edit.bytes.end);
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| line_of(next.bytes.start) <= last) {
            last = line_of(next.bytes.end).max(last);
            count += 1;
        }
        let (group, after) = rest.split_at(count);
        rest = after;
        let begin = starts.get(first).copied().unwrap_or_default();
        let end = starts.get(last + 1).copied().unwrap_or(old.len());
        let group: Vec<Edit> = group.iter().map(|edit| moved(edit, begin)).collect();
        let new = apply_edits(old.get(begin..end).unwrap_or_default(), &group);
        let old = lines.get(first..=last).unwrap_or_default();
        changes.extend(trimmed(first, old, &new));
    }
    changes
}

fn moved(edit: &Edit, by: usize) -> Edit {
    Edit {
        bytes: edit.bytes.start.saturating_sub(by)..edit.bytes.end.saturating_sub(by),
        text: edit.text.clone(),
    }
}

/// Without the lines that are the same on both sides; none where all are.
fn trimmed<'a>(first: usize, old: &[&'a str], new: &str) -> Option<Change<'a>> {
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (old.get(before..)?, new.get(before..)?);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let old = old.get(..old.len() - after)?;
    let new = new.get(..new.len() - after)?;
    let changed = !(old.is_empty() && new.is_empty());
    changed.then(|| Change {
        first: first + before,
        old: old.to_vec(),
        new: new.iter().map(|line| (*line).to_string()).collect(),
    })
}

/// Changes whose context would meet stand in one hunk.
fn hunks<'a>(changes: &'a [Change<'a>]) -> Vec<&'a [Change<'a>]> {
    changes
        .chunk_by(|one, next| next.first - (one.first + one.old.len()) <= 2 * CONTEXT)
        .collect()
}

/// Writes it, and says how many lines longer the new text is after it.
fn write_hunk(patch: &mut String, lines: &[&str], hunk: &[Change<'_>], grown: isize) -> isize {
    let begin = hunk
        .first()
        .map_or(0, |change| change.first)
        .saturating_sub(CONTEXT);
    let end = hunk.last().map_or(0, |change| change.first + change.old.len());
    let end = (end + CONTEXT).min(lines.len());
    let gone: usize = hunk.iter().map(|change| change.old.len()).sum();
    let come: usize = hunk.iter().map(|change| change.new.len()).sum();
    let (old_count, new_count) = (end - begin, end - begin - gone + come);
    // A side without lines is named by the line before it.
    let start = |count: usize, at: usize| at + usize::from(count > 0);
    let new_begin = begin.saturating_add_signed(grown);
    let _ = writeln!(
        patch,
        "@@ -{},{old_count} +{},{new_count} @@",
        start(old_count, begin),
        start(new_count, new_begin),
    );
    let mut at = begin;
    for change in hunk {
        for line in lines.get(at..change.first).unwrap_or_default() {
            write_line(patch, ' ', line);
        }
        for line in &change.old {
            write_line(patch, '-', line);
        }
        for line in &change.new {
            write_line(patch, '+', line);
        }
        at = change.first + change.old.len();
    }
    for line in lines.get(at..end).unwrap_or_default() {
        write_line(patch, ' ', line);
    }
    grown + come as isize - gone as isize
}

fn write_line(patch: &mut String, mark: char, line: &str) {
    patch.push(mark);
    patch.push_str(line);
    if !line.ends_with('\n') {
        patch.push('\n');
        patch.push_str(NO_NEWLINE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(bytes: std::ops::Range<usize>, text: &str) -> Edit {
        Edit {
            bytes,
            text: text.to_string(),
        }
    }

    #[test]
    fn near_changes_share_a_hunk_and_far_ones_do_not() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let at = |line: &str| old.find(line).unwrap();
        let (two, nine, twenty) = (at("2\n"), at("9\n"), at("20\n"));
        let edits = [
            edit(two..two + 1, "two\nand a half"),
            edit(nine..nine + 2, ""),
            edit(twenty..twenty + 3, "20"),
        ];
        let expected = "--- a/x\n+++ b/x\n@@ -1,12 +1,12 @@\n 1\n-2\n+two\n+and a half\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n 10\n 11\n 12\n\
                        @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n";
        assert_eq!(patch("x", &old, &edits), expected);
    }

    #[test]
    fn a_file_may_become_empty_and_an_edit_may_change_nothing() {
        assert_eq!(
            patch("x", "a\n", &[edit(0..2, "")]),
            "--- a/x\n+++ b/x\n@@ -1,1 +0,0 @@\n-a\n"
        );
        assert_eq!(patch("x", "a\nb\n", &[edit(0..1, "a")]), "");
        assert_eq!(
            patch("x", "", &[edit(0..0, "a")]),
            "--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn a_name_breaks_no_line() {
        let patch = patch("a\n+++ b", "a\n", &[edit(0..1, "b")]);
        assert!(
            patch.starts_with("--- \"a/a\\n+++ b\"\n+++ \"b/a\\n+++ b\"\n@@"),
            "{patch}"
        );
    }

    /// What `patch` does, strictly: every line of context must be there.
    fn applied(old: &str, patch: &str) -> String {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        let mut rest = patch.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = rest.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let numbers: Vec<usize> = header
                    .split(|c: char| !c.is_ascii_digit())
                    .filter(|number| !number.is_empty())
                    .map(|number| number.parse().unwrap())
                    .collect();
                let begin = numbers[0] - usize::from(numbers[1] > 0);
                lines[at..begin].iter().for_each(|line| new.push_str(line));
                assert_eq!(
                    new.split_inclusive('\n').count(),
                    numbers[2] - usize::from(numbers[3] > 0)
                );
                at = begin;
                continue;
            }
            let mut text = line[1..].to_string();
            if rest.peek().is_some_and(|next| *next == NO_NEWLINE) {
                rest.next();
                text.pop();
            }
            if !line.starts_with('+') {
                assert_eq!(lines[at], text);
                at += 1;
            }
            if !line.starts_with('-') {
                new.push_str(&text);
            }
        }
        lines[at..].iter().for_each(|line| new.push_str(line));
        new
    }

    proptest! {
        #[test]
        fn a_patch_makes_what_the_edits_make(
            old in "([abä]{0,3}\r?\n){0,30}[ab]{0,2}",
            cuts in prop::collection::vec((any::<prop::sample::Index>(), "([xa]{0,2}\n?){0,3}"), 0..12),
        ) {
            let places: Vec<usize> = (0..=old.len()).filter(|at| old.is_char_boundary(*at)).collect();
            let mut at: Vec<usize> = cuts.iter().map(|(index, _)| places[index.index(places.len())]).collect();
            at.sort_unstable();
            let edits: Vec<Edit> = at
                .chunks_exact(2)
                .zip(&cuts)
                .map(|(ends, (_, text))| edit(ends[0]..ends[1], text))
                .collect();
            let new = apply_edits(&old, &edits);
            let patch = patch("x", &old, &edits);
            prop_assert_eq!(patch.is_empty(), old == new);
            if !patch.is_empty() {
                prop_assert_eq!(applied(&old, &patch), new);
            }
        }
    }
}
