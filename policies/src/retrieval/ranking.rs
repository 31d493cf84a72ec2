//! Which passages of a set of files answer a question best.
//!
//! The words of a question are counted in every passage (BM25 with fields: names weigh more than prose, prose more
//! than code), kin of a word count less than the word, and a notion counts once however many of its words appear. A
//! passage is judged together with its file, because the file that is about the matter is usually the answer.

use super::concepts::GAP_MAX;
use super::file_kind::{FileKind, classify_path, weigh_kind};
use super::lines::Role;
use super::passages::{CutFile, Passage, cut_file};
use super::question::Question;
use super::words::{for_each_word, stem};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the workspace, `/` between the parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A passage and how well it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPassage {
    /// Which of the files.
    pub file: usize,
    /// First line, from 1.
    pub line_start: usize,
    /// Last line, inclusive.
    pub line_end: usize,
    /// Higher is better.
    pub score: f64,
}

/// The weights of the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingSettings {
    /// At most so many passages.
    pub passages_max: usize,
    /// At most so many of one file.
    pub passages_of_a_file_max: usize,
    /// What a word in a defined name adds to its passage, whatever else is there.
    pub name_share: f64,
    /// What a word in a comment counts.
    pub prose_weight: f64,
    /// What a word in an import counts.
    pub import_weight: f64,
    /// What a word in the name of the surrounding container or heading counts, against a name of the passage's own.
    pub within_share: f64,
    /// What a word in the name of a file adds to the file, whatever else is there.
    pub path_share: f64,
    /// What a word in the name of a directory counts, against the name of the file.
    pub directory_share: f64,
    /// What a word in the prose at the head of a file counts, for the file.
    pub about_weight: f64,
    /// How soon more of the same word stops counting.
    pub saturation: f64,
    /// How much long passages are held back, from 0 to 1.
    pub length_penalty: f64,
    /// How much long files are held back, from 0 to 1.
    pub file_length_penalty: f64,
    /// How much the file adds to each of its passages.
    pub file_share: f64,
    /// How much of a score depends on how many notions are covered.
    pub coverage_share: f64,
    /// What each further word of a notion adds.
    pub further_share: f64,
    /// What neighbouring notions add.
    pub neighbour_share: f64,
    /// What a test inside a source file counts.
    pub inner_test_weight: f64,
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self {
            passages_max: 8,
            passages_of_a_file_max: 2,
            name_share: 0.4,
            prose_weight: 1.0,
            import_weight: 0.1,
            within_share: 0.5,
            path_share: 1.8,
            directory_share: 0.4,
            about_weight: 1.5,
            saturation: 3.0,
            length_penalty: 0.5,
            file_length_penalty: 0.7,
            file_share: 1.4,
            coverage_share: 0.3,
            further_share: 0.25,
            neighbour_share: 0.2,
            inner_test_weight: 0.4,
        }
    }
}

/// Ranks the passages of `files`, best first. Same input, same order.
pub fn rank_passages(
    files: &[SourceFile],
    question: &Question,
    settings: &RankingSettings,
) -> Vec<RankedPassage> {
    let vocabulary = Vocabulary::new(question);
    if vocabulary.stems.is_empty() {
        return Vec::new();
    }
    let mut counter = Counter {
        vocabulary: &vocabulary,
        settings,
        seen: HashMap::new(),
    };
    let counted: Vec<CountedFile> = files.iter().map(|file| counter.count(file)).collect();
    let scorer = Scorer::new(question, &vocabulary, settings, &counted);
    let mut ranked = Vec::new();
    for (index, file) in counted.iter().enumerate() {
        ranked.extend(scorer.rank_file(index, file, question));
    }
    ranked.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score
            .then(files[one.file].path.cmp(&files[other.file].path))
            .then(one.line_start.cmp(&other.line_start))
    });
    ranked.truncate(settings.passages_max);
    ranked
}

/// The stems the question knows, numbered.
struct Vocabulary {
    stems: Vec<String>,
    numbers: BTreeMap<String, usize>,
    /// For every stem, the first notion it belongs to with its own word.
    notion_of: Vec<Option<usize>>,
    /// For every stem, the sayings that end with it: the stems before it, nearest last, and the number of the saying.
    sayings_ending: Vec<Vec<(Vec<usize>, usize)>>,
    /// For every notion, the numbers of its sayings and what each counts.
    sayings_of: Vec<Vec<(usize, f64)>>,
    /// Identifiers the question spells out.
    names: BTreeSet<String>,
}

