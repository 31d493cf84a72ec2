//! Kills every actor at every message boundary of the main scenarios, and audits the promises.
//!
//! Everything happens on one thread under a paused clock; a seed is a whole run. A failing case prints the command that
//! replays it, for instance `IMPRESARIO_CHAOS=tools:seed:17 cargo test --test chaos replay -- --nocapture`.
//! `IMPRESARIO_CHAOS_SEEDS=5000` plays more seeds than CI does.

mod auditor;
#[path = "../../actors/src/journal/tests/disk.rs"]
#[allow(dead_code, reason = "the tests of the journal use the rest")]
mod disk;
mod scenarios;
mod world;

use impresario::chaos::{BoundaryKey, Plan, audit};
use scenarios::SCENARIOS;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use world::{Outcome, Scenario, play};

/// Seeds a scenario in CI; many thousands over all scenarios take seconds.
const SEEDS: u64 = 60;
/// The seed of everything that is no kill.
const SEED: u64 = 1;

fn seeded(seed: u64) -> Plan {
    Plan::Seeded {
        seed,
        per_mille: 25,
        kills_max: 40,
    }
}

/// Kills so dense that supervisors are killed while they restart somebody.
fn storm(seed: u64) -> Plan {
    Plan::Seeded {
        seed,
        per_mille: 150,
        kills_max: 60,
    }
}

fn scenario(wanted: &str) -> &'static Scenario {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == wanted);
    found.unwrap_or_else(|| panic!("there is no scenario {wanted:?}"))
}

/// What went wrong, with the command that shows it again.
fn complaint(name: &str, outcome: &Outcome, replay: &str) -> Option<String> {
    let breaches = audit(&outcome.evidence);
    if breaches.is_empty() {
        return None;
    }
    let listed = breaches
        .iter()
        .map(|breach| format!("  {} {}: {}", breach.promise, breach.run, breach.what));
    let listed = listed.collect::<Vec<_>>().join("\n");
    let killed = outcome
        .record
        .story
        .iter()
        .filter(|line| line.ends_with("KILLED"));
    let killed = killed.cloned().collect::<Vec<_>>().join("; ");
    Some(format!(
        "{name}: {killed}\n{listed}\n  REPLAY: IMPRESARIO_CHAOS={name}:{replay} cargo test --test chaos replay -- --nocapture"
    ))
}

fn assert_none(complaints: Vec<String>, played: u64) {
    let shown = complaints.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        complaints.is_empty(),
        "{} of {played} broke a promise:\n{shown}",
        complaints.len()
    );
}

#[test]
fn unharmed_scenarios_keep_every_promise() {
    let complaints = SCENARIOS.iter().filter_map(|scenario| {
        let outcome = play(scenario, Plan::Watch, SEED);
        assert!(outcome.record.boundaries > 0 && outcome.record.kills.is_empty());
        complaint(scenario.name, &outcome, "watch")
    });
    assert_none(complaints.collect(), SCENARIOS.len() as u64);
}

/// Where somebody was killed, out of all the places there are.
#[derive(Default)]
struct Coverage {
    killed: BTreeMap<BoundaryKey, u64>,
    known: BTreeSet<BoundaryKey>,
}

impl Coverage {
    fn add(&mut self, outcome: &Outcome) {
        for (key, times) in &outcome.record.killed {
            *self.killed.entry(*key).or_default() += times;
        }
        self.known.extend(&outcome.known);
    }

    fn print(&self) {
        println!("boundaries of the registry, and how often somebody was killed there:");
        for boundary @ (kind, message, when) in &self.known {
            println!(
                "  {:5}  {kind} {message} {when:?}",
                self.killed.get(boundary).copied().unwrap_or(0)
            );
        }
    }

    fn missing(&self) -> Vec<&BoundaryKey> {
        let reachable = self
            .known
            .iter()
            .filter(|boundary| !UNREACHABLE.contains(boundary));
        reachable
            .filter(|boundary| !self.killed.contains_key(*boundary))
            .collect()
    }
}

/// Boundaries that nothing in these scenarios reaches, and why.
const UNREACHABLE: &[BoundaryKey] = &[];

/// What came of all the kills in a scenario.
#[derive(Default)]
struct Toll {
    complaints: Vec<String>,
    single_kills: u64,
    seeded_runs: u64,
    seeded_kills: u64,
    coverage: Coverage,
}

