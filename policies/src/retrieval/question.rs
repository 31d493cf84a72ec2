//! What a question asks for: its telling words, the identifiers it spells out, and the texts it quotes.

use super::file_kind::{FileKind, kinds_asked_for};
use super::words::{Stems, Token, for_each_token, whole};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A word of the question that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// As the index keeps it.
    pub stem: String,
    /// More for what is said more often.
    pub weight: f64,
}

/// An identifier that the question spells out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Its last part, as written: `max_depth` of `WalkBuilder::max_depth`.
    pub text: String,
    /// What it is said to be part of: `WalkBuilder`.
    pub owner: Option<String>,
}

/// A question, read. All of it, however long it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// In the order of the question, each once.
    pub terms: Vec<Term>,
    pub names: Vec<Name>,
    pub asks_for_definition: bool,
    /// Texts that may stand somewhere letter for letter, the longest first.
    pub literals: Vec<String>,
    /// It spells out names or quotes texts: its words are those of the code.
    pub is_literal: bool,
    /// Kinds of files it asks for by name.
    pub kinds: BTreeSet<FileKind>,
}

/// A word that is said more often than this counts no more.
const REPEATS_MAX: f64 = 4.0;
/// Shorter quotes are words, not texts.
const LITERAL_BYTES_MIN: usize = 4;
/// Longer ones are looked for by their words.
const LITERAL_BYTES_MAX: usize = 400;
const LITERALS_MAX: usize = 8;
const NAMES_MAX: usize = 32;
/// What one of the most common words of English counts, against a telling one.
const COMMON_SHARE: f64 = 0.5;
/// A question for a definition has so few words beside the name.
const FURTHER_WORDS_MAX: usize = 3;

pub fn read_question(text: &str) -> Question {
    let mut stems = Stems::default();
    let in_quotes = texts_in_quotes(text);
    let is_literal = !in_quotes.is_empty();
    let literals = texts_to_look_for(in_quotes, text);
    let asks_for_definition = asks_for_definition(text, &mut stems);
    let mut names = spelled_names(text);
    if asks_for_definition && names.is_empty() {
        names = plain_names(text, &mut stems);
    }
    let terms = terms(text, &mut stems);
    let kinds = kinds_asked_for(terms.iter().map(|term| term.stem.as_str()));
    Question {
        terms,
        asks_for_definition,
        is_literal: is_literal || !names.is_empty(),
        names,
        literals,
        kinds,
    }
}

fn terms(text: &str, stems: &mut Stems) -> Vec<Term> {
    let text = text
        .replace("n't", " not")
        .replace("n’t", " not")
        .replace("'s", "")
        .replace("’s", "");
    let mut counted: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    let mut order = 0;
    for_each_token(&text, |token| {
        let stem = match token {
            Token::Word(word) if is_glue(word) || word.len() == 1 => return,
            Token::Word(word) => stems.stem(word).to_string(),
            Token::Whole(name) => whole(name),
        };
        counted.entry(stem).or_insert((order, 0.0)).1 += 1.0;
        order += 1;
    });
    let mut counted: Vec<(String, (usize, f64))> = counted.into_iter().collect();
    counted.sort_by_key(|(_, (order, _))| *order);
    let terms = counted.into_iter().map(|(stem, (_, count))| Term {
        weight: count.min(REPEATS_MAX).sqrt() * if is_common(&stem) { COMMON_SHARE } else { 1.0 },
        stem,
    });
    terms.collect()
}

/// Whether a word only holds a sentence together.
pub(crate) fn is_glue(word: &str) -> bool {
    let lower = word.to_lowercase();
    GLUE.split_whitespace().any(|glue| glue == lower)
}

pub(crate) fn is_common(stem: &str) -> bool {
    static STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let mut stems = Stems::default();
        COMMON
            .split_whitespace()
            .map(|word| stems.stem(word).to_string())
            .collect()
    });
    STEMS.contains(stem)
}