impl Vocabulary {
    fn new(question: &Question) -> Self {
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
type Counts = BTreeMap<usize, Count>;

/// How often in the text, weighted by where, and how much of a name it is, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    in_text: f64,
    in_names: f64,
}

struct CountedFile {
    kind: FileKind,
    counts: Counts,
    words: f64,
    passages: Vec<CountedPassage>,
}

struct CountedPassage {
    start: usize,
    end: usize,
    is_test: bool,
    counts: Counts,
    words: f64,
    /// Notions found side by side, lower number first.
    neighbours: Vec<(usize, usize)>,
    /// It defines something the question spells out.
    defines_name: bool,
}

struct Counter<'a, 'v> {
    vocabulary: &'v Vocabulary,
    settings: &'v RankingSettings,
    /// Words met so far with the number of their stem, because stemming is slow and words repeat.
    seen: HashMap<&'a str, Option<usize>>,
}

/// Longer lines are read up to here: nobody wrote them by hand.
const LINE_BYTES_MAX: usize = 600;

impl<'a> Counter<'a, '_> {
    fn count(&mut self, file: &'a SourceFile) -> CountedFile {
        let cut = cut_file(&file.path, &file.text);
        let kind = classify_path(&file.path);
        let legal_head = if kind == FileKind::Legal {
            0
        } else {
            legal_head_lines(&cut)
        };
        let mut whole = CountedFile {
            kind,
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

/// How telling each stem is among so many things, and how such things are scored.
struct Rarity {
    things: f64,
    words_mean: f64,
    length_penalty: f64,
    name_share: f64,
    found_in: Vec<f64>,
}

impl Rarity {
    fn new<'c>(
        stems: usize,
        length_penalty: f64,
        name_share: f64,
        counted: impl Iterator<Item = (&'c Counts, f64)>,
    ) -> Self {
        let mut rarity = Self {
            things: 0.0,
            words_mean: 0.0,
            length_penalty,
            name_share,
            found_in: vec![0.0; stems],
        };
        let mut words = 0.0;
        for (counts, length) in counted {
            rarity.things += 1.0;
            words += length;
            for stem in counts.keys() {
                rarity.found_in[*stem] += 1.0;
            }
        }
        rarity.words_mean = (words / rarity.things.max(1.0)).max(1.0);
        rarity
    }

    fn of(&self, stem: usize) -> f64 {
        let found_in = self.found_in[stem];
        if found_in == 0.0 {
            return 0.0;
        }
        (1.0 + (self.things - found_in + 0.5) / (found_in + 0.5)).ln()
    }
}

/// A notion with the numbers of its stems.
struct NumberedNotion {
    weight: f64,
    stems: Vec<(usize, f64)>,
}

struct Scorer<'a> {
    settings: &'a RankingSettings,
    notions: Vec<NumberedNotion>,
    passages: Rarity,
    files: Rarity,
}

impl<'a> Scorer<'a> {
    fn new(
        question: &Question,
        vocabulary: &Vocabulary,
        settings: &'a RankingSettings,
        counted: &[CountedFile],
    ) -> Self {
        let notions = question
            .notions
            .iter()
            .zip(&vocabulary.sayings_of)
            .map(|(notion, sayings)| {
                let words = notion
                    .stems
                    .iter()
                    .map(|(stem, weight)| (vocabulary.numbers[stem], *weight));
                NumberedNotion {
                    weight: notion.weight,
                    stems: words.chain(sayings.iter().copied()).collect(),
                }
            });
        let stems = vocabulary.stems.len();
        let passages = counted
            .iter()
            .flat_map(|file| &file.passages)
            .map(|each| (&each.counts, each.words));
        let files = counted.iter().map(|file| (&file.counts, file.words));
        Self {
            settings,
            notions: notions.collect(),
            passages: Rarity::new(stems, settings.length_penalty, settings.name_share, passages),
            files: Rarity::new(stems, settings.file_length_penalty, settings.path_share, files),
        }
    }

    fn rank_file(&self, index: usize, file: &CountedFile, question: &Question) -> Vec<RankedPassage> {
        let of_file = self.score(&file.counts, file.words, &self.files);
        if of_file == 0.0 {
            return Vec::new();
        }
        let by_kind = weigh_kind(file.kind, &question.kinds);
        let mut ranked: Vec<RankedPassage> = file
            .passages
            .iter()
            .map(|passage| {
                let own = self.score_passage(passage);
                let inner_test = passage.is_test && !question.kinds.contains(&FileKind::Test);
                let by_test = if inner_test {
                    self.settings.inner_test_weight
                } else {
                    1.0
                };
                RankedPassage {
                    file: index,
                    line_start: passage.start + 1,
                    line_end: passage.end,
                    score: (own + self.settings.file_share * of_file) * by_kind * by_test,
                }
            })
            .collect();
        ranked.sort_by(|one, other| {
            other
                .score
                .total_cmp(&one.score)
                .then(one.line_start.cmp(&other.line_start))
        });
        ranked.truncate(self.settings.passages_of_a_file_max);
        for (rank, passage) in ranked.iter_mut().enumerate() {
            passage.score *= FURTHER_PASSAGE.powi(rank as i32);
        }
        ranked
    }

    fn score_passage(&self, passage: &CountedPassage) -> f64 {
        let mut score = self.score(&passage.counts, passage.words, &self.passages);
        for (one, other) in &passage.neighbours {
            let rarity = self
                .notion_rarity(*one, &self.passages)
                .min(self.notion_rarity(*other, &self.passages));
            let weight = self.notions[*one].weight.min(self.notions[*other].weight);
            score += self.settings.neighbour_share * rarity * weight;
        }
        if passage.defines_name {
            score * 2.0 + 4.0
        } else {
            score
        }
    }

    fn score(&self, counts: &Counts, words: f64, rarity: &Rarity) -> f64 {
        let length =
            1.0 - rarity.length_penalty + rarity.length_penalty * (words / rarity.words_mean).max(LENGTH_MIN);
        let mut sum = 0.0;
        let mut covered = 0.0;
        let mut coverable = 0.0;
        for (index, notion) in self.notions.iter().enumerate() {
            let notion_rarity = self.notion_rarity(index, rarity);
            coverable += notion.weight * notion_rarity;
            let mut best = 0.0_f64;
            let mut all = 0.0;
            let mut best_weight = 0.0_f64;
            for (stem, weight) in &notion.stems {
                let Some(count) = counts.get(stem) else { continue };
                let often = count.in_text / length;
                let told = often / (often + self.settings.saturation) + rarity.name_share * count.in_names;
                let share = weight * rarity.of(*stem).min(notion_rarity) * told;
                best = best.max(share);
                best_weight = best_weight.max(*weight);
                all += share;
            }
            let further = (all - best).min(best);
            sum += notion.weight * (best + self.settings.further_share * further);
            covered += notion.weight * notion_rarity * best_weight;
        }
        if coverable == 0.0 {
            return 0.0;
        }
        let coverage = covered / coverable;
        sum * (1.0 - self.settings.coverage_share + self.settings.coverage_share * coverage)
    }

    /// As rare as its own word, or as its rarest kin where nobody uses the word itself.
    fn notion_rarity(&self, notion: usize, rarity: &Rarity) -> f64 {
        let stems = &self.notions[notion].stems;
        let own = rarity.of(stems[0].0);
        if own > 0.0 {
            return own;
        }
        stems.iter().map(|(stem, _)| rarity.of(*stem)).fold(0.0, f64::max)
    }
}

/// Passages and files below this share of the mean length are not favoured further.
const LENGTH_MIN: f64 = 0.6;
/// What each further passage of one file counts of the one before.
const FURTHER_PASSAGE: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::question::read_question;

    fn best_path(files: &[(&str, &str)], question: &str) -> String {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: path.to_string(),
                text: text.to_string(),
            })
            .collect();
        let ranked = rank_passages(&files, &read_question(question), &RankingSettings::default());
        ranked
            .first()
            .map_or(String::new(), |best| files[best.file].path.clone())
    }

    #[test]
    fn kin_of_a_word_is_found() {
        let files = [
            (
                "src/a.rs",
                "/// Starts a child again after a panic.\nfn restart(child: &Child) {}\n",
            ),
            ("src/b.rs", "/// Draws an actor.\nfn draw() {}\n"),
        ];
        assert_eq!(
            best_path(&files, "How does something crashed come back?"),
            "src/a.rs"
        );
    }

    #[test]
    fn code_comes_before_tests_of_it_unless_tests_are_asked_for() {
        let text = "/// Parses a date.\nfn parse_date(text: &str) {}\n";
        let files = [("src/date.rs", text), ("tests/date.rs", text)];
        assert_eq!(best_path(&files, "how are dates parsed"), "src/date.rs");
        assert_eq!(
            best_path(&files, "where is the test that dates are parsed"),
            "tests/date.rs"
        );
    }

    #[test]
    fn a_name_spelled_out_leads_to_its_definition() {
        let files = [
            (
                "src/a.rs",
                "fn a() {\n    walk(max_depth);\n    max_depth(max_depth);\n}\n",
            ),
            ("src/b.rs", "fn max_depth() {\n}\n"),
        ];
        assert_eq!(best_path(&files, "What does `max_depth` do?"), "src/b.rs");
    }

    #[test]
    fn a_licence_at_the_head_is_not_what_a_file_is_about() {
        let files = [
            (
                "src/a.rs",
                "// Copyright the authors. Warranty of permission to copy.\n\nfn a() {}\n",
            ),
            ("src/b.rs", "/// Asks for permission to copy.\nfn b() {}\n"),
        ];
        assert_eq!(
            best_path(&files, "where is permission to copy asked for"),
            "src/b.rs"
        );
    }

    #[test]
    fn nothing_in_common_gives_nothing() {
        assert_eq!(best_path(&[("a.rs", "fn a() {}")], "zebra"), "");
        assert_eq!(best_path(&[("a.rs", "fn a() {}")], ""), "");
        assert_eq!(best_path(&[], "anything"), "");
    }
}
