//! Where we differ on purpose. Each difference is recognised by what it is, never by a record's name.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use std::collections::BTreeSet;

/// Whether ours is what we want instead of this fault.
pub fn accepts(fault: &str, case: &Case, ours: &Answer) -> bool {
    match fault {
        "the start directory itself is collected before any boundary test" => {
            matches!(ours, Answer::Value(Json::Array(found)) if found.is_empty())
        }
        "the text just read is injected a second time" => injected_in_all(ours) == 0,
        "dedup is by directory, not by content" => injected(ours).iter().all(|files| files.len() == 1),
        "the directory is injected more than once: the check and the mark are separated by awaits" => {
            let paths = injected(ours).concat();
            let once: BTreeSet<&String> = paths.iter().collect();
            once.len() == paths.len() && once.len() == 2
        }
        "outermost-first with a running budget starves the innermost (most specific) files" => {
            innermost_first(case, ours)
        }
        "an event before session_start is still injected" => given_at(ours).is_empty(),
        "after going back in the tree the rules are no longer in context and are not injected again" => {
            // After the step back once more, and not after the fork that kept them.
            given_at(ours) == [1, 3]
        }
        _ => false,
    }
}

/// What we do differently where the record names no fault.
pub fn ours(function: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    match function {
        "contain" => (names_as_pi_does(case) && case_is_null(case) && below_the_root(ours))
            .then_some("a path means what it means to Pi"),
        "find_up" => goes_through_a_link(case).then_some("a place is where its links lead"),
        "inject" => (is_short(case) && innermost_first(case, ours))
            .then_some("the innermost rules take their room first"),
        "lifecycle" => lifecycle(case, ours),
        _ => None,
    }
}

fn case_is_null(case: &Case) -> bool {
    case.expected == Answer::Value(Json::Null)
}

fn names_as_pi_does(case: &Case) -> bool {
    let path = case.text("file_path");
    let begins = ["@", "~", "file://"].iter().any(|sign| path.starts_with(sign));
    begins || path.chars().any(|c| c.is_whitespace() && c != ' ')
}

fn below_the_root(ours: &Answer) -> bool {
    let text = |key: &str| ours.get(key).as_str().map(str::to_string).unwrap_or_default();
    let root = text("canonical_root");
    !root.is_empty() && text("canonical_path").starts_with(&format!("{root}/"))
}

fn goes_through_a_link(case: &Case) -> bool {
    let links = case.get("tree").get("symlinks").and_then(Json::as_object);
    let start = case.text("start_dir");
    let through = |(link, _): &(String, Json)| format!("{start}/").contains(&format!("/{link}/"));
    links.unwrap_or_default().iter().any(through)
}

/// The reads of a case, those of one turn each for itself.
fn reads(answer: &Answer) -> Vec<&Json> {
    let steps = answer.get("steps").as_array().unwrap_or_default().iter();
    let reads = steps.flat_map(|step| match step {
        Json::Array(reads) => reads.iter().collect(),
        Json::Null => Vec::new(),
        read => vec![read],
    });
    reads.collect()
}

fn files(read: &Json) -> &[Json] {
    read.get("files").and_then(Json::as_array).unwrap_or_default()
}

fn injected(answer: &Answer) -> Vec<Vec<String>> {
    let paths = |read: &Json| {
        let paths = files(read).iter().filter_map(|file| file.get("path")?.as_str());
        paths.map(str::to_string).collect()
    };
    reads(answer).into_iter().map(paths).collect()
}

fn injected_in_all(answer: &Answer) -> usize {
    injected(answer).concat().len()
}

fn limit(case: &Case, key: &str, otherwise: f64) -> f64 {
    let limit = case.get("config").get(key).and_then(Json::as_number);
    limit.unwrap_or(otherwise)
}

fn bytes(file: &Json, key: &str) -> f64 {
    file.get(key).and_then(Json::as_number).unwrap_or_default()
}

/// What came with one result was all that may come.
fn is_short(case: &Case) -> bool {
    let (of_file, of_read) = limits(case);
    reads(&case.expected).into_iter().any(|read| {
        let wanted: f64 = files(read)
            .iter()
            .map(|file| bytes(file, "original_bytes").min(of_file))
            .sum();
        wanted >= of_read
    })
}

fn limits(case: &Case) -> (f64, f64) {
    (
        limit(case, "max_bytes_per_file", 32_768.0),
        limit(case, "max_bytes_per_read", 131_072.0),
    )
}

/// The last file has all the room there is, and what is before it no more than is left; a character may not fit.
fn innermost_first(case: &Case, ours: &Answer) -> bool {
    const CHARACTER: f64 = 3.0;
    let (of_file, of_read) = limits(case);
    reads(ours).into_iter().all(|read| {
        let mut left = of_read;
        files(read).iter().rev().all(|file| {
            let room = of_file.min(left).min(bytes(file, "original_bytes"));
            let shown = bytes(file, "injected_bytes");
            left -= shown;
            shown <= room && shown >= room - CHARACTER
        })
    })
}

/// The steps at which rules were given.
fn given_at(ours: &Answer) -> Vec<usize> {
    let Answer::Value(Json::Array(steps)) = ours else {
        return vec![usize::MAX];
    };
    let given = |(_, step): &(usize, &Json)| step.get("returned").is_some_and(|given| given != &Json::Null);
    steps.iter().enumerate().filter(given).map(|(at, _)| at).collect()
}

fn lifecycle(case: &Case, ours: &Answer) -> Option<&'static str> {
    let (Answer::Value(Json::Array(recorded)), Answer::Value(Json::Array(found))) = (&case.expected, ours)
    else {
        return None;
    };
    let steps = case.list("steps");
    let is = |step: &Json, key: &str, value: &str| step.get(key).and_then(Json::as_str) == Some(value);
    let edits = |step: &Json| {
        step.get("event")
            .is_some_and(|event| is(event, "toolName", "edit"))
    };
    if steps.iter().any(edits) {
        // The edit has the rules; whoever reads there next has them already.
        return (given_at(ours).len() == given_at(&case.expected).len())
            .then_some("whoever edits a file has its rules");
    }
    let same = |member: &str| {
        let pairs = recorded.iter().zip(found);
        pairs
            .filter(|(recorded, found)| recorded.get(member) != found.get(member))
            .count()
            == 0
    };
    let ends = steps.iter().any(|step| is(step, "name", "session_shutdown"));
    if ends && same("returned") && same("entries") {
        return Some("what ended shows nothing more");
    }
    let unseen =
        case.get("has_ui") == &Json::Bool(false) || steps.iter().any(|step| is(step, "op", "has_ui"));
    let but_for_notices = same("returned") && same("entries") && same("statuses") && same("widgets");
    if unseen && but_for_notices {
        return Some("without a screen a notice goes to stderr");
    }
    let is_elsewhere = steps.iter().any(|step| is(step, "op", "session_file"));
    let of_memory = case.get("session_file") == &Json::Null;
    ((is_elsewhere || of_memory) && same("returned") && same("notifications"))
        .then_some("a session has a list and a name of its own")
}
