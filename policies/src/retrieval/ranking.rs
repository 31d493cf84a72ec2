//! Which passages answer a question best.
//!
//! BM25 over what a passage says, how its definition begins and where it stands, more for what has more of the words, with a
//! prior for its kind of file. What is found letter for letter comes first.

use super::file_kind::{FileKind, weigh_kind};
use super::outline::{Role, read_lines};
use super::question::{Question, Term};
use super::words::{Stems, Token, for_each_token, whole};
use std::collections::BTreeMap;

/// A passage that may answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub path: String,
    pub kind: FileKind,
    /// First line, from 0.
    pub start: usize,
    pub text: String,
    pub names: String,
    /// What it is part of.
    pub within: String,
    /// It checks rather than does.
    pub is_test: bool,
    /// What was found in it letter for letter.
    pub exact: Exact,
    /// How well its whole file answers, from 0 to 1.
    pub file: f64,
}

/// What was found letter for letter, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exact {
    No,
    /// It declares a name that is asked for.
    Declares,
    Defines,
    /// It defines one, in what the question says it is part of.
    DefinesWithin,
    /// It holds a text that is quoted.
    Quotes,
}

/// How telling a term is: from the passages of the workspace that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct WeighedTerm {
    /// Stems that stand for it, with what each counts.
    pub stems: Vec<(String, f64)>,
    /// Its weight, above zero.
    pub weight: f64,
}

/// The weight of a term that stands in `having` of `all` passages.
pub fn weigh_term(term: &Term, having: u64, all: u64, settings: &RankingSettings) -> f64 {
    let (having, all) = (having as f64, all.max(having) as f64);
    let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
    term.weight * rarity.powf(settings.rarity)
}

/// How well a whole file answers, from 0 to 1: the share of the question that it says, and plain BM25 of it against the best of
/// all files. The two miss different files.
pub fn weigh_file(said: f64, plain: f64) -> f64 {
    0.75 * said + 0.25 * plain
}

/// What counts how much, against a word that a passage says again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingSettings {
    /// The power to which it counts how rare a word is.
    pub rarity: f64,
    /// A word in the line that begins a definition.
    pub heading: f64,
    /// A word in the name of the file.
    pub file_name: f64,
    /// A word in the names of its directories.
    pub directories: f64,
    /// A word in the name of what holds the passage.
    pub within: f64,
    /// A file that says everything, against a passage that does.
    pub file: f64,
    /// From here on a further mention counts half.
    pub saturation: f64,
    /// How much more a long passage has to say to count as much as a short one, from 0 to 1.
    pub length: f64,
    /// What the best passage within a definition adds to where the definition begins.
    pub members: f64,
    /// A further passage of a file that was cited before.
    pub further: f64,
    /// A test inside a source file.
    pub inner_test: f64,
}

impl RankingSettings {
    pub fn for_question(question: &Question) -> Self {
        let plain = Self {
            // A word of everyday speech that is rare in code is no more telling for it.
            rarity: 0.5,
            heading: 0.5,
            file_name: 1.0,
            directories: 0.5,
            within: 0.2,
            file: 0.8,
            saturation: 2.0,
            length: 0.5,
            members: 0.2,
            further: 0.7,
            inner_test: 0.4,
        };
        match question.is_literal {
            false => plain,
            true => Self {
                rarity: 1.0,
                heading: 1.0,
                within: 0.4,
                file: 0.3,
                ..plain
            },
        }
    }
}

/// The numbers of the candidates with their scores, best first. Same input, same order.
pub fn rank_passages(
    candidates: &[Candidate],
    terms: &[WeighedTerm],
    question: &Question,
    settings: &RankingSettings,
) -> Vec<(usize, f64)> {
    let mut counter = Counter::new(terms);
    let counted: Vec<Counted> = candidates
        .iter()
        .map(|candidate| counter.count(candidate))
        .collect();
    let scorer = Scorer {
        terms,
        settings,
        mean_words: counted.iter().map(|each| each.words).sum::<f64>() / counted.len().max(1) as f64,
    };
    let scores: Vec<f64> = candidates
        .iter()
        .zip(&counted)
        .map(|(candidate, counted)| scorer.score(counted, candidate.file))
        .collect();
    let of_members = best_within(candidates, &scores);
    let mut ranked: Vec<(usize, f64)> = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let held = candidate
            .names
            .split(' ')
            .filter_map(|name| of_members.get(&(&*candidate.path, name)));
        let members = settings.members * held.copied().fold(0.0, f64::max);
        let score = (scores[number] + members) * prior(candidate, question, settings);
        ranked.push((number, score));
    }
    let key = |number: usize| (&candidates[number].path, candidates[number].start);
    ranked.sort_by(|one, other| {
        let exact = candidates[other.0].exact.cmp(&candidates[one.0].exact);
        exact
            .then(other.1.total_cmp(&one.1))
            .then_with(|| key(one.0).cmp(&key(other.0)))
    });
    different_files_first(&ranked, candidates, settings.further)
}

