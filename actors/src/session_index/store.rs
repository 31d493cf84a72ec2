//! The index of anchors: a file that is brought up to the sessions' files at each look, and asked then.

use super::read::{ReadSession, read_session};
use crate::derived::{Fault, Layout, forget_unused, name_of, open_file, open_in_memory, remove};
use impresario_policies::anchors::recall::{RecallRequest, RecalledAnchor, looked_through};
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, TransactionBehavior, params, params_from_iter};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const LAYOUT: Layout = Layout {
    application: 0x494d_5041,
    version: 1,
    schema: "
        CREATE TABLE files (
            number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, changed INTEGER NOT NULL, size INTEGER NOT NULL,
            session TEXT NOT NULL, directory TEXT
        ) STRICT;
        CREATE TABLE anchors (
            number INTEGER PRIMARY KEY, file INTEGER NOT NULL, entry TEXT NOT NULL, at TEXT NOT NULL, at_ms INTEGER,
            name TEXT NOT NULL, summary TEXT NOT NULL, folded TEXT NOT NULL
        ) STRICT;
        CREATE INDEX of_file ON anchors (file);
    ",
};

/// Files that are looked at, those that changed last first.
const FILES_MAX: usize = 20_000;
/// So much is read in one look; the next one reads the rest.
const LOOK_BYTES_MAX: u64 = 256 << 20;
/// So much of one file.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Indexes of so many places are kept, up to so many bytes together.
const INDEXES_MAX: usize = 24;
const INDEXES_BYTES_MAX: u64 = 256_000_000;

/// Where the files of sessions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFiles {
    /// In the directories below this one, as the host keeps them unless it is told otherwise.
    Below(PathBuf),
    /// In this directory.
    In(PathBuf),
}

impl SessionFiles {
    /// Below this all of them are.
    pub fn place(&self) -> &Path {
        let (Self::Below(place) | Self::In(place)) = self;
        place
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// A page of it, the newest first.
    pub found: Vec<RecalledAnchor>,
    /// How many there are.
    pub total: usize,
    /// Files that are left for the next look.
    pub unread: usize,
}

/// The indexes of all places, below one directory; in memory without one. Clones are the same.
#[derive(Debug, Clone)]
pub struct SessionStore {
    directory: Option<PathBuf>,
    open: Arc<Mutex<Option<Open>>>,
}

/// The one that was used last.
#[derive(Debug)]
struct Open {
    sessions: SessionFiles,
    connection: Connection,
}

impl SessionStore {
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            open: Arc::default(),
        }
    }

    /// Reads what is new in the files, and looks for what fits.
    pub fn recall(
        &self,
        sessions: &SessionFiles,
        directory: &str,
        request: &RecallRequest,
    ) -> Result<Recalled, String> {
        let files = files_of(sessions);
        self.with(sessions, |connection| {
            let unread = refresh(connection, sessions.place(), &files, LOOK_BYTES_MAX)?;
            search(connection, directory, request).map(|found| Recalled { unread, ..found })
        })
    }

    /// A damaged index is made anew, once.
    fn with<T>(
        &self,
        sessions: &SessionFiles,
        mut work: impl FnMut(&mut Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..2 {
            if open.as_ref().is_none_or(|open| open.sessions != *sessions) {
                *open = Some(self.open(sessions)?);
            }
            let Some(index) = open.as_mut() else { break };
            match work(&mut index.connection).map_err(Fault::from) {
                Ok(done) => return Ok(done),
                Err(Fault::Damaged) => {
                    *open = None;
                    let removed = self.file_of(sessions).map_or(Ok(()), |file| remove(&file));
                    removed.map_err(|error| error.to_string())?;
                }
                Err(Fault::Unwritable(why)) => {
                    tracing::warn!(why, "the index of anchors cannot be kept; it is in memory");
                    *open = Some(Open {
                        sessions: sessions.clone(),
                        connection: open_in_memory(&LAYOUT)?,
                    });
                }
                Err(Fault::Other(why)) => return Err(why),
            }
        }
        Err("the index of anchors is damaged again and again".to_string())
    }

    fn file_of(&self, sessions: &SessionFiles) -> Option<PathBuf> {
        let ending = match sessions {
            SessionFiles::Below(_) => "sqlite",
            SessionFiles::In(_) => "in.sqlite",
        };
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("{}.{ending}", name_of(sessions.place()))))
    }

    fn open(&self, sessions: &SessionFiles) -> Result<Open, String> {
        let kept = self.file_of(sessions).and_then(|file| {
            let opened = open_file(&file, &LAYOUT);
            forget_unused(&file, INDEXES_MAX, INDEXES_BYTES_MAX);
            opened
                .inspect_err(|why| {
                    tracing::warn!(why, "the index of anchors cannot be kept; it is in memory")
                })
                .ok()
        });
        Ok(Open {
            sessions: sessions.clone(),
            connection: kept.map_or_else(|| open_in_memory(&LAYOUT), Ok)?,
        })
    }
}

