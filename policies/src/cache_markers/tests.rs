use super::*;
use crate::domain::CacheTerms;
use BlockKind::{Empty, Nested, Plain, Request, Said, System, Text, Thinking, Tool, ToolResult, ToolUse};
use Lifetime::{FiveMinutes, OneHour};
use std::time::Duration;

const SHORT: Option<Lifetime> = Some(FiveMinutes);
const LONG: Option<Lifetime> = Some(OneHour);

fn blocks(kinds: &[(BlockKind, Option<Lifetime>)]) -> Vec<Block> {
    let block = |(content, (kind, marker)): (u64, &(BlockKind, Option<Lifetime>))| Block {
        kind: *kind,
        tokens: 1_000,
        content,
        marker: *marker,
        anchor: false,
    };
    (1..).zip(kinds).map(block).collect()
}

fn request(blocks: Vec<Block>) -> MarkerRequest {
    MarkerRequest {
        conversation: "S".into(),
        model: "claude".into(),
        blocks,
    }
}

fn planned(planner: &mut Planner, blocks: &[Block], terms: &CacheTerms) -> Vec<(usize, Lifetime)> {
    let mut sent = blocks.to_vec();
    for edit in planner
        .plan(&request(blocks.to_vec()), Duration::ZERO, terms)
        .edits
    {
        sent[edit.place].marker = edit.marker;
    }
    let marked = sent
        .iter()
        .enumerate()
        .filter_map(|(place, block)| Some((place, block.marker?)));
    marked.collect()
}

/// `expected`: where markers are afterwards; all of them live five minutes.
fn check(kinds: &[(BlockKind, Option<Lifetime>)], anchor: Option<usize>, expected: &[usize]) {
    let mut blocks = blocks(kinds);
    if let Some(anchor) = anchor {
        blocks[anchor].anchor = true;
    }
    let found = planned(&mut Planner::default(), &blocks, &CacheTerms::default());
    let expected = expected
        .iter()
        .map(|place| (*place, FiveMinutes))
        .collect::<Vec<_>>();
    assert_eq!(found, expected);
}

const PI: [(BlockKind, Option<Lifetime>); 8] = [
    (Tool, None),
    (Tool, SHORT),
    (System, SHORT),
    (Text, None),
    (ToolUse, None),
    (ToolResult, None),
    (ToolUse, None),
    (ToolResult, SHORT),
];

#[test]
fn the_layout_of_the_host_stays_and_an_anchor_comes_fourth() {
    check(&PI, None, &[1, 2, 7]);
    check(&PI, Some(5), &[1, 2, 5, 7]);
}

#[test]
fn a_request_that_wants_no_markers_gets_none() {
    check(&[(Tool, None), (System, None), (Text, None)], Some(2), &[]);
}

#[test]
fn markers_that_the_service_refuses_go() {
    check(
        &[
            (System, SHORT),
            (Plain, None),
            (Thinking, SHORT),
            (Empty, SHORT),
            (Text, SHORT),
        ],
        None,
        &[0, 4],
    );
}

#[test]
fn too_many_markers_lose_the_oldest_of_the_conversation_first() {
    let kinds = [
        (Tool, SHORT),
        (System, SHORT),
        (Text, SHORT),
        (Said, SHORT),
        (Text, SHORT),
        (Said, None),
        (Text, SHORT),
    ];
    check(&kinds, None, &[0, 1, 4, 6]);
}

#[test]
fn a_marker_within_a_result_counts_as_one() {
    let kinds = [
        (Tool, SHORT),
        (System, SHORT),
        (Text, SHORT),
        (ToolResult, None),
        (Nested, SHORT),
        (ToolResult, SHORT),
    ];
    check(&kinds, None, &[0, 1, 4, 5]);
}

