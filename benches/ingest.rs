//! What reading a nested Pi costs, with all the accumulation a run needs.
//!
//! Recorded streams of 0.87.1, tiled to 100 MB: against a bare split of the same bytes and a borrowed parse of every
//! line's envelope. A stream of 0.74.2, whose every delta repeats the whole answer twice: against the bare split alone.
//! Both sides must count the same lines and the same tools. Rounds alternate, so that the machine's mood meets both.

use impresario_actors::gateways::RunnerEvent;
use impresario_actors::runners::pi::reader::{EventReader, Seen};
use impresario_actors::runners::pi::wire::Envelope;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const STREAM_BYTES: usize = 100 * 1024 * 1024;
/// What a read of a pipe brings.
const CHUNK_BYTES: usize = 64 * 1024;
const ROUNDS: usize = 9;
const SHARE_OF_PARSING_MIN: f64 = 0.60;
const TIMES_SPLITTING_MAX: f64 = 2.0;

/// What either side must find.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Found {
    lines: u64,
    tools_started: u64,
    tools_ended: u64,
}

fn main() -> ExitCode {
    let recorded = tile(&recorded_lines("0.87.1"));
    let quadratic = tile(&quadratic_lines());
    let parsing = compare(&recorded, split_and_parse, read);
    let splitting = compare(&quadratic, split, read_quadratic);
    let share = parsing.bare.as_secs_f64() / parsing.read.as_secs_f64();
    let times = splitting.read.as_secs_f64() / splitting.bare.as_secs_f64();
    parsing.print(
        "0.87.1, recorded",
        "bare split and envelope parse",
        recorded.len(),
    );
    println!("    {share:.2} of the bare parse (target: at least {SHARE_OF_PARSING_MIN:.2})");
    splitting.print("0.74.2, quadratic", "bare split", quadratic.len());
    println!("    {times:.2} times the bare split (target: at most {TIMES_SPLITTING_MAX:.1})");
    match share >= SHARE_OF_PARSING_MIN && times <= TIMES_SPLITTING_MAX {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

struct Compared {
    bare: Duration,
    read: Duration,
}

impl Compared {
    fn print(&self, stream: &str, baseline: &str, bytes: usize) {
        let speed = |took: Duration| bytes as f64 / 1e6 / took.as_secs_f64();
        println!(
            "{stream}: {baseline} {:.0} MB/s, event reader {:.0} MB/s (medians of {ROUNDS}, {} MB)",
            speed(self.bare),
            speed(self.read),
            bytes / 1_000_000
        );
    }
}

fn compare(stream: &[u8], bare: fn(&[u8]) -> Found, read: fn(&[u8]) -> Found) -> Compared {
    let (mut bare_took, mut read_took) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (found_bare, took) = timed(stream, bare);
        bare_took.push(took);
        let (found_read, took) = timed(stream, read);
        read_took.push(took);
        assert_eq!(found_bare, found_read, "both sides find the same");
    }
    Compared {
        bare: median(bare_took),
        read: median(read_took),
    }
}

fn timed(stream: &[u8], work: fn(&[u8]) -> Found) -> (Found, Duration) {
    let began = Instant::now();
    let found = work(black_box(stream));
    (black_box(found), began.elapsed())
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

// ---- the two sides

fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        Some(line)
    })
}

fn split(stream: &[u8]) -> Found {
    let mut found = Found::default();
    for line in lines(stream) {
        black_box(line);
        found.lines += 1;
    }
    found
}

fn split_and_parse(stream: &[u8]) -> Found {
    let mut found = Found::default();
    for line in lines(stream) {
        let envelope: Envelope<'_> = serde_json::from_slice(line).expect("a recorded line");
        match envelope.kind.as_ref() {
            "tool_execution_start" => found.tools_started += 1,
            "tool_execution_end" => found.tools_ended += 1,
            _ => {}
        }
        found.lines += 1;
        black_box(envelope);
    }
    found
}

fn read(stream: &[u8]) -> Found {
    let mut reader = EventReader::default();
    let mut found = Found::default();
    let mut seen = Vec::new();
    for chunk in stream.chunks(CHUNK_BYTES) {
        reader.feed(chunk, &mut seen);
        for seen in seen.drain(..) {
            match seen {
                Seen::Event(RunnerEvent::ToolStarted { .. }) => found.tools_started += 1,
                Seen::Event(RunnerEvent::ToolEnded { .. }) => found.tools_ended += 1,
                other => {
                    black_box(other);
                }
            }
        }
    }
    let facts = reader.facts();
    assert_eq!(facts.unread_lines, 0);
    found.lines = facts.read_lines;
    found
}

fn read_quadratic(stream: &[u8]) -> Found {
    let found = read(stream);
    assert_eq!((found.tools_started, found.tools_ended), (0, 0));
    found
}

// ---- the streams

/// All recorded lines that stand in the recordings as they were.
fn recorded_lines(version: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(version);
    let mut files: Vec<_> = fs::read_dir(directory)
        .expect("recordings")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a recording");
        for line in text
            .split_terminator('\n')
            .filter(|line| !line.starts_with("{\"pieces\""))
        {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
    }
    lines
}

/// An answer of 20 KB in deltas of 24 bytes, as 0.74.2 prints it.
fn quadratic_lines() -> Vec<u8> {
    let mut answer = String::new();
    let mut lines = String::from(r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#);
    lines.push('\n');
    while answer.len() < 20 * 1024 {
        let delta = "twenty-four bytes of it. ";
        answer.push_str(delta);
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{answer}"}}],"stopReason":"stop"}}"#
        );
        lines.push_str(&format!(
            r#"{{"type":"message_update","assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"{delta}","partial":{message}}},"message":{message}}}"#
        ));
        lines.push('\n');
    }
    lines.push_str(&format!(
        r#"{{"type":"message_end","message":{{"role":"assistant","content":[{{"type":"text","text":"{answer}"}}],"stopReason":"stop"}}}}"#
    ));
    lines.push('\n');
    lines.into_bytes()
}

fn tile(lines: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(STREAM_BYTES + lines.len());
    while stream.len() < STREAM_BYTES {
        stream.extend_from_slice(lines);
    }
    stream
}
