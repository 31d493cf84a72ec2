//! Calls that make no sense, from a seed.

use crate::cases::{Chance, file};
use impresario_policies::anchored_edit::{
    Anchor, EditSettings, GivenEdit, Snapshot, anchored_text, edited_text, error_words,
};
use impresario_policies::compat::units;

const OPS: [&str; 9] = [
    "replace",
    "append",
    "prepend",
    "replace_text",
    "insert_after",
    "insert_before",
    "replace_range",
    "",
    "drop",
];
const PIECES: [&str; 16] = [
    "1",
    "7",
    "99999999999999999999",
    "#",
    "ZP",
    "KXVTB",
    "|",
    " ",
    "\n",
    "\r\n",
    "a",
    "日",
    "\u{FEFF}",
    "-",
    "\0",
    "\n\n[3 more lines in file. Use offset=3 to continue.]",
];

fn text(chance: &mut Chance) -> String {
    (0..chance.below(6))
        .map(|_| PIECES[chance.below(PIECES.len())])
        .collect()
}

fn perhaps<T>(chance: &mut Chance, make: impl FnOnce(&mut Chance) -> T) -> Option<T> {
    match chance.below(3) {
        0 => None,
        _ => Some(make(chance)),
    }
}

pub fn check(seed: u64) {
    let chance = &mut Chance::of(seed);
    let file = file(chance);
    let snapshot = Snapshot::of(&file);
    let anchor = |chance: &mut Chance| match chance.below(2) {
        0 => text(chance),
        _ => {
            let line = chance.below(snapshot.line_count() + 1);
            Anchor::of(line as u64, &snapshot.text(line)).to_string()
        }
    };
    let edits: Vec<GivenEdit> = (0..chance.below(4))
        .map(|_| GivenEdit {
            op: OPS[chance.below(OPS.len())].to_string(),
            pos: perhaps(chance, anchor),
            end: perhaps(chance, anchor),
            lines: perhaps(chance, |chance| {
                (0..chance.below(3)).map(|_| text(chance)).collect()
            }),
            old_text: perhaps(chance, text),
            new_text: perhaps(chance, text),
        })
        .collect();
    let settings = EditSettings {
        strict_patch: chance.below(2) == 0,
        bytes_max: 1 << 20,
    };
    match edited_text(&snapshot, &edits, &settings) {
        Ok(edited) => {
            let preview = edited.preview(&snapshot);
            let written: Vec<&str> = preview.anchors.lines().collect();
            assert!(written.len() <= 20 * 130, "seed {seed}");
            // What is said of the file now is what an edit of it takes.
            let now = Snapshot::of(&edited.bytes);
            for line in written {
                let named = line.split_once('|').and_then(|(anchor, _)| Anchor::read(anchor));
                let fits = |anchor: Anchor| anchor.fits(&now.text(anchor.line as usize - 1));
                assert!(
                    named.is_none_or(fits) || line.contains('\r'),
                    "seed {seed}: {line:?}"
                );
            }
        }
        Err(error) => assert!(
            units(&error_words(error.code(), &error.to_string())) <= 1_200,
            "seed {seed}"
        ),
    }
    let any = text(chance);
    let first = chance.below(9) as u64;
    let anchored = anchored_text(&any, first);
    assert!(anchored.len() >= any.len(), "seed {seed}: {any:?}");
    if let Some(anchor) = Anchor::read(&any) {
        assert_eq!(
            Anchor::read(&anchor.to_string()),
            Some(anchor),
            "seed {seed}: {any:?}"
        );
    }
}
