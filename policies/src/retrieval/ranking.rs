//! Which passages of a set of files answer a question best.
//!
//! The words of a question are counted in every passage (BM25 with fields: names weigh more than prose, prose more
//! than code), kin of a word count less than the word, and a notion counts once however many of its words appear. A
//! passage is judged together with its file, because the file that is about the matter is usually the answer.

use super::counting::{CountedFile, Counter, Vocabulary};
use super::file_kind::telling_name;
use super::question::Question;
use super::scoring::Scorer;
use std::collections::BTreeSet;

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
    /// What a file counts that mostly gathers others: `lib.rs`, `mod.rs`, `__init__.py`.
    pub gathering_weight: f64,
    /// What each further passage of one file counts of the one before.
    pub further_passage_weight: f64,
    /// The first so many places are in files of different names, so that who looks at few places sees more of the
    /// tree: `client/async_connection.rs` says what `client/connection.rs` says.
    pub different_first: usize,
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self {
            passages_max: 8,
            passages_of_a_file_max: 2,
            name_share: 0.2,
            prose_weight: 0.8,
            import_weight: 0.1,
            within_share: 0.5,
            path_share: 2.2,
            directory_share: 0.4,
            about_weight: 1.5,
            saturation: 3.0,
            length_penalty: 0.4,
            file_length_penalty: 0.9,
            file_share: 1.8,
            coverage_share: 0.4,
            further_share: 0.3,
            neighbour_share: 0.2,
            inner_test_weight: 0.4,
            gathering_weight: 0.85,
            further_passage_weight: 0.5,
            different_first: 3,
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
    let mut counter = Counter::new(&vocabulary, settings);
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
    let telling: Vec<String> = files.iter().map(|file| telling_name(&file.path)).collect();
    put_different_first(&mut ranked, &telling, settings.different_first);
    ranked.truncate(settings.passages_max);
    ranked
}

/// Moves the best passage of each of the first `count` differently named files to the front. Otherwise the order stays.
fn put_different_first(ranked: &mut Vec<RankedPassage>, telling: &[String], count: usize) {
    let mut met = BTreeSet::new();
    let (mut first, rest): (Vec<_>, Vec<_>) = ranked
        .drain(..)
        .partition(|passage| met.len() < count && met.insert(telling[passage.file].as_str()));
    first.extend(rest);
    *ranked = first;
}

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

    #[test]
    fn a_file_that_gathers_others_gives_way_to_the_file_itself() {
        let text = "/// Rotates the tree.\npub fn rotate() {}\n";
        let files = [("src/a/mod.rs", text), ("src/a/one.rs", text)];
        assert_eq!(best_path(&files, "how is the tree rotated"), "src/a/one.rs");
    }

    #[test]
    fn the_first_places_are_in_differently_named_files() {
        let passages = [(0, 5.0), (0, 4.0), (1, 3.0), (2, 2.0), (3, 1.0)];
        let mut ranked: Vec<RankedPassage> = passages
            .into_iter()
            .map(|(file, score)| RankedPassage {
                file,
                line_start: 1,
                line_end: 2,
                score,
            })
            .collect();
        let names = ["connection", "connection", "pool", "tls"].map(str::to_string);
        put_different_first(&mut ranked, &names, 3);
        let files: Vec<usize> = ranked.iter().map(|passage| passage.file).collect();
        assert_eq!(files, [0, 2, 3, 0, 1]);
    }
}
