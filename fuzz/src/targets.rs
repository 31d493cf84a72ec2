//! What is held against any bytes: each target panics where something does not hold.
//!
//! The programs in `fuzz_targets` run these under libFuzzer; `policies/tests/fuzz_targets.rs` runs them over the seeds
//! and over bytes of chance, with the stable compiler.

#![allow(dead_code, reason = "each program has one of the targets")]

use impresario_policies::anchored_edit::{
    Anchor, EditSettings, GivenEdit, Snapshot, anchored_text, edited_text,
};
use impresario_policies::network::markdown::{PageForm, PageReader};
use impresario_policies::redact::holds_key;

/// An anchor that is read is written as it was read; a text with anchors is the text, and each of them fits.
pub fn anchors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(anchor) = Anchor::read(&text) {
        assert_eq!(
            Anchor::read(&anchor.to_string()),
            Some(anchor),
            "an anchor is read as it is written"
        );
    }
    let first = u64::from(data.first().copied().unwrap_or(1));
    let shown = anchored_text(&text, first);
    let lines = text.split('\n').count();
    assert!(shown.len() <= text.len() + lines * 16, "an anchor is short");
    assert_eq!(shown.split('\n').count(), lines, "no line comes or goes");
    for (number, (line, shown)) in (first.max(1)..).zip(text.split('\n').zip(shown.split('\n'))) {
        let before = shown.strip_suffix(line).expect("the line is there");
        let counted = if number == 1 {
            line.strip_prefix('\u{FEFF}').unwrap_or(line)
        } else {
            line
        };
        if let Some(anchor) = before.strip_suffix('|').and_then(Anchor::read) {
            assert!(
                anchor.line == number && anchor.fits(counted),
                "an anchor fits its line"
            );
        } else {
            assert!(before.is_empty(), "{before:?} is no anchor");
        }
    }
}

const FILE_BYTES_MAX: usize = 64 * 1024;
const OPS: [&str; 6] = [
    "replace",
    "replace_range",
    "append",
    "insert_after",
    "prepend",
    "insert_before",
];

/// Edits made of the bytes before the first zero, four for each, of the file behind it: what is around the lines
/// that they name stays; what names a line that is another one by now is refused.
pub fn patches(data: &[u8]) {
    let (edits, raw) = match data.iter().position(|byte| *byte == 0) {
        Some(zero) => (&data[..zero], &data[zero + 1..]),
        None => (data, data),
    };
    let file = Snapshot::of(raw);
    let lines = file.line_count();
    let mut given = Vec::new();
    let (mut first, mut last, mut stale) = (lines, 0, false);
    for edit in edits.chunks_exact(4).take(8) {
        let [op, at, length, wrong] = [edit[0], edit[1], edit[2], edit[3]].map(usize::from);
        let op = OPS[op % OPS.len()];
        let at = at % lines;
        let end = match op {
            "replace" | "replace_range" => (at + length % 4).min(lines - 1),
            _ => at,
        };
        let is_stale = wrong % 16 == 1;
        let anchor = |line: usize, is_stale: bool| {
            let text = file.text(line);
            let text = if is_stale {
                format!("{text}, and more")
            } else {
                text.into_owned()
            };
            Anchor::of(line as u64 + 1, &text)
        };
        let right = anchor(at, false);
        let pos = anchor(at, is_stale);
        stale |= is_stale && pos != right;
        first = first.min(at);
        last = last.max(end);
        let ranged = matches!(op, "replace" | "replace_range");
        given.push(GivenEdit {
            op: op.to_string(),
            pos: Some(pos.to_string()),
            end: ranged.then(|| anchor(end, false).to_string()),
            lines: Some((0..wrong % 3).map(|line| format!("new {line}")).collect()),
            old_text: None,
            new_text: None,
        });
    }
    if given.is_empty() {
        return;
    }
    let settings = EditSettings {
        strict_patch: false,
        bytes_max: FILE_BYTES_MAX,
    };
    let edited = edited_text(&file, &given, &settings);
    assert!(
        !(stale && edited.is_ok()),
        "a line that is another one by now is not edited"
    );
    let Ok(edited) = edited else { return };
    assert!(edited.bytes.len() <= FILE_BYTES_MAX, "a file has a limit");
    let (before, behind) = around(raw, first, last);
    assert!(
        edited.bytes.starts_with(before) && edited.bytes.ends_with(behind),
        "what is around the edits stays"
    );
}

/// The bytes before a line, without the end of the one before it, and those behind another one.
fn around(file: &[u8], first: usize, last: usize) -> (&[u8], &[u8]) {
    let ends: Vec<usize> = (0..file.len()).filter(|at| file[*at] == b'\n').collect();
    let before = match first {
        0 => &file[..0],
        first => file[..ends[first - 1]]
            .strip_suffix(b"\r")
            .unwrap_or(&file[..ends[first - 1]]),
    };
    let behind = ends.get(last).map_or(&file[..0], |end| &file[end + 1..]);
    (before, behind)
}

/// A page is read to its end, in no more steps than it has bytes, and comes to no more than it may.
pub fn html(data: &[u8]) {
    const STEP: usize = 16;
    let html = String::from_utf8_lossy(data);
    let as_written = |target: &str| Some(target.to_string());
    for form in [PageForm::Markdown, PageForm::Text] {
        let mut reader = PageReader::new(&html, form, &as_written);
        let mut steps = 0;
        while reader.read_some(STEP) {
            steps += 1;
            assert!(steps <= html.len(), "each step reads something");
        }
        let read = reader.into_text();
        // A tag of four bytes opens a line with the marks of all lists and quotes around it.
        assert!(
            read.len() <= 64 + html.len() * 32,
            "{} bytes of {}",
            read.len(),
            html.len()
        );
    }
}

/// What is clean stays so, and a key on a line of its own is found whatever stands around it.
pub fn redact(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let once = redacted(&text);
    assert_eq!(redacted(&once), once, "what was redacted is clean: {text:?}");
    assert!(
        once.len() <= text.len() * 10 + 10,
        "a mark stands for one letter at least"
    );
    let key = format!("{}{}", "ghp_", "9fK2mQ7xLr4TzB1cV8nW3sYd6GhJ0pAeXuRk");
    let mut at = data.first().map_or(0, |at| usize::from(*at) * text.len() / 256);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let planted = format!("{}\n{key}\n{}", &text[..at], &text[at..]);
    assert!(holds_key(&planted), "a key is seen: {planted:?}");
    assert!(!redacted(&planted).contains(&key), "a key is hidden: {planted:?}");
}

fn redacted(text: &str) -> String {
    impresario_policies::redact::redact(text).into_owned()
}