/// A file of a session, as its directory says it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// Below the place of all.
    path: String,
    changed: i64,
    size: i64,
}

/// Plain files only, and of plain directories: nothing is followed, and nothing is opened that could be waited for.
fn files_of(sessions: &SessionFiles) -> Vec<Seen> {
    let mut seen = Vec::new();
    match sessions {
        SessionFiles::In(place) => list(place, "", &mut seen),
        SessionFiles::Below(place) => {
            for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if let (true, Some(name)) = (is_directory, entry.file_name().to_str()) {
                    list(&entry.path(), &format!("{name}/"), &mut seen);
                }
            }
        }
    }
    seen.sort_by(|one, other| (other.changed, &other.path).cmp(&(one.changed, &one.path)));
    seen.truncate(FILES_MAX);
    seen
}

fn list(directory: &Path, below: &str, seen: &mut Vec<Seen>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(".jsonl")) else {
            continue;
        };
        if let Some(metadata) = entry.metadata().ok().filter(std::fs::Metadata::is_file) {
            let seconds = metadata.mtime().saturating_mul(1_000_000_000);
            seen.push(Seen {
                path: format!("{below}{name}"),
                changed: seconds.saturating_add(metadata.mtime_nsec()),
                size: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
            });
        }
    }
}

/// Brings the index up to the files; returns how many are left for the next look.
fn refresh(
    connection: &mut Connection,
    place: &Path,
    files: &[Seen],
    bytes_max: u64,
) -> Result<usize, rusqlite::Error> {
    if compare(connection, files)?.is_nothing() {
        return Ok(0);
    }
    // Another runtime may have written meanwhile, so it is looked at again while nobody can.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Changes { news, gone } = compare(&transaction, files)?;
    for number in gone {
        forget(&transaction, number)?;
    }
    let mut left = bytes_max;
    let mut unread = 0;
    for (seen, replaces) in news {
        if left == 0 {
            unread += 1;
            continue;
        }
        left = left.saturating_sub(seen.size.unsigned_abs());
        if let Some(number) = replaces {
            forget(&transaction, number)?;
        }
        // What cannot be read now is as good as empty until it changes.
        let session = read_file(&place.join(&seen.path)).unwrap_or_default();
        put(&transaction, seen, &session)?;
    }
    transaction.commit()?;
    Ok(unread)
}

fn read_file(path: &Path) -> std::io::Result<ReadSession> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    read_session(file, FILE_BYTES_MAX)
}

/// What has to be done to an index.
struct Changes<'a> {
    /// With the number of the row that each replaces.
    news: Vec<(&'a Seen, Option<i64>)>,
    gone: Vec<i64>,
}

impl Changes<'_> {
    fn is_nothing(&self) -> bool {
        self.news.is_empty() && self.gone.is_empty()
    }
}

