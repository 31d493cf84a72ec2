//! Every recorded run of real Pi is read as it really ended, with its answer, its tools and its retries.

use impresario_actors::gateways::RunnerEvent;
use impresario_actors::runners::pi::reader::{EventReader, Seen};
use impresario_policies::attempt_ending::{describe_ending, read_ending};
use impresario_policies::domain::{AttemptEnding, EndFacts};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq)]
struct Expected {
    version: String,
    scenario: String,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    stop_ordered: bool,
    read: Reading,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Reading {
    ending: String,
    answer: String,
    tools_started: usize,
    tools_ended: usize,
    tools_failed: usize,
    retries: usize,
    unread: u64,
}

#[derive(Deserialize)]
struct Pieces {
    pieces: Vec<(String, usize)>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn expectations() -> Vec<Expected> {
    let table = fs::read_to_string(directory().join("expected.tsv")).expect("the table of expected endings");
    table.lines().skip(1).map(expectation).collect()
}

fn expectation(row: &str) -> Expected {
    let cells: Vec<&str> = row.split('\t').collect();
    let [
        version,
        scenario,
        exit,
        signal,
        stop,
        ending,
        answer,
        started,
        ended,
        failed,
        retries,
        reason,
    ] = cells
        .try_into()
        .unwrap_or_else(|_| panic!("a row has twelve cells: {row}"));
    assert!(!reason.is_empty(), "every expectation has a reason: {row}");
    let count = |cell: &str| cell.parse().unwrap_or_else(|_| panic!("a count in {row}"));
    Expected {
        version: version.to_string(),
        scenario: scenario.to_string(),
        exit_code: exit.parse().ok(),
        exit_signal: (signal == "SIGKILL").then_some(9),
        stop_ordered: stop == "yes",
        read: Reading {
            ending: ending.to_string(),
            answer: answer.to_string(),
            tools_started: count(started),
            tools_ended: count(ended),
            tools_failed: count(failed),
            retries: count(retries),
            unread: 0,
        },
    }
}

fn stream(version: &str, scenario: &str) -> Vec<u8> {
    let path = directory().join(version).join(format!("{scenario}.jsonl"));
    let recorded =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    let mut stream = Vec::new();
    for line in recorded.split_terminator('\n') {
        match line.strip_prefix("{\"pieces\"") {
            Some(_) => put_together(line, &mut stream),
            None => stream.extend_from_slice(line.as_bytes()),
        }
        stream.push(b'\n');
    }
    stream
}

fn put_together(line: &str, stream: &mut Vec<u8>) {
    let Pieces { pieces } = serde_json::from_str(line).expect("pieces of a long line");
    for (text, count) in pieces {
        stream.extend_from_slice(text.repeat(count).as_bytes());
    }
}

fn replay(expected: &Expected, chunk: usize) -> (Reading, EndFacts, String) {
    let mut reader = EventReader::default();
    let mut seen = Vec::new();
    for chunk in stream(&expected.version, &expected.scenario).chunks(chunk) {
        reader.feed(chunk, &mut seen);
    }
    reader.finish(&mut seen);
    let facts = EndFacts {
        exit_code: expected.exit_code,
        exit_signal: expected.exit_signal,
        stop_ordered: expected.stop_ordered,
        ..reader.facts()
    };
    let mut read = Reading {
        unread: facts.unread_lines,
        answer: shown(&facts.answer, &expected.read.answer),
        ..Reading::default()
    };
    let mut streamed = String::new();
    for seen in &seen {
        match seen {
            Seen::Event(RunnerEvent::ToolStarted { .. }) => read.tools_started += 1,
            Seen::Event(RunnerEvent::ToolEnded { is_error, .. }) => {
                read.tools_ended += 1;
                read.tools_failed += usize::from(*is_error);
            }
            Seen::Event(RunnerEvent::RetryAnnounced { .. }) => read.retries += 1,
            Seen::Event(RunnerEvent::Text { delta }) => streamed.push_str(delta),
            _ => {}
        }
    }
    read.ending = name(read_ending(&facts));
    (read, facts, streamed)
}

fn shown(answer: &str, as_expected: &str) -> String {
    if as_expected.starts_with('@') {
        return format!("@{}", answer.len());
    }
    serde_json::to_string(answer).expect("a text has a JSON form")
}

fn name(ending: AttemptEnding) -> String {
    serde_json::to_value(ending)
        .expect("an ending has a name")
        .as_str()
        .unwrap_or_default()
        .to_string()
}

#[test]
fn all_62_recordings_are_in_the_table() {
    let mut recorded = Vec::new();
    for version in ["0.74.2", "0.87.1"] {
        for entry in fs::read_dir(directory().join(version)).expect("recordings") {
            let path = entry.expect("a recording").path();
            let scenario = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("a scenario's name");
            recorded.push((version.to_string(), scenario.to_string()));
        }
    }
    recorded.sort();
    let mut expected: Vec<_> = expectations()
        .into_iter()
        .map(|row| (row.version, row.scenario))
        .collect();
    expected.sort();
    assert_eq!(recorded.len(), 62);
    assert_eq!(recorded, expected);
}

#[test]
fn every_recording_is_read_as_it_ended() {
    for expected in expectations() {
        let (read, _, streamed) = replay(&expected, 64 * 1024);
        assert_eq!(read, expected.read, "{} {}", expected.version, expected.scenario);
        let answer: String = serde_json::from_str(&expected.read.answer).unwrap_or_default();
        assert!(
            streamed.contains(&answer),
            "progress brought the answer: {} {}",
            expected.version,
            expected.scenario
        );
    }
}

#[test]
fn it_does_not_matter_where_the_pipe_cuts() {
    for expected in expectations()
        .iter()
        .filter(|row| !row.scenario.starts_with("long-"))
    {
        let (read, ..) = replay(expected, 7);
        assert_eq!(read, expected.read, "{} {}", expected.version, expected.scenario);
    }
}

#[test]
fn whoever_stopped_it_a_run_without_an_answer_is_then_cancelled() {
    for mut expected in expectations() {
        expected.stop_ordered = true;
        let ending = if expected.read.ending == "answered" {
            "answered"
        } else {
            "cancelled"
        };
        assert_eq!(
            replay(&expected, 64 * 1024).0.ending,
            ending,
            "{} {}",
            expected.version,
            expected.scenario
        );
    }
}

#[test]
fn a_failure_says_what_the_provider_said() {
    let mut details = Vec::new();
    for expected in expectations() {
        if !["unavailable", "authentication", "crashed", "lost"].contains(&expected.read.ending.as_str()) {
            continue;
        }
        let (_, facts, _) = replay(&expected, 64 * 1024);
        details.push((expected.scenario, describe_ending(&facts, read_ending(&facts))));
    }
    let said = |scenario: &str| -> Vec<&str> {
        details
            .iter()
            .filter(|(of, _)| of == scenario)
            .map(|(_, detail)| detail.as_str())
            .collect()
    };
    assert_eq!(said("provider-529-exhausted"), ["529 Overloaded"; 2]);
    assert_eq!(said("provider-401"), ["401 Incorrect API key provided"; 2]);
    assert_eq!(
        said("session-file-kill-resume"),
        ["the process died of signal 9 before it was done"; 2]
    );
    assert_eq!(
        said("rpc-stdin-close-midrun"),
        ["the process exited with code 0 before it was done"; 2]
    );
}
