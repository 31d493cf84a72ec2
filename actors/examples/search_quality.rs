//! How good the search is, on any tree and any questions, beside plain BM25 over whole files.
//!
//! `cargo run --release -p impresario-actors --example search_quality -- [--misses] [--alone] TREE QUESTIONS [TREE QUESTIONS …]`
//!
//! With `--alone` there is no BM25, which keeps every word in memory, and the most memory that was used is printed.
//!
//! A line of QUESTIONS is `question<TAB>path<TAB>where`: the paths that answer, separated by spaces, and the answering line
//! in the first of them, as its number or as a text that stands in it (nothing when only the file counts).

use impresario_actors::context::local::{SearchLimits, read_workspace, search_workspace, walk_workspace};
use impresario_actors::gateways::{RetrievalRequest, Retrieved};
use impresario_policies::retrieval::citation::{Citation, read_citations};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How far down an answer is looked: as many places as a model is shown.
const PLACES: usize = 8;

struct Question {
    text: String,
    paths: Vec<String>,
    line: Option<u32>,
}

/// Over the questions of a file: how many were answered, and how well.
#[derive(Default, Clone, Copy)]
struct Score {
    questions: usize,
    first: usize,
    first_three: usize,
    reciprocal: f64,
    lines: usize,
    line_first: usize,
    line_first_three: usize,
}

impl Score {
    fn add(&mut self, right: Option<usize>) {
        self.questions += 1;
        self.first += usize::from(right == Some(0));
        self.first_three += usize::from(right.is_some_and(|rank| rank < 3));
        self.reciprocal += right.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
    }

    fn add_line(&mut self, right: Option<usize>) {
        self.lines += 1;
        self.line_first += usize::from(right == Some(0));
        self.line_first_three += usize::from(right.is_some_and(|rank| rank < 3));
    }

    fn and(mut self, other: Self) -> Self {
        self.questions += other.questions;
        self.first += other.first;
        self.first_three += other.first_three;
        self.reciprocal += other.reciprocal;
        self.lines += other.lines;
        self.line_first += other.line_first;
        self.line_first_three += other.line_first_three;
        self
    }