#[test]
fn the_marker_of_the_request_itself_is_one_on_its_last_block() {
    let kinds = |last| {
        [
            (System, SHORT),
            (Text, SHORT),
            (Said, None),
            (Text, last),
            (Request, SHORT),
        ]
    };
    check(&kinds(None), None, &[0, 1, 2, 4]);
    check(&kinds(SHORT), None, &[0, 1, 2, 3]);
}

#[test]
fn the_end_of_the_turn_before_is_marked_where_there_is_room() {
    let kinds = [
        (System, SHORT),
        (Text, None),
        (Said, None),
        (Text, None),
        (ToolUse, None),
        (ToolResult, SHORT),
    ];
    check(&kinds, None, &[0, 2, 5]);
}

#[test]
fn no_marker_lives_longer_than_one_before_it() {
    let mut planner = Planner::default();
    let terms = CacheTerms::default();
    let found = planned(
        &mut planner,
        &blocks(&[(Tool, LONG), (System, SHORT), (Text, LONG)]),
        &terms,
    );
    assert_eq!(found, [(0, OneHour), (1, FiveMinutes), (2, FiveMinutes)]);
    let mut long = blocks(&PI.map(|(kind, marker)| (kind, marker.and(LONG))));
    long[5].anchor = true;
    let found = planned(&mut Planner::default(), &long, &terms);
    assert_eq!(found, [(1, OneHour), (2, OneHour), (5, OneHour), (7, OneHour)]);
}

