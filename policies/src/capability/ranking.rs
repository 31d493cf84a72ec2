//! What fits a request best, and how sure that is.
//!
//! Each word of the request has a mass: how rare it is among everything that can be used. What can be used is scored by the
//! share of the whole mass that it says, so that a score means the same for every request, and a request whose words stand
//! nowhere is told from one that is met. How often a word is said, in which column and how long that is counts as in BM25.

use super::CapabilityKind;
use super::held::{COLUMNS, HeldWords, Posting};

/// A word of the request, with what the index knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    /// What stands for it, each with what it counts; none where nothing has the word.
    pub forms: Vec<(String, f64)>,
    /// How telling it is.
    pub mass: f64,
}

/// How telling a word is that stands in `having` of `all`.
pub fn mass_of(weight: f64, having: u64, all: u64, settings: &RankingSettings) -> f64 {
    let (having, all) = (having as f64, all.max(having) as f64);
    let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
    weight * rarity.powf(settings.rarity)
}

/// What counts how much.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingSettings {
    /// The power to which it counts how rare a word is.
    pub rarity: f64,
    /// A word in each of the columns.
    pub columns: [f64; COLUMNS],
    /// How much a long column takes from each of its words, from 0 to 1.
    pub lengths: [f64; COLUMNS],
    /// From here on a further mention counts half.
    pub saturation: f64,
    /// What is said of a name, beside what is said of the request.
    pub name: f64,
    /// How sure a word in each of the columns makes.
    pub certainty: [f64; COLUMNS],
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self {
            rarity: 1.0,
            columns: [3.0, 1.6, 0.6, 2.0],
            lengths: [0.6, 0.4, 0.4, 0.0],
            saturation: 1.0,
            name: 0.15,
            certainty: [1.0, 1.0, 0.7, 1.0],
        }
    }
}

/// How sure it is that the first one is what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// From this share of a request on it is met, or met in part.
const MET: f64 = 0.72;
const MET_IN_PART: f64 = 0.4;
/// So many that fit as well as the first one leave it open which is meant.
const AS_GOOD_MAX: usize = 6;
const AS_GOOD: f64 = 0.93;

/// Something that fits, by its place among what is held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    pub place: usize,
    /// From 0 to 1.
    pub score: f64,
    /// The share of the request that it says.
    pub said: f64,
}

/// What fits a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// Best first, no more than were wanted.
    pub best: Vec<Ranked>,
    /// How many fit nearly as well as the first one.
    pub as_good: usize,
}

/// What says anything of the request, best first. Same input, same order.
pub fn rank(
    held: &HeldWords,
    kind: Option<CapabilityKind>,
    request: &[Telling],
    hits_max: usize,
    settings: &RankingSettings,
) -> Ranking {
    let mut said = Said::of(held, kind, request.len());
    for (word, telling) in request.iter().enumerate() {
        for (form, counts) in &telling.forms {
            for posting in held.postings(form) {
                said.add(posting, word, *counts, settings);
            }
        }
    }
    said.name_once(held, request);
    let all: f64 = request.iter().map(|word| word.mass).sum();
    let mut ranked: Vec<Ranked> = (0..said.places.len())
        .map(|row| said.score(row, request, all.max(f64::MIN_POSITIVE), settings))
        .filter(|ranked| ranked.score > 0.0)
        .collect();
    let better = |one: &Ranked, other: &Ranked| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(one.place.cmp(&other.place))
    };
    let best = ranked.iter().map(|each| each.score).fold(0.0, f64::max);
    let as_good = ranked.iter().filter(|each| each.score >= AS_GOOD * best).count();
    if ranked.len() > hits_max {
        ranked.select_nth_unstable_by(hits_max, better);
        ranked.truncate(hits_max);
    }
    ranked.sort_by(better);
    Ranking {
        best: ranked,
        as_good,
    }
}

