//! Files and edits by chance, from a seed.

use crate::model::Change;
use impresario_policies::anchored_edit::{Anchor, GivenEdit, Snapshot};

/// A row of numbers that is the same for the same seed.
pub struct Chance(u64);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % limit
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const LINES: [&[u8]; 12] = [
    b"",
    b"}",
    b"dup",
    b"  let x = 1;",
    b"fn a() {",
    "日本".as_bytes(),
    b"aaa",
    b"text",
    b"\xFF\xFE",
    b"a\rb",
    b"  ",
    b"x\0y",
];
const NEW: [&str; 9] = [
    "",
    "N",
    "  new  ",
    "$& $$",
    "two\nlines",
    "r\r\nn",
    "end\r",
    "日",
    "\n",
];

pub fn file(chance: &mut Chance) -> Vec<u8> {
    let mut file = Vec::new();
    if chance.one_in(8) {
        file.extend_from_slice(b"\xEF\xBB\xBF");
    }
    let ends: &[&[u8]] = match chance.below(4) {
        0 => &[b"\r\n"],
        1 => &[b"\n", b"\r\n"],
        _ => &[b"\n"],
    };
    for _ in 0..chance.below(12) {
        file.extend_from_slice(chance.pick(&LINES));
        if chance.one_in(2) {
            file.extend_from_slice(format!(" {}", chance.below(100)).as_bytes());
        }
        file.extend_from_slice(chance.pick(ends));
    }
    if chance.one_in(4) {
        file.extend_from_slice(chance.pick(&LINES));
    }
    file
}

pub fn changes(chance: &mut Chance, file: &[u8]) -> Vec<Change> {
    let lines = Snapshot::of(file).line_count();
    (0..=chance.below(5))
        .map(|_| change(chance, file, lines))
        .collect()
}

fn change(chance: &mut Chance, file: &[u8], lines: usize) -> Change {
    let (pos, new) = (
        chance.below(lines) + 1,
        (0..chance.below(3)).map(|_| chance.pick(&NEW).to_string()),
    );
    let lines_new: Vec<String> = new.collect();
    let mut change = Change {
        lines: lines_new,
        ..Change::default()
    };
    match chance.below(8) {
        0..=2 => {
            change.op = "replace";
            change.pos = Some(pos);
            if chance.one_in(2) {
                change.end = Some((pos + chance.below(3)).min(lines));
            }
        }
        3 | 4 => {
            change.op = chance.pick(&["append", "prepend"]);
            change.pos = Some(pos);
        }
        5 => change.op = chance.pick(&["append", "prepend"]),
        _ => {
            change.op = "replace_text";
            let text =
                String::from_utf8_lossy(file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file)).into_owned();
            let from = text.floor_char_boundary(chance.below(text.len() + 1));
            let to = text.floor_char_boundary((from + 1 + chance.below(12)).min(text.len()));
            change.old = text[from..to.max(from)].to_string();
            change.new = chance.pick(&NEW).to_string();
        }
    }
    change
}

/// The same edits with the anchors that a reader of the file saw.
pub fn given(file: &[u8], changes: &[Change]) -> Vec<GivenEdit> {
    let snapshot = Snapshot::of(file);
    let anchor = |line: usize| Anchor::of(line as u64, &snapshot.text(line - 1)).to_string();
    let given = changes.iter().map(|change| GivenEdit {
        op: change.op.to_string(),
        pos: change.pos.map(anchor),
        end: change.end.map(anchor),
        lines: Some(change.lines.clone()),
        old_text: Some(change.old.clone()),
        new_text: Some(change.new.clone()),
    });
    given.collect()
}

/// Compares one case with the model; what it came to.
pub fn check(seed: u64) -> Result<(), String> {
    use impresario_policies::anchored_edit::{EditSettings, edited_text};
    let chance = &mut Chance::of(seed);
    let file = file(chance);
    let changes = changes(chance, &file);
    let settings = EditSettings {
        strict_patch: true,
        bytes_max: 1 << 20,
    };
    let snapshot = Snapshot::of(&file);
    let ours = edited_text(&snapshot, &given(&file, &changes), &settings);
    let shown = ours
        .as_ref()
        .map(|edited| edited.bytes.clone())
        .map_err(|error| error.code());
    let expected = crate::model::edited(&file, &changes);
    if shown != expected {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        return Err(format!(
            "seed {seed}: {}\n{changes:#?}\nexpected {:?}\nours     {:?}",
            text(&file),
            expected.as_deref().map(text),
            shown.as_deref().map(text)
        ));
    }
    // Whatever comes out can be read and edited again, and what changed is said of lines that differ.
    if let Ok(edited) = ours {
        let preview = edited.preview(&snapshot);
        if preview.ranges.is_empty() && edited.line_count() != snapshot_lines(&file) {
            return Err(format!(
                "seed {seed}: lines came or went, and nothing is said to have changed"
            ));
        }
    }
    Ok(())
}

fn snapshot_lines(file: &[u8]) -> usize {
    let body = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
    if body.is_empty() {
        0
    } else {
        Snapshot::of(file).line_count()
    }
}
