//! What does a file come to with all edits of a call?
//!
//! Every edit is about the file as it was read, whatever stands before it in the call. Each becomes a piece of the old
//! bytes that makes room for new ones; the pieces share nothing, and what lies between them is not touched.

use super::anchor::Anchor;
use super::claims::{insert_overlap, named_lines, replace_overlap, text_overlap};
use super::edit::{Edit, EditOp, GivenEdit};
use super::error::{EditError, EditLines, Overlap};
use super::preview::{Window, anchored_line, windows_of};
use super::snapshot::{Snapshot, count_lines};
use super::text_match::{PlainText, find_text, plain};

/// How many lines around the one in question are shown with an error.
const CONTEXT_LINES: usize = 3;

/// How edits are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditSettings {
    /// A new line that still has an anchor before it is refused. Otherwise the anchor is taken away.
    pub strict_patch: bool,
    /// The file may have so many bytes afterwards.
    pub bytes_max: usize,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The parts that differ from what was there, and all around them.
    pub windows: Vec<Window>,
}

/// Bytes in the place of others.
struct Splice {
    from: usize,
    to: usize,
    /// What comes first where several have one place.
    rank: u8,
    bytes: Vec<u8>,
    /// How many of its bytes end its last line; none where that goes on behind it.
    last_end: usize,
    /// The lines, from 0, that it may change, and the one behind them; an insert changes none.
    lines: (usize, usize),
}

/// Ranks: new lines at the beginning, behind the line before, before a line, in the place of it, at the end.
const AT_THE_BEGINNING: u8 = 0;
const BEHIND: u8 = 1;
const BEFORE: u8 = 2;
const IN_ITS_PLACE: u8 = 3;
const BEHIND_NOTHING: u8 = 4;
const AT_THE_END: u8 = 5;

/// Where a text that is replaced stands.
struct Found {
    from: usize,
    to: usize,
    lines: EditLines,
}

/// Makes all edits of a call, or says why none of them is made.
pub fn edited_text(
    file: &Snapshot<'_>,
    given: &[GivenEdit],
    settings: &EditSettings,
) -> Result<EditedText, EditError> {
    let edits = given
        .iter()
        .enumerate()
        .map(|(index, given)| Edit::read(given, index));
    let edits = edits.collect::<Result<Vec<Edit<'_>>, EditError>>()?;
    let found = find_texts(file, &edits)?;
    let lines = check_anchors(file, &edits)?;
    // An insert of nothing is nowhere.
    let is_there = |lines: &&EditLines| {
        lines.op == EditOp::Replace
            || given[lines.edit]
                .lines
                .as_ref()
                .is_some_and(|new| !new.is_empty())
    };
    let inserting: Vec<EditLines> = lines.iter().filter(is_there).copied().collect();
    let overlap = replace_overlap(&lines)
        .or_else(|| insert_overlap(&inserting))
        .or_else(|| shared_text(&found));
    if let Some(overlap) = overlap {
        return Err(EditError::Overlaps { overlap });
    }
    let mut splices = Vec::with_capacity(edits.len());
    let (mut found, mut lines) = (found.iter(), lines.iter().peekable());
    for edit in &edits {
        match edit.op {
            EditOp::ReplaceText => splices.extend(found.next().map(|found| text_splice(file, edit, found))),
            EditOp::Replace | EditOp::Append | EditOp::Prepend => {
                let lines = lines.next_if(|lines| lines.edit == edit.index);
                splices.push(line_splice(file, edit, lines, settings.strict_patch)?);
            }
        }
    }
    // An insert of nothing may lie within what another edit replaces, and is nothing.
    splices.retain(|splice| splice.from < splice.to || !splice.bytes.is_empty());
    // Those of one place and rank stay in the order in which they were given.
    splices.sort_by_key(|splice| (splice.from, splice.rank));
    let bytes = spliced(file, &splices);
    if bytes.len() > settings.bytes_max {
        return Err(EditError::TooLarge {
            bytes: bytes.len(),
            bytes_max: settings.bytes_max,
        });
    }
    let changed = splices
        .iter()
        .map(|splice| (splice.lines.0, splice.lines.1, added_lines(file, splice)));
    let windows = windows_of(
        &changed.collect::<Vec<_>>(),
        count_lines(file.bytes()),
        count_lines(&bytes),
    );
    Ok(EditedText { bytes, windows })
}

