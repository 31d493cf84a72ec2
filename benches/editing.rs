//! Anchored editing: anchors for a long file, edits of a longer one, and a million edited files beside the plain model.
//!
//! Limits come from what is asked of it: 100 000 lines are anchored in less than 20 ms; an edit of 150 000 lines takes as
//! long for each line as one of 15 000 does, with room for the caches of the machine. A baseline of each row is the least
//! that has to be done: copying the text, and writing and syncing a file of that size.

#[path = "../tests/editing/cases.rs"]
mod cases;
#[path = "../tests/editing/model.rs"]
mod model;

use impresario_actors::tools::anchored_edit::{
    EditCall, FILE_BYTES_MAX, FromDisk, Grounds, SETTINGS, edit_file,
};
use impresario_policies::anchored_edit::{Anchor, GivenEdit, Snapshot, anchored_text, edited_text, line_id};
use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 21;
const CASES: u64 = 1_000_000;
const ANCHOR_MS_MAX: f64 = 20.0;
/// Ten times the lines, at most so many times as long.
const GROWTH_MAX: f64 = 15.0;
const STALE_RATE_MAX: f64 = 1e-6;

fn main() -> ExitCode {
    let kept = [anchoring(), growth(), on_disk(), stale_anchors(), million()];
    match kept.iter().all(|kept| *kept) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn median_ms(mut work: impl FnMut()) -> f64 {
    let mut all: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn say(row: &str, what: String, is_kept: bool) -> bool {
    println!("{row:<44} {what}  {}", if is_kept { "kept" } else { "MISSED" });
    is_kept
}

/// Lines as programs have them, 40 bytes in the middle.
fn source(lines: usize) -> String {
    (0..lines)
        .map(|line| {
            format!(
                "{}let value_{line} = compute({line}, table);\n",
                " ".repeat(line % 5 * 4)
            )
        })
        .collect()
}

fn anchoring() -> bool {
    let text = source(100_000);
    let ours = median_ms(|| drop(black_box(anchored_text(black_box(&text), 1))));
    let copy = median_ms(|| drop(black_box(black_box(&text).clone())));
    let what = format!("{ours:.1} ms, at most {ANCHOR_MS_MAX} (a copy takes {copy:.2} ms)");
    say("anchor 100 000 lines", what, ours < ANCHOR_MS_MAX)
}

fn growth() -> bool {
    let times = [15_000, 150_000].map(|lines| {
        let text = source(lines);
        let snapshot = Snapshot::of(text.as_bytes());
        let edits = edits(&snapshot, lines);
        median_ms(|| {
            let before = Snapshot::of(black_box(text.as_bytes()));
            let edited = edited_text(&before, &edits, &SETTINGS).expect("edited");
            black_box(edited.preview(&before));
        })
    });
    let ratio = times[1] / times[0];
    let what = format!(
        "{:.2} ms and {:.2} ms, {ratio:.1} times, at most {GROWTH_MAX}",
        times[0], times[1]
    );
    say(
        "41 edits in 15 000 and in 150 000 lines",
        what,
        ratio < GROWTH_MAX,
    )
}

/// Forty lines replaced all over the file, and a text.
fn edits(snapshot: &Snapshot<'_>, lines: usize) -> Vec<GivenEdit> {
    let mut edits: Vec<GivenEdit> = (0..40)
        .map(|at| {
            let index = at * (lines / 40) + 7;
            GivenEdit {
                op: "replace".into(),
                pos: Some(Anchor::of(index as u64 + 1, &snapshot.text(index)).to_string()),
                lines: Some(vec!["one".into(), "two".into()]),
                ..GivenEdit::default()
            }
        })
        .collect();
    edits.push(GivenEdit {
        op: "replace_text".into(),
        old_text: Some(format!("value_{} =", lines - 1)),
        new_text: Some("last =".into()),
        ..GivenEdit::default()
    });
    edits
}

fn on_disk() -> bool {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let grounds = Grounds::within(place.path()).expect("grounds");
    let text = source(150_000);
    assert!((text.len() as u64) < FILE_BYTES_MAX);
    let mut number = 0;
    fs::write(place.path().join("f"), &text).expect("a file");
    let ours = median_ms(|| {
        number += 1;
        let old = if number == 1 {
            "let value_77777 =".to_string()
        } else {
            format!("edit {} =", number - 1)
        };
        let call = EditCall {
            path: "f".into(),
            edits: vec![GivenEdit {
                op: "replace_text".into(),
                old_text: Some(old),
                new_text: Some(format!("edit {number} =")),
                ..GivenEdit::default()
            }],
            ..EditCall::default()
        };
        edit_file(&call, &grounds, &SETTINGS, &FromDisk, &CancellationToken::new()).expect("edited");
    });
    let bare = median_ms(|| {
        let file = fs::File::create(place.path().join("bare")).expect("a file");
        std::io::Write::write_all(&mut &file, text.as_bytes()).expect("written");
        file.sync_all().expect("synced");
        fs::File::open(place.path())
            .and_then(|directory| directory.sync_all())
            .expect("synced");
    });
    let what = format!("{ours:.1} ms; writing and syncing that file takes {bare:.1} ms");
    // Read, search, compare, write, compare and preview: no more than ten times the bare write, whatever the disk.
    say(
        "one edit of 150 000 lines, on the disk",
        what,
        ours < bare * 10.0 + 50.0,
    )
}

/// Every pair of forty texts that stood in one line, in 100 000 lines: 78 million stale anchors.
fn stale_anchors() -> bool {
    let (mut stale, mut fits) = (0_u64, 0_u64);
    for number in 1..=100_000_u64 {
        let mut ids: Vec<String> = (0..40)
            .map(|change| {
                let text = match change % 4 {
                    0 => format!("    let value_{change} = table[{number}];"),
                    1 => format!("    let value_{number} = table[{change}];"),
                    2 => format!("{}}}", " ".repeat(change)),
                    _ => format!("    call({change}, {number});"),
                };
                line_id(number, &text).to_string()
            })
            .collect();
        stale += 40 * 39 / 2;
        ids.sort_unstable();
        fits += ids.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    }
    let rate = fits as f64 / stale as f64;
    let what = format!("{fits} of {stale} fit, {rate:.2e}, at most {STALE_RATE_MAX:.0e}");
    say("stale anchors that fit", what, rate < STALE_RATE_MAX)
}

fn million() -> bool {
    let began = Instant::now();
    let failed = (0..CASES)
        .filter_map(|seed| cases::check(seed).err())
        .inspect(|what| println!("{what}"))
        .take(3)
        .count();
    let what = format!("{failed} differ, {:.0} s", began.elapsed().as_secs_f64());
    say("1 000 000 edited files and the plain model", what, failed == 0)
}
