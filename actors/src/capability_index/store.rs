//! The index of what can be used: an FTS5 table, and what is asked of it.
//!
//! It is made from files and from what the host says, and can be lost at any time. The index proposes by weighted BM25; the
//! policies rank what it proposed.

use super::CapabilityRequest;
use crate::derived::{Fault, Layout, forget_unused, name_of, open_file, open_in_memory, remove, rows_with};
use crate::gateways::UnixMillis;
use impresario_policies::capability::promotion::{USES_READ_MAX, Use};
use impresario_policies::capability::ranking::{
    Candidate, Confidence, RankingSettings, Telling, confidence_in, mass_of, rank,
};
use impresario_policies::capability::spelling::{Numeronym, halves, likeness, trigrams};
use impresario_policies::capability::words::{Request, Wanted, Word, column_of, read_request, words_of};
use impresario_policies::capability::{Capability, CapabilityKind};
use impresario_policies::retrieval::words::{Stems, other_forms, relatives};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The tables. `words` keeps no text: a row has the number of its capability. `shapes` finds words by their letters.
const LAYOUT: Layout = Layout {
    application: 0x494d_5043,
    version: 1,
    schema: "
        CREATE TABLE capabilities (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, source TEXT NOT NULL,
            name TEXT NOT NULL, summary TEXT NOT NULL, params TEXT NOT NULL, activation TEXT NOT NULL, hash BLOB NOT NULL,
            name_words TEXT NOT NULL, summary_words TEXT NOT NULL, params_words TEXT NOT NULL, place_words TEXT NOT NULL
        ) STRICT;
        CREATE INDEX kinds ON capabilities (kind);
        CREATE VIRTUAL TABLE words USING fts5(
            name, summary, params, place, content='', contentless_delete=1, tokenize='ascii'
        );
        CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
        CREATE TABLE uses (
            id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ms INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE forms (written TEXT PRIMARY KEY, kept TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE VIRTUAL TABLE shapes USING fts5(written, tokenize='trigram', detail='none');
    ",
};

/// The weights of the columns where the index proposes.
const PROPOSING: &str = "bm25(words, 8.0, 4.0, 1.0, 4.0)";
/// So many are ranked.
const CANDIDATES_MAX: usize = 200;
/// The words that are looked for stand in so many rows together; the rarest one is looked for in any case.
const ROWS_MAX: u64 = 2_500;
/// What a related word counts, against the word itself.
const RELATIVE_SHARE: f64 = 0.4;
/// A word that nothing has is compared with so many that look like it …
const LOOKALIKES_MAX: usize = 150;
/// … of which so many stand for it, those that are nearly as like as the best.
const MEANT_MAX: usize = 3;
const NEARLY: f64 = 0.12;
/// Indexes of so many workspaces are kept, up to so many bytes together.
const INDEXES_MAX: usize = 24;
const INDEXES_BYTES_MAX: u64 = 256_000_000;

/// What an index was brought up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many it has.
    pub all: usize,
    /// How many were new or changed.
    pub changed: usize,
    /// How many are gone.
    pub gone: usize,
    /// Why it is kept in memory, where it is.
    pub in_memory: Option<String>,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityHit {
    pub capability: Capability,
    /// From 0 to 1.
    pub score: f64,
}

/// What was found, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilitiesFound {
    pub hits: Vec<CapabilityHit>,
    pub confidence: Confidence,
}

/// The indexes of all workspaces, below one directory; in memory without one. Clones are the same.
#[derive(Debug, Clone)]
pub struct CapabilityStore {
    directory: Option<PathBuf>,
    open: Arc<Mutex<Option<Open>>>,
}

/// The one that was used last.
#[derive(Debug)]
struct Open {
    scope: PathBuf,
    connection: Connection,
    in_memory: Option<String>,
}

impl CapabilityStore {
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            open: Arc::default(),
        }
    }

    /// Makes the index of a workspace say what is given, and nothing else.
    pub fn index(&self, scope: &Path, all: &[Capability]) -> Result<Indexed, String> {
        self.with(scope, |connection, in_memory| {
            let (changed, gone) = refresh(connection, all)?;
            Ok(Indexed {
                all: all.len(),
                changed,
                gone,
                in_memory: in_memory.cloned(),
            })
        })
    }

    /// What fits a request best.
    pub fn search(&self, scope: &Path, request: &CapabilityRequest) -> Result<CapabilitiesFound, String> {
        self.with(scope, |connection, _| search(connection, request))
    }

    /// The one with this id.
    pub fn find(&self, scope: &Path, id: &str) -> Result<Option<Capability>, String> {
        self.with(scope, |connection, _| {
            let columns = "id, kind, source, name, summary, params, activation";
            let mut found =
                connection.prepare_cached(&format!("SELECT {columns} FROM capabilities WHERE id = ?1"))?;
            found.query_row([id], capability_of).optional()
        })
    }

    /// Counts that something was used; what is not in the index is not.
    pub fn note_use(&self, scope: &Path, id: &str, at: UnixMillis) -> Result<(), String> {
        self.with(scope, |connection, _| {
            connection
                .prepare_cached(
                    "INSERT INTO uses (id, count, last_ms) SELECT id, 1, ?2 FROM capabilities WHERE id = ?1
                     ON CONFLICT (id) DO UPDATE SET count = count + 1, last_ms = max(last_ms, ?2)",
                )?
                .execute(params![id, at.0])?;
            Ok(())
        })
    }

    /// What was used last and is still there, that first.
    pub fn uses(&self, scope: &Path) -> Result<Vec<Use>, String> {
        self.with(scope, |connection, _| {
            let mut uses = connection.prepare_cached(
                "SELECT id, count, last_ms FROM uses JOIN capabilities USING (id) ORDER BY last_ms DESC, count DESC, id LIMIT ?1",
            )?;
            let rows = uses.query_map([USES_READ_MAX], |row| {
                Ok(Use {
                    id: row.get(0)?,
                    count: row.get(1)?,
                    last_ms: row.get(2)?,
                })
            })?;
            rows.collect()
        })
    }

    /// A damaged index is made anew, empty, once: whoever fills it does so at every start.
    fn with<T>(
        &self,
        scope: &Path,
        mut work: impl FnMut(&mut Connection, Option<&String>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..2 {
            if open.as_ref().is_none_or(|open| open.scope != scope) {
                *open = Some(self.open(scope)?);
            }
            let Some(index) = open.as_mut() else { break };
            let in_memory = index.in_memory.clone();
            match work(&mut index.connection, in_memory.as_ref()).map_err(Fault::from) {
                Ok(done) => return Ok(done),
                Err(Fault::Damaged) => {
                    *open = None;
                    self.file_of(scope)
                        .map_or(Ok(()), |file| remove(&file))
                        .map_err(|error| error.to_string())?;
                }
                Err(Fault::Unwritable(why)) => {
                    tracing::warn!(why, "the index of capabilities cannot be kept; it is in memory");
                    *open = Some(Open {
                        scope: scope.to_path_buf(),
                        connection: open_in_memory(&LAYOUT)?,
                        in_memory: Some(why),
                    });
                }
                Err(Fault::Other(why)) => return Err(why),
            }
        }
        Err("the index of capabilities is damaged again and again".to_string())
    }

    fn file_of(&self, scope: &Path) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("{}.sqlite", name_of(scope))))
    }

    fn open(&self, scope: &Path) -> Result<Open, String> {
        let kept = self.file_of(scope).map(|file| {
            let connection = open_file(&file, &LAYOUT);
            forget_unused(&file, INDEXES_MAX, INDEXES_BYTES_MAX);
            connection
        });
        let (connection, in_memory) = match kept {
            Some(Ok(connection)) => (connection, None),
            Some(Err(why)) => (open_in_memory(&LAYOUT)?, Some(why)),
            None => (open_in_memory(&LAYOUT)?, None),
        };
        Ok(Open {
            scope: scope.to_path_buf(),
            connection,
            in_memory,
        })
    }
}