/// Where the texts stand that are replaced, in the order of the edits.
fn find_texts(file: &Snapshot<'_>, edits: &[Edit<'_>]) -> Result<Vec<Found>, EditError> {
    let texts: Vec<&Edit<'_>> = edits
        .iter()
        .filter(|edit| edit.op == EditOp::ReplaceText)
        .collect();
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let text = PlainText::of(file);
    let matches: Vec<_> = texts
        .iter()
        .map(|edit| find_text(text.bytes(), &plain(edit.old_text()), 3))
        .collect();
    let found = texts.iter().zip(&matches).filter_map(|(edit, matches)| {
        let (begin, length) = (*matches.first.first()?, plain(edit.old_text()).len());
        let (first, from) = text.place(begin);
        let (last, _) = text.place(begin + length - 1);
        let (_, to) = text.place(begin + length);
        Some(Found {
            from,
            to,
            lines: EditLines {
                edit: edit.index,
                op: edit.op,
                first: first as u64 + 1,
                last: last as u64 + 1,
            },
        })
    });
    let found: Vec<Found> = found.collect();
    let others: Vec<EditLines> = edits
        .iter()
        .filter(|edit| edit.op != EditOp::ReplaceText)
        .filter_map(named_lines)
        .collect();
    let lines: Vec<EditLines> = found.iter().map(|found| found.lines).collect();
    if let Some(overlap) = text_overlap(&lines, &others) {
        return Err(EditError::Overlaps { overlap });
    }
    for (edit, matches) in texts.iter().zip(&matches) {
        match matches.count {
            1 => {}
            0 if edit.old_text().is_empty() => return Err(EditError::NoText { edit: edit.index }),
            0 => {
                return Err(EditError::NoMatch {
                    edit: edit.index,
                    text: edit.old_text().to_string(),
                });
            }
            count => {
                return Err(EditError::ManyMatches {
                    edit: edit.index,
                    count,
                    first_lines: matches
                        .first
                        .iter()
                        .map(|at| text.place(*at).0 as u64 + 1)
                        .collect(),
                });
            }
        }
    }
    Ok(found)
}

/// Two texts that share a byte.
fn shared_text(found: &[Found]) -> Option<Overlap> {
    let mut found: Vec<&Found> = found.iter().collect();
    found.sort_by_key(|found| found.from);
    found.windows(2).find_map(|pair| match pair {
        [one, other] if other.from < one.to => Some(Overlap {
            one: one.lines,
            other: other.lines,
        }),
        _ => None,
    })
}

/// The lines of all edits that name some, which fit.
fn check_anchors(file: &Snapshot<'_>, edits: &[Edit<'_>]) -> Result<Vec<EditLines>, EditError> {
    let mut lines = Vec::new();
    for edit in edits.iter().filter(|edit| edit.op != EditOp::ReplaceText) {
        let first = edit.pos.map(|pos| line_of(file, edit, pos)).transpose()?;
        let last = edit.end.map(|end| line_of(file, edit, end)).transpose()?;
        if let Some(first) = first {
            lines.push(EditLines {
                edit: edit.index,
                op: edit.op,
                first,
                last: last.unwrap_or(first),
            });
        }
    }
    match lines.iter().find(|lines| lines.last < lines.first) {
        None => Ok(lines),
        Some(lines) => Err(EditError::Backwards {
            edit: lines.edit,
            start: lines.first,
            end: lines.last,
        }),
    }
}

/// The line of an anchor, from 1, if that is still what stands there.
fn line_of(file: &Snapshot<'_>, edit: &Edit<'_>, written: &str) -> Result<u64, EditError> {
    let anchor = Anchor::read(written).ok_or_else(|| EditError::NoSuchAnchor {
        edit: edit.index,
        anchor: written.to_string(),
    })?;
    let count = file.line_count();
    let index = match usize::try_from(anchor.line) {
        Ok(line @ 1..) if line <= count => line - 1,
        _ => {
            return Err(EditError::OutOfRange {
                edit: edit.index,
                anchor,
                file_lines: count as u64,
                context: lines_around(file, count, CONTEXT_LINES - 1),
            });
        }
    };
    let text = file.text(index);
    if anchor.fits(&text) {
        return Ok(anchor.line);
    }
    Err(EditError::Stale {
        edit: edit.index,
        anchor,
        now: Anchor::of(anchor.line, &text),
        context: lines_around(file, index + 1, CONTEXT_LINES),
    })
}

