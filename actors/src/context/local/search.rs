//! From a question to ranked passages: the index proposes, the files are read, the policies rank.

use super::walk::as_text;
use crate::derived::rows_with;
use crate::gateways::RetrievalResult;
use impresario_policies::retrieval::file_kind::{classify_path, weigh_kind};
use impresario_policies::retrieval::languages::Sort;
use impresario_policies::retrieval::outline::{Definition, read_outline};
use impresario_policies::retrieval::passages::{cut_file, widen};
use impresario_policies::retrieval::question::{Name, Question, Term, read_question};
use impresario_policies::retrieval::ranking::{
    Candidate, Exact, RankingSettings, WeighedTerm, rank_passages, weigh_file, weigh_term,
};
use impresario_policies::retrieval::words::{Stems, Token, for_each_token, other_forms, relatives, whole};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// So many passages are read and ranked for the words of a question.
const CANDIDATES_MAX: usize = 300;
/// Passages of so many of the best files join the others.
const GOOD_FILES: usize = 20;
const PASSAGES_OF_A_FILE: usize = 4;
/// The words that are looked for stand in so many passages together; the most telling ones are looked for in any case.
const ROWS_MAX: u64 = 60_000;
/// So many of the words of a long task are looked for.
const TERMS_MAX: usize = 48;
/// What a related word counts, against the word itself.
const RELATIVE_SHARE: f64 = 0.4;
/// So many passages are opened to see whether they define a name, or hold a text.
const NAMED_MAX: usize = 200;
const QUOTING_MAX: usize = 1_000;
/// A definition is shown up to this length.
const SHOWN_LINES_MAX: usize = 80;
/// Passages of a file that are as near as this are shown as one.
const MERGED_LINES_MAX: u32 = 60;
/// The first so many are shown with what is around them, up to this length: the answer to a question in plain words is often
/// beside the words.
const WIDENED: usize = 3;
const WIDE_LINES_MAX: usize = 100;
/// So many times more passages are looked at than are shown, for some lengthen others.
const LOOKED_AT: usize = 3;
/// Words in names and in the place, against those in the text, where the index proposes.
const PROPOSING: &str = "bm25(words, 1.0, 2.0, 2.0)";

/// What was found, and what has to be said about it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) passages: Vec<RetrievalResult>,
    pub(super) remarks: Vec<String>,
    /// The time was over before everything was in the index.
    pub(super) is_cut_off: bool,
    /// How exactly each passage was found.
    exact: Vec<Exact>,
}

/// Finds the passages that answer best.
pub(super) fn search(
    connection: &Connection,
    root: &Path,
    query: &str,
    passages_max: usize,
) -> Result<Answer, rusqlite::Error> {
    let question = read_question(query);
    let mut searcher = Searcher {
        connection,
        root,
        candidates: BTreeMap::new(),
        files: BTreeMap::new(),
    };
    let all: Option<u64> = connection.query_row("SELECT max(id) FROM passages", [], |row| row.get(0))?;
    let all = all.unwrap_or(0);
    let settings = RankingSettings::for_question(&question);
    let mut terms = weigh(connection, &question.terms, all, &settings)?;
    terms.retain(|(_, count)| *count > 0);
    let mut answer = Answer::default();
    if terms.len() > TERMS_MAX {
        answer.remarks.push(format!(
            "The question has {} words that can be looked for; the {TERMS_MAX} most telling ones were.",
            terms.len()
        ));
        terms = most_telling(terms);
    }
    searcher.propose(&terms)?;
    for name in &question.names {
        searcher.look_for_name(name, &question)?;
    }
    for literal in &question.literals {
        if searcher.look_for_text(literal)? {
            break;
        }
    }
    let candidates: Vec<Candidate> = searcher.candidates.into_values().collect();
    let terms: Vec<WeighedTerm> = terms.into_iter().map(|(term, _)| term).collect();
    let ranked = rank_passages(&candidates, &terms, &question, &settings);
    for (number, score) in ranked.into_iter().take(passages_max * LOOKED_AT) {
        answer.add(root, &candidates[number], score, passages_max);
    }
    for passage in &mut answer.passages {
        passage.text = read_lines(&root.join(&passage.path), passage.line_start, passage.line_end);
    }
    Ok(answer)
}