/// The best score within each definition: by the path of its file and its name.
fn best_within<'a>(candidates: &'a [Candidate], scores: &[f64]) -> BTreeMap<(&'a str, &'a str), f64> {
    let mut best: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (candidate, score) in candidates.iter().zip(scores) {
        for holder in candidate.within.split(' ').filter(|holder| !holder.is_empty()) {
            let before = best.entry((&candidate.path, holder)).or_insert(0.0);
            *before = before.max(*score);
        }
    }
    best
}

fn prior(candidate: &Candidate, question: &Question, settings: &RankingSettings) -> f64 {
    let asks_for_tests = question.kinds.contains(&FileKind::Test);
    let inner = if candidate.is_test && !asks_for_tests && candidate.kind != FileKind::Test {
        settings.inner_test
    } else {
        1.0
    };
    weigh_kind(candidate.kind, &question.kinds) * inner
}

/// A further passage of a file counts less, so that what is read first shows several files.
fn different_files_first(
    ranked: &[(usize, f64)],
    candidates: &[Candidate],
    further: f64,
) -> Vec<(usize, f64)> {
    let mut seen: BTreeMap<&str, i32> = BTreeMap::new();
    let mut spread: Vec<(usize, f64)> = Vec::with_capacity(ranked.len());
    for (number, score) in ranked {
        let count = seen.entry(&candidates[*number].path).or_insert(0);
        spread.push((*number, score * further.powi(*count)));
        *count += 1;
    }
    spread.sort_by(|one, other| {
        let exact = candidates[other.0].exact.cmp(&candidates[one.0].exact);
        exact.then(other.1.total_cmp(&one.1)).then(one.0.cmp(&other.0))
    });
    spread
}

/// How often the terms stand in a passage.
struct Counted {
    body: Vec<f64>,
    heading: Vec<f64>,
    file_name: Vec<f64>,
    directories: Vec<f64>,
    within: Vec<f64>,
    words: f64,
}

struct Counter<'t> {
    terms: usize,
    numbers: BTreeMap<&'t str, Vec<(usize, f64)>>,
    stems: Stems,
}

impl<'t> Counter<'t> {
    fn new(terms: &'t [WeighedTerm]) -> Self {
        let mut numbers: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
        for (number, term) in terms.iter().enumerate() {
            for (stem, share) in &term.stems {
                numbers.entry(stem).or_default().push((number, *share));
            }
        }
        Self {
            terms: terms.len(),
            numbers,
            stems: Stems::default(),
        }
    }

    fn count(&mut self, candidate: &Candidate) -> Counted {
        let (body, words) = self.count_text(&candidate.text);
        let (directories, file) = candidate.path.rsplit_once('/').unwrap_or(("", &candidate.path));
        let file_name = file.rsplit_once('.').map_or(file, |(name, _)| name);
        Counted {
            body,
            words,
            heading: self.count_text(heading(candidate)).0,
            file_name: self.count_text(file_name).0,
            directories: self.count_text(directories).0,
            within: self.count_text(&candidate.within).0,
        }
    }

    /// How often each term stands in a text, and the number of words.
    fn count_text(&mut self, text: &str) -> (Vec<f64>, f64) {
        let mut counts = vec![0.0; self.terms];
        let mut words = 0.0;
        for_each_token(text, |token| {
            let found = match token {
                Token::Word(word) => {
                    words += 1.0;
                    self.numbers.get(self.stems.stem(word))
                }
                Token::Whole(name) => self.numbers.get(whole(name).as_str()),
            };
            for (number, share) in found.into_iter().flatten() {
                counts[*number] += share;
            }
        });
        (counts, words)
    }
}

struct Scorer<'t> {
    terms: &'t [WeighedTerm],
    settings: &'t RankingSettings,
    mean_words: f64,
}