/// A line, from 1, and as many as `around` on each side of it, with the anchors that they have.
pub fn lines_around(file: &Snapshot<'_>, line: usize, around: usize) -> Vec<String> {
    let from = line.saturating_sub(around + 1);
    let to = line.saturating_add(around).min(file.line_count());
    (from..to)
        .map(|index| anchored_line(index, file.line(index)))
        .collect()
}

fn text_splice(file: &Snapshot<'_>, edit: &Edit<'_>, found: &Found) -> Splice {
    let (first, last) = (found.lines.first as usize - 1, found.lines.last as usize - 1);
    let (mut bytes, mut last_end) = (Vec::new(), 0);
    for (at, piece) in edit.new_text().split('\n').enumerate() {
        if at > 0 {
            let end = file.line_end((first + at - 1).min(last));
            end_line(&mut bytes, end);
            last_end = end.len();
        }
        bytes.extend_from_slice(piece.as_bytes());
        // What stands behind the last line break is no whole line.
        last_end = if piece.is_empty() { last_end } else { 0 };
    }
    Splice {
        from: found.from,
        to: found.to,
        rank: IN_ITS_PLACE,
        bytes,
        last_end,
        // Where the end of a line goes, the next one changes too.
        lines: (first, (last + 2).min(file.line_count())),
    }
}

fn line_splice(
    file: &Snapshot<'_>,
    edit: &Edit<'_>,
    lines: Option<&EditLines>,
    strict: bool,
) -> Result<Splice, EditError> {
    let new_lines = edit.new_lines(strict)?;
    let last_of_file = file.line_count() - 1;
    let behind = if file.is_empty() { BEHIND_NOTHING } else { BEHIND };
    let place = lines.map(|lines| (lines.first as usize - 1, lines.last as usize - 1));
    // What goes, what is beside it, and which line ends the new ones take.
    let (from, to, rank, lines, ends) = match (edit.op, place) {
        (EditOp::Append, Some((line, _))) => (
            file.end_of(line),
            file.end_of(line),
            behind,
            (line + 1, line + 1),
            (line, line),
        ),
        (EditOp::Append, None) => {
            let end = file.end_of(last_of_file);
            (
                end,
                end,
                AT_THE_END,
                (last_of_file + 1, last_of_file + 1),
                (last_of_file, last_of_file),
            )
        }
        (EditOp::Prepend, Some((line, _))) => (
            file.begin_of(line),
            file.begin_of(line),
            BEFORE,
            (line, line),
            (line, line),
        ),
        (EditOp::Prepend, None) => (
            file.begin_of(0),
            file.begin_of(0),
            AT_THE_BEGINNING,
            (0, 0),
            (0, 0),
        ),
        (EditOp::Replace | EditOp::ReplaceText, place) => {
            let (first, last) = place.unwrap_or((0, 0));
            (
                file.begin_of(first),
                file.end_of(last),
                IN_ITS_PLACE,
                (first, last + 1),
                (first, last),
            )
        }
    };
    let (mut bytes, mut last_end) = (Vec::new(), 1);
    let pieces = new_lines.iter().flat_map(|line| line.split('\n'));
    for (at, piece) in pieces.enumerate() {
        let end = file.line_end((ends.0 + at).min(ends.1));
        bytes.extend_from_slice(piece.as_bytes());
        end_line(&mut bytes, end);
        last_end = end.len();
    }
    Ok(Splice {
        from,
        to,
        rank,
        bytes,
        last_end,
        lines,
    })
}

/// A carriage return that a model wrote belongs to the line end, where the lines of the file have one.
fn end_line(bytes: &mut Vec<u8>, end: &[u8]) {
    if end == b"\r\n" && bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    bytes.extend_from_slice(end);
}

fn spliced(file: &Snapshot<'_>, splices: &[Splice]) -> Vec<u8> {
    let old = file.bytes();
    let added: usize = splices.iter().map(|splice| splice.bytes.len()).sum();
    let mut bytes = Vec::with_capacity(old.len() + added);
    let mut at = 0;
    for splice in splices {
        bytes.extend_from_slice(&old[at..splice.from.max(at)]);
        bytes.extend_from_slice(&splice.bytes);
        at = splice.to.max(at);
    }
    bytes.extend_from_slice(&old[at..]);
    if file.is_open() && bytes.len() > file.begin_of(0) {
        // The last line has no end still, whichever it is by now.
        bytes.truncate(bytes.len() - last_end(file, splices, &bytes));
    }
    bytes
}

