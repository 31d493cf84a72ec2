//! The search. Ours takes words apart and takes their endings off, ranks by the share of the request that is said, and is
//! sure of less, so that lists agree in what comes first, and rarely in the rest.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::capabilities::read_capabilities;
use impresario_actors::capability_index::{CapabilityRequest, CapabilityStore};
use impresario_policies::capability::CapabilityKind;
use impresario_policies::capability::ranking::Confidence;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

const HITS: usize = 8;

fn store_of(corpus: &str) -> CapabilityStore {
    static STORES: LazyLock<Mutex<BTreeMap<String, CapabilityStore>>> = LazyLock::new(Mutex::default);
    let mut stores = STORES.lock().expect("nobody panicked");
    let made = || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/capability").join(corpus);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let store = CapabilityStore::new(None);
        store.index(Path::new("/"), &read_capabilities(&text).expect("a list")).expect("indexed");
        store
    };
    stores.entry(corpus.to_string()).or_insert_with(made).clone()
}

pub fn search(case: &Case) -> Answer {
    let request = CapabilityRequest {
        query: case.text("query").to_string(),
        kind: CapabilityKind::read(case.text("kind")),
        hits_max: case.get("k").as_number().map_or(HITS, |k| k as usize),
    };
    let found = store_of(case.text("corpus")).search(Path::new("/"), &request).expect("searched");
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.capability.id.as_str()).collect();
    Answer::value(json!({"ids": ids, "sure": found.confidence == Confidence::High}))
}

/// Which ones, in order; of the peer's confidence nothing, for it is the same for every request.
pub fn covered(recorded: &Json) -> Json {
    let hits = recorded.get("hits").and_then(Json::as_array).unwrap_or_default();
    let ids = hits.iter().filter_map(|hit| hit.get("id")).cloned();
    let ties = recorded.get("ties").cloned().unwrap_or(Json::Array(Vec::new()));
    Json::Object(vec![
        ("ids".to_string(), Json::Array(ids.collect())),
        ("ties".to_string(), ties),
    ])
}

/// What is different on purpose.
pub fn differs(case: &Case, ours: &Answer) -> Option<&'static str> {
    let Answer::Value(recorded) = &case.expected else {
        return None;
    };
    let (theirs, found) = (texts(recorded.get("ids")?), texts(ours.get("ids")));
    let ties: Vec<Vec<String>> = recorded.get("ties")?.as_array()?.iter().map(|tie| texts(tie)).collect();
    let Some(best) = theirs.first() else {
        return Some("what nothing has letter for letter may be found by its stem or its letters");
    };
    let as_good = |id: &String| id == best || ties.iter().any(|tie| tie.contains(id) && tie.contains(best));
    if found == theirs {
        return Some("the same, and how sure it is besides");
    }
    if found.first().is_some_and(as_good) {
        return Some("the same comes first");
    }
    if found.iter().any(as_good) {
        return Some("what came first is among the others: more of the request, or a form of its words, comes before it");
    }
    None
}

fn texts(value: &Json) -> Vec<String> {
    let items = value.as_array().unwrap_or_default().iter();
    items.filter_map(Json::as_str).map(str::to_string).collect()
}
