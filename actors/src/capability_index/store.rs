//! The index of what can be used: an FTS5 table of its words, and what is asked of it.
//!
//! It is made from files and from what the host says, and can be lost at any time. A search reads nothing of it: its postings
//! are held from the first request on, as long as nothing changes, and the policies answer from them. What is held is what
//! this runtime was told, whatever another one that works in the same place makes of the file.

use super::CapabilityRequest;
use crate::derived::{Fault, Layout, forget_unused, name_of, open_file, open_in_memory, remove};
use crate::gateways::UnixMillis;
use impresario_policies::capability::held::{COLUMNS, HeldWords};
use impresario_policies::capability::promotion::{USES_READ_MAX, Use};
use impresario_policies::capability::ranking::{Confidence, RankingSettings};
use impresario_policies::capability::search::{Found, search};
use impresario_policies::capability::words::{Word, column_of, columns_of};
use impresario_policies::capability::{Capability, CapabilityKind};
use impresario_policies::retrieval::words::Stems;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The tables. `words` keeps no text: a row has the number of its capability. `forms` says how a written word is kept.
const LAYOUT: Layout = Layout {
    application: 0x494d_5043,
    version: 2,
    schema: "
        CREATE TABLE capabilities (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, source TEXT NOT NULL,
            name TEXT NOT NULL, summary TEXT NOT NULL, params TEXT NOT NULL, activation TEXT NOT NULL, hash BLOB NOT NULL
        ) STRICT;
        CREATE VIRTUAL TABLE words USING fts5(
            name, summary, params, place, content='', contentless_delete=1, tokenize='ascii'
        );
        CREATE VIRTUAL TABLE instances USING fts5vocab(words, 'instance');
        CREATE TABLE uses (
            id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ms INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE forms (written TEXT PRIMARY KEY, kept TEXT NOT NULL) STRICT, WITHOUT ROWID;
    ",
};

/// The columns of `words`, in the order of the policies.
const COLUMN_NAMES: [&str; COLUMNS] = ["name", "summary", "params", "place"];
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
    /// What this runtime was told; nothing yet takes what is in the file.
    told: Option<Vec<Capability>>,
    held: Option<Held>,
}

/// What requests are answered from.
#[derive(Debug)]
struct Held {
    /// By id.
    all: Vec<Capability>,
    words: HeldWords,
}

impl Held {
    fn find(&self, id: &str) -> Option<&Capability> {
        let place = self.all.binary_search_by(|each| each.id.as_str().cmp(id));
        self.all.get(place.ok()?)
    }
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
        self.with(scope, |open| {
            let (changed, gone) = refresh(&mut open.connection, all)?;
            if changed + gone > 0 || open.told.as_deref() != Some(all) {
                open.told = Some(all.to_vec());
                open.held = None;
            }
            Ok(Indexed {
                all: all.len(),
                changed,
                gone,
                in_memory: open.in_memory.clone(),
            })
        })
    }

    /// What fits a request best.
    pub fn search(&self, scope: &Path, request: &CapabilityRequest) -> Result<CapabilitiesFound, String> {
        self.with(scope, |open| {
            let Held { all, words } = open.held()?;
            let Found { best, confidence } = search(
                words,
                &request.query,
                request.kind,
                request.hits_max,
                &RankingSettings::default(),
            );
            let hits = best.into_iter().filter_map(|ranked| {
                Some(CapabilityHit {
                    capability: all.get(ranked.place)?.clone(),
                    score: ranked.score,
                })
            });
            Ok(CapabilitiesFound {
                hits: hits.collect(),
                confidence,
            })
        })
    }

    /// The one with this id.
    pub fn find(&self, scope: &Path, id: &str) -> Result<Option<Capability>, String> {
        self.with(scope, |open| Ok(open.held()?.find(id).cloned()))
    }

    /// Counts that something was used; what is not in the index is not.
    pub fn note_use(&self, scope: &Path, id: &str, at: UnixMillis) -> Result<(), String> {
        self.with(scope, |open| {
            if open.held()?.find(id).is_none() {
                return Ok(());
            }
            open.connection
                .prepare_cached(
                    "INSERT INTO uses (id, count, last_ms) VALUES (?1, 1, ?2)
                     ON CONFLICT (id) DO UPDATE SET count = count + 1, last_ms = max(last_ms, ?2)",
                )?
                .execute(params![id, at.0])?;
            Ok(())
        })
    }

    /// What was used last and is still there, that first.
    pub fn uses(&self, scope: &Path) -> Result<Vec<Use>, String> {
        self.with(scope, |open| {
            open.held()?;
            let mut uses = open.connection.prepare_cached(
                "SELECT id, count, last_ms FROM uses ORDER BY last_ms DESC, count DESC, id",
            )?;
            let rows = uses.query_map([], |row| {
                Ok(Use {
                    id: row.get(0)?,
                    count: row.get(1)?,
                    last_ms: row.get(2)?,
                })
            })?;
            let is_there = |used: &Result<Use, rusqlite::Error>| {
                let id = used.as_ref().map(|used| used.id.as_str());
                id.is_err()
                    || open
                        .held
                        .as_ref()
                        .is_some_and(|held| id.is_ok_and(|id| held.find(id).is_some()))
            };
            rows.filter(is_there).take(USES_READ_MAX).collect()
        })
    }

    /// A damaged index is made anew, empty, once: whoever fills it does so at every start.
    fn with<T>(
        &self,
        scope: &Path,
        mut work: impl FnMut(&mut Open) -> Result<T, rusqlite::Error>,
    ) -> Result<T, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..2 {
            if open.as_ref().is_none_or(|open| open.scope != scope) {
                *open = Some(self.open(scope)?);
            }
            let Some(index) = open.as_mut() else { break };
            let told = match work(index).map_err(Fault::from) {
                Ok(done) => return Ok(done),
                Err(Fault::Damaged) => {
                    let told = index.told.take();
                    *open = None;
                    self.file_of(scope)
                        .map_or(Ok(()), |file| remove(&file))
                        .map_err(|error| error.to_string())?;
                    let anew = self.open(scope)?;
                    *open = Some(Open { told, ..anew });
                    continue;
                }
                Err(Fault::Unwritable(why)) => {
                    tracing::warn!(why, "the index of capabilities cannot be kept; it is in memory");
                    (index.told.take(), why)
                }
                Err(Fault::Other(why)) => return Err(why),
            };
            *open = Some(Open {
                scope: scope.to_path_buf(),
                connection: open_in_memory(&LAYOUT)?,
                in_memory: Some(told.1),
                told: told.0,
                held: None,
            });
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
            told: None,
            held: None,
        })
    }
}

