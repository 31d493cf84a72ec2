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
];

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