impl Answer {
    /// Adds a passage, or lengthens one that was added before and is near.
    fn add(&mut self, root: &Path, candidate: &Candidate, score: f64, passages_max: usize) {
        let lines = candidate.text.lines().count().max(1);
        let (mut first, mut last) = (candidate.start as u32 + 1, (candidate.start + lines) as u32);
        for (shown, exact) in self.passages.iter_mut().zip(&self.exact) {
            if shown.path != candidate.path {
                continue;
            }
            let together = (shown.line_start.min(first), shown.line_end.max(last));
            let overlaps = shown.line_start <= last && first <= shown.line_end;
            let is_held = together == (shown.line_start, shown.line_end);
            // What is the definition or the text that was asked for stays as it is.
            let is_loose = *exact == Exact::No && candidate.exact == Exact::No;
            if is_held || (overlaps && (is_loose || *exact > candidate.exact)) {
                return;
            }
            if is_loose && together.1 - together.0 < MERGED_LINES_MAX {
                (shown.line_start, shown.line_end) = together;
                return;
            }
        }
        if self.passages.len() < WIDENED && candidate.exact == Exact::No {
            (first, last) = self.with_surroundings(root, &candidate.path, first, last);
        }
        if self.passages.len() < passages_max {
            self.passages.push(RetrievalResult {
                path: candidate.path.clone(),
                line_start: first,
                line_end: last,
                text: String::new(),
                score,
            });
            self.exact.push(candidate.exact);
        }
    }
}

impl Answer {
    /// A range with as much of what is around it as is shown, and nothing of what is shown already.
    fn with_surroundings(&self, root: &Path, path: &str, first: u32, last: u32) -> (u32, u32) {
        let text = read_part(&root.join(path), 0, u64::MAX).unwrap_or_default();
        let shown = || self.passages.iter().filter(|shown| shown.path == path);
        let floor = shown()
            .map(|shown| shown.line_end)
            .filter(|end| *end < first)
            .max();
        let ceiling = shown()
            .map(|shown| shown.line_start - 1)
            .filter(|before| *before >= last)
            .min();
        let room = (floor.unwrap_or(0) as usize, ceiling.unwrap_or(u32::MAX) as usize);
        let passages = cut_file(&read_outline(path, &text));
        let range = (first as usize - 1, last as usize);
        let (start, end) = widen(&passages, range, room, WIDE_LINES_MAX);
        (start as u32 + 1, end as u32)
    }
}

fn read_lines(path: &Path, first: u32, last: u32) -> String {
    let text = read_part(path, 0, u64::MAX).unwrap_or_default();
    let lines = text
        .lines()
        .skip(first as usize - 1)
        .take((last + 1 - first) as usize);
    lines.collect::<Vec<_>>().join("\n")
}

/// A term with the number of passages that have it.
type Weighed = (WeighedTerm, u64);

fn weigh(
    connection: &Connection,
    terms: &[Term],
    all: u64,
    settings: &RankingSettings,
) -> Result<Vec<Weighed>, rusqlite::Error> {
    let mut weighed = Vec::new();
    for term in terms {
        let mut count = rows_with(connection, &term.stem)?;
        let mut stems = vec![(term.stem.clone(), 1.0)];
        let forms = other_forms(&term.stem).iter().map(|form| (form.to_string(), 1.0));
        let relatives = relatives(&term.stem)
            .into_iter()
            .map(|stem| (stem, RELATIVE_SHARE));
        for (stem, share) in forms.chain(relatives) {
            let found = rows_with(connection, &stem)?;
            if found > 0 {
                count += found;
                stems.push((stem, share));
            }
        }
        let weight = weigh_term(term, count, all, settings);
        weighed.push((WeighedTerm { stems, weight }, count));
    }
    Ok(weighed)
}

/// The most telling terms, in the order of the question.
fn most_telling(terms: Vec<Weighed>) -> Vec<Weighed> {
    let mut ranked: Vec<(usize, Weighed)> = terms.into_iter().enumerate().collect();
    ranked.sort_by(|(_, (one, _)), (_, (other, _))| other.weight.total_cmp(&one.weight));
    ranked.truncate(TERMS_MAX);
    ranked.sort_by_key(|(order, _)| *order);
    ranked.into_iter().map(|(_, term)| term).collect()
}

/// A row of the index.
struct Row {
    id: i64,
    file: i64,
    path: String,
    line: usize,
    start: u64,
    end: u64,
    is_test: bool,
    names: String,
    within: String,
}

