//! What fits a request best, and how sure that is.
//!
//! Each word of the request has a mass: how rare it is among everything that can be used. A candidate is scored by the share
//! of the whole mass that it says, so that a score means the same for every request, and a request whose words stand
//! nowhere is told from one that is met.

use std::collections::BTreeMap;

/// The columns of a candidate, in the order of the index.
pub const COLUMNS: usize = 4;

/// Something that may fit, as the index keeps it: its name, summary, parameters and place, words with a space between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in the index.
    pub number: i64,
    pub id: String,
    pub columns: [String; COLUMNS],
}

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

/// A candidate in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Which candidate.
    pub place: usize,
    /// From 0 to 1.
    pub score: f64,
    /// The share of the request that it says.
    pub said: f64,
}

/// The candidates that say anything, best first. Same input, same order.
pub fn rank(candidates: &[Candidate], request: &[Telling], settings: &RankingSettings) -> Vec<Ranked> {
    let all: f64 = request.iter().map(|word| word.mass).sum();
    let forms = forms_of(request);
    let means = mean_lengths(candidates);
    let scorer = Scorer {
        request,
        forms: &forms,
        means,
        all: all.max(f64::MIN_POSITIVE),
        settings,
    };
    let scored = candidates.iter().enumerate();
    let mut ranked: Vec<Ranked> = scored
        .map(|(place, candidate)| scorer.score(place, candidate))
        .filter(|ranked| ranked.score > 0.0)
        .collect();
    ranked.sort_by(|one, other| {
        let id = |ranked: &Ranked| &candidates[ranked.place].id;
        other
            .score
            .total_cmp(&one.score)
            .then_with(|| id(one).cmp(id(other)))
    });
    ranked
}

/// How sure the answer is: by the share of the request that the first one says, and whether others fit as well.
pub fn confidence_in(ranked: &[Ranked]) -> Confidence {
    let Some(best) = ranked.first() else {
        return Confidence::Low;
    };
    let as_good = ranked
        .iter()
        .take_while(|each| each.score >= AS_GOOD * best.score)
        .count();
    match best.said {
        said if said >= MET && as_good <= AS_GOOD_MAX => Confidence::High,
        said if said >= MET_IN_PART => Confidence::Medium,
        _ => Confidence::Low,
    }
}

/// Each form with the words of the request that it stands for.
fn forms_of(request: &[Telling]) -> BTreeMap<&str, Vec<(usize, f64)>> {
    let mut forms: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, word) in request.iter().enumerate() {
        for (form, counts) in &word.forms {
            forms.entry(form).or_default().push((place, *counts));
        }
    }
    forms
}

fn mean_lengths(candidates: &[Candidate]) -> [f64; COLUMNS] {
    let mut means = [1.0; COLUMNS];
    for (column, mean) in means.iter_mut().enumerate() {
        let words: usize = candidates.iter().map(|each| length(&each.columns[column])).sum();
        *mean = (words as f64 / candidates.len().max(1) as f64).max(1.0);
    }
    means
}

fn length(column: &str) -> usize {
    column.bytes().filter(|byte| *byte == b' ').count()
}

struct Scorer<'a> {
    request: &'a [Telling],
    forms: &'a BTreeMap<&'a str, Vec<(usize, f64)>>,
    means: [f64; COLUMNS],
    all: f64,
    settings: &'a RankingSettings,
}

impl Scorer<'_> {
    fn score(&self, place: usize, candidate: &Candidate) -> Ranked {
        let mut weights = vec![0.0; self.request.len()];
        let mut certain: Vec<f64> = vec![0.0; self.request.len()];
        let mut of_name = 0.0;
        for (column, text) in candidate.columns.iter().enumerate() {
            let words = length(text) as f64;
            let long = 1.0 - self.settings.lengths[column] * (1.0 - words / self.means[column]);
            for word in text.split_ascii_whitespace() {
                let Some(stands_for) = self.forms.get(word) else {
                    continue;
                };
                let mut best: f64 = 0.0;
                for (wanted, counts) in stands_for {
                    weights[*wanted] += counts * self.settings.columns[column] / long.max(0.2);
                    certain[*wanted] = certain[*wanted].max(counts * self.settings.certainty[column]);
                    best = best.max(*counts);
                }
                if column == 0 {
                    of_name += best / words;
                }
            }
        }
        let mass = |values: &dyn Fn(usize) -> f64| -> f64 {
            let each = self.request.iter().enumerate();
            each.map(|(place, word)| word.mass * values(place)).sum::<f64>() / self.all
        };
        let saturated = |place: usize| {
            let weight: f64 = weights[place];
            let best_form = self.request[place]
                .forms
                .iter()
                .map(|(_, counts)| *counts)
                .fold(0.0, f64::max);
            best_form.min(1.0) * weight / (weight + self.settings.saturation)
        };
        let met = mass(&saturated);
        Ranked {
            place,
            score: (met * (1.0 - self.settings.name) + self.settings.name * of_name.min(1.0) * met.sqrt())
                .min(1.0),
            said: mass(&|place| certain[place]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(number: i64, name: &str, summary: &str) -> Candidate {
        Candidate {
            number,
            id: format!("tool:pi:{}", name.trim().replace(' ', "_")),
            columns: [name.into(), summary.into(), String::new(), String::new()],
        }
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

    fn order(candidates: &[Candidate], words: &[(&str, f64)]) -> Vec<i64> {
        let ranked = rank(candidates, &request(words), &RankingSettings::default());
        ranked.iter().map(|each| candidates[each.place].number).collect()
    }

    #[test]
    fn what_says_more_of_the_request_comes_first() {
        let all = [
            candidate(1, "feed ", "feed the whale "),
            candidate(2, "wash ", "wash the whale and the otter "),
            candidate(3, "sail ", "sail "),
        ];
        assert_eq!(order(&all, &[("wash", 2.0), ("whale", 1.0)]), [2, 1]);
        assert_eq!(order(&all, &[("otter", 1.0)]), [2]);
        assert_eq!(order(&all, &[("none", 1.0)]), [0i64; 0]);
    }

    #[test]
    fn a_name_that_is_all_said_comes_before_one_that_is_not() {
        let all = [
            candidate(1, "wash otter quick ", ""),
            candidate(2, "wash otter ", ""),
        ];
        assert_eq!(order(&all, &[("wash", 1.0), ("otter", 1.0)]), [2, 1]);
    }

    #[test]
    fn a_request_that_is_met_is_sure_and_one_that_is_not_is_not() {
        let all = [candidate(1, "wash ", "wash whale ")];
        let sure =
            |words: &[(&str, f64)]| confidence_in(&rank(&all, &request(words), &RankingSettings::default()));
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
        let all: Vec<Candidate> = (0..20)
            .map(|number| candidate(number, &format!("n{number} "), "wash "))
            .collect();
        let ranked = rank(&all, &request(&[("wash", 1.0)]), &RankingSettings::default());
        assert_eq!(confidence_in(&ranked), Confidence::Medium);
    }

    #[test]
    fn a_rare_word_is_more_telling() {
        let settings = RankingSettings::default();
        assert!(mass_of(1.0, 1, 100, &settings) > mass_of(1.0, 50, 100, &settings));
        assert!(mass_of(1.0, 0, 100, &settings) > mass_of(1.0, 1, 100, &settings));
    }
}
