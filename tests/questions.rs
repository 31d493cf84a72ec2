//! Thirty questions of newcomers about three published crates, and the files that answer them.
//!
//! The sources are the ones cargo fetched for the build. Each question goes the way of a sub-agent with the offline
//! model: search, then the answer a user would read; what counts are the first three places it cites.

use impresario_actors::context::local::{SearchLimits, read_workspace, search_workspace};
use impresario_actors::gateways::{RetrievalRequest, Retrieved};
use impresario_policies::offline::turn::{Turn, TurnFacts, take_turn};
use impresario_policies::retrieval::question::read_question;
use impresario_policies::retrieval::words::{Stems, other_forms};
use impresario_policies::sub_agent_prompt::RETRIEVAL_TOOL;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const QUESTIONS: &str = include_str!("questions/questions.tsv");
const CITED: usize = 3;
const RANGE_LINES_MAX: u32 = 100;

struct Question {
    krate: &'static str,
    answered_by: Vec<&'static str>,
    text: &'static str,
}

fn questions() -> Vec<Question> {
    let lines = QUESTIONS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&'static str> = line.split('\t').collect();
            let [krate, files, text] = fields[..] else {
                panic!("three fields a line: {line}")
            };
            Question {
                krate,
                answered_by: files.split(' ').collect(),
                text,
            }
        })
        .collect()
}

/// What this machine builds for. Sources for other platforms were not fetched by the build that runs this test.
fn platform() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    let version = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(version.stdout).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_string()
}

/// Where cargo keeps the sources of every package of this build.
fn sources() -> BTreeMap<String, PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let metadata = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &platform()])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(
        metadata.status.success(),
        "{}",
        String::from_utf8_lossy(&metadata.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
            let name = package["name"].as_str().expect("a name").to_string();
            (name, manifest.parent().expect("a directory").to_path_buf())
        })
        .collect()
}

/// What a user would read.
fn answer(workspace: &Path, question: &str) -> String {
    let prompt = format!("User Goal: {question}");
    let tools = vec![RETRIEVAL_TOOL];
    let first = take_turn(&TurnFacts {
        prompt: &prompt,
        tools: tools.clone(),
        results: Vec::new(),
    });
    let Turn::Call { arguments, .. } = first else {
        panic!("it searches first")
    };
    let query = arguments["query"].as_str().expect("a query");
    let passages_max = arguments["passages_max"].as_u64().expect("a number") as usize;
    let request = RetrievalRequest {
        query: query.to_string(),
        workspace: workspace.to_path_buf(),
        passages_max,
    };
    let found = search_workspace(&request, &SearchLimits::default(), None).expect("the sources");
    assert!(matches!(found, Retrieved::Passages { .. }));
    let shown = found.into_text();
    let second = take_turn(&TurnFacts {
        prompt: &prompt,
        tools,
        results: vec![(RETRIEVAL_TOOL, &shown)],
    });
    let Turn::Answer(text) = second else {
        panic!("it answers then")
    };
    text
}

/// Every file that is searched: path and text.
fn files_of(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let read = read_workspace(root, &SearchLimits::default(), |path, text| {
        files.push((path.to_string(), text.to_string()));
        true
    });
    read.expect("the sources");
    files
}

/// The places an answer cites, in its order: path, first line, last line.
fn cited(answer: &str) -> Vec<(&str, u32, u32)> {
    let words = answer.split_whitespace();
    words
        .filter_map(|word| {
            let (path, range) = word.split_once("#L")?;
            let (first, last) = range.split_once("-L")?;
            Some((path, first.parse().ok()?, last.parse().ok()?))
        })
        .collect()
}

/// The plain alternative: the files in which the words of the question stand most often.
fn by_counting_keywords(files: &[(String, String)], question: &str) -> Vec<String> {
    const GLUE: [&str; 26] = [
        "how", "what", "where", "when", "which", "does", "with", "that", "this", "from", "into", "have",
        "they", "there", "their", "the", "and", "for", "are", "can", "its", "not", "who", "you", "one",
        "own",
    ];
    let lower = question.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let words: Vec<&str> = words
        .filter(|word| word.len() > 2 && !GLUE.contains(word))
        .collect();
    let mut counted: Vec<(usize, &String)> = files
        .iter()
        .map(|(path, text)| {
            let text = text.to_lowercase();
            (words.iter().map(|word| text.matches(word).count()).sum(), path)
        })
        .collect();
    counted.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    counted
        .into_iter()
        .take(CITED)
        .map(|(_, path)| path.clone())
        .collect()
}

