//! The index of a workspace: every passage with its words, kept up to date from one question to the next.
//!
//! What is in it was cut and stemmed by the policies; what a passage says is read from its file when it is shown. A file
//! is looked at again when its size or time changed, and cut again when its content did.

use super::walk::{Found, Pace, Walk, read_text, reading_rank};
use crate::derived::Layout;
use crate::gateways::{SystemWallClock, WallClock};
use impresario_policies::retrieval::left_out::LeftOut;
use impresario_policies::retrieval::outline::{Outline, read_outline};
use impresario_policies::retrieval::passages::{Passage, cut_file};
use impresario_policies::retrieval::words::Stems;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

/// The tables. `words` and `file_words` keep no text: a row has the number of its passage or file.
pub(super) const LAYOUT: Layout = Layout {
    application: 0x494d_5053,
    version: 1,
    schema: "
        CREATE TABLE files (
            id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, changed INTEGER NOT NULL,
            hash BLOB NOT NULL, left_out INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE passages (
            id INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL, start INTEGER NOT NULL,
            end INTEGER NOT NULL, is_test INTEGER NOT NULL, names TEXT NOT NULL, within TEXT NOT NULL
        ) STRICT;
        CREATE INDEX passages_of_file ON passages (file);
        CREATE VIRTUAL TABLE words USING fts5(
            body, names, place, content='', contentless_delete=1, tokenize='ascii'
        );
        CREATE VIRTUAL TABLE file_words USING fts5(body, content='', contentless_delete=1, tokenize='ascii');
        CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
    ",
};

/// A transaction ends after so much text or so long: another runtime waits for it.
const BATCH_BYTES: u64 = 8_000_000;
const BATCH_TIME: Duration = Duration::from_millis(500);
/// A file that was changed this short a time before it was read may be changed again within the same tick.
const TICK: i64 = 2_000_000_000;
/// Longer lines are taken up to here: nobody wrote them by hand.
const LINE_BYTES_MAX: usize = 2_000;

/// What is known of a file.
struct Known {
    path: String,
    size: u64,
    changed: i64,
    left_out: Option<LeftOut>,
}

/// What an index holds of a workspace.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    pub(super) files: usize,
    pub(super) left_out: Vec<(LeftOut, String)>,
    /// The index said all of this already.
    pub(super) is_as_before: bool,
}

/// Brings the index up to what the walk saw, as far as time and room allow.
pub(super) fn refresh(
    connection: &mut Connection,
    root: &Path,
    walk: Walk,
    bytes_max: u64,
    pace: &Pace<'_>,
) -> Result<Coverage, rusqlite::Error> {
    let mut coverage = Coverage {
        files: 0,
        left_out: walk.left_out,
        is_as_before: false,
    };
    let known = known_files(connection)?;
    let (mut news, gone, mut bytes) = compare(walk.files, known, &mut coverage);
    coverage.is_as_before = news.is_empty() && gone.is_empty();
    if walk.is_complete {
        forget(connection, &gone)?;
    }
    news.sort_by_cached_key(|found| (reading_rank(&found.path), found.path.clone()));
    let mut news = news.into_iter().peekable();
    let mut stems = Stems::default();
    while news.peek().is_some() && !pace.is_over() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let begun = pace.passed();
        let mut taken = 0;
        while let Some(found) =
            news.next_if(|_| taken < BATCH_BYTES && pace.passed() - begun < BATCH_TIME && !pace.is_over())
        {
            if bytes + found.size > bytes_max || coverage.files >= pace.limits.files_max {
                coverage.left_out.push((LeftOut::NoRoom, found.path));
                continue;
            }
            taken += found.size;
            match put_file(&transaction, root, &found, &mut stems, pace)? {
                None => {
                    bytes += found.size;
                    coverage.files += 1;
                }
                Some(why) => coverage.left_out.push((why, found.path)),
            }
        }
        transaction.commit()?;
    }
    coverage
        .left_out
        .extend(news.map(|found| (LeftOut::NoTime, found.path)));
    Ok(coverage)
}

fn known_files(connection: &Connection) -> Result<Vec<Known>, rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("SELECT path, size, changed, left_out FROM files ORDER BY path")?;
    let rows = statement.query_map([], |row| {
        Ok(Known {
            path: row.get(0)?,
            size: row.get(1)?,
            changed: row.get(2)?,
            left_out: read_reason(row.get(3)?),
        })
    })?;
    rows.collect()
}

