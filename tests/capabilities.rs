//! Requests, and what a person would use for each: how well the search over what can be used finds it, and whether it is sure
//! where nothing fits.
//!
//! Two sets: the recorded one in `tests/vectors/capability`, by which the search was made, and one in `tests/capabilities` that
//! was written when it was there, with other capabilities. `IMPRESARIO_CAPABILITIES` and `IMPRESARIO_JUDGED` name another list
//! and other requests.

use impresario::capabilities::read_capabilities;
use impresario_actors::capability_index::{CapabilityRequest, CapabilityStore};
use impresario_policies::capability::Capability;
use impresario_policies::capability::held::HeldWords;
use impresario_policies::capability::ranking::{Confidence, RankingSettings};
use impresario_policies::capability::search::search;
use impresario_policies::capability::words::columns_of;
use impresario_policies::retrieval::words::Stems;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// So many places count.
const PLACES: usize = 8;

struct Judged {
    query: String,
    class: String,
    relevant: Vec<String>,
}

fn judged_in(file: &Path) -> Vec<Judged> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line is JSON");
            let relevant = line["relevant"].as_array().expect("what is relevant");
            Judged {
                query: line["input"]["query"].as_str().expect("a query").to_string(),
                class: line["class"].as_str().expect("a class").to_string(),
                relevant: relevant
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_string)
                    .collect(),
            }
        })
        .collect()
}

/// Sums over requests.
#[derive(Default)]
struct Figures {
    requests: usize,
    reciprocal_ranks: f64,
    recalls: f64,
    sure: usize,
}

impl Figures {
    fn add(&mut self, judged: &Judged, hits: &[String], confidence: Confidence) {
        self.requests += 1;
        self.sure += usize::from(confidence == Confidence::High);
        let is_relevant = |hit: &&String| judged.relevant.contains(hit);
        let first = hits.iter().position(|hit| judged.relevant.contains(hit));
        self.reciprocal_ranks += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        let found = hits.iter().filter(is_relevant).count();
        self.recalls += found as f64 / judged.relevant.len().max(1) as f64;
    }

    fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.reciprocal_ranks += other.reciprocal_ranks;
        self.recalls += other.recalls;
        self.sure += other.sure;
    }

    fn mrr(&self) -> f64 {
        self.reciprocal_ranks / self.requests.max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.recalls / self.requests.max(1) as f64
    }
}

struct Measured {
    all: Figures,
    /// Requests that nothing fits.
    none: Figures,
}

