//! Which words stand in a text: identifiers taken apart, endings taken off.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashMap;
use std::sync::LazyLock;

/// So many stems are remembered; then it begins anew.
const REMEMBERED_MAX: usize = 50_000;
/// Longer runs of letters are no words: keys, hashes, data.
const RUN_BYTES_MAX: usize = 120;

/// What a text is made of, for a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A word, or a part of an identifier.
    Word(&'a str),
    /// An identifier of several parts, whole.
    Whole(&'a str),
}

/// Calls `found` with every token: `readHTTPHeader_v2` gives `read`, `HTTP`, `Header`, `v`, `2`, and itself.
///
/// Tokens are slices of the text, not yet lower-cased; every script is taken, ideographs one by one.
pub fn for_each_token<'a>(text: &'a str, mut found: impl FnMut(Token<'a>)) {
    for run in text.split(|character: char| !character.is_alphanumeric() && character != '_') {
        if run.is_empty() || run.len() > RUN_BYTES_MAX {
            continue;
        }
        let mut parts = 0;
        for_each_part(run, |part| {
            parts += 1;
            found(Token::Word(part));
        });
        if parts > 1 {
            found(Token::Whole(run));
        }
    }
}

/// Calls `found` with every word of `text`; identifiers are taken apart.
pub fn for_each_word<'a>(text: &'a str, mut found: impl FnMut(&'a str)) {
    for_each_token(text, |token| {
        if let Token::Word(word) = token {
            found(word);
        }
    });
}

fn for_each_part<'a>(run: &'a str, mut found: impl FnMut(&'a str)) {
    let mut start = 0;
    let mut before = Shape::Other;
    let mut characters = run.char_indices().peekable();
    while let Some((position, character)) = characters.next() {
        let shape = Shape::of(character);
        let next = characters.peek().map(|(_, next)| Shape::of(*next));
        if shape.begins_a_part(before, next) {
            let part = &run[start..position];
            if !part.is_empty() && before != Shape::Other {
                found(part);
            }
            start = position;
        }
        before = shape;
    }
    if before != Shape::Other {
        found(&run[start..]);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Upper,
    Lower,
    Digit,
    Ideograph,
    Other,
}

impl Shape {
    fn of(character: char) -> Self {
        match character {
            '_' => Self::Other,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => Self::Ideograph,
            _ if character.is_numeric() => Self::Digit,
            _ if character.is_uppercase() => Self::Upper,
            _ => Self::Lower,
        }
    }

    /// `aB` begins a part at B, and so does `ABc`; digits and letters are apart, and every ideograph stands alone.
    fn begins_a_part(self, before: Self, next: Option<Self>) -> bool {
        match (before, self) {
            (Self::Upper, Self::Upper) => next == Some(Self::Lower),
            (Self::Upper, Self::Lower) => false,
            (Self::Ideograph, Self::Ideograph) => true,
            _ => before != self,
        }
    }
}

/// Takes the endings off English words, and remembers what it did: words repeat.
pub struct Stems {
    english: Stemmer,
    known: HashMap<Box<str>, Box<str>>,
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            known: HashMap::new(),
        }
    }
}

impl Stems {
    /// The lower-case stem of a word: `retries` and `Retried` are `retri`.
    pub fn stem(&mut self, word: &str) -> &str {
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        if !self.known.contains_key(word) {
            let lower = word.to_lowercase();
            let stem = self.english.stem(&lower).into_owned();
            self.known.insert(word.into(), stem.into());
        }
        self.known.get(word).map_or("", |stem| stem)
    }

    /// Writes the tokens of a text as an index keeps them: stems, and identifiers in lower case without their `_`.
    pub fn write(&mut self, text: &str, to: &mut String) {
        for_each_token(text, |token| {
            match token {
                Token::Word(word) if word.len() == 1 => return,
                Token::Word(word) => to.push_str(self.stem(word)),
                Token::Whole(name) => push_whole(name, to),
            }
            to.push(' ');
        });
    }
}

fn push_whole(name: &str, to: &mut String) {
    let letters = name.chars().filter(|character| *character != '_');
    to.extend(letters.flat_map(char::to_lowercase));
}

/// An identifier as an index keeps it whole.
pub fn whole(name: &str) -> String {
    let mut written = String::new();
    push_whole(name, &mut written);
    written
}

