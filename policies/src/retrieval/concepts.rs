//! What programmers call the things that people ask about in plain English.
//!
//! One table for every language and every workspace. A line of `sayings.tsv` holds what people say, separated by commas,
//! and what stands in code for it, the likeliest first. A saying of several words may have other words between them.

use super::words::stem;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a word lends to the likeliest word of code for it.
const CODE_WEIGHT: f64 = 0.6;
/// What a saying of several words lends to the likeliest word of code for it.
const SAYING_WEIGHT: f64 = 0.9;
/// What each further word of code gets of the one before.
const DECAY: f64 = 0.92;
/// What a word of code lends back to the word people say.
const BACK_WEIGHT: f64 = 0.3;
/// What one way of saying lends to another.
const OTHER_SAYING_WEIGHT: f64 = 0.5;
/// Between the words of a saying so many others may stand.
pub const GAP_MAX: usize = 2;

/// Words that express a notion, with what each counts; several stems in one entry stand near each other in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kin {
    /// Single words.
    pub words: BTreeMap<String, f64>,
    /// Sayings of several words.
    pub sayings: Vec<(Vec<String>, f64)>,
}

/// Several words that say one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Saying {
    /// The stems of its words.
    pub stems: Vec<String>,
    /// What else says it.
    pub kin: Kin,
}

/// The table, read once.
#[derive(Debug, Default)]
pub struct Concepts {
    words: BTreeMap<String, Kin>,
    /// The longest first.
    sayings: Vec<Saying>,
}

/// The concepts of programming.
pub fn concepts() -> &'static Concepts {
    static TABLE: LazyLock<Concepts> = LazyLock::new(|| Concepts::read(include_str!("sayings.tsv")));
    &TABLE
}

impl Concepts {
    fn read(table: &str) -> Self {
        let mut concepts = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let Some((said, code)) = line.split_once('\t') else {
                continue;
            };
            let said: Vec<Vec<String>> = said
                .split(',')
                .map(stems)
                .filter(|stems| !stems.is_empty())
                .collect();
            let code: Vec<String> = code.split_whitespace().map(code_stem).collect();
            concepts.add(&said, &code);
        }
        concepts
            .sayings
            .sort_by_key(|saying| std::cmp::Reverse(saying.stems.len()));
        concepts
    }

    fn add(&mut self, said: &[Vec<String>], code: &[String]) {
        for saying in said {
            let [word] = saying.as_slice() else {
                let mut kin = Kin::default();
                kin.lend(saying, said, code, SAYING_WEIGHT);
                self.sayings.push(Saying {
                    stems: saying.clone(),
                    kin,
                });
                continue;
            };
            self.words
                .entry(word.clone())
                .or_default()
                .lend(saying, said, code, CODE_WEIGHT);
            for other in code.iter().filter(|other| *other != word) {
                self.words
                    .entry(other.clone())
                    .or_default()
                    .lend_word(word, BACK_WEIGHT);
            }
        }
    }

    /// What else says this word.
    pub fn kin_of(&self, stem: &str) -> Option<&Kin> {
        self.words.get(stem)
    }

    /// The longest saying that begins at `position`, and where its words stand.
    pub fn saying_at(&self, stems: &[&str], position: usize) -> Option<(Vec<usize>, &Saying)> {
        self.sayings
            .iter()
            .find_map(|saying| Some((places_of(&saying.stems, stems, position)?, saying)))
    }
}

impl Kin {
    fn lend(&mut self, own: &[String], said: &[Vec<String>], code: &[String], first_weight: f64) {
        let mut weight = first_weight;
        for word in code {
            if own != std::slice::from_ref(word) {
                self.lend_word(word, weight);
            }
            weight *= DECAY;
        }
        for other in said.iter().filter(|other| other.as_slice() != own) {
            match other.as_slice() {
                [word] => self.lend_word(word, OTHER_SAYING_WEIGHT),
                saying => self.sayings.push((saying.to_vec(), first_weight)),
            }
        }
    }

    fn lend_word(&mut self, word: &str, weight: f64) {
        let lent = self.words.entry(word.to_string()).or_insert(weight);
        *lent = lent.max(weight);
    }
}

fn stems(saying: &str) -> Vec<String> {
    saying.split_whitespace().map(stem).collect()
}

/// A name written with `_` is found in its parts; the first one is the telling one.
fn code_stem(word: &str) -> String {
    stem(word.split('_').next().unwrap_or(word))
}

fn places_of(saying: &[String], stems: &[&str], position: usize) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(saying.len());
    let mut next = position;
    for (rank, stem) in saying.iter().enumerate() {
        let gap = if rank == 0 { 0 } else { GAP_MAX };
        let found = stems
            .get(next..)?
            .iter()
            .take(gap + 1)
            .position(|other| other == stem)?;
        places.push(next + found);
        next += found + 1;
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_two_sides() {
        for line in include_str!("sayings.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let sides: Vec<&str> = line.split('\t').collect();
            assert!(
                sides.len() == 2 && sides.iter().all(|side| !side.trim().is_empty()),
                "{line:?}"
            );
        }
    }

    #[test]
    fn a_saying_is_found_across_a_small_gap() {
        let stems = ["start", "it", "again"];
        let (places, saying) = concepts().saying_at(&stems, 0).expect("a saying");
        assert_eq!(places, [0, 2]);
        assert!(saying.kin.words.contains_key("restart"));
    }

    #[test]
    fn a_saying_has_other_words_for_it() {
        let kin = concepts().kin_of("crash").expect("kin");
        assert!(kin.words.contains_key("panic"));
        assert!(
            kin.sayings
                .iter()
                .any(|(saying, _)| saying == &["fall".to_string(), "over".to_string()])
        );
    }
}
