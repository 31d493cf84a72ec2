//! What did an edit change, and which anchors do the lines have now?

use super::anchor::Anchor;
use super::snapshot::Snapshot;
use crate::compat::cut_units;
use std::ops::Range;

/// Lines around a change whose anchors are shown, too.
const AROUND: usize = 3;
/// Changes with fewer lines between them are one.
const APART: usize = 50;
/// A longer preview of what changed shows as many lines at its beginning and at its end as stands below.
const DIFF_LINES_MAX: usize = 50;
const DIFF_LINES_KEPT: usize = 25;
/// The same for the new anchors of one change.
const ANCHOR_LINES_MAX: usize = 120;
const ANCHOR_LINES_KEPT: usize = 60;
/// So many changes are shown.
const CHANGES_MAX: usize = 20;
/// So much of a line is shown.
const LINE_UNITS_MAX: usize = 2_000;

/// A part of the file, from 0, in which something may differ, before and after. What lies in none is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Lines that were there.
    pub old: Range<usize>,
    /// Lines that are there now.
    pub new: Range<usize>,
}

/// Lines that took the place of others. The two sides share neither their first line nor their last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRange {
    /// Lines that are gone, from 0.
    pub old: Range<usize>,
    /// Lines that are new, from 0.
    pub new: Range<usize>,
}

/// What is said of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// What changed.
    pub ranges: Vec<ChangedRange>,
    /// The lines that are there now and three around them, with their anchors; empty where there are none.
    pub anchors: String,
    /// `- 12| gone` and `+ 12#KXVTB| new`.
    pub diff: String,
}

/// Puts windows around changes, given as the first line that may differ, the one behind the last, and how many lines
/// more there are; in the order of their lines.
pub(super) fn windows_of(
    changes: &[(usize, usize, isize)],
    old_lines: usize,
    new_lines: usize,
) -> Vec<Window> {
    let mut parts: Vec<(usize, usize, isize)> = Vec::new();
    for (from, to, added) in changes {
        match parts.last_mut() {
            Some(part) if *from < part.1 + APART => {
                part.1 = part.1.max(*to);
                part.2 += added;
            }
            _ => parts.push((*from, *to, *added)),
        }
    }
    let (mut old_from, mut new_from, mut added) = (0, 0, 0);
    let mut windows = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        added += part.2;
        let (old_to, new_to) = match parts.get(at + 1) {
            Some(next) => {
                let middle = part.1 + (next.0 - part.1) / 2;
                (middle, middle.saturating_add_signed(added))
            }
            None => (old_lines, new_lines),
        };
        windows.push(Window {
            old: old_from..old_to,
            new: new_from..new_to,
        });
        (old_from, new_from) = (old_to, new_to);
    }
    windows
}

/// Says what differs within the windows.
pub fn change_preview(old: &Snapshot<'_>, new: &Snapshot<'_>, windows: &[Window]) -> Preview {
    let ranges = windows
        .iter()
        .filter_map(|window| changed_range(old, new, window));
    let ranges: Vec<ChangedRange> = ranges.collect();
    let shown = &ranges[..ranges.len().min(CHANGES_MAX)];
    let mut anchors: Vec<String> = shown
        .iter()
        .map(|range| anchors_around(new, &range.new))
        .collect();
    anchors.retain(|block| !block.is_empty());
    let mut diff = Vec::new();
    for range in shown {
        diff.extend(
            range
                .old
                .clone()
                .map(|index| format!("- {}| {}", index + 1, shown_line(old.line(index)))),
        );
        diff.extend(range.new.clone().map(|index| new_line(index, new.line(index))));
    }
    if ranges.len() > shown.len() {
        let more = format!(
            "[… {} changes further down are not shown; read the file …]",
            ranges.len() - shown.len()
        );
        anchors.push(more.clone());
        diff.push(more);
    }
    Preview {
        ranges,
        anchors: anchors.join("\n…\n"),
        diff: elided(diff, DIFF_LINES_MAX, DIFF_LINES_KEPT, |left_out| {
            format!("[… {} lines elided …]", left_out.len())
        }),
    }
}