fn capability_of(row: &Row<'_>) -> Result<Capability, rusqlite::Error> {
    let kind: String = row.get(1)?;
    Ok(Capability {
        id: row.get(0)?,
        // Nothing else is written.
        kind: CapabilityKind::read(&kind).unwrap_or(CapabilityKind::Tool),
        source: row.get(2)?,
        name: row.get(3)?,
        summary: row.get(4)?,
        params: row.get(5)?,
        activation: row.get(6)?,
    })
}

/// How many were new or changed, and how many are gone.
fn refresh(connection: &mut Connection, all: &[Capability]) -> Result<(usize, usize), rusqlite::Error> {
    let mut hashes: BTreeMap<&str, (&Capability, Vec<u8>)> = BTreeMap::new();
    for capability in all {
        hashes
            .entry(&capability.id)
            .or_insert_with(|| (capability, hash_of(capability)));
    }
    if compare(connection, &hashes)?.is_nothing() {
        return Ok((0, 0));
    }
    // Another runtime may have written meanwhile, so it is looked at again while nobody can.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Changes { news, gone } = compare(&transaction, &hashes)?;
    for number in &gone {
        transaction
            .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
            .execute([number])?;
        transaction
            .prepare_cached("DELETE FROM capabilities WHERE number = ?1")?
            .execute([number])?;
    }
    let mut stems = Stems::default();
    let mut replaced = 0;
    for (id, number) in &news {
        if let Some(number) = number {
            transaction
                .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
                .execute([number])?;
            transaction
                .prepare_cached("DELETE FROM capabilities WHERE number = ?1")?
                .execute([number])?;
            replaced += 1;
        }
        if let Some((capability, hash)) = hashes.get(id) {
            put(&transaction, capability, hash, &mut stems)?;
        }
    }
    transaction.commit()?;
    tracing::debug!(
        news = news.len(),
        replaced,
        gone = gone.len(),
        "capabilities indexed"
    );
    Ok((news.len(), gone.len()))
}

