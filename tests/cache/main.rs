//! What requests cost with the host's own cache markers and with ours, as the service would charge them.
//!
//! The recordings hold requests as they went out, without their texts: a hash, a length and a kind for each block.
//! `cargo test --test cache -- --nocapture` prints the table that stands in docs/benchmarks.md.

#[path = "../audit/mod.rs"]
mod audit;
mod peers;
mod recordings;
mod sequences;
mod session;

use impresario_policies::cache_markers::{
    Block, BlockKind, Charge, Lifetime, MarkerRequest, Planner, Prompt, PromptCache, prices_of, tokens_min_of,
};
use impresario_policies::domain::CacheTerms;
use recordings::{Recording, recorded};
use std::time::Duration;

const MARKERS_MAX: usize = 4;

/// What one sequence of requests is charged.
struct Priced {
    charge: Charge,
    cost: f64,
    /// Requests that the service refuses.
    refused: usize,
}

fn price(recording: &Recording, mut layout: impl FnMut(&[Block], Duration) -> Vec<Block>) -> Priced {
    let (mut service, mut now) = (PromptCache::default(), Duration::ZERO);
    let terms = recording.terms();
    let tokens_min = tokens_min_of(&recording.model, &terms);
    let (mut charge, mut refused) = (Charge::default(), 0);
    for request in &recording.requests {
        now += request.after;
        let sent = layout(&request.blocks, now);
        refused += usize::from(is_refused(&sent));
        let prompt = Prompt::of(&sent);
        charge += service.charge(now, &sent, &prompt, terms.lookback, tokens_min);
    }
    Priced {
        charge,
        cost: charge.cost(prices_of(&recording.model)),
        refused,
    }
}

fn is_refused(blocks: &[Block]) -> bool {
    let marked = blocks
        .iter()
        .filter_map(|block| Some((block.kind, block.marker?)));
    let marked = marked.collect::<Vec<_>>();
    let first_short = marked
        .iter()
        .position(|(_, lives)| *lives == Lifetime::FiveMinutes);
    let behind = &marked[first_short.unwrap_or(marked.len())..];
    let refuses =
        |kind: &BlockKind| matches!(kind, BlockKind::Thinking | BlockKind::Empty | BlockKind::Plain);
    marked.len() > MARKERS_MAX
        || behind.iter().any(|(_, lives)| *lives == Lifetime::OneHour)
        || marked.iter().any(|(kind, _)| refuses(kind))
}

fn as_it_was(recording: &Recording) -> Priced {
    price(recording, |blocks, _| blocks.to_vec())
}

fn planned(recording: &Recording) -> Priced {
    let mut planner = Planner::default();
    let terms = recording.terms();
    price(recording, |blocks, now| {
        let request = MarkerRequest {
            conversation: "S".to_string(),
            model: recording.model.clone(),
            blocks: blocks.to_vec(),
        };
        let mut sent = blocks.to_vec();
        for edit in planner.plan(&request, now, &terms).edits {
            sent[edit.place].marker = edit.marker;
        }
        sent
    })
}

#[test]
fn the_simulated_service_charges_what_was_expected() {
    for recording in recorded() {
        let (mut service, mut now) = (PromptCache::default(), Duration::ZERO);
        let terms: CacheTerms = recording.terms();
        for (at, request) in recording.requests.iter().enumerate() {
            let Some(expected) = request.expected else {
                continue;
            };
            now += request.after;
            let prompt = Prompt::of(&request.blocks);
            let charge = service.charge(now, &request.blocks, &prompt, terms.lookback, terms.tokens_min);
            assert_eq!(charge, expected, "{}, request {at}", recording.name);
        }
    }
}

#[test]
fn no_sequence_costs_more_than_with_the_hosts_own_markers_and_none_is_refused() {
    let mut dearer = Vec::new();
    println!("| requests | | host's own | ours | |\n|---|---|---|---|---|");
    for recording in recordings::all() {
        let (own, ours) = (
            as_it_was(&recording.with_hosts_markers()),
            planned(&recording.with_hosts_markers()),
        );
        let (own_cost, saved) = match own.refused {
            0 => (
                format!("{:.0}", own.cost),
                format!("{:+.1} %", (ours.cost / own.cost - 1.0) * 100.0),
            ),
            _ => ("refused".to_string(), "–".to_string()),
        };
        println!(
            "| {} | {} | {own_cost} | {:.0} | {saved} |",
            recording.name,
            recording.requests.len(),
            ours.cost,
        );
        assert_eq!(ours.refused, 0, "{}", recording.name);
        assert_eq!(ours.charge.tokens(), own.charge.tokens(), "{}", recording.name);
        let is_dearer = own.refused == 0 && ours.cost > own.cost + 0.5;
        let saves_too_little = recording.saves && ours.cost >= own.cost;
        if is_dearer || saves_too_little {
            dearer.push(format!(
                "{}: {:.0} against {:.0}",
                recording.name, ours.cost, own.cost
            ));
        }
    }
    assert_eq!(dearer, Vec::<String>::new());
}
