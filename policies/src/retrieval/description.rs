//! What a passage is, in one line, and which of its lines say so.

use super::languages::{Comments, Sort, language_of};
use super::outline::{Line, Outline, Role, read_outline};
use super::question::Question;
use super::words::{Stems, for_each_word};
use std::collections::BTreeMap;

/// A passage in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// What is defined there, as written: `pub fn open(path: &Path) -> Self`; or the heading.
    pub defines: String,
    /// The sentence of its prose that is closest to the question.
    pub says: String,
    /// The lines closest to the question, in their order.
    pub quote: Vec<String>,
}

const DEFINES_CHARACTERS_MAX: usize = 100;
const SAYS_CHARACTERS_MAX: usize = 200;
const QUOTE_CHARACTERS_MAX: usize = 140;

/// Describes the passage `text` of the file `path` with a question in mind.
pub fn describe_passage(path: &str, text: &str, question: &Question, quote_lines: usize) -> Description {
    let outline = read_outline(path, text);
    let mut nearness = Nearness::new(question);
    let is_prose = language_of(path).comments() == Comments::Headings;
    Description {
        defines: what_is_defined(&outline, is_prose, &mut nearness),
        says: nearest_sentence(&outline.lines, &mut nearness),
        quote: nearest_lines(text, &outline, &mut nearness, quote_lines),
    }
}

/// How close a text is to the question: the weights of its words that stand in the text.
struct Nearness<'q> {
    weights: BTreeMap<&'q str, f64>,
    stems: Stems,
}

impl<'q> Nearness<'q> {
    fn new(question: &'q Question) -> Self {
        Self {
            weights: question
                .terms
                .iter()
                .map(|term| (term.stem.as_str(), term.weight))
                .collect(),
            stems: Stems::default(),
        }
    }

    fn of(&mut self, text: &str) -> f64 {
        let mut touched: BTreeMap<&str, f64> = BTreeMap::new();
        for_each_word(text, |word| {
            if let Some((stem, weight)) = self.weights.get_key_value(self.stems.stem(word)) {
                touched.insert(stem, *weight);
            }
        });
        touched.values().sum()
    }
}

/// The definition or heading nearest to the question; the first one when none is near.
fn what_is_defined(outline: &Outline<'_>, is_prose: bool, nearness: &mut Nearness<'_>) -> String {
    let mut best: Option<(f64, &str)> = None;
    for each in outline
        .definitions
        .iter()
        .filter(|each| each.sort != Sort::Declaration)
    {
        let near = nearness.of(each.name);
        let shown = if is_prose {
            each.name
        } else {
            outline.lines[each.line].text
        };
        if best.is_none_or(|(before, _)| near > before) {
            best = Some((near, shown));
        }
    }
    let shown = best.map_or("", |(_, shown)| shown);
    cut(
        shown.trim_end_matches(['{', ':', '(', ' ']),
        DEFINES_CHARACTERS_MAX,
    )
}

fn nearest_sentence(lines: &[Line<'_>], nearness: &mut Nearness<'_>) -> String {
    let mut best = (0.0, String::new());
    for sentence in sentences(lines) {
        let near = nearness.of(&sentence);
        if best.1.is_empty() || near > best.0 {
            best = (near, sentence);
        }
    }
    cut(&best.1, SAYS_CHARACTERS_MAX)
}

/// The prose of a passage, sentence by sentence, without the marks of comments.
fn sentences(lines: &[Line<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    for line in lines {
        let text = if line.role == Role::Prose {
            without_marks(line.text)
        } else {
            ""
        };
        let begins_item = text.starts_with(['-', '*', '|', '<', '@', ':', '[']) || text.starts_with("```");
        if text.is_empty() || begins_item {
            finish(&mut sentence, &mut sentences);
        }
        if text.starts_with(['|', '<', '`', '[']) && !text.starts_with("[`") {
            continue;
        }
        for part in text.split_inclusive(". ") {
            sentence.push_str(part);
            if part.ends_with(". ") {
                finish(&mut sentence, &mut sentences);
            }
        }
        if text.ends_with(['.', ':', '?', '!']) {
            finish(&mut sentence, &mut sentences);
        } else if !sentence.is_empty() {
            sentence.push(' ');
        }
    }
    finish(&mut sentence, &mut sentences);
    sentences
}

fn finish(sentence: &mut String, sentences: &mut Vec<String>) {
    let text = sentence.trim().trim_start_matches(['-', '*', ' ']);
    let has_words = text.split_whitespace().count() >= 3;
    if has_words {
        sentences.push(text.to_string());
    }
    sentence.clear();
}

fn without_marks(text: &str) -> &str {
    let text = text.trim_start_matches(['/', '!', '#', '*', ';', '"', '\'']);
    text.trim_end_matches(['*', '/', '"', '\'']).trim()
}

/// The lines of code that touch the question most, in the order of the passage.
fn nearest_lines(
    text: &str,
    outline: &Outline<'_>,
    nearness: &mut Nearness<'_>,
    lines_max: usize,
) -> Vec<String> {
    let begins = |index: usize| {
        let mut definitions = outline.definitions.iter();
        definitions.any(|each| each.line == index && each.sort != Sort::Declaration)
    };
    let mut ranked: Vec<(usize, f64)> = Vec::new();
    for (index, line) in outline
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.role == Role::Code)
    {
        let near = nearness.of(line.text) + if begins(index) { 1.0 } else { 0.0 };
        if near > 0.0 {
            ranked.push((index, near));
        }
    }
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    ranked.truncate(lines_max);
    ranked.sort_by_key(|(index, _)| *index);
    let raw: Vec<&str> = text.lines().collect();
    ranked
        .iter()
        .map(|(index, _)| cut(raw[*index].trim_end(), QUOTE_CHARACTERS_MAX))
        .collect()
}

fn cut(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        None => text.trim().to_string(),
        Some((end, _)) => format!("{}…", text[..end].trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::question::read_question;

    #[test]
    fn a_passage_is_described_by_its_definition_and_the_sentence_that_is_asked_for() {
        let text = "/// Keeps a child. A child that panicked is\n/// started again.\npub fn restart(child: &Child) {\n    wait();\n}\n";
        let described = describe_passage(
            "a.rs",
            text,
            &read_question("how is a child started again after panics"),
            2,
        );
        assert_eq!(described.defines, "pub fn restart(child: &Child)");
        assert_eq!(described.says, "A child that panicked is started again.");
        assert_eq!(described.quote, ["pub fn restart(child: &Child) {"]);
    }

    #[test]
    fn a_section_is_described_by_its_heading() {
        let described = describe_passage(
            "a.md",
            "## Limits\n\nNo line is longer than this.\n",
            &read_question("limit"),
            2,
        );
        assert_eq!(
            (described.defines.as_str(), described.says.as_str()),
            ("Limits", "No line is longer than this.")
        );
    }

    #[test]
    fn anything_can_be_described() {
        assert_eq!(
            describe_passage("a", "", &read_question(""), 3),
            Description::default()
        );
        let long = "ü".repeat(5_000);
        assert!(
            describe_passage("a.md", &format!("{long} a b c"), &read_question("a"), 3)
                .says
                .chars()
                .count()
                <= 201
        );
    }
}
