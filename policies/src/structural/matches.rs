//! What a model is told of the places that match.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// So many places are shown: about what fits in one answer.
pub const SHOWN_MAX: usize = 100;
/// The text is no longer, with what is remarked below it.
const TEXT_BYTES_MAX: usize = 48_000;
/// Of one place so much is shown.
const PLACE_BYTES_MAX: usize = 2_000;
/// Lines around a place that may be asked for.
pub const CONTEXT_MAX: usize = 20;

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As it is shown.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// In characters from 0, as ast-grep counts.
    pub column: usize,
    /// The lines it stands in, with those around it that were asked for.
    pub lines: String,
}

/// Why a file was not looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It is larger than what is parsed.
    TooLarge,
    /// It is no UTF-8.
    NotText,
    /// Its tree is too deep for this query.
    TooDeep,
    /// The parser made nothing of it, or it cannot be read.
    Unreadable,
}

/// What was seen of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Files that were looked through.
    pub files: usize,
    /// Files that were not.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// Why the rest was not reached.
    pub cut_short: Option<String>,
    /// The pattern is no whole piece of code by itself.
    pub is_doubtful: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The first places, by path and line.
    pub places: Vec<Place>,
    /// How many there are.
    pub total: usize,
    /// Where it was looked.
    pub seen: Seen,
}

/// The text of an answer.
pub fn describe_matches(found: &Found) -> String {
    let mut text = match found.total {
        0 => "No matches found.".to_string(),
        total => format!("Found {total} match(es):\n"),
    };
    let mut shown = 0;
    for place in &found.places {
        if text.len() > TEXT_BYTES_MAX {
            break;
        }
        let _ = write!(text, "\n{}:{}:{}\n", place.path, place.line, place.column);
        let lines = place.lines.trim_end();
        if !lines.is_empty() {
            let _ = writeln!(text, "{lines}");
        }
        shown += 1;
    }
    if shown < found.total {
        let _ = write!(
            text,
            "\n({shown} of {} shown; narrow the pattern, the globs or the paths for the rest)\n",
            found.total
        );
    }
    text.push_str(&describe_seen(&found.seen, found.total));
    text
}

/// What was not seen, in a line each; empty where everything was.
pub(super) fn describe_seen(seen: &Seen, total: usize) -> String {
    let mut text = String::new();
    let mut remark = |line: String| {
        let _ = write!(text, "\n({line})");
    };
    if total == 0 && seen.files == 0 && seen.left_out.is_empty() {
        remark(
            "no file of this language is there; look at the paths, the globs and the language".to_string(),
        );
    }
    if total == 0 && seen.is_doubtful {
        remark("the pattern is no whole piece of code by itself, which may be why; give more of what stands around it, or a rule".to_string());
    }
    for (why, count) in &seen.left_out {
        let why = match why {
            LeftOut::TooLarge => "larger than 2 MB",
            LeftOut::NotText => "no UTF-8",
            LeftOut::TooDeep => "nested too deeply for this query",
            LeftOut::Unreadable => "unreadable",
        };
        remark(format!("{count} file(s) left out: {why}"));
    }
    if let Some(why) = &seen.cut_short {
        remark(format!("not everything was looked at: {why}"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The whole lines of a place, with so many around it, bounded.
pub fn lines_around(text: &str, bytes: Range<usize>, context: usize) -> String {
    let head = text.get(..bytes.start).unwrap_or_default();
    let begin = head.rmatch_indices('\n').nth(context).map_or(0, |(at, _)| at + 1);
    let tail = text.get(bytes.end..).unwrap_or_default();
    let end = tail
        .match_indices('\n')
        .nth(context)
        .map_or(text.len(), |(at, _)| bytes.end + at);
    let lines = text.get(begin..end).unwrap_or_default();
    if lines.len() <= PLACE_BYTES_MAX {
        return lines.to_string();
    }
    // Of a line without end, the place itself is what is looked for.
    let from = match bytes.start - begin > PLACE_BYTES_MAX / 2 {
        true => text.floor_char_boundary(bytes.start),
        false => begin,
    };
    let cut = text.floor_char_boundary((from + PLACE_BYTES_MAX).min(end));
    format!("{} …", text.get(from..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, lines: &str) -> Place {
        Place {
            path: path.to_string(),
            line: 1,
            column: 0,
            lines: lines.to_string(),
        }
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let found = Found {
            places: vec![place("a", "x\n"), place("b", "y")],
            total: 7,
            ..Found::default()
        };
        let expected = "Found 7 match(es):\n\na:1:0\nx\n\nb:1:0\ny\n\n(2 of 7 shown; narrow the pattern, the globs or the paths for the rest)\n";
        assert_eq!(describe_matches(&found), expected);
    }

    #[test]
    fn a_text_has_an_end_however_much_matches() {
        let found = Found {
            places: vec![place("a", &"x".repeat(PLACE_BYTES_MAX)); SHOWN_MAX],
            total: SHOWN_MAX,
            ..Found::default()
        };
        let text = describe_matches(&found);
        assert!(text.len() < TEXT_BYTES_MAX + 3_000);
        assert!(text.contains("(24 of 100 shown"), "{}", text.len());
    }

    #[test]
    fn what_was_not_seen_is_said() {
        let mut found = Found::default();
        assert!(describe_matches(&found).starts_with("No matches found.\n(no file of this language"));
        found.seen.files = 1;
        assert_eq!(describe_matches(&found), "No matches found.");
        found.seen.is_doubtful = true;
        found.seen.left_out = BTreeMap::from([(LeftOut::TooLarge, 2), (LeftOut::TooDeep, 1)]);
        found.seen.cut_short = Some("60 s were over".to_string());
        let text = describe_matches(&found);
        for remark in [
            "(the pattern is no whole piece",
            "(2 file(s) left out: larger than 2 MB)",
            "(1 file(s) left out: nested too deeply for this query)",
            "(not everything was looked at: 60 s were over)",
        ] {
            assert!(text.contains(remark), "{text}");
        }
    }

    #[test]
    fn lines_are_whole_and_bounded() {
        let text = "one\ntwo\nthree\nfour\n";
        assert_eq!(lines_around(text, 5..6, 0), "two");
        assert_eq!(lines_around(text, 5..9, 1), "one\ntwo\nthree\nfour");
        assert_eq!(lines_around(text, 0..1, 9), text);
        let long = format!("{}ä{}", "x".repeat(5_000), "y".repeat(5_000));
        let shown = lines_around(&long, 5_000..5_002, 0);
        assert!(shown.starts_with('ä') && shown.ends_with("y …"), "{shown}");
        assert!(shown.len() <= PLACE_BYTES_MAX + 5);
    }
}
