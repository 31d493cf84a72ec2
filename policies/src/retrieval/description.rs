//! What a passage is, in one line, and which of its lines say so.

use super::lines::{Line, Role, read_lines, syntax_of};
use super::question::Question;
use super::words::{for_each_word, stem};
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
    let lines = read_lines(text, syntax_of(path));
    let nearness = Nearness::new(question);
    Description {
        defines: what_is_defined(&lines, &nearness),
        says: nearest_sentence(&lines, &nearness),
        quote: nearest_lines(text, &lines, &nearness, quote_lines),
    }
}

/// How close a text is to the question: the weights of the notions it touches.
struct Nearness {
    notions: BTreeMap<String, (usize, f64)>,
    count: usize,
}

impl Nearness {
    fn new(question: &Question) -> Self {
        let mut notions: BTreeMap<String, (usize, f64)> = BTreeMap::new();
        for (index, notion) in question.notions.iter().enumerate() {
            for (stem, weight) in &notion.stems {
                let offered = (index, notion.weight * weight);
                let kept = notions.entry(stem.clone()).or_insert(offered);
                if offered.1 > kept.1 {
                    *kept = offered;
                }
            }
        }
        Self {
            notions,
            count: question.notions.len(),
        }
    }

    fn of(&self, text: &str) -> f64 {
        let mut touched = vec![0.0_f64; self.count];
        for_each_word(text, |word| {
            if let Some((notion, weight)) = self.notions.get(&stem(word)) {
                touched[*notion] = touched[*notion].max(*weight);
            }
        });
        touched.iter().sum()
    }
}

/// The definition or heading nearest to the question; the first one when none is near.
fn what_is_defined(lines: &[Line<'_>], nearness: &Nearness) -> String {
    let mut best: Option<(f64, &Line<'_>)> = None;
    for line in lines
        .iter()
        .filter(|line| matches!(line.role, Role::Definition | Role::Container | Role::Heading))
    {
        let near = nearness.of(line.name);
        if best.is_none_or(|(before, _)| near > before) {
            best = Some((near, line));
        }
    }
    let Some((_, line)) = best else {
        return String::new();
    };
    let shown = if line.role == Role::Heading {
        line.name
    } else {
        line.text
    };
    cut(
        shown.trim_end_matches(['{', ':', '(', ' ']),
        DEFINES_CHARACTERS_MAX,
    )
}

fn nearest_sentence(lines: &[Line<'_>], nearness: &Nearness) -> String {
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
fn nearest_lines(text: &str, lines: &[Line<'_>], nearness: &Nearness, lines_max: usize) -> Vec<String> {
    let mut ranked: Vec<(usize, f64)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let bonus = match line.role {
            Role::Definition | Role::Container => 1.0,
            Role::Code => 0.0,
            Role::Blank | Role::Prose | Role::Attribute | Role::Import | Role::Heading => continue,
        };
        let near = nearness.of(line.text);
        if near > 0.0 || bonus > 0.0 {
            ranked.push((index, near + bonus));
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
        let described = describe_passage("a.rs", text, &read_question("what happens after a crash"), 2);
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
