use super::{CapabilityRequest, CapabilityStore};
use crate::gateways::UnixMillis;
use impresario_policies::capability::ranking::Confidence;
use impresario_policies::capability::{Capability, CapabilityKind};
use std::path::Path;

const SCOPE: &str = "/zoo";

fn tool(name: &str, summary: &str) -> Capability {
    Capability {
        id: format!("tool:pi:{name}"),
        kind: CapabilityKind::Tool,
        source: "pi".into(),
        name: name.into(),
        summary: summary.into(),
        params: "cage: Which cage".into(),
        activation: name.into(),
    }
}

fn zoo() -> Vec<Capability> {
    vec![
        tool("feed_rhinoceros", "Give a rhinoceros its hay."),
        tool("wash_elephant", "Hose an elephant down."),
        tool("list_visitors", "List who came today."),
    ]
}

fn filled() -> CapabilityStore {
    let store = CapabilityStore::new(None);
    store.index(Path::new(SCOPE), &zoo()).expect("indexed");
    store
}

fn first(store: &CapabilityStore, query: &str) -> (Option<String>, Confidence) {
    let request = CapabilityRequest {
        query: query.into(),
        kind: None,
        hits_max: 8,
    };
    let found = store.search(Path::new(SCOPE), &request).expect("searched");
    let first = found.hits.into_iter().next();
    (first.map(|hit| hit.capability.name), found.confidence)
}

fn check(query: &str, expected: &str) {
    assert_eq!(first(&filled(), query).0.as_deref(), Some(expected), "{query}");
}

#[test]
fn forms_identifiers_slips_and_abbreviations_find_the_same() {
    for query in [
        "feeding the rhinoceros",
        "feedRhinoceros",
        "feed_rhinoceros",
        "rhinocerros",
        "rhino",
        "r8s",
        "rhino ceros",
        "fed",
    ] {
        check(query, "feed_rhinoceros");
    }
    check("elephants", "wash_elephant");
    check("which cage", "feed_rhinoceros");
}

#[test]
fn what_is_met_is_sure_and_what_is_not_is_not() {
    let store = filled();
    assert_eq!(first(&store, "wash the elephant").1, Confidence::High);
    assert_eq!(first(&store, "tune my grand piano"), (None, Confidence::Low));
    assert_eq!(first(&store, "a who to").1, Confidence::Low);
    assert_eq!(first(&store, "\"; DROP TABLE words; --").1, Confidence::Low);
    assert_eq!(first(&store, "NEAR( AND OR *").0, None);
}

#[test]
fn only_what_changed_is_written() {
    let store = filled();
    let mut all = zoo();
    let again = store.index(Path::new(SCOPE), &all).expect("indexed");
    assert_eq!((again.all, again.changed, again.gone), (3, 0, 0));
    all[1].summary = "Scrub an elephant.".into();
    all.pop();
    let changed = store.index(Path::new(SCOPE), &all).expect("indexed");
    assert_eq!((changed.all, changed.changed, changed.gone), (2, 1, 1));
    assert_eq!(first(&store, "scrub").0.as_deref(), Some("wash_elephant"));
    assert_eq!(first(&store, "hose").0, None);
    assert_eq!(first(&store, "visitors").0, None);
}

#[test]
fn an_index_outlives_its_store_and_damage() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = || CapabilityStore::new(Some(directory.path().to_path_buf()));
    store().index(Path::new(SCOPE), &zoo()).expect("indexed");
    assert_eq!(first(&store(), "elephant").0.as_deref(), Some("wash_elephant"));
    let again = store().index(Path::new(SCOPE), &zoo()).expect("indexed");
    assert_eq!((again.changed, again.in_memory), (0, None));
    for entry in std::fs::read_dir(directory.path()).expect("there").flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "sqlite") {
            std::fs::write(entry.path(), "no database, and long enough to be looked at").expect("written");
        }
    }
    let anew = store().index(Path::new(SCOPE), &zoo()).expect("indexed");
    assert_eq!(anew.changed, 3);
}

#[test]
fn where_nothing_can_be_kept_it_is_in_memory_and_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("taken");
    std::fs::write(&file, "").expect("written");
    let store = CapabilityStore::new(Some(file.join("below")));
    let indexed = store.index(Path::new(SCOPE), &zoo()).expect("indexed");
    assert!(indexed.in_memory.is_some());
    assert_eq!(first(&store, "elephant").0.as_deref(), Some("wash_elephant"));
}

#[test]
fn only_the_kind_that_is_wanted_and_an_id_is_one() {
    let store = CapabilityStore::new(None);
    let mut all = zoo();
    all.push(Capability {
        id: "mcp:keeper:wash".into(),
        kind: CapabilityKind::Mcp,
        name: "wash".into(),
        ..tool("wash", "Wash an animal.")
    });
    store.index(Path::new(SCOPE), &all).expect("indexed");
    let request = CapabilityRequest {
        query: "wash".into(),
        kind: Some(CapabilityKind::Mcp),
        hits_max: 8,
    };
    let found = store.search(Path::new(SCOPE), &request).expect("searched");
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.capability.id.as_str()).collect();
    assert_eq!(ids, ["mcp:keeper:wash"]);
    assert_eq!(first(&store, "keeper").0.as_deref(), Some("wash"));
    let known = store
        .find(Path::new(SCOPE), "tool:pi:wash_elephant")
        .expect("looked up");
    assert_eq!(known.as_ref(), Some(&all[1]));
    assert_eq!(
        store.find(Path::new(SCOPE), "tool:pi:none").expect("looked up"),
        None
    );
}

#[test]
fn a_runtime_finds_what_it_was_told_whatever_another_one_makes_of_the_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = || CapabilityStore::new(Some(directory.path().to_path_buf()));
    let (ours, theirs) = (store(), store());
    ours.index(Path::new(SCOPE), &zoo()).expect("indexed");
    theirs
        .index(Path::new(SCOPE), &[tool("sell_ticket", "Sell a ticket.")])
        .expect("indexed");
    assert_eq!(first(&ours, "elephant").0.as_deref(), Some("wash_elephant"));
    assert_eq!(first(&ours, "ticket").0, None);
    assert_eq!(first(&theirs, "ticket").0.as_deref(), Some("sell_ticket"));
    ours.note_use(Path::new(SCOPE), "tool:pi:wash_elephant", UnixMillis(1))
        .expect("noted");
    let used = ours.uses(Path::new(SCOPE)).expect("read");
    assert_eq!(used.len(), 1);
    assert!(theirs.uses(Path::new(SCOPE)).expect("read").is_empty());
}