#[test]
fn a_spare_marker_is_not_paid_for_with_the_tail() {
    for (spare, expected) in [(1, vec![2, 5, 7]), (2, vec![2, 7]), (3, vec![7]), (9, vec![7])] {
        let mut blocks = blocks(&PI);
        blocks[5].anchor = true;
        let terms = CacheTerms {
            spare,
            ..CacheTerms::default()
        };
        let found = planned(&mut Planner::default(), &blocks, &terms);
        assert_eq!(
            found.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn switched_off_it_changes_nothing() {
    let terms = CacheTerms {
        enabled: false,
        ..CacheTerms::default()
    };
    let plan = Planner::default().plan(&request(blocks(&[(Text, SHORT); 6])), Duration::ZERO, &terms);
    assert_eq!(plan.edits, []);
    assert_eq!(plan.seen.tokens, 6_000);
}

#[test]
fn what_is_in_the_cache_is_read_however_far_back_it_lies() {
    let (mut planner, terms) = (Planner::default(), CacheTerms::default());
    let first = [(System, SHORT), (Text, None), (Said, None), (Text, SHORT)];
    planned(&mut planner, &blocks(&first), &terms);
    let far = (0..40).map(|number| {
        if number % 2 == 0 {
            (Said, None)
        } else {
            (Text, None)
        }
    });
    let kinds = [(System, SHORT), (Text, None), (Said, None), (Text, None)]
        .into_iter()
        .chain(far)
        .chain([(Text, SHORT)]);
    let later = blocks(&kinds.collect::<Vec<_>>());
    let found = planned(&mut planner, &later, &terms);
    let between = found.iter().any(|(place, _)| (3..21).contains(place));
    assert!(between, "{found:?}");
    // After six minutes it is not there any more.
    let plan = planner.plan(&request(later), Duration::from_secs(360), &terms);
    assert_eq!(plan.seen.idle, Some(Duration::from_secs(360)));
    assert_eq!(plan.seen.expected.read, 0);
}

#[test]
fn what_nobody_reads_again_is_not_written_until_somebody_does() {
    let (mut planner, terms) = (Planner::default(), CacheTerms::default());
    let with_clock = |time: u64| {
        let mut all = blocks(&[
            (System, SHORT),
            (Text, None),
            (Text, None),
            (Said, None),
            (Text, SHORT),
        ]);
        all[2].content = 1_000 + time;
        all
    };
    let places = |planner: &mut Planner, time| {
        let found = planned(planner, &with_clock(time), &terms);
        found.into_iter().map(|(place, _)| place).collect::<Vec<_>>()
    };
    for time in 0..3 {
        assert_eq!(places(&mut planner, time).last(), Some(&4), "{time}");
    }
    assert_eq!(places(&mut planner, 3), [0, 1]);
    // The clock stands still: what follows is read again.
    assert_eq!(places(&mut planner, 3).last(), Some(&4));
}

#[test]
fn a_request_says_where_it_parts_from_the_one_before() {
    let (mut planner, terms) = (Planner::default(), CacheTerms::default());
    let mut all = blocks(&PI);
    let broke = |planner: &mut Planner, all: &[Block]| {
        planner
            .plan(&request(all.to_vec()), Duration::ZERO, &terms)
            .seen
            .broke_at
    };
    assert_eq!(broke(&mut planner, &all), None);
    assert_eq!(broke(&mut planner, &all), None);
    all[2].content = 99;
    assert_eq!(broke(&mut planner, &all), Some(2));
}

#[test]
fn what_siblings_share_is_cold_until_one_of_them_was_planned() {
    let (mut planner, terms) = (Planner::default(), CacheTerms::default());
    let ours = request(blocks(&PI));
    let mut theirs = ours.clone();
    theirs.blocks[3].content = 77;
    let shared = Planner::shared_prefix(&ours, &terms).expect("long enough");
    assert_eq!(Planner::shared_prefix(&theirs, &terms), Some(shared));
    assert!(!planner.is_warm("claude", shared, Duration::ZERO));
    planner.plan(&ours, Duration::ZERO, &terms);
    assert!(planner.is_warm("claude", shared, Duration::from_secs(299)));
    assert!(!planner.is_warm("claude", shared, Duration::from_secs(301)));
    assert!(!planner.is_warm("another", shared, Duration::ZERO));
    let long = CacheTerms {
        tokens_min: 4_100,
        ..terms
    };
    assert_eq!(Planner::shared_prefix(&ours, &long), None);
    let unmarked = request(blocks(&[(System, None), (Text, SHORT)]));
    assert_eq!(Planner::shared_prefix(&unmarked, &terms), None);
}

#[test]
fn ids_that_a_host_wrote_anew_are_found() {
    assert!(is_same_call("toolu_1", "toolu_1"));
    assert!(is_same_call("call_a_fc_b", "call_a|fc_b"));
    assert!(is_same_call(&"x".repeat(64), &"x".repeat(80)));
    assert!(!is_same_call("call_b", "call_a"));
}

/// Every small request becomes one that the service takes, and keeps its tail.
#[test]
fn every_small_request_is_taken() {
    let kinds = [
        (Tool, SHORT),
        (Tool, LONG),
        (System, SHORT),
        (Text, LONG),
        (ToolResult, SHORT),
        (Thinking, SHORT),
    ];
    for count in 1..6_u32 {
        for choice in 0..kinds.len().pow(count) {
            let chosen = (0..count).map(|place| kinds[choice / kinds.len().pow(place) % kinds.len()]);
            let mut chosen = chosen.collect::<Vec<_>>();
            chosen.sort_by_key(|(kind, _)| match kind {
                Tool => 0,
                System => 1,
                _ => 2,
            });
            let found = planned(&mut Planner::default(), &blocks(&chosen), &CacheTerms::default());
            assert!(found.len() <= 4, "{chosen:?}");
            let first_short = found
                .iter()
                .position(|(_, lives)| *lives == FiveMinutes)
                .unwrap_or(found.len());
            assert!(
                found[first_short..]
                    .iter()
                    .all(|(_, lives)| *lives == FiveMinutes),
                "{chosen:?}"
            );
            assert!(
                found.iter().all(|(place, _)| chosen[*place].0 != Thinking),
                "{chosen:?}"
            );
            let tail = chosen
                .iter()
                .rposition(|(kind, _)| matches!(kind, Text | ToolResult));
            assert!(
                tail.is_none_or(|tail| found.iter().any(|(place, _)| *place == tail)),
                "{chosen:?}"
            );
        }
    }
}