/// How many bytes the end of the last line has in what came out.
fn last_end(file: &Snapshot<'_>, splices: &[Splice], bytes: &[u8]) -> usize {
    let mut untouched_from = file.bytes().len();
    for splice in splices.iter().rev() {
        if splice.to < untouched_from {
            break;
        }
        if !splice.bytes.is_empty() {
            return splice.last_end;
        }
        untouched_from = splice.from;
    }
    // It is that of a line of the file, whose text may end in a carriage return that is no part of its end.
    match bytes.ends_with(b"\n") {
        true => file.line_end(file.line_ending_at(untouched_from)).len(),
        false => 0,
    }
}

/// How many lines are more than before, or fewer.
fn added_lines(file: &Snapshot<'_>, splice: &Splice) -> isize {
    let count = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as isize;
    count(&splice.bytes) - count(&file.bytes()[splice.from..splice.to])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: EditSettings = EditSettings {
        strict_patch: true,
        bytes_max: 1_000_000,
    };

    fn lines(op: &str, pos: Option<(usize, &str)>, end: Option<(usize, &str)>, lines: &[&str]) -> GivenEdit {
        let anchor = |place: (usize, &str)| Anchor::of(place.0 as u64, place.1).to_string();
        GivenEdit {
            op: op.into(),
            pos: pos.map(anchor),
            end: end.map(anchor),
            lines: Some(lines.iter().map(ToString::to_string).collect()),
            ..GivenEdit::default()
        }
    }

    fn text(old: &str, new: &str) -> GivenEdit {
        GivenEdit {
            op: "replace_text".into(),
            old_text: Some(old.into()),
            new_text: Some(new.into()),
            ..GivenEdit::default()
        }
    }

    fn edited(file: &str, edits: &[GivenEdit]) -> Result<String, &'static str> {
        let edited = edited_text(&Snapshot::of(file.as_bytes()), edits, &SETTINGS);
        edited
            .map(|edited| String::from_utf8_lossy(&edited.bytes).into_owned())
            .map_err(|error| error.code())
    }

    #[track_caller]
    fn check(file: &str, edits: &[GivenEdit], expected: &str) {
        assert_eq!(edited(file, edits).as_deref(), Ok(expected));
    }

    #[test]
    fn every_edit_is_about_the_file_as_it_was_read() {
        let file = "a\nb\nc\nd\n";
        check(
            file,
            &[
                text("a", "1\n2\n3"),
                lines("replace", Some((3, "c")), None, &["C"]),
            ],
            "1\n2\n3\nb\nC\nd\n",
        );
        check(file, &[text("a", "b"), text("b", "x")], "b\nx\nc\nd\n");
    }

    #[test]
    fn inserts_stand_where_they_belong_in_whatever_order_they_came() {
        let edits = [
            lines("append", Some((2, "b")), None, &["after"]),
            lines("replace", Some((2, "b")), None, &["1", "2"]),
            lines("prepend", Some((2, "b")), None, &["before"]),
        ];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let edits = order.map(|index| edits[index].clone());
            check("a\nb\nc\n", &edits, "a\nbefore\n1\n2\nafter\nc\n");
        }
    }

    #[test]
    fn inserts_at_one_place_stay_in_their_order() {
        let appends = [
            lines("append", Some((1, "a")), None, &["1"]),
            lines("append", Some((1, "a")), None, &["2"]),
        ];
        check("a\nb\n", &appends, "a\n1\n2\nb\n");
        let ends = [
            lines("append", None, None, &["z"]),
            lines("append", Some((1, "a")), None, &["y"]),
            lines("prepend", Some((1, "a")), None, &["c"]),
            lines("prepend", None, None, &["b"]),
        ];
        check("a", &ends, "b\nc\na\ny\nz");
    }

    #[test]
    fn each_line_keeps_the_end_it_has() {
        let file = "a\r\nb\nc\r\nd";
        check(
            file,
            &[lines("replace", Some((2, "b")), None, &["B"])],
            "a\r\nB\nc\r\nd",
        );
        check(
            file,
            &[lines("append", Some((1, "a")), None, &["x\r", "y"])],
            "a\r\nx\r\ny\r\nb\nc\r\nd",
        );
        check(
            file,
            &[lines("append", None, None, &["e"])],
            "a\r\nb\nc\r\nd\r\ne",
        );
        check(file, &[lines("replace", Some((4, "d")), None, &[])], "a\r\nb\nc");
        check(file, &[text("b\nc\nd", "1\n2\n3\n4")], "a\r\n1\n2\r\n3\r\n4");
        check(file, &[text("a\r\nb", "x\ny")], "x\r\ny\nc\r\nd");
    }

    #[test]
    fn a_file_without_a_newline_at_its_end_gets_none() {
        check(
            "a\nb",
            &[lines("replace", Some((2, "b")), None, &["B", ""])],
            "a\nB\n",
        );
        check("a\nb", &[lines("append", None, None, &["c"])], "a\nb\nc");
        check("a\nb\r", &[lines("prepend", None, None, &["c"])], "c\na\nb\r");
        check("a", &[text("a", "a\n")], "a\n");
        check(
            "a\nb",
            &[lines("replace", Some((1, "a")), Some((2, "b")), &[])],
            "",
        );
        check("a\nb\n", &[text("b\n", "")], "a\n");
        // The end of the line goes, and so does the line behind it.
        let both = [text("a\n", "x"), lines("replace", Some((2, "b")), None, &[])];
        check("a\nb", &both, "x");
        let nothing = [
            lines("replace", Some((2, "b")), Some((3, "c")), &[]),
            lines("append", Some((2, "b")), None, &[]),
        ];
        check("a\r\nb\nc", &nothing, "a");
        let both = [text("b", "end\r"), lines("replace", Some((3, "c")), None, &[])];
        check("a\nb\nc", &both, "a\nend\r");
    }

    #[test]
    fn lines_of_an_empty_file_are_whole_lines() {
        check("", &[lines("append", None, None, &["x"])], "x\n");
        check(
            "\u{FEFF}",
            &[lines("prepend", Some((1, "")), None, &["x"])],
            "\u{FEFF}x\n",
        );
        let both = [
            lines("append", Some((1, "")), None, &["y"]),
            lines("replace", Some((1, "")), None, &["x"]),
        ];
        check("", &both, "x\ny\n");
        check("", &[], "");
    }

    #[test]
    fn what_is_meant_by_two_edits_is_refused() {
        let file = "a\nb\nc\nd\n";
        let range = || lines("replace", Some((2, "b")), Some((3, "c")), &["x"]);
        for other in [
            lines("replace", Some((3, "c")), None, &["y"]),
            lines("append", Some((2, "b")), None, &["y"]),
            lines("prepend", Some((3, "c")), None, &["y"]),
            text("b", "y"),
            text("a\nb", "y"),
        ] {
            assert_eq!(edited(file, &[range(), other.clone()]), Err("E_OVERLAP"));
            assert_eq!(edited(file, &[other, range()]), Err("E_OVERLAP"));
        }
        assert_eq!(
            edited(file, &[text("b\nc", "x"), text("c\nd", "y")]),
            Err("E_OVERLAP")
        );
    }

    #[test]
    fn an_insert_of_nothing_is_nowhere() {
        let edits = [
            lines("append", Some((1, "a")), None, &[]),
            lines("replace", Some((1, "a")), Some((2, "b")), &["x"]),
        ];
        check("a\nb\n", &edits, "x\n");
    }

    #[test]
    fn a_text_is_written_as_it_is() {
        check(
            "price: 10\n",
            &[text("10", "$$5 $& $` $'")],
            "price: $$5 $& $` $'\n",
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_the_lines_that_are_there() {
        let file = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let stale = edited_text(
            &Snapshot::of(file.as_bytes()),
            &[lines("replace", Some((6, "x")), None, &[])],
            &SETTINGS,
        );
        let Err(EditError::Stale { context, now, .. }) = stale else {
            panic!("{stale:?}");
        };
        let expected: Vec<String> = (3..=8)
            .zip("cdefgh".chars())
            .map(|(n, c)| format!("{}|{c}", Anchor::of(n, &c.to_string())))
            .collect();
        assert_eq!((context, now), (expected, Anchor::of(6, "f")));
        let beyond = lines("append", Some((9, "x")), None, &[]);
        assert_eq!(edited(file, &[beyond]), Err("E_OUT_OF_RANGE"));
        let backwards = lines("replace", Some((3, "c")), Some((2, "b")), &[]);
        assert_eq!(edited(file, &[backwards]), Err("E_BAD_REF"));
        assert_eq!(edited(file, &[text("zz", "")]), Err("E_NO_MATCH"));
        assert_eq!(edited(file, &[text("", "")]), Err("E_NO_MATCH"));
        assert_eq!(edited("aaa\n", &[text("aa", "b")]), Err("E_MULTI_MATCH"));
    }
}