/// Irregular verbs of English, the forms of each together.
const IRREGULAR: &str = "begin began begun, bind bound, blow blew blown, break broke broken, bring brought, build built, buy bought, \
catch caught, choose chose chosen choice, come came, deal dealt, do did done, draw drew drawn, drive drove \
driven, eat ate eaten, fall fell fallen, feed fed, feel felt, find found, fly flew flown, forbid forbade \
forbidden, forget forgot forgotten, freeze froze frozen, get got gotten, give gave given, go went gone, grow \
grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led, \
leave left, lend lent, lose lost, make made, mean meant, meet met, overwrite overwrote overwritten, pay paid, \
ride rode, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, \
shake shook shaken, show shown, shrink shrank shrunk, sing sang, sink sank sunk, sleep slept, speak spoke \
spoken, spend spent, spring sprang, stand stood, steal stole stolen, stick stuck, strike struck, swear swore \
sworn, sweep swept, take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown, \
understand understood, undo undid undone, wake woke woken, wear wore worn, win won, wind wound, write wrote \
written";

/// The other stems of an irregular verb.
pub fn other_forms(stem: &str) -> &'static [Box<str>] {
    static FORMS: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(|| {
        let mut stems = Stems::default();
        let mut forms: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
        for verb in IRREGULAR.split(", ") {
            let verb: Vec<Box<str>> = verb.split(' ').map(|form| stems.stem(form).into()).collect();
            for form in &verb {
                let others = verb.iter().filter(|other| *other != form).cloned();
                forms.entry(form.clone()).or_default().extend(others);
            }
        }
        forms
    });
    FORMS.get(stem).map_or(&[], Vec::as_slice)
}

/// Stems that a stem may be related to: who does it (`pars`, `parser`), by the rules of English spelling. Some are no words;
/// an index knows which ones are used.
pub fn relatives(stem: &str) -> Vec<String> {
    let mut relatives = Vec::new();
    if stem.len() < 3 || !stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return relatives;
    }
    if let Some(base) = stem
        .strip_suffix("er")
        .or_else(|| stem.strip_suffix("or"))
        .filter(|base| base.len() > 2)
    {
        relatives.push(base.to_string());
        relatives.push(format!("{base}e"));
        let undoubled = &base[..base.len() - 1];
        if base.ends_with(&base[base.len() - 2..base.len() - 1]) && undoubled.len() > 2 {
            relatives.push(undoubled.to_string());
        }
        return relatives;
    }
    let base = stem.strip_suffix('e').unwrap_or(stem);
    for ending in ["er", "or"] {
        relatives.push(format!("{base}{ending}"));
    }
    relatives.push(format!("{base}{}er", &base[base.len() - 1..]));
    relatives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word));
        words
    }

    #[test]
    fn identifiers_are_taken_apart() {
        assert_eq!(
            words("readHTTPHeader_v2(x) __init__"),
            ["read", "HTTP", "Header", "v", "2", "x", "init"]
        );
    }

    #[test]
    fn words_of_other_scripts_are_words() {
        assert_eq!(words("größe = zurück; 重启"), ["größe", "zurück", "重", "启"]);
        assert_eq!(words("a→b ©"), ["a", "b"]);
    }

    #[test]
    fn an_index_keeps_stems_and_whole_names() {
        let mut written = String::new();
        Stems::default().write("cancelled max_depth x", &mut written);
        assert_eq!(written, "cancel max depth maxdepth ");
        assert_eq!(whole("maxDepth"), "maxdepth");
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        let mut stems = Stems::default();
        for family in [
            ["panic", "panics", "PANIC"],
            ["cache", "cached", "caching"],
            ["retry", "retries", "retried"],
        ] {
            for word in family {
                assert_eq!(
                    stems.stem(word).to_string(),
                    stems.stem(family[0]).to_string(),
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn forms_of_an_irregular_verb_know_each_other() {
        assert_eq!(
            other_forms("written"),
            ["write".into(), "wrote".into()] as [Box<str>; 2]
        );
        assert_eq!(other_forms("sent"), ["send".into()] as [Box<str>; 1]);
        assert!(other_forms("retri").is_empty());
    }

    #[test]
    fn keys_are_no_words() {
        assert!(words(&"a1".repeat(100)).is_empty());
    }
}
