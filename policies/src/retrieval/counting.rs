//! How often the words of a question stand in every passage of a file, and where.

use super::concepts::GAP_MAX;
use super::file_kind::{FileKind, classify_path};
use super::lines::Role;
use super::passages::{CutFile, Passage, cut_file};
use super::question::Question;
use super::ranking::{RankingSettings, SourceFile};
use super::words::{for_each_word, stem};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The stems the question knows, numbered.
pub(super) struct Vocabulary {
    pub(super) stems: Vec<String>,
    pub(super) numbers: BTreeMap<String, usize>,
    /// For every stem, the first notion it belongs to with its own word.
    pub(super) notion_of: Vec<Option<usize>>,
    /// For every stem, the sayings that end with it: the stems before it, nearest last, and the number of the saying.
    pub(super) sayings_ending: Vec<Vec<(Vec<usize>, usize)>>,
    /// For every notion, the numbers of its sayings and what each counts.
    pub(super) sayings_of: Vec<Vec<(usize, f64)>>,
    /// Identifiers the question spells out.
    pub(super) names: BTreeSet<String>,
}

impl Vocabulary {
    pub(super) fn new(question: &Question) -> Self {
        let mut vocabulary = Self {
            stems: Vec::new(),
            numbers: BTreeMap::new(),
            notion_of: Vec::new(),
            sayings_ending: Vec::new(),
            sayings_of: Vec::new(),
            names: question.names.clone(),
        };
        for (index, notion) in question.notions.iter().enumerate() {
            for (rank, (stem, _)) in notion.stems.iter().enumerate() {
                let number = vocabulary.number(stem);
                if rank == 0 && vocabulary.notion_of[number].is_none() {
                    vocabulary.notion_of[number] = Some(index);
                }
            }
            let sayings = notion
                .sayings
                .iter()
                .map(|(saying, weight)| (vocabulary.saying_number(saying), *weight));
            let sayings = sayings.collect();
            vocabulary.sayings_of.push(sayings);
        }
        vocabulary
    }

    fn number(&mut self, stem: &str) -> usize {
        if let Some(number) = self.numbers.get(stem) {
            return *number;
        }
        let number = self.stems.len();
        self.numbers.insert(stem.to_string(), number);
        self.stems.push(stem.to_string());
        self.notion_of.push(None);
        self.sayings_ending.push(Vec::new());
        number
    }

    /// A saying has a number like a stem, under a name that no word can have.
    fn saying_number(&mut self, saying: &[String]) -> usize {
        let name = saying.join(" ");
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.number(&name);
        let mut stems: Vec<usize> = saying.iter().map(|stem| self.number(stem)).collect();
        if let Some(last) = stems.pop() {
            self.sayings_ending[last].push((stems, number));
        }
        number
    }
}

/// How often each stem of the vocabulary occurs, weighted by where.
pub(super) type Counts = BTreeMap<usize, Count>;

/// How often in the text, weighted by where, and how much of a name it is, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) in_text: f64,
    pub(super) in_names: f64,
}

pub(super) struct CountedFile {
    pub(super) kind: FileKind,
    /// It mostly gathers other files: `lib.rs`, `mod.rs`.
    pub(super) gathers: bool,
    pub(super) counts: Counts,
    pub(super) words: f64,
    pub(super) passages: Vec<CountedPassage>,
}

pub(super) struct CountedPassage {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_test: bool,
    pub(super) counts: Counts,
    pub(super) words: f64,
    /// Notions found side by side, lower number first.
    pub(super) neighbours: Vec<(usize, usize)>,
    /// It defines something the question spells out.
    pub(super) defines_name: bool,
}

pub(super) struct Counter<'a, 'v> {
    pub(super) vocabulary: &'v Vocabulary,
    pub(super) settings: &'v RankingSettings,
    /// Words met so far with the number of their stem, because stemming is slow and words repeat.
    pub(super) seen: HashMap<&'a str, Option<usize>>,
}

/// Longer lines are read up to here: nobody wrote them by hand.
const LINE_BYTES_MAX: usize = 600;

impl<'a, 'v> Counter<'a, 'v> {
    pub(super) fn new(vocabulary: &'v Vocabulary, settings: &'v RankingSettings) -> Self {
        Self {
            vocabulary,
            settings,
            seen: HashMap::new(),
        }
    }