/// What is left of a window without the lines that are the same at its beginning and at its end.
fn changed_range(old: &Snapshot<'_>, new: &Snapshot<'_>, window: &Window) -> Option<ChangedRange> {
    let within = |lines: &Range<usize>, count: usize| lines.start.min(count)..lines.end.min(count);
    let mut old_range = within(&window.old, old.count_of_file());
    let mut new_range = within(&window.new, new.count_of_file());
    let is_same = |(one, other): &(usize, usize)| old.line(*one) == new.line(*other);
    let first = old_range
        .clone()
        .zip(new_range.clone())
        .take_while(is_same)
        .count();
    (old_range.start, new_range.start) = (old_range.start + first, new_range.start + first);
    let backwards = old_range.clone().rev().zip(new_range.clone().rev());
    let last = backwards.take_while(is_same).count();
    (old_range.end, new_range.end) = (old_range.end - last, new_range.end - last);
    let is_change = !old_range.is_empty() || !new_range.is_empty();
    is_change.then_some(ChangedRange {
        old: old_range,
        new: new_range,
    })
}

fn anchors_around(new: &Snapshot<'_>, changed: &Range<usize>) -> String {
    let from = changed.start.saturating_sub(AROUND);
    let to = (changed.end + AROUND).min(new.count_of_file());
    let lines: Vec<String> = (from..to)
        .map(|index| anchored_line(index, new.line(index)))
        .collect();
    elided(lines, ANCHOR_LINES_MAX, ANCHOR_LINES_KEPT, |left_out| {
        let (count, first) = (left_out.len(), from + left_out.start + 1);
        format!("[… {count} lines are not shown; read them with offset={first} limit={count} …]")
    })
}

/// A line, from 0, with its anchor.
pub(super) fn anchored_line(index: usize, line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    format!("{}|{}", Anchor::of(index as u64 + 1, &text), shown_text(&text))
}

fn new_line(index: usize, line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    format!("+ {}| {}", Anchor::of(index as u64 + 1, &text), shown_text(&text))
}

fn shown_line(line: &[u8]) -> String {
    shown_text(&String::from_utf8_lossy(line))
}

fn shown_text(text: &str) -> String {
    let kept = cut_units(text, LINE_UNITS_MAX);
    let rest = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept}{rest}")
}

/// The first and the last lines of many, and between them what was left out.
fn elided(mut lines: Vec<String>, max: usize, kept: usize, words: impl Fn(Range<usize>) -> String) -> String {
    if lines.len() > max {
        let left_out = kept..lines.len() - kept;
        lines.splice(left_out.clone(), [words(left_out)]);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(old: &[&str], new: &[&str], changes: &[(usize, usize, isize)]) -> Vec<ChangedRange> {
        let windows = windows_of(changes, old.len(), new.len());
        let (old, new) = (old.join("\n"), new.join("\n"));
        change_preview(
            &Snapshot::of(old.as_bytes()),
            &Snapshot::of(new.as_bytes()),
            &windows,
        )
        .ranges
    }

    #[test]
    fn changes_near_each_other_are_one_and_far_ones_are_two() {
        let old: Vec<String> = (0..200).map(|line| line.to_string()).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let mut new = old.clone();
        new[10] = "x";
        new[30] = "y";
        new.splice(150..151, ["z", "z"]);
        let changes = [(10, 11, 0), (30, 31, 0), (150, 151, 1)];
        let expected = [
            ChangedRange {
                old: 10..31,
                new: 10..31,
            },
            ChangedRange {
                old: 150..151,
                new: 150..152,
            },
        ];
        assert_eq!(ranges(&old, &new, &changes), expected);
        assert_eq!(ranges(&old, &old, &[(10, 11, 0)]), []);
        assert_eq!(ranges(&old, &old, &[]), []);
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let new: Vec<String> = (0..5_000).map(|line| "x".repeat(line % 4_000)).collect();
        let text = new.join("\n");
        let windows = windows_of(&[(0, 0, 5_000)], 0, 5_000);
        let preview = change_preview(&Snapshot::of(b""), &Snapshot::of(text.as_bytes()), &windows);
        assert_eq!(preview.diff.lines().count(), 51);
        assert_eq!(preview.anchors.lines().count(), 121);
        assert!(
            preview
                .anchors
                .contains("[… 4880 lines are not shown; read them with offset=61 limit=4880 …]")
        );
        assert!(preview.anchors.lines().all(|line| line.chars().count() < 2_020));
        let many: Vec<(usize, usize, isize)> = (0..40).map(|at| (at * 100, at * 100 + 1, 0)).collect();
        let mut other = new;
        other.iter_mut().step_by(100).for_each(|line| *line = "y".into());
        let other = other.join("\n");
        let (before, after) = (Snapshot::of(text.as_bytes()), Snapshot::of(other.as_bytes()));
        let preview = change_preview(&before, &after, &windows_of(&many, 5_000, 5_000));
        assert_eq!(preview.ranges.len(), 40);
        assert!(
            preview
                .anchors
                .ends_with("[… 20 changes further down are not shown; read the file …]")
        );
    }
}