/// The most common English nouns, verbs, adjectives and adverbs.
const COMMON: &str = "time person year way day thing man world life hand part child eye woman place work week case point \
company number group problem fact be have do say get make go know take see come think look want give use find tell ask \
seem feel try leave call good new first last long great little own other old right big high different small large next \
early young important few public bad same able many much one two still also well even back now only then like need \
become put mean keep let begin help show hear play run move live believe bring happen write provide sit stand lose pay \
meet include continue set learn change lead understand watch follow stop create speak read allow add spend grow open \
walk win offer remember love consider appear buy wait serve die send expect build stay fall cut reach kill remain several \
every another already without within together";

/// The English stop words of the Snowball project, as `rust-stemmers` has its stemmer.
const GLUE: &str = "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her \
hers herself it its itself they them their theirs themselves what which who whom this that these those am is are was \
were be been being have has had having do does did doing would should could ought a an the and but if or because as \
until while of at by for with about against between into through during before after above below to from up down in out \
on off over under again further then once here there when where why how all any both each few more most other some such \
no nor not only own same so than too very can will just";

fn asks_for_definition(text: &str, stems: &mut Stems) -> bool {
    let mut asks = false;
    for_each_token(text, |token| {
        if let Token::Word(word) = token {
            asks |= ["defin", "definit", "declar", "implement"].contains(&stems.stem(word));
        }
    });
    asks
}

/// Identifiers: what has an underscore, an inner capital, `::`, `.` or `#` between its parts, or is quoted.
fn spelled_names(text: &str) -> Vec<Name> {
    let mut names = Vec::new();
    for token in
        text.split(|character: char| character.is_whitespace() || "(){}[],;\"<>=".contains(character))
    {
        let is_quoted = token.len() > 2 && token.starts_with(['`', '\'', '‘', '“']);
        let token =
            token.trim_matches(|character: char| !character.is_alphanumeric() && !"_$".contains(character));
        let inner_capital = token.chars().skip(1).any(char::is_uppercase);
        let has_shape =
            inner_capital || token.contains(['_', '$']) || token.contains("::") || has_inner(token, ".#");
        if token.len() < 2
            || token == "e.g"
            || token == "i.e"
            || !(is_quoted || has_shape)
            || token.contains('/')
        {
            continue;
        }
        let mut parts = token.rsplit([':', '.', '#']).filter(|part| !part.is_empty());
        let Some(last) = parts.next() else { continue };
        let is_name = last
            .chars()
            .all(|character| character.is_alphanumeric() || "_$-?!".contains(character));
        let name = Name {
            text: last.to_string(),
            owner: parts.next().map(str::to_string),
        };
        if is_name && !names.contains(&name) && names.len() < NAMES_MAX {
            names.push(name);
        }
    }
    names
}

fn has_inner(token: &str, signs: &str) -> bool {
    let characters: Vec<char> = token.chars().collect();
    characters
        .windows(3)
        .any(|each| signs.contains(each[1]) && each[0].is_alphanumeric() && each[2].is_alphabetic())
}

/// The words of a short question that may be names although they look like any word: `Where is open defined?`
fn plain_names(text: &str, stems: &mut Stems) -> Vec<Name> {
    let mut names = Vec::new();
    for word in text.split(|character: char| !character.is_alphanumeric() && character != '_') {
        let is_verb = ["defin", "definit", "declar", "implement"].contains(&stems.stem(word));
        if word.len() > 1 && !is_glue(word) && !is_verb {
            names.push(Name {
                text: word.to_string(),
                owner: None,
            });
        }
    }
    if names.len() > FURTHER_WORDS_MAX {
        names.clear();
    }
    names
}

/// Texts in quotes of any kind.
fn texts_in_quotes(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (open, close) in [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('«', '»'),
    ] {
        let begins = quotes(text, open, |before, _| !before.is_some_and(char::is_alphanumeric));
        let ends = quotes(text, close, |_, after| !after.is_some_and(char::is_alphanumeric));
        for begin in begins.iter().take(LITERALS_MAX) {
            let inner = begin + open.len_utf8();
            let after: Vec<usize> = ends.iter().copied().filter(|end| *end > inner).collect();
            found.extend(after.last().map(|end| &text[inner..*end]));
            found.extend(after.first().map(|end| &text[inner..*end]));
        }
    }
    found.retain(|literal| is_looked_for(literal));
    found
}

