//! A request, answered from the words that are held.

use super::CapabilityKind;
use super::held::HeldWords;
use super::ranking::{Confidence, Ranked, RankingSettings, Telling, confidence_in, mass_of, rank};
use super::spelling::{Letters, Numeronym, halves, likeness};
use super::words::{Request, Wanted, read_request};
use crate::retrieval::words::{other_forms, relatives};

/// What a related word counts, against the word itself.
const RELATIVE_SHARE: f64 = 0.4;
/// So many words stand for one that nothing has, those that are nearly as like it as the best.
const MEANT_MAX: usize = 3;
const NEARLY: f64 = 0.12;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Best first.
    pub best: Vec<Ranked>,
    pub confidence: Confidence,
}

/// What fits a request best, and how sure that is.
pub fn search(
    held: &HeldWords,
    query: &str,
    kind: Option<CapabilityKind>,
    hits_max: usize,
    settings: &RankingSettings,
) -> Found {
    let Request { words, is_glue } = read_request(query);
    let known = look_up(held, &words);
    let telling: Vec<Telling> = words
        .iter()
        .zip(known)
        .map(|(word, known)| Telling {
            mass: mass_of(word.weight, known.having, held.count() as u64, settings),
            forms: known.forms,
        })
        .collect();
    let ranking = rank(held, kind, &telling, hits_max, settings);
    Found {
        confidence: match is_glue {
            true => Confidence::Low,
            false => confidence_in(&ranking),
        },
        best: ranking.best,
    }
}

/// What is held of a word.
#[derive(Debug, Default)]
struct Known {
    /// As it is kept, each with what it counts.
    forms: Vec<(String, f64)>,
    /// How many have it.
    having: u64,
}

impl Known {
    fn add(&mut self, held: &HeldWords, kept: &str, counts: f64) {
        let having = held.postings(kept).len() as u64;
        if having > 0 && !self.forms.iter().any(|(form, _)| form == kept) {
            self.having += having;
            self.forms.push((kept.to_string(), counts));
        }
    }
}

fn look_up(held: &HeldWords, words: &[Wanted]) -> Vec<Known> {
    let mut all: Vec<Known> = words.iter().map(|word| forms_of(held, word)).collect();
    // Two words that something writes as one.
    for (place, pair) in words.windows(2).enumerate() {
        if let Some(kept) = held.kept_of(&format!("{}{}", pair[0].written, pair[1].written)) {
            for known in &mut all[place..place + 2] {
                known.add(held, kept, 1.0);
            }
        }
    }
    for (word, known) in words.iter().zip(&mut all) {
        if let Some(shape) = Numeronym::read(&word.written) {
            for kept in words_of_shape(held, shape) {
                known.add(held, kept, 1.0);
            }
        }
        if known.forms.is_empty() {
            *known = meant(held, &word.written);
        }
    }
    all
}

fn forms_of(held: &HeldWords, word: &Wanted) -> Known {
    let mut known = Known::default();
    for (kept, counts) in &word.forms {
        known.add(held, kept, *counts);
    }
    let kept = word.forms.first().map_or("", |(kept, _)| kept);
    for form in other_forms(kept) {
        known.add(held, form, 1.0);
    }
    for relative in relatives(kept) {
        known.add(held, &relative, RELATIVE_SHARE);
    }
    known
}

fn words_of_shape(held: &HeldWords, shape: Numeronym) -> impl Iterator<Item = &str> {
    let words = held.forms_from(&shape.first.to_string());
    words
        .take_while(move |(written, _)| written.starts_with(shape.first))
        .filter(move |(written, _)| shape.is(written))
        .map(|(_, kept)| kept)
}

/// What stands for a word that nothing has: its two halves, or what it looks like.
fn meant(held: &HeldWords, written: &str) -> Known {
    let mut known = Known::default();
    for [one, other] in halves(written) {
        if let (Some(first), Some(second)) = (held.kept_of(one.0), held.kept_of(other.0)) {
            known.add(held, first, one.1);
            known.add(held, second, other.1);
            return known;
        }
    }
    let letters = Letters::of(written);
    let mut like: Vec<(f64, &str)> = held
        .forms_from("")
        .filter(|(other, _)| letters.may_be_like(other))
        .map(|(other, kept)| (likeness(written, other), kept))
        .filter(|(likeness, _)| *likeness > 0.0)
        .collect();
    like.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    let best = like.first().map_or(0.0, |(likeness, _)| *likeness);
    let nearly = like
        .into_iter()
        .take_while(|(likeness, _)| likeness + NEARLY >= best);
    for (likeness, kept) in nearly.take(MEANT_MAX) {
        known.add(held, kept, likeness);
    }
    known
}