/// What has to be done to an index.
struct Changes<'a> {
    /// By id, with the number of the row that each replaces.
    news: Vec<(&'a str, Option<i64>)>,
    /// By number.
    gone: Vec<i64>,
}

impl Changes<'_> {
    fn is_nothing(&self) -> bool {
        self.news.is_empty() && self.gone.is_empty()
    }
}

fn compare<'a>(
    connection: &Connection,
    hashes: &BTreeMap<&'a str, (&'a Capability, Vec<u8>)>,
) -> Result<Changes<'a>, rusqlite::Error> {
    let mut known = connection.prepare_cached("SELECT number, id, hash FROM capabilities ORDER BY id")?;
    let mut rows = known.query([])?;
    let mut wanted = hashes.iter().peekable();
    let mut changes = Changes {
        news: Vec::new(),
        gone: Vec::new(),
    };
    while let Some(row) = rows.next()? {
        let (number, id) = (row.get(0)?, row.get_ref(1)?.as_str()?);
        while let Some((new, _)) = wanted.next_if(|(wanted, _)| **wanted < id) {
            changes.news.push((new, None));
        }
        match wanted.next_if(|(wanted, _)| **wanted == id) {
            Some((_, (_, hash))) if row.get_ref(2)?.as_blob()? == hash => {}
            Some((changed, _)) => changes.news.push((changed, Some(number))),
            None => changes.gone.push(number),
        }
    }
    changes.news.extend(wanted.map(|(new, _)| (*new, None)));
    Ok(changes)
}

fn hash_of(capability: &Capability) -> Vec<u8> {
    let mut hash = Sha256::new();
    let Capability {
        id,
        kind: _,
        source,
        name,
        summary,
        params,
        activation,
    } = capability;
    for text in [id, source, name, summary, params, activation] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().to_vec()
}

