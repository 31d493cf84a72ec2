//! The index of what can be used: how long it takes to make, to look through unchanged, and to search, at 1 000 and at 10 000.
//!
//! The words are those of the recorded list, the common ones often and the rare ones seldom, put together by a fixed seed. The
//! requests are the recorded ones and as many of its words at random. The limits are those that were promised.

use impresario::capabilities::read_capabilities;
use impresario_actors::capability_index::{CapabilityRequest, CapabilityStore};
use impresario_policies::capability::Capability;
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

const SCOPE: &str = "/bench";
const SEARCHES: usize = 2_000;
/// Of 10 000: to make, to look through unchanged, and the slowest of a hundred searches.
const MADE_MS_MAX: f64 = 2_000.0;
const UNCHANGED_MS_MAX: f64 = 50.0;
const P99_MS_MAX: f64 = 2.0;

fn main() -> ExitCode {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/capability");
    let text = std::fs::read_to_string(recorded.join("corpus.json")).expect("the recorded list");
    let listed = read_capabilities(&text).expect("a list");
    let judged = std::fs::read_to_string(recorded.join("dev/judged.jsonl")).expect("the requests");
    let mut is_kept = true;
    println!(
        "{:>8} {:>10} {:>13} {:>9} {:>9} {:>9}",
        "entries", "made ms", "unchanged ms", "p50 ms", "p95 ms", "p99 ms"
    );
    for count in [1_000, 10_000] {
        let mut words = Words::of(&listed);
        let all: Vec<Capability> = (0..count).map(|number| words.capability(number)).collect();
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let open = || CapabilityStore::new(Some(place.path().to_path_buf()));
        let made = millis(|| assert_eq!(open().index(Path::new(SCOPE), &all).expect("made").changed, count));
        let mut again: Vec<f64> = (0..5)
            .map(|_| millis(|| assert_eq!(open().index(Path::new(SCOPE), &all).expect("same").changed, 0)))
            .collect();
        again.sort_by(f64::total_cmp);
        let mut requests: Vec<String> = judged.lines().filter_map(query_of).collect();
        while requests.len() < 200 {
            let length = 1 + requests.len() % 5;
            requests.push(words.some(length).join(" "));
        }
        let store = open();
        store.index(Path::new(SCOPE), &all).expect("same");
        let mut times: Vec<f64> = (0..SEARCHES)
            .map(|number| {
                let request = CapabilityRequest {
                    query: requests[number % requests.len()].clone(),
                    kind: None,
                    hits_max: 8,
                };
                millis(|| drop(store.search(Path::new(SCOPE), &request).expect("searched")))
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "{count:>8} {made:>10.1} {:>13.1} {:>9.3} {:>9.3} {:>9.3}",
            again[2],
            at(0.5),
            at(0.95),
            at(0.99)
        );
        is_kept &= made <= MADE_MS_MAX && again[2] <= UNCHANGED_MS_MAX && at(0.99) <= P99_MS_MAX;
    }
    println!("{}", if is_kept { "kept" } else { "MISSED" });
    if is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn millis(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1_000.0
}

fn query_of(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    line["input"]["query"].as_str().map(str::to_string)
}

/// The words of a list, and a row of numbers that is the same every time.
struct Words {
    all: Vec<String>,
    state: u64,
}

impl Words {
    fn of(listed: &[Capability]) -> Self {
        let texts = listed
            .iter()
            .map(|each| format!("{} {} {}", each.name, each.summary, each.params));
        let mut all = Vec::new();
        for text in texts {
            all.extend(
                text.split(|character: char| !character.is_alphanumeric())
                    .filter(|word| word.len() > 1)
                    .map(str::to_string),
            );
        }
        Self { all, state: 42 }
    }

    fn next(&mut self) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize
    }

    fn some(&mut self, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                let place = self.next() % self.all.len();
                self.all[place].clone()
            })
            .collect()
    }

    fn capability(&mut self, number: usize) -> Capability {
        let name = format!("{}_{number}", self.some(2).join("_"));
        Capability {
            id: format!("tool:pi:{name}"),
            kind: impresario_policies::capability::CapabilityKind::Tool,
            source: "pi".to_string(),
            summary: self.some(12).join(" "),
            params: self.some(14).join(" "),
            activation: name.clone(),
            name,
        }
    }
}