/// How sure the answer is: by the share of the request that the first one says, and whether others fit as well.
pub fn confidence_in(ranking: &Ranking) -> Confidence {
    match ranking.best.first() {
        Some(best) if best.said >= MET && ranking.as_good <= AS_GOOD_MAX => Confidence::High,
        Some(best) if best.said >= MET_IN_PART => Confidence::Medium,
        _ => Confidence::Low,
    }
}

/// What was said so far of a request, a row for each that says anything.
struct Said<'a> {
    held: &'a HeldWords,
    kind: Option<CapabilityKind>,
    words: usize,
    /// The row of each place; none yet is the largest number.
    rows: Vec<u32>,
    places: Vec<usize>,
    /// A number for each word of the request, row by row.
    weights: Vec<f64>,
    certain: Vec<f64>,
    /// What of its name is said.
    of_name: Vec<f64>,
}

const NO_ROW: u32 = u32::MAX;

impl<'a> Said<'a> {
    fn of(held: &'a HeldWords, kind: Option<CapabilityKind>, words: usize) -> Self {
        Self {
            held,
            kind,
            words,
            rows: vec![NO_ROW; held.count()],
            places: Vec::new(),
            weights: Vec::new(),
            certain: Vec::new(),
            of_name: Vec::new(),
        }
    }

    fn row_of(&mut self, place: usize) -> Option<usize> {
        let known = self.rows[place];
        if known != NO_ROW {
            return Some(known as usize);
        }
        if self.kind.is_some_and(|kind| kind != self.held.kind(place)) {
            return None;
        }
        let row = self.places.len();
        self.rows[place] = row as u32;
        self.places.push(place);
        self.weights.resize(self.weights.len() + self.words, 0.0);
        self.certain.resize(self.certain.len() + self.words, 0.0);
        self.of_name.push(0.0);
        Some(row)
    }

    fn add(&mut self, posting: &Posting, word: usize, counts: f64, settings: &RankingSettings) {
        let place = posting.place as usize;
        let Some(row) = self.row_of(place) else { return };
        let at = row * self.words + word;
        for (column, times) in posting.times.iter().enumerate().filter(|(_, times)| **times > 0) {
            let (length, mean) = (self.held.length(place, column), self.held.mean_length(column));
            let long = 1.0 - settings.lengths[column] * (1.0 - length / mean);
            self.weights[at] += f64::from(*times) * counts * settings.columns[column] / long.max(0.2);
            self.certain[at] = self.certain[at].max(counts * settings.certainty[column]);
        }
    }

    /// What of each name is said: a word of it that stands for several of the request counts once, by the best.
    fn name_once(&mut self, held: &HeldWords, request: &[Telling]) {
        let mut forms: Vec<(&str, f64)> = Vec::new();
        for (form, counts) in request.iter().flat_map(|word| &word.forms) {
            match forms.iter_mut().find(|(known, _)| known == form) {
                Some((_, best)) => *best = best.max(*counts),
                None => forms.push((form, *counts)),
            }
        }
        for (form, counts) in forms {
            for posting in held.postings(form).iter().filter(|posting| posting.times[0] > 0) {
                let place = posting.place as usize;
                if self.rows[place] != NO_ROW {
                    let said = f64::from(posting.times[0]) * counts;
                    self.of_name[self.rows[place] as usize] += said / held.length(place, 0);
                }
            }
        }
    }