    fn show(&self, who: &str) {
        let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
        let reciprocal = self.reciprocal / self.questions.max(1) as f64;
        print!(
            "  {who:<8} {:>4} questions  hit@1 {:>5.1} %  hit@3 {:>5.1} %  MRR {reciprocal:.3}",
            self.questions,
            share(self.first, self.questions),
            share(self.first_three, self.questions)
        );
        match self.lines {
            0 => println!(),
            lines => println!(
                "  line in the first range {:>5.1} %, in the first three {:>5.1} %",
                share(self.line_first, lines),
                share(self.line_first_three, lines)
            ),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut is_given = |flag: &str| {
        let before = arguments.len();
        arguments.retain(|each| each != flag);
        arguments.len() < before
    };
    let options = Options {
        shows_misses: is_given("--misses"),
        is_alone: is_given("--alone"),
    };
    let cache = tempfile::tempdir()?;
    let (mut ours_all, mut plain_all) = (Score::default(), Score::default());
    for pair in arguments.chunks(2) {
        let [tree, questions] = pair else {
            return Err("a tree and its questions".into());
        };
        let (ours, plain) = measure(Path::new(tree), Path::new(questions), cache.path(), &options)?;
        ours_all = ours_all.and(ours);
        plain_all = plain_all.and(plain);
    }
    println!("all");
    ours_all.show("ours");
    plain_all.show("BM25");
    println!("  the most memory that was used: {}", most_memory());
    Ok(())
}

struct Options {
    shows_misses: bool,
    is_alone: bool,
}

/// As the kernel counts it for this process.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_string(), |line| line.trim().to_string())
}

fn measure(
    tree: &Path,
    questions: &Path,
    cache: &Path,
    options: &Options,
) -> Result<(Score, Score), Box<dyn Error>> {
    let plain = match options.is_alone {
        true => Plain::default(),
        false => Plain::read(tree)?,
    };
    let questions = read_questions(tree, questions)?;
    let (mut ours_score, mut plain_score) = (Score::default(), Score::default());
    let begun = Instant::now();
    let files = index(tree, cache)?;
    let first = begun.elapsed();
    let mut times: Vec<Duration> = Vec::new();
    for question in &questions {
        let begun = Instant::now();
        let (found, _) = ask(tree, &question.text, cache)?;
        times.push(begun.elapsed());
        let rank = found
            .iter()
            .position(|passage| question.paths.contains(&passage.path));
        ours_score.add(rank);
        if let Some(line) = question.line {
            let holds = |passage: &Citation| {
                let shown = passage.text.lines().count() as u32;
                passage.path == question.paths[0]
                    && (passage.line_start..passage.line_start + shown).contains(&line)
            };
            let line_rank = found.iter().position(holds);
            ours_score.add_line(line_rank);
            if options.shows_misses && line_rank.is_none_or(|rank| rank >= 3) {
                let places: Vec<String> = found
                    .iter()
                    .take(4)
                    .map(|each| format!("{}:{}-{}", each.path, each.line_start, each.line_end))
                    .collect();
                println!(
                    "  miss: {} (wanted {}:{line}, line at {line_rank:?}, file at {rank:?}): {}",
                    question.text,
                    question.paths[0],
                    places.join(" ")
                );
            }
        }
        plain_score.add(
            plain
                .rank(&question.text)
                .iter()
                .position(|path| question.paths.contains(path)),
        );
    }
    times.sort();
    println!(
        "{} ({} files; index {:.2} s; a question {} ms p50, {} ms worst)",
        tree.display(),
        files,
        first.as_secs_f64(),
        times.get(times.len() / 2).map_or(0, Duration::as_millis),
        times.last().map_or(0, Duration::as_millis)
    );
    ours_score.show("ours");
    plain_score.show("BM25");
    Ok((ours_score, plain_score))
}

/// Asks until everything is in the index; the number of files that may be searched.
fn index(tree: &Path, cache: &Path) -> Result<usize, Box<dyn Error>> {
    while ask(tree, "nothing", cache)?.1.contains("not reached in time") {}
    Ok(walk_workspace(tree, &SearchLimits::default())?.files.len())
}

fn ask(tree: &Path, question: &str, cache: &Path) -> Result<(Vec<Citation>, String), Box<dyn Error>> {
    let request = RetrievalRequest {
        query: question.to_string(),
        workspace: tree.to_path_buf(),
        passages_max: PLACES,
    };
    let found = search_workspace(&request, &SearchLimits::default(), Some(PathBuf::from(cache)))?;
    let remarks = match &found {
        Retrieved::Passages { remarks, .. } => remarks.join(" "),
        Retrieved::Words(words) => return Err(words.clone().into()),
    };
    // What a model reads, not what was found: a range counts as far as it is shown.
    Ok((read_citations(&found.into_text()), remarks))
}

fn read_questions(tree: &Path, file: &Path) -> Result<Vec<Question>, Box<dyn Error>> {
    let mut questions = Vec::new();
    for row in std::fs::read_to_string(file)?
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let fields: Vec<&str> = row.split('\t').collect();
        let [text, paths, rest @ ..] = fields.as_slice() else {
            return Err(format!("no question: {row}").into());
        };
        let paths: Vec<String> = paths.split(' ').map(str::to_string).collect();
        let content = std::fs::read_to_string(tree.join(&paths[0]))
            .map_err(|error| format!("{}: {error}", paths[0]))?;
        let line = match rest.first().filter(|place| !place.is_empty()) {
            None => None,
            Some(place) => match place.parse() {
                Ok(number) => Some(number),
                Err(_) => {
                    let found = content.lines().position(|line| line.contains(place));
                    Some(found.ok_or_else(|| format!("{} does not say {place}", paths[0]))? as u32 + 1)
                }
            },
        };
        questions.push(Question {
            text: text.to_string(),
            paths,
            line,
        });
    }
    Ok(questions)
}

/// BM25 over whole files and lower-case words, as in the textbook.
#[derive(Default)]
struct Plain {
    files: Vec<(String, BTreeMap<String, f64>, f64)>,
    having: BTreeMap<String, f64>,
    mean: f64,
}

impl Plain {
    fn read(tree: &Path) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        let mut having: BTreeMap<String, f64> = BTreeMap::new();
        read_workspace(tree, &SearchLimits::default(), |path, text| {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let mut length = 0.0;
            for word in words(text) {
                *counts.entry(word).or_insert(0.0) += 1.0;
                length += 1.0;
            }
            for word in counts.keys() {
                *having.entry(word.clone()).or_insert(0.0) += 1.0;
            }
            files.push((path.to_string(), counts, length));
            true
        })?;
        let mean = files.iter().map(|(_, _, length)| length).sum::<f64>() / files.len().max(1) as f64;
        Ok(Self { files, having, mean })
    }

    fn rank(&self, question: &str) -> Vec<String> {
        let (k1, b) = (1.2, 0.75);
        let all = self.files.len() as f64;
        let mut ranked: Vec<(f64, &String)> = Vec::new();
        for (path, counts, length) in &self.files {
            let scores = words(question).map(|word| {
                let count = counts.get(&word).copied().unwrap_or(0.0);
                let having = self.having.get(&word).copied().unwrap_or(0.0);
                let weight = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
                weight * count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * length / self.mean))
            });
            ranked.push((scores.sum(), path));
        }
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        ranked
            .into_iter()
            .take(PLACES)
            .map(|(_, path)| path.clone())
            .collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}