impl Open {
    /// What requests are answered from; read where it is not there yet. Another runtime may have changed the file since this one
    /// was told what there is, so that is put right before, in the same transaction.
    fn held(&mut self) -> Result<&Held, rusqlite::Error> {
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                let behavior = match self.told {
                    Some(_) => TransactionBehavior::Immediate,
                    None => TransactionBehavior::Deferred,
                };
                let transaction = self.connection.transaction_with_behavior(behavior)?;
                if let Some(told) = &self.told {
                    bring_up(&transaction, &hashes_of(told))?;
                }
                let held = read_held(&transaction)?;
                transaction.commit()?;
                held
            }
        };
        Ok(self.held.insert(held))
    }
}

/// Everything in the file. Each thing has its place by its id.
fn read_held(connection: &Connection) -> Result<Held, rusqlite::Error> {
    let mut rows = connection.prepare_cached(
        "SELECT id, kind, source, name, summary, params, activation, number FROM capabilities ORDER BY id",
    )?;
    let (mut all, mut places) = (Vec::new(), BTreeMap::new());
    let mut found = rows.query([])?;
    while let Some(row) = found.next()? {
        places.insert(row.get::<_, i64>(7)?, all.len());
        all.push(capability_of(row)?);
    }
    let mut words = HeldWords::of(all.iter().map(|each| each.kind).collect());
    let mut instances = connection.prepare_cached("SELECT term, doc, col FROM instances")?;
    let mut found = instances.query([])?;
    while let Some(row) = found.next()? {
        let column = row.get_ref(2)?.as_str()?;
        let column = COLUMN_NAMES.iter().position(|name| *name == column);
        if let (Some(place), Some(column)) = (places.get(&row.get(1)?), column) {
            words.add(row.get_ref(0)?.as_str()?, *place, column);
        }
    }
    let mut forms = connection.prepare_cached("SELECT written, kept FROM forms")?;
    let mut found = forms.query([])?;
    while let Some(row) = found.next()? {
        words.add_form(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
    }
    Ok(Held { all, words })
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

/// What there is, with the hash of each, by id.
type Hashes<'a> = BTreeMap<&'a str, (&'a Capability, Vec<u8>)>;

fn hashes_of(all: &[Capability]) -> Hashes<'_> {
    let mut hashes = Hashes::new();
    for capability in all {
        hashes
            .entry(&capability.id)
            .or_insert_with(|| (capability, hash_of(capability)));
    }
    hashes
}

/// How many were new or changed, and how many are gone.
fn refresh(connection: &mut Connection, all: &[Capability]) -> Result<(usize, usize), rusqlite::Error> {
    let hashes = hashes_of(all);
    if compare(connection, &hashes)?.is_nothing() {
        return Ok((0, 0));
    }
    // Another runtime may have written meanwhile, so it is looked at again while nobody can.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = bring_up(&transaction, &hashes)?;
    transaction.commit()?;
    Ok(done)
}

/// Writes what changed.
fn bring_up(transaction: &Transaction<'_>, hashes: &Hashes<'_>) -> Result<(usize, usize), rusqlite::Error> {
    let Changes { news, gone } = compare(transaction, hashes)?;
    let replaced = news.iter().filter_map(|(_, number)| number.as_ref());
    for number in gone.iter().chain(replaced) {
        transaction
            .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
            .execute([number])?;
        transaction
            .prepare_cached("DELETE FROM capabilities WHERE number = ?1")?
            .execute([number])?;
    }
    let mut stems = Stems::default();
    for (id, _) in &news {
        if let Some((capability, hash)) = hashes.get(id) {
            put(transaction, capability, hash, &mut stems)?;
        }
    }
    tracing::debug!(news = news.len(), gone = gone.len(), "capabilities indexed");
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

fn compare<'a>(connection: &Connection, hashes: &Hashes<'a>) -> Result<Changes<'a>, rusqlite::Error> {
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
    let words = columns_of(capability, stems);
    let [name, summary, params, place] = [0, 1, 2, 3].map(|column| column_of(&words[column]));
    transaction
        .prepare_cached(
            "INSERT INTO capabilities (id, kind, source, name, summary, params, activation, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            capability.id,
            capability.kind.as_str(),
            capability.source,
            capability.name,
            capability.summary,
            capability.params,
            capability.activation,
            hash
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
        transaction
            .prepare_cached("INSERT OR IGNORE INTO forms (written, kept) VALUES (?1, ?2)")?
            .execute([written, kept])?;
    }
    Ok(())
}
