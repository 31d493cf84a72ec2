//! Storms in real Pi of both versions: a seed chooses what the sub-agents are to each other and what they do, what their
//! provider does to one of them, who is killed, and at which moment; afterwards the promises are audited.
//!
//! `IMPRESARIO_STORM_SEEDS=400` plays more seeds, `IMPRESARIO_STORM_SEED=17` and `IMPRESARIO_STORM_PI=0.87.1` play one
//! again, `IMPRESARIO_STORM_WIDTH=8` plays more side by side.

#![cfg(target_os = "linux")]

#[path = "../audit/mod.rs"]
mod audit;
mod edits;
#[path = "../pi/host.rs"]
mod host;
mod play;
mod script;
mod shown;
mod storm;

use impresario_test_support::pi::Version;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;
use storm::{Kind, Storm};

const SEEDS: u64 = 40;
/// So many storms side by side: each waits most of its time.
const WIDTH: usize = 4;

#[test]
fn storms_break_no_promise() {
    let versions = Version::ALL
        .into_iter()
        .filter(|version| chosen("IMPRESARIO_STORM_PI").is_none_or(|only| only == version.as_str()));
    let seeds = match number("IMPRESARIO_STORM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("IMPRESARIO_STORM_SEEDS").unwrap_or(SEEDS),
    };
    let storms = versions.flat_map(|version| seeds.clone().map(move |seed| Storm::of(seed, version)));
    let waiting = Mutex::new(storms.collect::<Vec<_>>());
    let failed = Mutex::new(Vec::new());
    let width = number("IMPRESARIO_STORM_WIDTH").map_or(WIDTH, |width| width as usize);
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                loop {
                    let Some(storm) = waiting.lock().expect("the queue").pop() else {
                        return;
                    };
                    let began = Instant::now();
                    let ended = catch_unwind(AssertUnwindSafe(|| storm.play()));
                    eprintln!(
                        "{} {:?} {storm:?}",
                        if ended.is_ok() { "held" } else { "BROKE" },
                        began.elapsed()
                    );
                    if ended.is_err() {
                        failed.lock().expect("the list").push(storm.replay());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    assert!(
        failed.is_empty(),
        "a promise was broken; again with\n{}",
        failed.join("\n")
    );
}

fn chosen(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

fn number(variable: &str) -> Option<u64> {
    chosen(variable).map(|text| text.parse().unwrap_or_else(|error| panic!("{variable}: {error}")))
}

#[test]
fn a_seed_is_a_storm_and_sixty_have_every_pair_of_fault_and_victim_and_seven_every_kind() {
    let storm = |seed| Storm::of(seed, Version::ALL[0]);
    let mut pairs = BTreeSet::new();
    for seed in 0..60 {
        assert_eq!(format!("{:?}", storm(seed)), format!("{:?}", storm(seed)));
        let ill = storm(seed).ill.map(|(_, ill)| ill);
        pairs.insert(format!("{ill:?} {:?}", storm(seed).victim()));
    }
    assert_eq!(pairs.len(), 30);
    let kinds = (0..7).map(|seed| std::mem::discriminant(&storm(seed).kind));
    assert_eq!(kinds.collect::<std::collections::HashSet<_>>().len(), 7);
    let chains = (0..SEEDS).filter_map(|seed| match storm(seed).kind {
        Kind::Chain { in_background } => Some(in_background),
        _ => None,
    });
    assert_eq!(
        chains.collect::<BTreeSet<_>>().len(),
        2,
        "some wait and some do not"
    );
}

/// Without a kill, all of their calls together take more than they may.
#[test]
fn some_of_those_that_are_capped_reach_their_cap() {
    let reached = (0..SEEDS)
        .map(|seed| Storm::of(seed, Version::ALL[0]))
        .filter(|storm| {
            let calls: usize = storm.children.iter().map(|works| works.len() + 1).sum();
            let takes = calls as u64 * script::CALL_TOKENS;
            matches!(storm.kind, Kind::Capped { tokens } if takes > tokens + script::CALL_TOKENS)
                && storm.kill.is_none()
        });
    assert!(reached.count() > 0);
}