impl Toll {
    fn of(scenario: &Scenario) -> Self {
        let mut toll = Self::default();
        let boundaries = play(scenario, Plan::Watch, SEED).record.boundaries;
        for place in 1..=boundaries {
            let outcome = play(scenario, Plan::At(vec![place]), SEED);
            assert_eq!(
                outcome.record.kills,
                [place],
                "{}: the fault was not injected",
                scenario.name
            );
            toll.add(scenario, &outcome, &format!("at:{place}"));
            toll.single_kills += 1;
        }
        // Supervisors hear of restarts only when somebody was killed before: those boundaries need a second kill.
        for seed in 1..=seeds() {
            for (how, plan) in [("seed", seeded(seed)), ("storm", storm(seed))] {
                let outcome = play(scenario, plan, seed);
                toll.seeded_kills += outcome.record.kills.len() as u64;
                toll.add(scenario, &outcome, &format!("{how}:{seed}"));
                toll.seeded_runs += 1;
            }
        }
        toll
    }

    fn add(&mut self, scenario: &Scenario, outcome: &Outcome, how: &str) {
        self.complaints.extend(complaint(scenario.name, outcome, how));
        self.coverage.add(outcome);
    }

    fn and(mut self, other: Self) -> Self {
        self.complaints.extend(other.complaints);
        self.single_kills += other.single_kills;
        self.seeded_runs += other.seeded_runs;
        self.seeded_kills += other.seeded_kills;
        for (boundary, times) in other.coverage.killed {
            *self.coverage.killed.entry(boundary).or_default() += times;
        }
        self.coverage.known.extend(other.coverage.known);
        self
    }
}

/// Each scenario has one thread and one clock; as many at a time as there are processors.
fn toll_of_all() -> Toll {
    let (next, tolls) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(scenario) = SCENARIOS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let toll = Toll::of(scenario);
                    tolls.lock().expect("nobody panicked").push(toll);
                }
            });
        }
    });
    let tolls = tolls.into_inner().expect("nobody panicked");
    tolls.into_iter().fold(Toll::default(), Toll::and)
}

#[test]
fn kills_at_every_boundary_of_the_registry_break_no_promise() {
    let toll = toll_of_all();
    println!("{} single kills", toll.single_kills);
    println!(
        "{} seeded runs with {} kills",
        toll.seeded_runs, toll.seeded_kills
    );
    toll.coverage.print();
    assert!(toll.seeded_kills > seeds(), "only {} kills", toll.seeded_kills);
    assert_none(toll.complaints, toll.single_kills + toll.seeded_runs);
    assert!(
        toll.coverage.missing().is_empty(),
        "nobody was ever killed at {:?}",
        toll.coverage.missing()
    );
    let reached = UNREACHABLE
        .iter()
        .filter(|boundary| toll.coverage.killed.contains_key(*boundary));
    assert_eq!(reached.count(), 0, "what is called unreachable was reached");
}

fn seeds() -> u64 {
    std::env::var("IMPRESARIO_CHAOS_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(SEEDS)
}

#[test]
fn one_seed_in_two_processes_gives_equal_digests() {
    let digest_of = |name: &str| play(scenario(name), seeded(7), 7).digest;
    if let Ok(name) = std::env::var("IMPRESARIO_CHAOS_DIGEST") {
        println!("digest {}", digest_of(&name));
        return;
    }
    for Scenario { name, .. } in SCENARIOS {
        let us = std::env::current_exe().unwrap();
        let other = std::process::Command::new(us)
            .args([
                "one_seed_in_two_processes_gives_equal_digests",
                "--exact",
                "--nocapture",
            ])
            .env("IMPRESARIO_CHAOS_DIGEST", name)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&other.stdout).into_owned();
        let theirs = printed.lines().find_map(|line| line.split("digest ").nth(1));
        assert_eq!(theirs, Some(digest_of(name).as_str()), "{name}: {printed}");
    }
}

/// Plays what `IMPRESARIO_CHAOS` names (`scenario:at:17`, `scenario:seed:17`, `scenario:watch`) and tells it in full.
#[test]
fn replay() {
    let Ok(wanted) = std::env::var("IMPRESARIO_CHAOS") else {
        return;
    };
    let mut parts = wanted.split(':');
    let name = parts.next().unwrap_or_default();
    let how = parts.next().unwrap_or("watch");
    let number = parts
        .next()
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(1);
    let outcome = match how {
        "seed" => play(scenario(name), seeded(number), number),
        "storm" => play(scenario(name), storm(number), number),
        "at" => play(scenario(name), Plan::At(vec![number]), SEED),
        _ => play(scenario(name), Plan::Watch, SEED),
    };
    for line in &outcome.record.story {
        println!("{line}");
    }
    for row in &outcome.evidence.rows {
        println!("{} {:3} {} {}", row.run, row.sequence, row.at_ms, row.step);
    }
    println!("dead letters: {:?}", outcome.dead_letters);
    if let Some(complaint) = complaint(name, &outcome, &format!("{how}:{number}")) {
        panic!("{complaint}");
    }
}