    pub(super) fn count(&mut self, file: &'a SourceFile) -> CountedFile {
        let cut = cut_file(&file.path, &file.text);
        let kind = classify_path(&file.path);
        let legal_head = if kind == FileKind::Legal {
            0
        } else {
            legal_head_lines(&cut)
        };
        let mut whole = CountedFile {
            kind,
            gathers: matches!(
                file.path.rsplit('/').next(),
                Some("lib.rs" | "mod.rs" | "__init__.py" | "prelude.rs")
            ),
            counts: Counts::new(),
            words: 0.0,
            passages: Vec::new(),
        };
        for passage in &cut.passages {
            let counted = self.count_passage(&cut, passage, legal_head);
            let share = if passage.is_test {
                self.settings.inner_test_weight
            } else {
                1.0
            };
            for (stem, count) in &counted.counts {
                whole.counts.entry(*stem).or_default().in_text += count.in_text * share;
            }
            whole.words += counted.words * share;
            whole.passages.push(counted);
        }
        self.count_head(&cut, legal_head, &mut whole);
        let (directories, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let directory_share = self.settings.directory_share;
        let (parents, parent) = directories.rsplit_once('/').unwrap_or(("", directories));
        // A file called like every other (`mod.rs`, `index.js`) goes by the name of its directory.
        let goes_by_parent = matches!(
            name.split('.').next(),
            Some("mod" | "index" | "__init__" | "main" | "lib")
        );
        self.count_name(name, 1.0, &mut whole.counts);
        self.count_name(
            parent,
            if goes_by_parent { 1.0 } else { directory_share },
            &mut whole.counts,
        );
        self.count_name(parents, directory_share, &mut whole.counts);
        whole
    }

    fn count_passage(&mut self, cut: &CutFile<'a>, passage: &Passage, legal_head: usize) -> CountedPassage {
        let mut counted = CountedPassage {
            start: passage.start,
            end: passage.end,
            is_test: passage.is_test,
            counts: Counts::new(),
            words: 0.0,
            neighbours: Vec::new(),
            defines_name: false,
        };
        for within in &passage.within {
            let share = self.settings.within_share;
            self.count_name(within, share, &mut counted.counts);
        }
        for line in &cut.lines[passage.start.max(legal_head.min(passage.end))..passage.end] {
            let weight = match line.role {
                Role::Blank => continue,
                Role::Import => self.settings.import_weight,
                Role::Prose => self.settings.prose_weight,
                Role::Attribute | Role::Code | Role::Definition | Role::Container | Role::Heading => 1.0,
            };
            self.count_line(line.text, weight, &mut counted);
            if !line.name.is_empty() {
                self.count_name(line.name, 1.0, &mut counted.counts);
                counted.defines_name |= self.vocabulary.names.contains(&line.name.to_lowercase());
            }
        }
        counted
    }

    /// The prose at the head of a file says what the file is about.
    fn count_head(&mut self, cut: &CutFile<'a>, legal_head: usize, whole: &mut CountedFile) {
        let weight = self.settings.about_weight;
        let head = cut.lines.iter().skip(legal_head).take(HEAD_LINES_MAX);
        let head = head.take_while(|line| matches!(line.role, Role::Prose | Role::Blank | Role::Heading));
        for line in head {
            self.count_words(cut_long(line.text), weight, &mut whole.counts);
        }
    }

    fn count_line(&mut self, text: &'a str, weight: f64, counted: &mut CountedPassage) {
        let vocabulary = self.vocabulary;
        let mut words = 0;
        let mut met: Vec<(usize, usize)> = Vec::new();
        let mut last_notion: Option<(usize, usize)> = None;
        for_each_word(cut_long(text), |word| {
            words += 1;
            let Some(stem) = self.stem_of(word) else { return };
            counted.counts.entry(stem).or_default().in_text += weight;
            for (before, saying) in &vocabulary.sayings_ending[stem] {
                if stand_before(before, &met, words) {
                    counted.counts.entry(*saying).or_default().in_text += weight;
                }
            }
            met.push((stem, words));
            let Some(notion) = vocabulary.notion_of[stem] else {
                return;
            };
            if let Some((before, at)) = last_notion
                && notion != before
                && words - at <= NEIGHBOUR_WORDS_MAX
            {
                let pair = (before.min(notion), before.max(notion));
                if !counted.neighbours.contains(&pair) {
                    counted.neighbours.push(pair);
                }
            }
            last_notion = Some((notion, words));
        });
        counted.words += words as f64;
    }

    fn count_words(&mut self, text: &'a str, weight: f64, counts: &mut Counts) {
        for_each_word(text, |word| {
            if let Some(stem) = self.stem_of(word) {
                counts.entry(stem).or_default().in_text += weight;
            }
        });
    }

    /// Marks the words of a name.
    fn count_name(&mut self, text: &str, share: f64, counts: &mut Counts) {
        for_each_word(text, |word| {
            if let Some(number) = self.vocabulary.numbers.get(&stem(word)) {
                let count = counts.entry(*number).or_default();
                count.in_names = count.in_names.max(share);
            }
        });
    }

    fn stem_of(&mut self, word: &'a str) -> Option<usize> {
        let vocabulary = self.vocabulary;
        *self
            .seen
            .entry(word)
            .or_insert_with(|| vocabulary.numbers.get(&stem(word)).copied())
    }
}

/// Whether these stems were met in this order, each near the next, the last one near word number `here`.
fn stand_before(stems: &[usize], met: &[(usize, usize)], here: usize) -> bool {
    let mut near = here;
    for stem in stems.iter().rev() {
        let found = met
            .iter()
            .rev()
            .find(|(other, at)| other == stem && *at < near && near - at <= GAP_MAX + 1);
        match found {
            Some((_, at)) => near = *at,
            None => return false,
        }
    }
    true
}

/// Notions this close to each other in a line are neighbours.
const NEIGHBOUR_WORDS_MAX: usize = 2;
/// The head of a file is looked for in so many lines.
const HEAD_LINES_MAX: usize = 40;

fn cut_long(text: &str) -> &str {
    if text.len() <= LINE_BYTES_MAX {
        return text;
    }
    let mut end = LINE_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// How many lines at the beginning are a licence.
fn legal_head_lines(cut: &CutFile<'_>) -> usize {
    let prose = cut
        .lines
        .iter()
        .take_while(|line| line.role == Role::Prose)
        .count();
    let marks = ["copyright", "license", "licence", "spdx"];
    let is_legal = cut.lines[..prose.min(HEAD_LINES_MAX)].iter().any(|line| {
        let lower = line.text.to_lowercase();
        marks.iter().any(|mark| lower.contains(mark))
    });
    if is_legal { prose } else { 0 }
}