fn compare<'a>(connection: &Connection, files: &'a [Seen]) -> Result<Changes<'a>, rusqlite::Error> {
    let mut all = connection.prepare_cached("SELECT path, number, changed, size FROM files")?;
    let rows = all.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
    })?;
    let mut known: BTreeMap<String, (i64, i64, i64)> = rows.collect::<Result<_, _>>()?;
    let mut news = Vec::new();
    for seen in files {
        match known.remove(&seen.path) {
            Some((_, changed, size)) if (changed, size) == (seen.changed, seen.size) => {}
            before => news.push((seen, before.map(|(number, ..)| number))),
        }
    }
    let gone = known.into_values().map(|(number, ..)| number).collect();
    Ok(Changes { news, gone })
}

fn forget(transaction: &Transaction<'_>, number: i64) -> Result<(), rusqlite::Error> {
    transaction
        .prepare_cached("DELETE FROM anchors WHERE file = ?1")?
        .execute([number])?;
    transaction
        .prepare_cached("DELETE FROM files WHERE number = ?1")?
        .execute([number])?;
    Ok(())
}

fn put(transaction: &Transaction<'_>, seen: &Seen, session: &ReadSession) -> Result<(), rusqlite::Error> {
    let ReadSession { head, anchors } = session;
    transaction
        .prepare_cached(
            "INSERT INTO files (path, changed, size, session, directory) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![seen.path, seen.changed, seen.size, head.id, head.cwd])?;
    let file = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached(
        "INSERT INTO anchors (file, entry, at, at_ms, name, summary, folded) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for anchor in anchors {
        let folded = looked_through(&anchor.name, &anchor.summary);
        insert.execute(params![
            file,
            anchor.entry,
            anchor.at,
            anchor.at_ms,
            anchor.name,
            anchor.summary,
            folded
        ])?;
    }
    Ok(())
}

/// The newest first, those without a time last; of one time that of the file that changed last.
fn search(
    connection: &Connection,
    directory: &str,
    request: &RecallRequest,
) -> Result<Recalled, rusqlite::Error> {
    if request.words.is_empty() {
        return Ok(Recalled::default());
    }
    let mut asked: Vec<Value> = Vec::new();
    let mut conditions = Vec::new();
    if !request.everywhere {
        asked.push(Value::Text(directory.to_string()));
        conditions.push("files.directory = ?".to_string());
    }
    for word in &request.words {
        asked.push(Value::Text(word.clone()));
        conditions.push("instr(folded, ?) > 0".to_string());
    }
    let numbers = connection
        .prepare_cached(&format!(
            "SELECT anchors.number FROM anchors JOIN files ON files.number = file WHERE {}
             ORDER BY at_ms IS NULL, at_ms DESC, changed DESC, path, anchors.number",
            conditions.join(" AND ")
        ))?
        .query_map(params_from_iter(asked), |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    let page = numbers.iter().skip(request.offset).take(request.limit);
    let mut row = connection.prepare_cached(
        "SELECT path, session, directory, name, summary, entry, at FROM anchors JOIN files ON files.number = file
         WHERE anchors.number = ?1",
    )?;
    let found = page.map(|number| {
        row.query_row([number], |row| {
            Ok(RecalledAnchor {
                file: row.get(0)?,
                session: row.get(1)?,
                directory: row.get(2)?,
                name: row.get(3)?,
                summary: row.get(4)?,
                entry: row.get(5)?,
                at: row.get(6)?,
            })
        })
    });
    Ok(Recalled {
        found: found.collect::<Result<_, _>>()?,
        total: numbers.len(),
        unread: 0,
    })
}

#[cfg(test)]
pub(super) mod budget {
    use super::*;

    /// Looks as [`SessionStore::recall`] does, and reads so much at most.
    pub fn refresh_up_to(store: &SessionStore, sessions: &SessionFiles, bytes_max: u64) -> usize {
        let files = files_of(sessions);
        let done = store.with(sessions, |connection| {
            refresh(connection, sessions.place(), &files, bytes_max)
        });
        done.expect("looked")
    }
}
