//! Which words stand in a text, and how an index keeps them: one reading for what is found and for what is looked for.

use super::Capability;
use super::held::COLUMNS;
use crate::retrieval::question::{is_common, is_glue};
use crate::retrieval::words::{Stems, for_each_word};
use std::collections::BTreeSet;

/// Longer runs of letters are no words: keys, hashes, data.
const RUN_BYTES_MAX: usize = 120;
/// Letters within a mixed word that are a word by themselves: the `python` of `python3`.
const WITHIN_LETTERS_MIN: usize = 3;
/// What these letters count, against the whole word.
const WITHIN_SHARE: f64 = 0.8;
/// What one of the most common words of English counts, against a telling one.
const COMMON_SHARE: f64 = 0.6;
/// A request has so many words at most; further ones are not looked for.
const WANTED_MAX: usize = 40;

/// One word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In lower case, as written.
    pub written: String,
    /// As an index keeps it: its stem, or itself where it has letters and digits.
    pub kept: String,
    /// What else it stands for, as an index keeps it.
    pub within: Vec<String>,
}

/// The words of a text in its order; identifiers are taken apart, `h264` is one word.
fn words_of(text: &str, stems: &mut Stems) -> Vec<Word> {
    let mut words = Vec::new();
    for run in text.split(|character: char| !character.is_alphanumeric()) {
        if run.is_empty() || run.len() > RUN_BYTES_MAX {
            continue;
        }
        let mut parts = Vec::new();
        for_each_word(run, |part| parts.push(part));
        let is_mixed = run.chars().any(char::is_numeric) && run.chars().any(char::is_alphabetic);
        if is_mixed {
            let written = run.to_lowercase();
            let letters = parts.iter().filter(|part| {
                part.chars().filter(|each| each.is_alphabetic()).count() >= WITHIN_LETTERS_MIN
            });
            words.push(Word {
                within: letters.map(|part| stems.stem(part).to_string()).collect(),
                kept: written.clone(),
                written,
            });
            continue;
        }
        // A single letter may be a name, a single digit is none.
        for part in parts
            .into_iter()
            .filter(|part| part.len() > 1 || part.chars().all(char::is_alphabetic))
        {
            words.push(Word {
                written: part.to_lowercase(),
                kept: stems.stem(part).to_string(),
                within: Vec::new(),
            });
        }
    }
    words
}

/// The words of everything that is said of something that can be used, column by column.
pub fn columns_of(capability: &Capability, stems: &mut Stems) -> [Vec<Word>; COLUMNS] {
    let texts = [
        &capability.name,
        &capability.summary,
        &capability.params,
        capability.place(),
    ];
    texts.map(|text| words_of(text, stems))
}

/// The words of a text as a column of an index: with a space behind each.
pub fn column_of(words: &[Word]) -> String {
    let mut column = String::new();
    for word in words {
        for kept in std::iter::once(&word.kept).chain(&word.within) {
            column.push_str(kept);
            column.push(' ');
        }
    }
    column
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// In lower case, as written.
    pub written: String,
    /// What an index may keep it as, each with what it counts.
    pub forms: Vec<(String, f64)>,
    /// What it counts among the words of the request.
    pub weight: f64,
}

/// What a request looks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Each word once, in its order.
    pub words: Vec<Wanted>,
    /// They only hold sentences together, so that what has them need not be meant.
    pub is_glue: bool,
}

/// Reads a request. What only holds a sentence together is left out, unless nothing else is there.
pub fn read_request(text: &str) -> Request {
    let mut stems = Stems::default();
    let text = text
        .replace("n't", " not")
        .replace("n’t", " not")
        .replace("'s", "")
        .replace("’s", "");
    let all = words_of(&text, &mut stems);
    let is_glue_only = all.iter().all(|word| is_glue(&word.written));
    let mut seen = BTreeSet::new();
    let mut words: Vec<Wanted> = Vec::new();
    for word in &all {
        let is_left_out = is_glue(&word.written) && !is_glue_only;
        if is_left_out || words.len() >= WANTED_MAX || !seen.insert(&word.kept) {
            continue;
        }
        let within = word.within.iter().map(|kept| (kept.clone(), WITHIN_SHARE));
        words.push(Wanted {
            written: word.written.clone(),
            forms: std::iter::once((word.kept.clone(), 1.0)).chain(within).collect(),
            weight: if is_common(&word.kept) { COMMON_SHARE } else { 1.0 },
        });
    }
    Request {
        is_glue: is_glue_only,
        words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        column_of(&words_of(text, &mut Stems::default()))
    }

    fn wanted(text: &str) -> Vec<String> {
        read_request(text)
            .words
            .into_iter()
            .map(|word| word.written)
            .collect()
    }

    #[test]
    fn a_name_in_any_shape_has_the_same_words() {
        for name in ["rename_symbol", "renameSymbol", "rename-symbol", "RenameSymbols"] {
            assert_eq!(kept(name), "renam symbol ", "{name}");
        }
    }

    #[test]
    fn a_word_of_letters_and_digits_is_one_word() {
        assert_eq!(kept("put_s3 h264 python3"), "put s3 h264 python3 python ");
        assert_eq!(wanted("s3 buckets"), ["s3", "buckets"]);
    }

    #[test]
    fn a_request_is_its_telling_words_each_once() {
        assert_eq!(
            wanted("How do I rename the files, and rename them again?"),
            ["rename", "files"]
        );
        assert!(!read_request("the whale").is_glue);
        let [common, telling] = &read_request("find whales").words[..] else {
            panic!("two words")
        };
        assert!(common.weight < telling.weight);
    }

    #[test]
    fn a_request_of_nothing_but_glue_is_that() {
        assert_eq!(wanted("the of and to"), ["the", "of", "and", "to"]);
        assert!(read_request("the of and to").is_glue && read_request("").is_glue);
    }
}