fn put(
    transaction: &Transaction<'_>,
    capability: &Capability,
    hash: &[u8],
    stems: &mut Stems,
) -> Result<(), rusqlite::Error> {
    let texts = [
        &capability.name,
        &capability.summary,
        &capability.params,
        capability.place(),
    ];
    let words = texts.map(|text| words_of(text, stems));
    let [name, summary, params, place] = [0, 1, 2, 3].map(|column| column_of(&words[column]));
    transaction
        .prepare_cached(
            "INSERT INTO capabilities (id, kind, source, name, summary, params, activation, hash, name_words,
             summary_words, params_words, place_words) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            capability.id,
            capability.kind.as_str(),
            capability.source,
            capability.name,
            capability.summary,
            capability.params,
            capability.activation,
            hash,
            name,
            summary,
            params,
            place
        ])?;
    let number = transaction.last_insert_rowid();
    transaction
        .prepare_cached(
            "INSERT INTO words (rowid, name, summary, params, place) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![number, name, summary, params, place])?;
    for Word {
        written,
        kept,
        within: _,
    } in words.iter().flatten()
    {
        let is_new = transaction
            .prepare_cached("INSERT OR IGNORE INTO forms (written, kept) VALUES (?1, ?2)")?
            .execute([written, kept])?;
        if is_new > 0 {
            transaction
                .prepare_cached("INSERT INTO shapes (written) VALUES (?1)")?
                .execute([written])?;
        }
    }
    Ok(())
}

fn search(
    connection: &Connection,
    request: &CapabilityRequest,
) -> Result<CapabilitiesFound, rusqlite::Error> {
    let settings = RankingSettings::default();
    let Request { words, is_glue } = read_request(&request.query);
    let all: u64 = connection.query_row("SELECT count(*) FROM capabilities", [], |row| row.get(0))?;
    let known = look_up(connection, &words)?;
    let mut candidates = propose(connection, &known, request.kind)?;
    let telling: Vec<Telling> = words
        .iter()
        .zip(&known)
        .map(|(word, known)| Telling {
            forms: known.forms.clone(),
            mass: mass_of(word.weight, known.rows, all, &settings),
        })
        .collect();
    let ranked = rank(&candidates, &telling, &settings);
    let confidence = if is_glue {
        Confidence::Low
    } else {
        confidence_in(&ranked)
    };
    let mut hits = Vec::new();
    for each in ranked.into_iter().take(request.hits_max) {
        let number = std::mem::take(&mut candidates[each.place].number);
        let capability = connection
            .prepare_cached(
                "SELECT id, kind, source, name, summary, params, activation FROM capabilities WHERE number = ?1",
            )?
            .query_row([number], capability_of)?;
        hits.push(CapabilityHit {
            capability,
            score: each.score,
        });
    }
    Ok(CapabilitiesFound { hits, confidence })
}

/// What the index has of a word.
#[derive(Debug, Default)]
struct Known {
    /// As it stands in the index, each with what it counts.
    forms: Vec<(String, f64)>,
    /// How many have it.
    rows: u64,
}

impl Known {
    fn add(&mut self, connection: &Connection, kept: String, counts: f64) -> Result<(), rusqlite::Error> {
        if self.forms.iter().any(|(form, _)| *form == kept) {
            return Ok(());
        }
        let rows = rows_with(connection, &kept)?;
        if rows > 0 {
            self.rows += rows;
            self.forms.push((kept, counts));
        }
        Ok(())
    }
}

fn look_up(connection: &Connection, words: &[Wanted]) -> Result<Vec<Known>, rusqlite::Error> {
    let mut all: Vec<Known> = Vec::new();
    for word in words {
        let mut known = Known::default();
        for (kept, counts) in &word.forms {
            known.add(connection, kept.clone(), *counts)?;
        }
        let kept = word.forms.first().map_or("", |(kept, _)| kept);
        for form in other_forms(kept) {
            known.add(connection, form.to_string(), 1.0)?;
        }
        for relative in relatives(kept) {
            known.add(connection, relative, RELATIVE_SHARE)?;
        }
        all.push(known);
    }
    // Two words that something writes as one.
    for (place, pair) in words.windows(2).enumerate() {
        if let Some(kept) = kept_of(connection, &format!("{}{}", pair[0].written, pair[1].written))? {
            for known in &mut all[place..place + 2] {
                known.add(connection, kept.clone(), 1.0)?;
            }
        }
    }
    for (word, known) in words.iter().zip(&mut all) {
        if let Some(shape) = Numeronym::read(&word.written) {
            for (_, kept) in words_of_shape(connection, shape)? {
                known.add(connection, kept, 1.0)?;
            }
        }
        if known.forms.is_empty() {
            *known = meant(connection, &word.written)?;
        }
    }
    Ok(all)
}

