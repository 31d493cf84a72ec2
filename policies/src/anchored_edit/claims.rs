//! Which lines do the edits of a call want, and do two of them want the same?

use super::anchor::Anchor;
use super::edit::{Edit, EditOp};
use super::error::{EditLines, Overlap};

/// The lines that an edit names, whether they are there or not; none where its anchors are none.
pub fn named_lines(edit: &Edit<'_>) -> Option<EditLines> {
    let first = Anchor::read(edit.pos?)?.line;
    let last = match edit.end {
        Some(end) => Anchor::read(end)?.line,
        None => first,
    };
    Some(EditLines {
        edit: edit.index,
        op: edit.op,
        first,
        last,
    })
}

/// The first replaced text that lies in a line which another edit names.
pub fn text_overlap(texts: &[EditLines], others: &[EditLines]) -> Option<Overlap> {
    texts.iter().find_map(|text| {
        let other = others
            .iter()
            .find(|other| text.first <= other.last && other.first <= text.last)?;
        Some(Overlap {
            one: *text,
            other: *other,
        })
    })
}

/// The first two replaced ranges that share a line, in the order in which they lie in the file.
pub fn replace_overlap(edits: &[EditLines]) -> Option<Overlap> {
    let mut replaces: Vec<EditLines> = edits
        .iter()
        .filter(|edit| edit.op == EditOp::Replace)
        .copied()
        .collect();
    replaces.sort_by_key(|replace| (replace.first, replace.last));
    replaces.windows(2).find_map(|pair| match pair {
        [one, other] if other.first <= one.last => Some(Overlap {
            one: *one,
            other: *other,
        }),
        _ => None,
    })
}

/// The first insert whose place is within a range that is replaced. Before such a range and behind it is no such
/// place, so that `prepend` to its first line and `append` to its last are as good as anywhere.
pub(super) fn insert_overlap(edits: &[EditLines]) -> Option<Overlap> {
    let mut replaces: Vec<&EditLines> = edits.iter().filter(|edit| edit.op == EditOp::Replace).collect();
    replaces.sort_by_key(|replace| replace.first);
    edits.iter().find_map(|edit| {
        // The new lines stand before this line.
        let before = match edit.op {
            EditOp::Append => edit.first + 1,
            EditOp::Prepend => edit.first,
            EditOp::Replace | EditOp::ReplaceText => return None,
        };
        // Replaced ranges share no line here, so that only the last one that begins before it can hold it.
        let at = replaces.partition_point(|replace| replace.first < before);
        let replace = replaces.get(at.checked_sub(1)?)?;
        (before <= replace.last).then_some(Overlap {
            one: **replace,
            other: *edit,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(op: EditOp, first: u64, last: u64) -> EditLines {
        EditLines {
            edit: 0,
            op,
            first,
            last,
        }
    }

    #[test]
    fn an_insert_at_the_edge_of_a_replaced_range_is_outside_of_it() {
        let range = lines(EditOp::Replace, 2, 4);
        let overlaps = |op, at| insert_overlap(&[range, lines(op, at, at)]).is_some();
        let appends: Vec<bool> = (1..=5).map(|at| overlaps(EditOp::Append, at)).collect();
        assert_eq!(appends, [false, true, true, false, false]);
        let prepends: Vec<bool> = (1..=5).map(|at| overlaps(EditOp::Prepend, at)).collect();
        assert_eq!(prepends, [false, false, true, true, false]);
    }
}
