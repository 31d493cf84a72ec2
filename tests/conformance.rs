//! Replays recorded inputs and outputs of peers against our own functions.
//!
//! The directory comes from `IMPRESARIO_VECTORS`, by default `tests/vectors`; in it lie files
//! `<peer>/…/<function>.jsonl`, one case a line. A function prints one line: how many cases passed, how many
//! failed, and how many differ in a known way. A difference is known when the case carries the id of a fault
//! of the peer and our predicate for that fault accepts what we did instead; every other difference fails.

#[path = "conformance/auggie/mod.rs"]
mod auggie;
#[path = "conformance/auto_context/mod.rs"]
mod auto_context;
#[path = "conformance/blackbytes/mod.rs"]
mod blackbytes;
#[path = "conformance/capability/mod.rs"]
mod capability;
#[path = "conformance/compare.rs"]
mod compare;
#[path = "../actors/src/journal/tests/disk.rs"]
#[allow(dead_code, reason = "the tests of the journal use the rest")]
mod disk;
#[path = "conformance/json.rs"]
mod json;
#[path = "conformance/nested_agents/mod.rs"]
mod nested_agents;
#[path = "conformance/vectors.rs"]
mod vectors;

use json::Json;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use vectors::{Answer, Case};

/// The peers vectors exist of.
const PEERS: [&str; 5] = [
    "auggie",
    "blackbytes",
    "capability",
    "nested-agents",
    "auto-context",
];

/// How many failed cases of a function are shown in full.
const SHOWN_MAX: usize = 3;

/// One function of a peer that we have a counterpart of.
pub struct Function {
    /// As the peer's file is called.
    name: &'static str,
    /// Runs our counterpart.
    replay: fn(&Case) -> Answer,
    /// Whether our different answer is what we want instead of this fault of the peer.
    accepts: fn(&str, &Case, &Answer) -> bool,
    /// What we do differently on purpose where the record names no fault, in a word.
    differs: fn(&str, &Case, &Answer) -> Option<&'static str>,
    /// The part of a recorded answer that ours has, too.
    covered: fn(&Json) -> Json,
}

#[derive(Default)]
struct Tally {
    passed: usize,
    known: usize,
    ours: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed, known) = (self.passed, self.failures.len(), self.known);
        write!(f, "{passed} passed, {failed} failed, {known} known differences")?;
        for (what, count) in &self.ours {
            write!(f, "\n    {count} of them: {what}")?;
        }
        Ok(())
    }
}

#[test]
fn every_recorded_case_is_reproduced_or_improved() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    // An empty value is none.
    let given = std::env::var_os("IMPRESARIO_VECTORS").filter(|given| !given.is_empty());
    let directory = given.map_or(own, PathBuf::from);
    let files = vectors::files_below(&directory);
    assert!(!files.is_empty(), "no vectors below {}", directory.display());

    let mut tallies: BTreeMap<(String, String), Option<Tally>> = BTreeMap::new();
    for file in &files {
        let (peer, name) = peer_and_function(&directory, file);
        let function = find_function(&peer, &name);
        let entry = tallies.entry((peer, name)).or_default();
        if let Some(function) = function {
            replay_file(file, &function, entry.get_or_insert_default());
        }
    }
    report(&tallies);
}

/// The peer is the path component that names one, else the first below the directory; the function is the file's
/// name.
fn peer_and_function(directory: &Path, file: &Path) -> (String, String) {
    let below = file.strip_prefix(directory).unwrap_or(file);
    let parts = |path: &Path| -> Vec<String> {
        let parts = path.parent().unwrap_or(path).components();
        parts
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect()
    };
    let is_peer = |part: &&String| PEERS.contains(&part.as_str());
    let (inside, around) = (parts(below), parts(&directory.join("x")));
    let named = inside
        .iter()
        .find(is_peer)
        .or_else(|| around.iter().rev().find(is_peer));
    let peer = named.or(inside.first()).cloned();
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    (
        peer.unwrap_or_else(|| "unknown".to_string()),
        name.unwrap_or_default(),
    )
}

fn find_function(peer: &str, name: &str) -> Option<Function> {
    let functions = match peer {
        "auggie" => auggie::functions(),
        "auto-context" => auto_context::functions(),
        "blackbytes" => blackbytes::functions(),
        "capability" => capability::functions(),
        "nested-agents" => nested_agents::functions(),
        _ => Vec::new(),
    };
    functions.into_iter().find(|function| function.name == name)
}

fn replay_file(file: &Path, function: &Function, tally: &mut Tally) {
    for case in vectors::cases_in(file) {
        let mut case = match case {
            Ok(case) => case,
            Err(what) => {
                tally.failures.insert(0, what);
                continue;
            }
        };
        if let Answer::Value(recorded) = &case.expected {
            case.expected = Answer::Value((function.covered)(recorded));
        }
        let Ok(ours) = catch_unwind(AssertUnwindSafe(|| (function.replay)(&case))) else {
            tally.failures.insert(0, format!("{} panicked", case.describe()));
            continue;
        };
        if compare::same_answer(&case.expected, &ours) {
            tally.passed += 1;
            continue;
        }
        let accepted = |defect: &String| (function.accepts)(defect, &case, &ours);
        if case.defects.iter().any(accepted) {
            tally.known += 1;
            continue;
        }
        if let Some(what) = (function.differs)(function.name, &case, &ours) {
            tally.known += 1;
            *tally.ours.entry(what).or_default() += 1;
            continue;
        }
        let shown = format!(
            "{}\n{}",
            case.describe(),
            compare::difference(&case.expected, &ours)
        );
        // What no fault of the peer explains comes first.
        let place = if case.defects.is_empty() {
            0
        } else {
            tally.failures.len()
        };
        tally.failures.insert(place, shown);
    }
}

fn report(tallies: &BTreeMap<(String, String), Option<Tally>>) {
    let mut wrong = Vec::new();
    for ((peer, name), tally) in tallies {
        let Some(tally) = tally else {
            if peer == "auggie" && auggie::not_covered::is_whole(name) {
                continue;
            }
            if peer == "blackbytes" && blackbytes::not_covered::is_listed(name) {
                continue;
            }
            if peer == "capability" && capability::not_covered::is_listed(name) {
                continue;
            }
            println!("{peer}/{name}: not implemented");
            if peer == "auggie" {
                wrong.push(format!("{peer}/{name}: not implemented"));
            }
            continue;
        };
        println!("{peer}/{name}: {tally}");
        for failure in tally.failures.iter().take(SHOWN_MAX) {
            wrong.push(format!("{peer}/{name}: {failure}"));
        }
    }
    for (function, what) in auggie::not_covered::LIST {
        println!("auggie/{function}: not covered: {what}");
    }
    for (function, what) in capability::not_covered::LIST {
        println!("capability/{function}: not covered: {what}");
    }
    for (function, what) in blackbytes::not_covered::LIST {
        println!("blackbytes/{function}: not covered: {what}");
        if matches!(
            tallies.get(&("blackbytes".to_string(), function.to_string())),
            Some(Some(_))
        ) {
            wrong.push(format!(
                "blackbytes/{function}: is covered, and listed as if it were not"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} complaints:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
