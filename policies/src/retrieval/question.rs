//! What a question asks for: its telling words, what they may be called in code, and the names it spells out.

use super::concepts::{Kin, concepts};
use super::file_kind::{FileKind, kinds_asked_for};
use super::words::{for_each_word, stem};
use std::collections::BTreeSet;

/// One thing the question asks about.
#[derive(Debug, Clone, PartialEq)]
pub struct Notion {
    /// How telling it is within the question, from 0 to 1.
    pub weight: f64,
    /// Stems that express it, the question's own first with weight 1, its kin with less.
    pub stems: Vec<(String, f64)>,
    /// Sayings of several words that express it, with what each counts.
    pub sayings: Vec<(Vec<String>, f64)>,
    /// It stood in the question as an identifier: `max_depth`, `WalkBuilder`.
    pub is_name: bool,
}

/// A question, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// In the order of the question.
    pub notions: Vec<Notion>,
    /// Identifiers and paths it spells out, lower-cased.
    pub names: BTreeSet<String>,
    /// Kinds of files it asks for by name.
    pub kinds: BTreeSet<FileKind>,
}

/// Longer questions are read up to here.
const QUESTION_BYTES_MAX: usize = 4_000;
/// More notions than this do not make an answer better.
const NOTIONS_MAX: usize = 24;
/// What a word that is part of a saying still counts by itself.
const TOLD_WEIGHT: f64 = 0.5;
/// Reads a question.
pub fn read_question(text: &str) -> Question {
    let text = cut_at_character(text, QUESTION_BYTES_MAX);
    let names = spelled_names(text);
    let words = question_words(text);
    let mut notions: Vec<Notion> = Vec::new();
    let stems: Vec<&str> = words.iter().map(|word| word.stem.as_str()).collect();
    let mut told = vec![false; words.len()];
    for position in 0..words.len() {
        let saying = concepts()
            .saying_at(&stems, position)
            .filter(|_| notions.len() < NOTIONS_MAX);
        if let Some((places, saying)) = saying {
            let joined: String = places.iter().map(|place| words[*place].text.as_str()).collect();
            // `back off` may be written `backoff`.
            let mut notion = notion(stem(&joined), Some(&saying.kin), 1.0);
            notion.sayings.push((saying.stems.clone(), 1.0));
            notions.push(notion);
            places.iter().for_each(|place| told[*place] = true);
        }
        let word = &words[position];
        let weight = word_weight(&word.text) * if told[position] { TOLD_WEIGHT } else { 1.0 };
        let known = notions.iter().any(|notion| notion.stems[0].0 == word.stem);
        if weight > 0.0 && !known && notions.len() < NOTIONS_MAX {
            let is_name = names.contains(&word.text);
            notions.push(Notion {
                is_name,
                ..notion(word.stem.clone(), concepts().kin_of(&word.stem), weight)
            });
        }
    }
    let kinds = kinds_asked_for(words.iter().map(|word| word.stem.as_str()));
    Question {
        notions,
        names,
        kinds,
    }
}

/// The longest beginning of `text` that is no longer than `bytes_max`.
fn cut_at_character(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

struct Word {
    text: String,
    stem: String,
}

fn question_words(text: &str) -> Vec<Word> {
    let unquoted = text
        .replace("n't", " not")
        .replace("n’t", " not")
        .replace("'s", "")
        .replace("’s", "");
    let mut words = Vec::new();
    for_each_word(&unquoted, |word| {
        words.push(Word {
            text: word.to_lowercase(),
            stem: stem(word),
        })
    });
    words
}

/// Identifiers and paths: what has an underscore, an inner capital, `::`, a dot or a slash, or stands in backticks.
fn spelled_names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for token in text.split_whitespace() {
        let quoted = token.contains('`');
        let token = token.trim_matches(|character: char| !character.is_alphanumeric() && character != '_');
        let inner_capital =
            token.chars().skip(1).any(char::is_uppercase) && token.chars().any(char::is_lowercase);
        let inner_dot = token.contains('.') && !token.contains("..");
        if token.len() >= 3
            && (quoted || inner_capital || inner_dot || token.contains(['_', '/']) || token.contains("::"))
        {
            names.insert(token.to_lowercase());
            names.extend(
                token
                    .split(['.', '/', ':'])
                    .filter(|part| part.len() >= 4)
                    .map(str::to_lowercase),
            );
        }
    }
    names
}