    fn score(&self, row: usize, request: &[Telling], all: f64, settings: &RankingSettings) -> Ranked {
        let (mut met, mut said) = (0.0, 0.0);
        for (word, telling) in request.iter().enumerate() {
            let at = row * self.words + word;
            let weight = self.weights[at];
            if weight > 0.0 {
                let best_form = telling
                    .forms
                    .iter()
                    .map(|(_, counts)| *counts)
                    .fold(0.0, f64::max);
                met += telling.mass * best_form.min(1.0) * weight / (weight + settings.saturation);
                said += telling.mass * self.certain[at];
            }
        }
        let met = met / all;
        let name = settings.name * self.of_name[row].min(1.0) * met.sqrt();
        Ranked {
            place: self.places[row],
            score: (met * (1.0 - settings.name) + name).min(1.0),
            said: said / all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and summaries as an index keeps them.
    fn held(all: &[(&str, &str)]) -> HeldWords {
        let mut held = HeldWords::of(vec![CapabilityKind::Tool; all.len()]);
        for (place, (name, summary)) in all.iter().enumerate() {
            for (column, text) in [name, summary].into_iter().enumerate() {
                for word in text.split_whitespace() {
                    held.add(word, place, column);
                }
            }
        }
        held
    }

    fn ranked(held: &HeldWords, words: &[(&str, f64)]) -> Ranking {
        rank(held, None, &request(words), 100, &RankingSettings::default())
    }

    fn request(words: &[(&str, f64)]) -> Vec<Telling> {
        let words = words.iter();
        words
            .map(|(word, mass)| Telling {
                forms: vec![((*word).to_string(), 1.0)],
                mass: *mass,
            })
            .collect()
    }

    fn order(held: &HeldWords, words: &[(&str, f64)]) -> Vec<usize> {
        let best = ranked(held, words).best;
        best.iter().map(|each| each.place).collect()
    }

    #[test]
    fn what_says_more_of_the_request_comes_first() {
        let all = held(&[
            ("feed", "feed the whale"),
            ("wash", "wash the whale and the otter"),
            ("sail", "sail"),
        ]);
        assert_eq!(order(&all, &[("wash", 2.0), ("whale", 1.0)]), [1, 0]);
        assert_eq!(order(&all, &[("otter", 1.0)]), [1]);
        assert_eq!(order(&all, &[("none", 1.0)]), [0usize; 0]);
    }

    #[test]
    fn no_more_than_are_wanted_and_the_best_of_all() {
        let all = held(&[("wash dry", ""), ("wash", ""), ("wash dry comb", "")]);
        let one = rank(
            &all,
            None,
            &request(&[("wash", 1.0)]),
            1,
            &RankingSettings::default(),
        );
        assert_eq!((one.best.len(), one.best[0].place), (1, 1));
    }

    #[test]
    fn a_name_that_is_all_said_comes_before_one_that_is_not() {
        let all = held(&[("wash otter quick", ""), ("wash otter", "")]);
        assert_eq!(order(&all, &[("wash", 1.0), ("otter", 1.0)]), [1, 0]);
    }

    #[test]
    fn a_request_that_is_met_is_sure_and_one_that_is_not_is_not() {
        let all = held(&[("wash", "wash whale")]);
        let sure = |words: &[(&str, f64)]| confidence_in(&ranked(&all, words));
        assert_eq!(sure(&[("wash", 1.0), ("whale", 1.0)]), Confidence::High);
        assert_eq!(sure(&[("wash", 1.0), ("piano", 1.0)]), Confidence::Medium);
        assert_eq!(
            sure(&[("wash", 1.0), ("grand", 2.0), ("piano", 2.0)]),
            Confidence::Low
        );
        assert_eq!(sure(&[("piano", 1.0)]), Confidence::Low);
    }

    #[test]
    fn what_many_say_alike_is_not_sure() {
        let names: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
        let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "wash")).collect();
        let ranking = ranked(&held(&all), &[("wash", 1.0)]);
        assert_eq!(
            (ranking.as_good, confidence_in(&ranking)),
            (20, Confidence::Medium)
        );
    }

    #[test]
    fn a_rare_word_is_more_telling() {
        let settings = RankingSettings::default();
        assert!(mass_of(1.0, 1, 100, &settings) > mass_of(1.0, 50, 100, &settings));
        assert!(mass_of(1.0, 0, 100, &settings) > mass_of(1.0, 1, 100, &settings));
    }
}