/// What a file says of a question.
#[derive(Debug, Default)]
struct FileScore {
    /// The weights of the terms, each as far as the file says it.
    said: f64,
    /// As SQLite ranks files.
    plain: f64,
}

/// What a term that stands in `having` of `all` rows weighs in the `bm25` of SQLite: a word of every second row nothing, nearly.
fn weight_in_bm25(having: f64, all: f64) -> f64 {
    ((all - having + 0.5) / (having + 0.5)).ln().max(1e-6)
}

/// How often a word stands in a text, against what its length makes likely, from its share of BM25 without the weight: with
/// k1 = 1.2 that is 2.2 times m / (1 + m).
fn mentions(score: f64) -> f64 {
    let said = (score / 2.2).clamp(0.0, 0.99);
    said / (1.0 - said)
}

struct Searcher<'a> {
    connection: &'a Connection,
    root: &'a Path,
    /// By file and line, so that the order is the same however the index was made.
    candidates: BTreeMap<(String, usize), Candidate>,
    /// How well whole files answer, by their numbers.
    files: BTreeMap<i64, f64>,
}

impl Searcher<'_> {
    /// What the words of the question propose.
    fn propose(&mut self, terms: &[Weighed]) -> Result<(), rusqlite::Error> {
        let mut telling: Vec<&Weighed> = terms.iter().collect();
        telling.sort_by_key(|(_, count)| *count);
        let mut rows = 0;
        let within = |(number, (_, count)): &(usize, &&Weighed)| {
            rows += count;
            rows <= ROWS_MAX || *number < 2
        };
        let few = telling.iter().enumerate().take_while(within).count();
        telling.truncate(few);
        self.files = self.whole_files(&telling)?;
        let stems = telling.iter().flat_map(|(term, _)| &term.stems);
        let words: Vec<String> = stems.map(|(stem, _)| quoted(stem)).collect();
        let expression = words.join(" OR ");
        for row in self.rows(&expression, None, CANDIDATES_MAX)? {
            self.add_row(&row);
        }
        let mut best: Vec<(i64, f64)> = self.files.iter().map(|(file, share)| (*file, *share)).collect();
        best.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        for (file, _) in best.into_iter().take(GOOD_FILES) {
            for row in self.rows(&expression, Some(file), PASSAGES_OF_A_FILE)? {
                self.add_row(&row);
            }
        }
        Ok(())
    }

    fn add_row(&mut self, row: &Row) {
        if let Some(text) = read_part(&self.root.join(&row.path), row.start, row.end) {
            self.add(row, text, Exact::No);
        }
    }

    /// How well whole files answer, from 0 to 1.
    fn whole_files(&self, terms: &[&Weighed]) -> Result<BTreeMap<i64, f64>, rusqlite::Error> {
        let all: f64 =
            self.connection
                .query_row("SELECT count(*) FROM files WHERE left_out = 0", [], |row| {
                    row.get(0)
                })?;
        let mut statement = self
            .connection
            .prepare_cached("SELECT rowid, -bm25(file_words) FROM file_words WHERE file_words MATCH ?1")?;
        let mut files: BTreeMap<i64, FileScore> = BTreeMap::new();
        for (term, _) in terms {
            let mut said: BTreeMap<i64, f64> = BTreeMap::new();
            for (stem, share) in &term.stems {
                let found: Vec<(i64, f64)> = statement
                    .query_map([quoted(stem)], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect::<Result<_, _>>()?;
                let weight = weight_in_bm25(found.len() as f64, all);
                for (file, score) in found {
                    *said.entry(file).or_default() += share * mentions(score / weight);
                    files.entry(file).or_default().plain += score;
                }
            }
            for (file, mentions) in said {
                files.entry(file).or_default().said += term.weight * mentions / (1.0 + mentions);
            }
        }
        let asked: f64 = terms.iter().map(|(term, _)| term.weight).sum();
        let best = files
            .values()
            .map(|file| file.plain)
            .fold(f64::MIN_POSITIVE, f64::max);
        let shares = files
            .into_iter()
            .map(|(file, score)| (file, weigh_file(score.said / asked, score.plain / best)));
        Ok(shares.collect())
    }

    fn add(&mut self, row: &Row, text: String, exact: Exact) {
        let candidate = Candidate {
            path: row.path.clone(),
            kind: classify_path(&row.path),
            start: row.line,
            text,
            names: row.names.clone(),
            within: row.within.clone(),
            is_test: row.is_test,
            exact,
            file: self.file_share(row),
        };
        self.add_candidate(candidate);
    }

    fn file_share(&self, row: &Row) -> f64 {
        self.files.get(&row.file).copied().unwrap_or(0.0)
    }

    fn add_candidate(&mut self, candidate: Candidate) {
        let place = (candidate.path.clone(), candidate.start);
        let is_better = self
            .candidates
            .get(&place)
            .is_none_or(|before| before.exact <= candidate.exact);
        if is_better {
            self.candidates.insert(place, candidate);
        }
    }

    /// Definitions of a name, each from its comment to its end.
    fn look_for_name(&mut self, name: &Name, question: &Question) -> Result<(), rusqlite::Error> {
        let mut rows = self.rows(
            &format!("names : {}", quoted(&whole(&name.text))),
            None,
            NAMED_MAX,
        )?;
        rows.retain(|row| row.names.split(' ').any(|each| each == name.text));
        let mut files: BTreeSet<String> = BTreeSet::new();
        for row in &rows {
            if files.insert(row.path.clone())
                && let Some(text) = read_part(&self.root.join(&row.path), 0, u64::MAX)
            {
                self.add_definitions(row, &text, name, question);
            }
        }
        Ok(())
    }

    fn add_definitions(&mut self, row: &Row, text: &str, name: &Name, question: &Question) {
        let outline = read_outline(&row.path, text);
        let all = &outline.definitions;
        for definition in all.iter().filter(|each| each.name == name.text) {
            let within: Vec<&Definition<'_>> = all.iter().filter(|each| each.holds(definition)).collect();
            let is_owned = name.owner.as_ref().is_some_and(|owner| {
                within.iter().any(|each| each.name == owner) || row.path.contains(owner.as_str())
            });
            let exact = match definition.sort {
                Sort::Container => continue,
                _ if !question.asks_for_definition && definition.sort == Sort::Declaration => Exact::No,
                Sort::Declaration => Exact::Declares,
                Sort::Definition if is_owned => Exact::DefinesWithin,
                Sort::Definition => Exact::Defines,
            };
            // Elsewhere than in the program it is not what is asked for, unless there is nothing else.
            let exact = match weigh_kind(classify_path(&row.path), &question.kinds) < 0.6 {
                true => exact.min(Exact::Declares),
                false => exact,
            };
            let (start, end) = (
                definition.start,
                definition
                    .end
                    .min(definition.line + SHOWN_LINES_MAX)
                    .min(definition.start + SHOWN_LINES_MAX),
            );
            let lines: Vec<&str> = text.lines().skip(start).take(end.saturating_sub(start)).collect();
            self.add_candidate(Candidate {
                path: row.path.clone(),
                kind: classify_path(&row.path),
                start,
                text: lines.join("\n"),
                names: definition.name.to_string(),
                within: within.iter().map(|each| each.name).collect::<Vec<_>>().join(" "),
                is_test: row.is_test,
                exact,
                file: self.file_share(row),
            });
        }
    }

    /// Passages that hold a text letter for letter; whether there are any.
    fn look_for_text(&mut self, literal: &str) -> Result<bool, rusqlite::Error> {
        let words = whole_words(literal);
        if words.is_empty() {
            return Ok(false);
        }
        let written: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let mut found = false;
        for row in self.rows(&format!("body : ({})", written.join(" AND ")), None, QUOTING_MAX)? {
            let Some(text) = read_part(&self.root.join(&row.path), row.start, row.end) else {
                continue;
            };
            if text.contains(literal) {
                found = true;
                self.add(&row, text, Exact::Quotes);
            }
        }
        Ok(found)
    }

    /// The best rows for an expression of FTS5.
    fn rows(
        &self,
        expression: &str,
        file: Option<i64>,
        rows_max: usize,
    ) -> Result<Vec<Row>, rusqlite::Error> {
        if expression.is_empty() {
            return Ok(Vec::new());
        }
        let (first, last) = match file {
            None => (0, i64::MAX),
            Some(file) => self.connection.query_row(
                "SELECT min(id), max(id) FROM passages WHERE file = ?1",
                [file],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?,
        };
        let proposed = format!(
            "SELECT rowid, {PROPOSING} FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?3 AND ?4 ORDER BY 2, 1 LIMIT ?2"
        );
        let proposed: Vec<i64> = self
            .connection
            .prepare_cached(&proposed)?
            .query_map(params![expression, rows_max as i64, first, last], |row| {
                row.get(0)
            })?
            .collect::<Result<_, _>>()?;
        let mut statement = self.connection.prepare_cached(
            "SELECT passages.id, path, line, start, end, is_test, names, within, file
             FROM passages JOIN files ON files.id = passages.file WHERE passages.id = ?1",
        )?;
        let mut rows = Vec::new();
        for id in proposed {
            let row = statement.query_row([id], |row| {
                Ok(Row {
                    id: row.get(0)?,
                    path: row.get(1)?,
                    line: row.get(2)?,
                    start: row.get(3)?,
                    end: row.get(4)?,
                    is_test: row.get(5)?,
                    names: row.get(6)?,
                    within: row.get(7)?,
                    file: row.get(8)?,
                })
            });
            rows.extend(row.optional()?);
        }
        rows.dedup_by_key(|row| row.id);
        Ok(rows)
    }
}

/// Each word of a text that is whole in it: the first and the last may be parts of longer ones.
fn whole_words(literal: &str) -> Vec<String> {
    let mut stems = Stems::default();
    let inside = |character: char| character.is_alphanumeric() || character == '_';
    let trimmed = match literal.find(|character| !inside(character)) {
        Some(first) => &literal[first..],
        None => "",
    };
    let trimmed = &trimmed[..trimmed
        .rfind(|character| !inside(character))
        .map_or(0, |last| last)];
    let mut words = BTreeSet::new();
    let text = if trimmed
        .split(|character| !inside(character))
        .all(|word| word.len() < 2)
    {
        literal
    } else {
        trimmed
    };
    for_each_token(text, |token| {
        if let Token::Word(word) = token
            && word.len() > 1
        {
            words.insert(stems.stem(word).to_string());
        }
    });
    words.into_iter().collect()
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', ""))
}

/// A part of a file, if it is still there.
fn read_part(path: &Path, start: u64, end: u64) -> Option<String> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(start))
        .read_to_end(&mut bytes)
        .ok()?;
    Some(as_text(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::local::index::LAYOUT;
    use crate::derived::open_in_memory;

    fn shares(files: &[&str], terms: &[(&str, f64)]) -> Vec<f64> {
        let connection = open_in_memory(&LAYOUT).expect("an index");
        for (number, words) in files.iter().enumerate() {
            let number = number as i64 + 1;
            connection
                .execute("INSERT INTO files VALUES (?1, ?1, 0, 0, x'', 0)", [number])
                .expect("a file");
            connection
                .execute(
                    "INSERT INTO file_words (rowid, body) VALUES (?1, ?2)",
                    params![number, words],
                )
                .expect("its words");
        }
        let searcher = Searcher {
            connection: &connection,
            root: Path::new(""),
            candidates: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        let term = |(stem, weight): &(&str, f64)| WeighedTerm {
            stems: vec![(stem.to_string(), 1.0)],
            weight: *weight,
        };
        let terms: Vec<Weighed> = terms.iter().map(|each| (term(each), 1)).collect();
        let found = searcher
            .whole_files(&terms.iter().collect::<Vec<_>>())
            .expect("shares");
        let share = |number: usize| found.get(&(number as i64 + 1)).copied().unwrap_or(0.0);
        (0..files.len()).map(share).collect()
    }

    fn is_near(share: f64, expected: f64) {
        assert!((share - expected).abs() < 1e-4, "{share} instead of {expected}");
    }

    /// SQLite weighs such a word as nothing, so that what files say of it has to be told from its score.
    #[test]
    fn a_word_of_every_file_has_its_say() {
        let found = shares(
            &["kettle kettle", "kettle other", "other other"],
            &[("kettle", 1.0)],
        );
        is_near(found[0], weigh_file(2.0 / 3.2, 1.0));
        is_near(found[1], weigh_file(1.0 / 2.2, 1.375f64.recip()));
        is_near(found[2], 0.0);
    }

    #[test]
    fn what_a_file_says_counts_as_the_words_weigh() {
        let files = [
            "kettle other",
            "boil other",
            "other other",
            "other other",
            "other other",
        ];
        let found = shares(&files, &[("kettle", 3.0), ("boil", 1.0)]);
        is_near(found[0], weigh_file(0.75 / 2.2, 1.0));
        is_near(found[1], weigh_file(0.25 / 2.2, 1.0));
    }
}