fn notion(own: String, kin: Option<&Kin>, weight: f64) -> Notion {
    let mut stems = vec![(own.clone(), 1.0)];
    let mut sayings = Vec::new();
    if let Some(kin) = kin {
        stems.extend(
            kin.words
                .iter()
                .filter(|(word, _)| **word != own)
                .map(|(word, weight)| (word.clone(), *weight)),
        );
        sayings.clone_from(&kin.sayings);
    }
    Notion {
        weight,
        stems,
        sayings,
        is_name: false,
    }
}

/// How telling a word is: nothing for the glue of English, little for what every program has.
fn word_weight(word: &str) -> f64 {
    if word.len() == 1 && word.is_ascii() && word != "c" {
        return 0.0;
    }
    if GLUE.split_whitespace().any(|glue| glue == word) {
        return 0.0;
    }
    if FAINT.split_whitespace().any(|faint| faint == word) {
        return 0.25;
    }
    1.0
}

/// Words that say nothing about the code.
pub const GLUE: &str = "a about above actually after again against all also always am an and another any anybody anyone \
anything anywhere are as at be became because become becomes been before being below between both but by called can \
cannot come comes coming could did do does doing done during each either else ensure especially etc even ever every \
everybody everyone everything exactly explain few find for from further gets getting give given gives go goes going \
got had has have having he help her here him his how however i if in instead into is isn it itself just know let like \
look looks lot made make makes making many may me might mine more most much must my need needs never no nor not now of \
off often on once one only onto or other others otherwise our out over own per perhaps place please possible really \
responsible s same say says see seem seems shall she should show so some somebody somehow someone something somewhere \
still such sure take taken takes tell than that the their them then there these they thing things this those though \
through to together too under until up upon us use used uses using usually very via want wants was way ways we well \
were what whatever when whenever where whether which while who whole whom whose why will with within without would \
yes yet you your yourself describe detail details happen happens happening happened implement implemented \
implementation implements work works working handle handled handles handling live lives located defined definition \
define actual behave mean means meant put puts several whichever ready both proper properly";

/// Words that every program has.
pub const FAINT: &str = "code codebase file files function functions method methods module modules class classes library \
crate package project program programs repo repository source system software application app value values data \
object objects part parts piece new set sets two three several different certain given first last user people person \
part name named start end run runs running rust python javascript typescript java golang go back down long big small \
inside outside side kind kinds sort type types time times line lines part able allow allows allowed support supported \
supports provide provides provided result results text input output thing number good bad right wrong decide decides \
decided change changes changed turn turned turns read reads write writes written writing call calls calling get keep keeps kept";

#[cfg(test)]
mod tests {
    use super::*;

    fn first_stems(text: &str) -> Vec<String> {
        read_question(text)
            .notions
            .into_iter()
            .map(|notion| notion.stems[0].0.clone())
            .collect()
    }

    #[test]
    fn glue_is_left_out() {
        assert_eq!(
            first_stems("How does a crashed actor come back?"),
            ["crash", "actor", "comeback", "back"]
        );
    }

    #[test]
    fn a_phrase_stands_for_words_of_code() {
        let question = read_question("come back");
        assert!(
            question.notions[0]
                .stems
                .iter()
                .any(|(stem, _)| stem == "restart")
        );
    }

    #[test]
    fn kin_counts_less_than_the_word_itself() {
        let question = read_question("crash");
        let panic = question.notions[0].stems.iter().find(|(stem, _)| stem == "panic");
        assert!(panic.is_some_and(|(_, weight)| *weight < 1.0));
    }

    #[test]
    fn identifiers_are_noticed() {
        let question = read_question("Where is `WalkBuilder::max_depth` used in src/walk.rs?");
        for name in [
            "walkbuilder::max_depth",
            "max_depth",
            "walkbuilder",
            "src/walk.rs",
            "walk",
        ] {
            assert!(question.names.contains(name), "{name} in {:?}", question.names);
        }
    }

    #[test]
    fn a_question_of_any_length_and_script_is_read() {
        assert!(read_question("").notions.is_empty());
        assert!(read_question(&"größe ".repeat(5_000)).notions.len() <= NOTIONS_MAX);
    }
}
