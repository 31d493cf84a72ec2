//! The tables. A released migration is never changed; what comes later is appended.

use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};

/// "Impr" in the file's header says that the file is ours.
pub(super) const APPLICATION_ID: i32 = 0x496d_7072;

/// The newest schema this version knows.
pub(super) const SCHEMA_NEWEST: u32 = MIGRATIONS_SLICE.len() as u32;

/// Steps can be large, so their table has row ids: in a table without, every search reads whole rows on its way.
const MIGRATIONS_SLICE: &[M<'static>] = &[
    M::up(
        "
    PRAGMA application_id = 0x496d7072;

    CREATE TABLE runtimes (
        id         TEXT PRIMARY KEY NOT NULL,
        host       TEXT NOT NULL,
        session    TEXT,
        started_at INTEGER NOT NULL,
        process    INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE runs (
        run          TEXT PRIMARY KEY NOT NULL,
        owner        TEXT NOT NULL,
        generation   INTEGER NOT NULL,
        state        TEXT NOT NULL,
        steps        INTEGER NOT NULL,
        what         TEXT NOT NULL,
        task         TEXT NOT NULL,
        host         TEXT NOT NULL,
        session      TEXT,
        resumes      TEXT,
        accepted_at  INTEGER NOT NULL,
        last_step_at INTEGER NOT NULL,
        ended_at     INTEGER,
        reason       TEXT,
        acknowledged INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE steps (
        run        TEXT NOT NULL,
        sequence   INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        at         INTEGER NOT NULL,
        step       TEXT NOT NULL,
        PRIMARY KEY (run, sequence)
    ) STRICT;

    CREATE TABLE overflows (
        run     TEXT NOT NULL,
        handle  INTEGER NOT NULL,
        server  TEXT NOT NULL,
        tool    TEXT NOT NULL,
        at      INTEGER NOT NULL,
        bytes   INTEGER NOT NULL,
        content TEXT,
        PRIMARY KEY (run, handle)
    ) STRICT;
    ",
    ),
    M::up(
        "
    CREATE TABLE alerts (
        workspace TEXT NOT NULL,
        skill     TEXT NOT NULL,
        at        INTEGER NOT NULL,
        run       TEXT NOT NULL,
        PRIMARY KEY (workspace, skill)
    ) STRICT, WITHOUT ROWID;
    ",
    ),
    M::up(
        "
    ALTER TABLE runs ADD COLUMN member_of TEXT;
    ",
    ),
    M::up(
        "
    ALTER TABLE runs ADD COLUMN workspace TEXT;
    UPDATE runs SET workspace =
        (SELECT json_extract(step, '$.request.workspace') FROM steps WHERE steps.run = runs.run AND sequence = 1);
    ",
    ),
    // A row from before has no checksum and is believed. What is damaged may hold anything, so its tables ask for nothing.
    M::up(
        "
    ALTER TABLE steps ADD COLUMN checksum INTEGER;
    ALTER TABLE runs ADD COLUMN checksum INTEGER;
    ALTER TABLE runs ADD COLUMN suspect TEXT;

    -- An older version that is still at work knows nothing of checksums; what it writes is believed.
    CREATE TRIGGER written_without_checksum
        AFTER UPDATE OF owner, generation, state, steps, last_step_at, ended_at, reason, acknowledged ON runs
        WHEN NEW.checksum = OLD.checksum
    BEGIN
        UPDATE runs SET checksum = NULL WHERE run = NEW.run;
    END;

    CREATE TABLE damaged_runs (
        found_at, why,
        run, owner, generation, state, steps, what, task, host, session, resumes, accepted_at, last_step_at, ended_at,
        reason, acknowledged, member_of, workspace, checksum, suspect
    );

    CREATE TABLE damaged_steps (found_at, why, run, sequence, generation, at, step, checksum);
    ",
    ),
    // What was paid for outlives its run, so that totals stay right when runs are forgotten.
    M::up(
        "
    CREATE TABLE model_calls (
        run         TEXT NOT NULL,
        sequence    INTEGER NOT NULL,
        at          INTEGER NOT NULL,
        what        TEXT NOT NULL,
        session     TEXT,
        member_of   TEXT,
        part        TEXT NOT NULL,
        requested   TEXT NOT NULL,
        served      TEXT,
        counted     INTEGER NOT NULL,
        input       INTEGER NOT NULL,
        output      INTEGER NOT NULL,
        cache_read  INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        usd         REAL,
        PRIMARY KEY (run, sequence)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX model_calls_by_time ON model_calls (at);
    CREATE INDEX model_calls_by_group ON model_calls (member_of) WHERE member_of IS NOT NULL;
    CREATE INDEX model_calls_by_session ON model_calls (session) WHERE session IS NOT NULL;
    ",
    ),
];

/// A number above this was written by no version.
const SCHEMA_PLAUSIBLE_MAX: i64 = 10_000;

/// What the number of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// One that we can read, or bring up to date.
    Known,
    /// One that a newer Impresario wrote.
    Newer(u32),
    /// One that nobody writes.
    Impossible,
}

pub(super) fn read_version(found: i64) -> Version {
    match u32::try_from(found) {
        Ok(known) if known <= SCHEMA_NEWEST => Version::Known,
        Ok(newer) if found <= SCHEMA_PLAUSIBLE_MAX => Version::Newer(newer),
        Ok(_) | Err(_) => Version::Impossible,
    }
}

/// The version whose tables these are, whatever the file's number says; none where they are of no version.
pub(super) fn version_of_tables(connection: &Connection) -> Result<Option<u32>, rusqlite_migration::Error> {
    let found = tables(connection)?;
    for version in (0..=SCHEMA_NEWEST).rev() {
        let mut like = Connection::open_in_memory()?;
        Migrations::from_slice(MIGRATIONS_SLICE).to_version(&mut like, version as usize)?;
        if tables(&like)? == found {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

fn tables(connection: &Connection) -> Result<Vec<(String, String)>, rusqlite::Error> {
    let sql = "SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c \
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2";
    let mut select = connection.prepare(sql)?;
    let columns = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

/// Fails when a table lacks what this version uses of it.
pub(super) fn check_tables(connection: &Connection) -> Result<(), rusqlite::Error> {
    let used = [
        "SELECT id, host, session, started_at, process FROM runtimes LIMIT 0",
        "SELECT run, member_of, checksum, suspect FROM runs LIMIT 0",
        "SELECT run, sequence, generation, at, step, checksum FROM steps LIMIT 0",
        "SELECT run, handle, content FROM overflows LIMIT 0",
        "SELECT workspace, skill, at, run FROM alerts LIMIT 0",
        "SELECT run, at, what, session, member_of, requested, counted, usd FROM model_calls LIMIT 0",
        "SELECT found_at, why, suspect FROM damaged_runs LIMIT 0",
        "SELECT found_at, why, checksum FROM damaged_steps LIMIT 0",
    ];
    used.into_iter()
        .try_for_each(|sql| connection.prepare(sql).map(drop))
}

/// Brings the file up to this version's schema.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), rusqlite_migration::Error> {
    Migrations::from_slice(MIGRATIONS_SLICE).to_latest(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migrations_apply() -> Result<(), rusqlite_migration::Error> {
        Migrations::from_slice(MIGRATIONS_SLICE).validate()
    }

    #[test]
    fn the_file_says_that_it_is_ours() -> Result<(), Box<dyn std::error::Error>> {
        let mut connection = Connection::open_in_memory()?;
        migrate(&mut connection)?;
        let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        assert_eq!(id, APPLICATION_ID);
        Ok(())
    }
}