/// The files to look at again, the paths that are gone, and the bytes that are up to date. Both lists are sorted by path.
fn compare(found: Vec<Found>, known: Vec<Known>, coverage: &mut Coverage) -> (Vec<Found>, Vec<String>, u64) {
    let (mut news, mut gone, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut known = known.into_iter().peekable();
    for found in found {
        while let Some(before) = known.next_if(|known| known.path < found.path) {
            gone.push(before.path);
        }
        match known.next_if(|known| known.path == found.path) {
            Some(same) if same.size == found.size && same.changed == found.changed => match same.left_out {
                Some(why) => coverage.left_out.push((why, found.path)),
                None => {
                    bytes += found.size;
                    coverage.files += 1;
                }
            },
            _ => news.push(found),
        }
    }
    gone.extend(known.map(|known| known.path));
    (news, gone, bytes)
}

fn forget(connection: &mut Connection, gone: &[String]) -> Result<(), rusqlite::Error> {
    if gone.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for path in gone {
        let file: Option<i64> = transaction
            .prepare_cached("SELECT id FROM files WHERE path = ?1")?
            .query_row([path], |row| row.get(0))
            .optional()?;
        if let Some(file) = file {
            forget_passages(&transaction, file)?;
            transaction
                .prepare_cached("DELETE FROM files WHERE id = ?1")?
                .execute([file])?;
        }
    }
    transaction.commit()
}

fn forget_passages(transaction: &Transaction<'_>, file: i64) -> Result<(), rusqlite::Error> {
    transaction
        .prepare_cached("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ?1)")?
        .execute([file])?;
    for table in ["passages WHERE file", "file_words WHERE rowid"] {
        transaction
            .prepare_cached(&format!("DELETE FROM {table} = ?1"))?
            .execute([file])?;
    }
    Ok(())
}

/// Reads a file and puts it in, unless another runtime has just done so; returns why it is not searched.
fn put_file(
    transaction: &Transaction<'_>,
    root: &Path,
    found: &Found,
    stems: &mut Stems,
    pace: &Pace<'_>,
) -> Result<Option<LeftOut>, rusqlite::Error> {
    let row = transaction
        .prepare_cached("SELECT id, size, changed, hash, left_out FROM files WHERE path = ?1")?
        .query_row([&found.path], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, u64>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, Vec<u8>>(3)?,
                row.get(4)?,
            ))
        })
        .optional()?;
    if let Some((_, size, changed, _, left_out)) = &row
        && (*size, *changed) == (found.size, found.changed)
    {
        return Ok(read_reason(*left_out));
    }
    let read = read_text(&root.join(&found.path), pace.limits);
    let left_out = read.as_ref().err().copied();
    let hash = read
        .as_ref()
        .map_or_else(|_| Vec::new(), |text| Sha256::digest(text.as_bytes()).to_vec());
    let is_settled = found.changed + TICK < SystemWallClock.now().0 as i64 * 1_000_000;
    let changed = if is_settled { found.changed } else { 0 };
    if let Some((id, _, _, before, _)) = &row {
        if *before == hash && left_out.is_none() {
            transaction
                .prepare_cached("UPDATE files SET size = ?2, changed = ?3 WHERE id = ?1")?
                .execute(params![id, found.size, changed])?;
            return Ok(None);
        }
        forget_passages(transaction, *id)?;
    }
    transaction
        .prepare_cached(
            "INSERT INTO files (path, size, changed, hash, left_out) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (path) DO UPDATE SET size = ?2, changed = ?3, hash = ?4, left_out = ?5",
        )?
        .execute(params![
            found.path,
            found.size,
            changed,
            hash,
            left_out.map_or(0, write_reason)
        ])?;
    if let Ok(text) = &read {
        let id = transaction.query_row("SELECT id FROM files WHERE path = ?1", [&found.path], |row| {
            row.get(0)
        })?;
        put_passages(transaction, id, &found.path, text, stems)?;
    }
    Ok(left_out)
}

fn put_passages(
    transaction: &Transaction<'_>,
    file: i64,
    path: &str,
    text: &str,
    stems: &mut Stems,
) -> Result<(), rusqlite::Error> {
    let outline = read_outline(path, text);
    let mut into_passages = transaction.prepare_cached(
        "INSERT INTO passages (file, line, start, end, is_test, names, within) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut into_words = transaction
        .prepare_cached("INSERT INTO words (rowid, body, names, place) VALUES (?1, ?2, ?3, ?4)")?;
    let mut whole_file = String::new();
    for passage in cut_file(&outline) {
        let names = passage.names.join(" ");
        let within = passage.within.join(" ");
        let (start, end) = bytes_of(&outline, &passage, text);
        into_passages.execute(params![
            file,
            passage.start,
            start,
            end,
            passage.is_test,
            names,
            within
        ])?;
        let id = transaction.last_insert_rowid();
        let mut columns = [String::new(), String::new(), String::new()];
        for line in text[start..end].lines() {
            let cut = line.floor_char_boundary(LINE_BYTES_MAX.min(line.len()));
            stems.write(&line[..cut], &mut columns[0]);
        }
        for name in &passage.names {
            stems.write(name, &mut columns[1]);
            columns[1].push_str(&impresario_policies::retrieval::words::whole(name));
            columns[1].push(' ');
        }
        stems.write(path, &mut columns[2]);
        stems.write(&within, &mut columns[2]);
        into_words.execute(params![id, columns[0], columns[1], columns[2]])?;
        whole_file.push_str(&columns[0]);
    }
    transaction
        .prepare_cached("INSERT INTO file_words (rowid, body) VALUES (?1, ?2)")?
        .execute(params![file, whole_file])?;
    Ok(())
}

/// From the first byte of a passage to one past its last.
fn bytes_of(outline: &Outline<'_>, passage: &Passage, text: &str) -> (usize, usize) {
    let offset = |line: usize| outline.lines.get(line).map_or(text.len(), |line| line.offset);
    (offset(passage.start), offset(passage.end))
}

const REASONS: [LeftOut; 7] = [
    LeftOut::Secret,
    LeftOut::Binary,
    LeftOut::TooLarge,
    LeftOut::BuildOutput,
    LeftOut::Unreadable,
    LeftOut::NoRoom,
    LeftOut::NoTime,
];

fn write_reason(why: LeftOut) -> i64 {
    REASONS
        .iter()
        .position(|each| *each == why)
        .map_or(0, |position| position as i64 + 1)
}

fn read_reason(written: i64) -> Option<LeftOut> {
    REASONS
        .get(usize::try_from(written).ok()?.checked_sub(1)?)
        .copied()
}
