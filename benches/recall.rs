//! Anchors of other sessions: how long a look takes the first time, when nothing changed, and when one session grew; 100
//! sessions of half a megabyte with ten anchors each.
//!
//! The sessions are as Pi writes them: lines of messages and results of tools, most of them long. The limits are what a
//! reading of every file in the host's own loop took here: 323 ms the first time, 4 ms afterwards.

use impresario_actors::session_index::{SessionFiles, SessionStore};
use impresario_policies::anchors::recall::{RecallRequest, words_wanted};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

const SESSIONS: usize = 100;
const SESSION_BYTES: usize = 500_000;
const ANCHORS: usize = 10;
const LOOKS: usize = 200;
const COLD_MS_MAX: f64 = 323.0;
const WARM_MS_MAX: f64 = 4.0;

fn main() -> ExitCode {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let sessions = place.path().join("sessions");
    let mut bytes = 0;
    for number in 0..SESSIONS {
        let text = session(number);
        bytes += text.len();
        write(&sessions, number, &text);
    }
    let files = SessionFiles::Below(sessions.clone());
    let cold = median(5, |turn| {
        let cache = place.path().join(format!("cache-{turn}"));
        look(&SessionStore::new(Some(cache)), &files, "jwt");
    });
    let store = SessionStore::new(Some(place.path().join("cache-0")));
    look(&store, &files, "jwt");
    let warm = median(LOOKS, |_| look(&store, &files, "jwt"));
    let words = median(LOOKS, |_| look(&store, &files, "libraries number jwt"));
    let grown = median(20, |turn| {
        write(&sessions, 0, &format!("{}{}", session(0), entry(turn)));
        look(&store, &files, "jwt");
    });
    println!(
        "{SESSIONS} sessions, {} MB, {} anchors",
        bytes / 1_000_000,
        SESSIONS * ANCHORS
    );
    println!(
        "{:>10} {:>10} {:>14} {:>12}",
        "cold ms", "warm ms", "three words ms", "one grew ms"
    );
    println!("{cold:>10.1} {warm:>10.3} {words:>14.3} {grown:>12.3}");
    let is_kept = cold <= COLD_MS_MAX && warm <= WARM_MS_MAX;
    println!("{}", if is_kept { "kept" } else { "MISSED" });
    if is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn look(store: &SessionStore, files: &SessionFiles, keyword: &str) {
    let request = RecallRequest {
        words: words_wanted(keyword),
        everywhere: true,
        limit: 10,
        offset: 0,
    };
    let recalled = store.recall(files, "/zoo", &request).expect("looked");
    assert_eq!(
        (recalled.total, recalled.found.len(), recalled.unread),
        (SESSIONS * ANCHORS, 10, 0)
    );
}

fn median(times: usize, mut work: impl FnMut(usize)) -> f64 {
    let mut took: Vec<f64> = (0..times)
        .map(|turn| {
            let begun = Instant::now();
            work(turn);
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[times / 2]
}

fn write(sessions: &Path, number: usize, text: &str) {
    let directory = sessions.join(format!("--zoo-{}--", number % 7));
    std::fs::create_dir_all(&directory).expect("made");
    std::fs::write(directory.join(format!("{number:03}.jsonl")), text).expect("written");
}

fn session(number: usize) -> String {
    let mut text = format!(
        "{{\"type\":\"session\",\"id\":\"s{number}\",\"cwd\":\"/zoo/{}\"}}\n",
        number % 7
    );
    let mut entries = 0;
    for anchor in 0..ANCHORS {
        while text.len() < SESSION_BYTES / ANCHORS * (anchor + 1) {
            text.push_str(&entry(entries));
            entries += 1;
        }
        let _ = writeln!(
            text,
            r#"{{"type":"message","id":"a{anchor}","parentId":"e{entries}","timestamp":"2026-{:02}-{:02}T10:00:00.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"context","content":[],"details":{{"anchor":{{"name":"step-{number}-{anchor}","targetId":"e","summary":"Looked at JWT libraries, number {anchor}. {}"}}}}}}}}"#,
            1 + number % 12,
            1 + anchor,
            "What was decided, and why. ".repeat(12),
        );
    }
    text
}

/// A result of a tool, of about 3 KB.
fn entry(number: usize) -> String {
    format!(
        r#"{{"type":"message","id":"e{number}","parentId":"e","timestamp":"2026-01-01T10:00:00.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false}}}}{}"#,
        "let anchor = \\\"here\\\"; // a line of a file\\n".repeat(65),
        "\n"
    )
}