fn measure(what: &str, list: &Path, requests: &Path) -> Measured {
    let text = std::fs::read_to_string(list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let capabilities = read_capabilities(&text).expect("a list");
    let (store, scope) = (CapabilityStore::new(None), Path::new("/judged"));
    store.index(scope, &capabilities).expect("indexed");
    let (mut all, mut none) = (Figures::default(), Figures::default());
    let mut classes: BTreeMap<String, Figures> = BTreeMap::new();
    let mut table = String::new();
    for judged in judged_in(requests) {
        let request = CapabilityRequest {
            query: judged.query.clone(),
            kind: None,
            hits_max: PLACES,
        };
        let found = store.search(scope, &request).expect("searched");
        let hits: Vec<String> = found.hits.into_iter().map(|hit| hit.capability.id).collect();
        let of_class = classes.entry(judged.class.clone()).or_default();
        of_class.add(&judged, &hits, found.confidence);
        match judged.relevant.is_empty() {
            true => none.add(&judged, &hits, found.confidence),
            false => all.add(&judged, &hits, found.confidence),
        }
        let missed = hits.first().is_none_or(|hit| !judged.relevant.contains(hit));
        if missed || judged.relevant.is_empty() {
            let sure = found.confidence.as_str();
            table.push_str(&format!(
                "    {}: {:?} ({sure}) → {}\n",
                judged.class,
                judged.query,
                hits.join(" ")
            ));
        }
    }
    for (class, figures) in &classes {
        table.push_str(&format!(
            "  {class:<10} {:>3} requests  MRR@8 {:.2}  recall@8 {:.2}  sure {}\n",
            figures.requests,
            figures.mrr(),
            figures.recall(),
            figures.sure
        ));
    }
    let (mrr, recall) = (all.mrr(), all.recall());
    // Around the capture of the test harness, so that the table is seen without a flag.
    let _ = write!(
        std::io::stderr(),
        "{what}: {} requests, MRR@8 {mrr:.3}, recall@8 {recall:.3}; {} that nothing fits, of which sure {}\n{table}",
        all.requests,
        none.requests,
        none.sure
    );
    Measured { all, none }
}

/// So many parts, of which each is asked once with weights chosen by the others.
const FOLDS: usize = 5;

/// The list as it is held, without an index.
fn held(list: &Path) -> (Vec<Capability>, HeldWords) {
    let text = std::fs::read_to_string(list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let mut all = read_capabilities(&text).expect("a list");
    all.sort_by(|one, other| one.id.cmp(&other.id));
    let mut held = HeldWords::of(all.iter().map(|each| each.kind).collect());
    let mut stems = Stems::default();
    for (place, capability) in all.iter().enumerate() {
        for (column, words) in columns_of(capability, &mut stems).iter().enumerate() {
            for word in words {
                for kept in std::iter::once(&word.kept).chain(&word.within) {
                    held.add(kept, place, column);
                }
                held.add_form(&word.written, &word.kept);
            }
        }
    }
    (all, held)
}

/// Weights around those that are used, far enough from them to matter.
fn weights() -> Vec<RankingSettings> {
    let mut all = Vec::new();
    for of_name in [1.5, 3.0, 6.0] {
        for rarity in [0.7, 1.0, 1.3] {
            for saturation in [0.5, 1.0, 2.0] {
                let mut settings = RankingSettings {
                    rarity,
                    saturation,
                    ..RankingSettings::default()
                };
                settings.columns[0] = of_name;
                all.push(settings);
            }
        }
    }
    all
}

/// What is found where the weights are chosen by other requests than those that are counted.
fn cross_validated(what: &str, list: &Path, requests: &Path) -> Figures {
    let (all, held) = held(list);
    let judged = judged_in(requests);
    let judged: Vec<&Judged> = judged
        .iter()
        .filter(|judged| !judged.relevant.is_empty())
        .collect();
    // Of each of the weights what it makes of each request.
    let asked: Vec<Vec<Figures>> = std::iter::once(RankingSettings::default())
        .chain(weights())
        .map(|settings| {
            let of_one = |judged: &&Judged| {
                let found = search(&held, &judged.query, None, PLACES, &settings);
                let ids = found.best.iter().map(|ranked| all[ranked.place].id.clone());
                let mut figures = Figures::default();
                figures.add(judged, &ids.collect::<Vec<_>>(), found.confidence);
                figures
            };
            judged.iter().map(of_one).collect()
        })
        .collect();
    let sum = |of: &[Figures], counts: &dyn Fn(usize) -> bool| {
        let mut total = Figures::default();
        let counted = of.iter().enumerate().filter(|(place, _)| counts(*place));
        counted.for_each(|(_, figures)| total.join(figures));
        total
    };
    let (as_they_are, others) = asked.split_first().expect("the weights that are used");
    let mut total = Figures::default();
    for fold in 0..FOLDS {
        let chosen_by = |of: &[Figures]| sum(of, &|place| place % FOLDS != fold).mrr();
        let best = others
            .iter()
            .max_by(|one, other| chosen_by(one).total_cmp(&chosen_by(other)));
        total.join(&sum(best.expect("some weights"), &|place| place % FOLDS == fold));
    }
    let as_they_are = sum(as_they_are, &|_| true);
    let worst = others
        .iter()
        .map(|of| sum(of, &|_| true).mrr())
        .fold(1.0, f64::min);
    let _ = writeln!(
        std::io::stderr(),
        "{what}, {FOLDS} folds, weights chosen by the others: MRR@8 {:.3}, recall@8 {:.3}; as they are: {:.3}, {:.3}; \
         the worst of {} weights: {worst:.3}",
        total.mrr(),
        total.recall(),
        as_they_are.mrr(),
        as_they_are.recall(),
        others.len()
    );
    total
}

fn file(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

#[test]
fn recorded_requests_find_what_a_person_would_use() {
    let list = file("vectors/capability/corpus.json");
    let measured = measure("recorded", &list, &file("vectors/capability/dev/judged.jsonl"));
    assert!(measured.all.mrr() >= 0.80, "MRR@8 {:.3}", measured.all.mrr());
    assert!(
        measured.all.recall() >= 0.80,
        "recall@8 {:.3}",
        measured.all.recall()
    );
    assert_eq!(measured.none.sure, 0);
}

#[test]
fn it_does_not_hang_on_weights_that_were_fitted() {
    let list = file("vectors/capability/corpus.json");
    let total = cross_validated("recorded", &list, &file("vectors/capability/dev/judged.jsonl"));
    assert!(total.mrr() >= 0.80, "MRR@8 {:.3}", total.mrr());
    assert!(total.recall() >= 0.80, "recall@8 {:.3}", total.recall());
    let list = file("capabilities/fresh.json");
    let total = cross_validated("written afterwards", &list, &file("capabilities/fresh.jsonl"));
    assert!(total.mrr() >= 0.80, "MRR@8 {:.3}", total.mrr());
}

#[test]
fn requests_that_were_written_afterwards_find_it_too() {
    let measured = measure(
        "written afterwards",
        &file("capabilities/fresh.json"),
        &file("capabilities/fresh.jsonl"),
    );
    assert!(measured.all.mrr() >= 0.75, "MRR@8 {:.3}", measured.all.mrr());
    assert_eq!(measured.none.sure, 0);
}

#[test]
fn requests_of_somebody_else_are_measured() {
    let (Some(list), Some(requests)) = (
        std::env::var_os("IMPRESARIO_CAPABILITIES"),
        std::env::var_os("IMPRESARIO_JUDGED"),
    ) else {
        return;
    };
    measure("given", Path::new(&list), Path::new(&requests));
}