/// Those in quotes, and a whole line, or what follows its colon: it may have been pasted.
fn texts_to_look_for<'a>(mut found: Vec<&'a str>, text: &'a str) -> Vec<String> {
    let pasted = text.lines().map(str::trim).filter(|line| !line.ends_with('?'));
    found.extend(pasted.clone().take(LITERALS_MAX / 2));
    found.extend(
        pasted
            .filter_map(|line| Some(line.split_once(": ")?.1))
            .take(LITERALS_MAX / 2),
    );
    found.retain(|literal| is_looked_for(literal));
    let mut literals: Vec<String> = found.into_iter().map(str::to_string).collect();
    literals.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
    literals.dedup();
    literals.truncate(LITERALS_MAX);
    literals
}

fn is_looked_for(literal: &str) -> bool {
    (LITERAL_BYTES_MIN..=LITERAL_BYTES_MAX).contains(&literal.len()) && says_more_than_a_name(literal)
}

fn says_more_than_a_name(literal: &str) -> bool {
    let trimmed = literal.trim();
    trimmed.contains(char::is_alphanumeric)
        && trimmed.contains(|character: char| !character.is_alphanumeric() && !"_$:.".contains(character))
}

fn quotes(text: &str, sign: char, fits: impl Fn(Option<char>, Option<char>) -> bool) -> Vec<usize> {
    let around = text.match_indices(sign).filter(|(position, _)| {
        let before = text[..*position].chars().next_back();
        let after = text[position + sign.len_utf8()..].chars().next();
        fits(before, after)
    });
    around.map(|(position, _)| position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        read_question(text)
            .terms
            .into_iter()
            .map(|term| term.stem)
            .collect()
    }

    fn names(text: &str) -> Vec<String> {
        read_question(text)
            .names
            .into_iter()
            .map(|name| name.text)
            .collect()
    }

    #[test]
    fn glue_is_left_out() {
        assert_eq!(
            stems("How does a crashed actor come back?"),
            ["crash", "actor", "come", "back"]
        );
    }

    #[test]
    fn a_long_task_counts_to_its_last_word() {
        let long = format!("{} zebra", "retry the queue. ".repeat(20_000));
        assert_eq!(stems(&long), ["retri", "queue", "zebra"]);
        assert!(read_question(&long).terms[0].weight > 1.0);
    }

    #[test]
    fn identifiers_are_noticed() {
        assert_eq!(
            names("Where is `WalkBuilder::max_depth` used with readAll and `x1`, e.g. in src/walk.rs?"),
            ["max_depth", "readAll", "x1"]
        );
        let name = &read_question("What is Pool.open?").names[0];
        assert_eq!(
            (name.text.as_str(), name.owner.as_deref()),
            ("open", Some("Pool"))
        );
    }

    #[test]
    fn in_a_short_question_for_a_definition_any_word_may_be_the_name() {
        assert_eq!(names("Where is open defined?"), ["open"]);
        assert!(names("How are the limits of a window defined while a child runs?").is_empty());
        assert!(!read_question("Where is open called?").asks_for_definition);
    }

    #[test]
    fn quoted_texts_are_kept_letter_for_letter() {
        let question = read_question("Where does the message 'can't open {}: 5 left' come from?");
        assert_eq!(question.literals[0], "can't open {}: 5 left");
        let two = read_question("it says \"as it\" and \"so be\"").literals;
        assert!(
            ["as it", "so be"]
                .iter()
                .all(|text| two.contains(&text.to_string())),
            "{two:?}"
        );
        assert!(read_question("What is `open`?").literals.is_empty());
    }

    #[test]
    fn a_question_in_plain_words_is_told_from_one_with_words_of_the_code() {
        for literal in ["Who calls read_all?", "Where does 'no such way' come from?"] {
            assert!(read_question(literal).is_literal, "{literal}");
        }
        for plain in ["How isn't it lost?", "note: find out how a user's file is kept."] {
            assert!(!read_question(plain).is_literal, "{plain}");
        }
    }

    #[test]
    fn a_pasted_line_may_be_a_text() {
        let question = read_question("error: no such way");
        assert_eq!(question.literals, ["error: no such way", "no such way"]);
    }

    #[test]
    fn a_question_of_any_script_is_read() {
        assert_eq!(read_question(""), Question::default());
        assert_eq!(stems("größe 重启"), ["größe", "重", "启", "重启"]);
    }
}
