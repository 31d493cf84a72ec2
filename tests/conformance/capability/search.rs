//! The search. Ours takes words apart and takes their endings off, ranks by the share of the request that is said, and is
//! sure of less, so that lists agree in what comes first, and rarely in the rest.

use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::capabilities::read_capabilities;
use impresario_actors::capability_index::{CapabilityRequest, CapabilityStore};
use impresario_policies::capability::CapabilityKind;
use impresario_policies::capability::words::read_request;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

const HITS: usize = 8;
/// Where fewer are asked for, what came first is looked for among so many.
const HITS_OF_FEW: usize = 20;
const HITS_MAX: usize = 500;

fn store_of(corpus: &str) -> CapabilityStore {
    static STORES: LazyLock<Mutex<BTreeMap<String, CapabilityStore>>> = LazyLock::new(Mutex::default);
    let mut stores = STORES.lock().expect("nobody panicked");
    let made = || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/vectors/capability")
            .join(corpus);
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let store = CapabilityStore::new(None);
        store
            .index(Path::new("/"), &read_capabilities(&text).expect("a list"))
            .expect("indexed");
        store
    };
    stores.entry(corpus.to_string()).or_insert_with(made).clone()
}

/// How many are asked for.
fn asked_for(case: &Case) -> usize {
    case.get("k").as_number().map_or(HITS, |k| k as usize)
}

fn ids(case: &Case, hits_max: usize) -> Vec<String> {
    let request = CapabilityRequest {
        query: case.text("query").to_string(),
        kind: CapabilityKind::read(case.text("kind")),
        hits_max,
    };
    let found = store_of(case.text("corpus"))
        .search(Path::new("/"), &request)
        .expect("searched");
    found.hits.into_iter().map(|hit| hit.capability.id).collect()
}

/// The ids; which of the recorded ones are as good as each other stands beside them.
pub fn search(case: &Case) -> Answer {
    let ids = ids(case, asked_for(case));
    let Answer::Value(recorded) = &case.expected else {
        return Answer::value(json!(ids));
    };
    let ties = recorded.get("ties").map(Value::from);
    Answer::value(json!({"ids": ids, "ties": ties}))
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
    let ties: Vec<Vec<String>> = recorded.get("ties")?.as_array()?.iter().map(texts).collect();
    let Some(best) = theirs.first() else {
        return Some("what nothing has letter for letter may be found by its stem or its letters");
    };
    let as_good = |id: &String| id == best || ties.iter().any(|tie| tie.contains(id) && tie.contains(best));
    if found.first().is_some_and(as_good) {
        return Some("the same comes first");
    }
    if found.iter().any(as_good) {
        return Some(
            "what came first is among the others: more of the request, or a form of its words, comes before it",
        );
    }
    if asked_for(case) < HITS && ids(case, HITS_OF_FEW).iter().any(as_good) {
        return Some(
            "of so few that were asked for, others say more of the request or have a form of its words",
        );
    }
    let has_glue = case
        .text("query")
        .split(|each: char| !each.is_alphanumeric())
        .any(|word| !word.is_empty() && read_request(word).is_glue);
    if has_glue && !ids(case, HITS_MAX).iter().any(as_good) {
        return Some("what shares nothing but words that hold a sentence together is not found");
    }
    None
}

fn texts(value: &Json) -> Vec<String> {
    let items = value.as_array().unwrap_or_default().iter();
    items.filter_map(Json::as_str).map(str::to_string).collect()
}