#[test]
fn newcomers_questions_are_answered_with_the_right_file() {
    let sources = sources();
    let mut trees: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    let questions = questions();
    let mut found = 0;
    let mut found_by_counting = 0;
    let mut report = String::new();
    for question in &questions {
        let root = sources
            .get(question.krate)
            .unwrap_or_else(|| panic!("{} is no dependency", question.krate));
        let files = trees.entry(question.krate).or_insert_with(|| files_of(root));
        for path in &question.answered_by {
            assert!(root.join(path).is_file(), "{} has no {path}", question.krate);
        }
        let answer = answer(root, question.text);
        let places = cited(&answer);
        for (path, first, last) in &places {
            let file = files
                .iter()
                .find(|file| file.0 == *path)
                .unwrap_or_else(|| panic!("no file {path}"));
            let lines = file.1.lines().count() as u32;
            assert!(
                1 <= *first && first <= last && *last <= lines,
                "{path} has no lines {first} to {last}"
            );
            assert!(
                last + 1 - first <= RANGE_LINES_MAX,
                "{path}: {first} to {last} is too much to read"
            );
        }
        let paths: Vec<&str> = places.iter().map(|(path, _, _)| *path).take(CITED).collect();
        let counting = by_counting_keywords(files, question.text);
        let right = paths.iter().any(|path| question.answered_by.contains(path));
        found += usize::from(right);
        found_by_counting += usize::from(
            counting
                .iter()
                .any(|path| question.answered_by.contains(&path.as_str())),
        );
        if !right {
            report.push_str(&format!(
                "missed: {} (wanted {:?}, cited {paths:?})\n",
                question.text, question.answered_by
            ));
        }
    }
    let total = questions.len();
    report.push_str(&format!(
        "questions: {found} of {total} answered by one of the first {CITED} places; counting keywords: {found_by_counting}\n"
    ));
    // Past the capture of the test harness: the score is worth seeing when it is good, too.
    let _ = std::io::stderr().write_all(report.as_bytes());
    assert_eq!(total, 30);
    // What the search reaches without knowing the questions: measured, 20. Not a target, a floor.
    assert!(found >= 19, "{report}");
    assert!(
        found * 4 >= found_by_counting * 5,
        "not clearly better than counting keywords: {report}"
    );
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let sources = sources();
    let root = &sources["tokio-util"];
    let question = "How can one part of a program tell many running tasks to stop?";
    assert_eq!(answer(root, question), answer(root, question));
}

/// What the questions are about stands in no table of the search: words that hold a sentence together, or are among the most
/// common ones of English, only count less there, and irregular verbs stand there as a whole class of words; the rest are
/// the words of programming languages and of file names.
#[test]
fn no_telling_word_of_a_question_stands_in_the_search() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/src/retrieval");
    let mut told: BTreeSet<String> = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("the search") {
        let path = entry.expect("an entry").path();
        let source = std::fs::read_to_string(&path).expect("text");
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code = product
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code: String = code
            .filter(|line| !line.contains("r\""))
            .collect::<Vec<_>>()
            .join("\n");
        let code = code.replace("'\"'", "").replace("\\\"", "");
        for literal in code.split('"').skip(1).step_by(2) {
            let words = literal.split(|character: char| !character.is_alphanumeric());
            told.extend(words.map(str::to_lowercase));
        }
    }
    // Words of the languages, of files' names, and of sentences for the reader.
    let of_the_trade = [
        "async",
        "command",
        "file",
        "files",
        "lock",
        "long",
        "struct",
        "test",
        "trait",
        "type",
        "types",
        "input",
        "value",
        "binary",
        "bytes",
        "cannot",
        "code",
        "csv",
        "cut",
        "definition",
        "each",
        "else",
        "end",
        "function",
        "goes",
        "holds",
        "line",
        "lines",
        "output",
        "sort",
        "sql",
        "std",
        "text",
        "large",
    ];
    let questions = questions();
    let asked = questions.iter().flat_map(|question| {
        question
            .text
            .split(|character: char| !character.is_alphanumeric())
    });
    let telling: BTreeSet<String> = asked
        .map(str::to_lowercase)
        .filter(|word| word.len() > 2)
        .collect();
    let weak = |word: &str| read_question(word).terms.iter().all(|term| term.weight < 1.0);
    let is_irregular = |word: &str| !other_forms(Stems::default().stem(word)).is_empty();
    let shared: Vec<&String> = telling
        .intersection(&told)
        .filter(|word| !weak(word) && !is_irregular(word) && !of_the_trade.contains(&word.as_str()))
        .collect();
    assert!(shared.is_empty(), "{shared:?}");
}