/// What stands for a word that nothing has: its two halves, or what it looks like.
fn meant(connection: &Connection, written: &str) -> Result<Known, rusqlite::Error> {
    for [one, other] in halves(written) {
        if let (Some(first), Some(second)) = (kept_of(connection, one.0)?, kept_of(connection, other.0)?) {
            let mut known = Known::default();
            known.add(connection, first, one.1)?;
            known.add(connection, second, other.1)?;
            return Ok(known);
        }
    }
    let mut like: Vec<(f64, String)> = Vec::new();
    for (other, kept) in lookalikes(connection, written)? {
        like.push((likeness(written, &other), kept));
    }
    like.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let best = like.first().map_or(0.0, |(likeness, _)| *likeness);
    like.retain(|(likeness, _)| *likeness > 0.0 && likeness + NEARLY >= best);
    let mut known = Known::default();
    for (likeness, kept) in like.into_iter().take(MEANT_MAX) {
        known.add(connection, kept, likeness)?;
    }
    Ok(known)
}

fn kept_of(connection: &Connection, written: &str) -> Result<Option<String>, rusqlite::Error> {
    let mut kept = connection.prepare_cached("SELECT kept FROM forms WHERE written = ?1")?;
    kept.query_row([written], |row| row.get(0)).optional()
}

fn words_of_shape(
    connection: &Connection,
    shape: Numeronym,
) -> Result<Vec<(String, String)>, rusqlite::Error> {
    let (from, until) = (shape.first.to_string(), char::from_u32(shape.first as u32 + 1));
    let until = until.map(String::from).unwrap_or_default();
    let mut words = connection.prepare_cached(
        "SELECT written, kept FROM forms WHERE written >= ?1 AND written < ?2 AND length(written) = ?3",
    )?;
    let rows = words.query_map(params![from, until, shape.letters], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    let all: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|(word, _)| shape.is(word)).collect())
}

/// Words that share letters with this one.
fn lookalikes(connection: &Connection, written: &str) -> Result<Vec<(String, String)>, rusqlite::Error> {
    let runs: Vec<String> = trigrams(written).iter().map(|run| quoted(run)).collect();
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut words = connection.prepare_cached(
        "SELECT forms.written, kept FROM (SELECT written FROM shapes WHERE shapes MATCH ?1 ORDER BY rank LIMIT ?2) AS like
         JOIN forms ON forms.written = like.written",
    )?;
    let rows = words.query_map(params![runs.join(" OR "), LOOKALIKES_MAX], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    rows.collect()
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// What has the rarest words, the best by weighted BM25.
fn propose(
    connection: &Connection,
    known: &[Known],
    kind: Option<CapabilityKind>,
) -> Result<Vec<Candidate>, rusqlite::Error> {
    let mut rarest: Vec<&Known> = known.iter().filter(|known| known.rows > 0).collect();
    rarest.sort_by_key(|known| known.rows);
    let (mut forms, mut rows) = (Vec::new(), 0);
    for known in rarest {
        if !forms.is_empty() && rows + known.rows > ROWS_MAX {
            break;
        }
        rows += known.rows;
        forms.extend(known.forms.iter().map(|(form, _)| quoted(form)));
    }
    if forms.is_empty() {
        return Ok(Vec::new());
    }
    let of_kind = match kind {
        Some(_) => "AND rowid IN (SELECT number FROM capabilities WHERE kind = ?3)",
        None => "AND ?3 IS NULL",
    };
    let mut proposed = connection.prepare_cached(&format!(
        "SELECT number, id, name_words, summary_words, params_words, place_words FROM (
             SELECT rowid AS proposed FROM words WHERE words MATCH ?1 {of_kind} ORDER BY {PROPOSING}, rowid LIMIT ?2
         ) CROSS JOIN capabilities ON number = proposed"
    ))?;
    let kind = kind.map(CapabilityKind::as_str);
    let rows = proposed.query_map(params![forms.join(" OR "), CANDIDATES_MAX, kind], |row| {
        Ok(Candidate {
            number: row.get(0)?,
            id: row.get(1)?,
            columns: [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?],
        })
    })?;
    rows.collect()
}