impl Scorer<'_> {
    /// How much a passage says of each term, 1 for its text at most, and what its heading and its place add.
    fn score(&self, counted: &Counted, file: f64) -> f64 {
        let settings = self.settings;
        let length = 1.0 - settings.length + settings.length * counted.words / self.mean_words.max(1.0);
        let (mut score, mut had, mut asked) = (0.0, 0.0, 0.0);
        for (number, term) in self.terms.iter().enumerate() {
            let said = counted.body[number] / length;
            let file_name = settings.file_name * counted.file_name[number].min(1.0);
            let directories = settings.directories * counted.directories[number].min(1.0);
            let found = said / (said + settings.saturation)
                + settings.heading * counted.heading[number].min(1.0)
                + settings.within * counted.within[number].min(1.0)
                + file_name.max(directories);
            score += term.weight * found;
            asked += term.weight;
            if found > 0.0 {
                had += term.weight;
            }
        }
        let coverage = (had / f64::max(asked, f64::MIN_POSITIVE)).sqrt();
        score * coverage + settings.file * file * asked
    }
}

/// The line that begins what a passage defines.
fn heading(candidate: &Candidate) -> &str {
    let is_named = |text: &str| {
        let mut names = candidate.names.split(' ').take(HEADING_NAMES_MAX);
        names.any(|name| !name.is_empty() && text.contains(name))
    };
    let lines = read_lines(&candidate.path, &candidate.text);
    let mut code = lines.into_iter().filter(|line| line.role == Role::Code);
    code.find(|line| is_named(line.text)).map_or("", |line| line.text)
}

/// So many of the names in a passage may be that of its definition.
const HEADING_NAMES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::question::read_question;
    use super::*;

    fn candidate(path: &str, text: &str) -> Candidate {
        Candidate {
            path: path.to_string(),
            kind: super::super::file_kind::classify_path(path),
            start: 0,
            text: text.to_string(),
            names: String::new(),
            within: String::new(),
            is_test: false,
            exact: Exact::No,
            file: 0.0,
        }
    }

    fn first(candidates: &[Candidate], question: &str) -> String {
        let question = read_question(question);
        let settings = RankingSettings::for_question(&question);
        let terms: Vec<WeighedTerm> = question
            .terms
            .iter()
            .map(|term| WeighedTerm {
                stems: vec![(term.stem.clone(), 1.0)],
                weight: weigh_term(term, 1, 10, &settings),
            })
            .collect();
        let ranked = rank_passages(candidates, &terms, &question, &settings);
        candidates[ranked[0].0].path.clone()
    }

    #[test]
    fn the_program_comes_before_its_tests_unless_they_are_asked_for() {
        let both = [
            candidate("tests/pool.rs", "open the pool"),
            candidate("src/pool.rs", "open the pool"),
        ];
        assert_eq!(first(&both, "open a pool"), "src/pool.rs");
        assert_eq!(first(&both, "tests that open a pool"), "tests/pool.rs");
    }

    #[test]
    fn what_is_found_letter_for_letter_comes_first() {
        let mut quoting = candidate("a.rs", "x");
        quoting.exact = Exact::Quotes;
        assert_eq!(
            first(&[candidate("b.rs", "open open open"), quoting], "open"),
            "a.rs"
        );
    }

    #[test]
    fn what_defines_a_word_comes_before_what_mentions_it() {
        let mut defining = candidate("b.rs", "fn drain()");
        defining.names = "drain".to_string();
        defining.text = "fn drain()".to_string();
        assert_eq!(
            first(&[candidate("a.rs", "call drain"), defining], "what drains it"),
            "b.rs"
        );
    }

    #[test]
    fn several_files_are_shown_before_one_is_shown_twice() {
        let mut twice = candidate("a.rs", "pool pool");
        twice.start = 9;
        let all = [
            candidate("a.rs", "pool pool"),
            twice,
            candidate("b.rs", "pool pool of a"),
        ];
        let question = read_question("pool");
        let terms = [WeighedTerm {
            stems: vec![("pool".to_string(), 1.0)],
            weight: 1.0,
        }];
        let ranked = rank_passages(&all, &terms, &question, &RankingSettings::for_question(&question));
        assert_eq!(
            ranked.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            [0, 2, 1]
        );
    }

    #[test]
    fn rare_words_weigh_more_and_in_plain_words_a_little_only() {
        let term = Term {
            stem: "a".to_string(),
            weight: 1.0,
        };
        let times = |question: &str| {
            let settings = RankingSettings::for_question(&read_question(question));
            weigh_term(&term, 1, 100, &settings) / weigh_term(&term, 50, 100, &settings)
        };
        assert!(times("How is it kept?") > 1.0);
        assert!(times("How does `read_all` keep it?") > 2.0 * times("How is it kept?"));
    }

    #[test]
    fn a_file_is_better_the_more_it_says_and_the_better_bm25_finds_it() {
        assert!(weigh_file(0.5, 1.0) > weigh_file(0.5, 0.2));
        assert!(weigh_file(0.6, 0.5) > weigh_file(0.5, 0.5));
        assert_eq!(weigh_file(1.0, 1.0), 1.0);
    }
}
