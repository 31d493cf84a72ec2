//! An SQLite file that is made from something else: it can be lost at any time, and is made anew.
//!
//! It lies in the user's cache, one file for one thing, shared by all runtimes. A file that is damaged, of another layout
//! or of another program is removed; where no file can be written, the same tables are kept in memory.

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Told apart from other programs' files by this.
    pub application: i32,
    /// Raised with every change to the tables or to what stands in them.
    pub version: i32,
    pub schema: &'static str,
}

/// How long one runtime waits for another one's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const LOG_BYTES_KEPT: i64 = 16 << 20;
/// Pages kept in memory.
const CACHE_KIB_MAX: i64 = 16 * 1024;
/// What SQLite keeps beside a file.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// Opens the file, or makes it; whatever stands in its place and cannot be used is removed.
pub fn open_file(file: &Path, layout: &Layout) -> Result<Connection, String> {
    let said = |error: io::Error| format!("{}: {error}", file.display());
    let directory = file
        .parent()
        .ok_or_else(|| format!("{} is no place", file.display()))?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.and_then(|()| std::fs::set_permissions(directory, Permissions::from_mode(0o700)))
        .map_err(said)?;
    let _opening = lock_opening(directory).map_err(said)?;
    if let Ok(connection) = open_as_it_is(file, layout) {
        return Ok(connection);
    }
    remove(file).map_err(said)?;
    open_as_it_is(file, layout).map_err(|error| format!("{}: {error}", file.display()))
}

/// The same tables, kept nowhere.
pub fn open_in_memory(layout: &Layout) -> Result<Connection, String> {
    let connection = Connection::open_in_memory().map_err(|error| error.to_string())?;
    connection
        .execute_batch(layout.schema)
        .map_err(|error| error.to_string())?;
    Ok(connection)
}

/// Removes a file and what SQLite keeps beside it.
pub fn remove(file: &Path) -> io::Result<()> {
    for suffix in COMPANIONS {
        let mut name = file.as_os_str().to_os_string();
        name.push(suffix);
        match std::fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The file has to be made anew.
pub fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Nothing can be written where the file is.
pub fn is_unwritable(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    let codes = [
        ErrorCode::ReadOnly,
        ErrorCode::DiskFull,
        ErrorCode::SystemIoFailure,
        ErrorCode::CannotOpen,
        ErrorCode::PermissionDenied,
        ErrorCode::FileLockingProtocolFailed,
    ];
    code.is_some_and(|code| codes.contains(&code))
}

/// Why a file cannot be used.
#[derive(Debug)]
pub enum Fault {
    Damaged,
    Unwritable(String),
    Other(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            error if is_damaged(&error) => Self::Damaged,
            error if is_unwritable(&error) => Self::Unwritable(error.to_string()),
            error => Self::Other(error.to_string()),
        }
    }
}

/// The name of what belongs to a directory, without its ending.
pub fn name_of(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let mut name = String::new();
    for byte in &digest[..16] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// How many rows have a word. The layout has a table `vocabulary` of its words.
pub fn rows_with(connection: &Connection, word: &str) -> Result<u64, rusqlite::Error> {
    let mut having = connection.prepare_cached("SELECT doc FROM vocabulary WHERE term = ?1")?;
    let found = having.query_row([word], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(0))
}

/// Keeps the files of a directory that were used last, up to a number and a size; `used` is kept in any case.
pub fn forget_unused(used: &Path, files_max: usize, bytes_max: u64) {
    let Some(directory) = used.parent() else { return };
    let _ = File::open(used).and_then(|file| touch(&file));
    let mut others: Vec<((i64, i64), PathBuf, u64)> = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = path.extension().is_some_and(|ending| ending == "sqlite") && path != used;
        if let (true, Ok(metadata)) = (is_ours, entry.metadata()) {
            others.push(((metadata.mtime(), metadata.mtime_nsec()), path, metadata.len()));
        }
    }
    others.sort();
    let mut kept = 1;
    let mut bytes = std::fs::metadata(used).map_or(0, |metadata| metadata.len());
    for (_, path, size) in others.into_iter().rev() {
        kept += 1;
        bytes += size;
        if kept > files_max || bytes > bytes_max {
            // One that is in use goes on without its name.
            let _ = remove(&path);
        }
    }
}

fn touch(file: &File) -> io::Result<()> {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    futimens(file, &times).map_err(io::Error::from)
}

/// Freed when dropped: two that find a file damaged do not remove each other's new one.
fn lock_opening(directory: &Path) -> io::Result<File> {
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(directory.join("opening.lock"));
    let file = options?;
    file.lock()?;
    Ok(file)
}

fn open_as_it_is(file: &Path, layout: &Layout) -> Result<Connection, rusqlite::Error> {
    let cannot = |_| rusqlite::Error::InvalidPath(file.to_path_buf());
    let made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(file)
        .map_err(cannot)?;
    made.set_permissions(Permissions::from_mode(0o600))
        .map_err(cannot)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_KEPT, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB_MAX)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let is_new = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })? == 0;
    if is_new {
        transaction.execute_batch(layout.schema)?;
        transaction.pragma_update(None, "application_id", layout.application)?;
        transaction.pragma_update(None, "user_version", layout.version)?;
    }
    let number = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id")? != layout.application || number("user_version")? != layout.version {
        return Err(rusqlite::Error::InvalidQuery);
    }
    transaction.commit()?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        application: 77,
        version: 1,
        schema: "CREATE VIRTUAL TABLE words USING fts5(said, content='', contentless_delete=1, tokenize='ascii')",
    };

    fn count(connection: &Connection) -> i64 {
        connection
            .query_row("SELECT count(*) FROM words", [], |row| row.get(0))
            .expect("a number")
    }

    fn say(connection: &Connection) {
        connection
            .execute("INSERT INTO words(rowid, said) VALUES (1, 'a')", [])
            .expect("written");
    }

    #[test]
    fn a_file_is_kept_and_is_for_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a/b.sqlite");
        say(&open_file(&file, &LAYOUT).expect("open"));
        assert_eq!(count(&open_file(&file, &LAYOUT).expect("open")), 1);
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&directory.path().join("a"))), (0o600, 0o700));
    }

    #[test]
    fn another_layout_and_damage_begin_anew() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("b.sqlite");
        say(&open_file(&file, &LAYOUT).expect("open"));
        let newer = Layout { version: 2, ..LAYOUT };
        assert_eq!(count(&open_file(&file, &newer).expect("open")), 0);
        say(&open_file(&file, &newer).expect("open"));
        std::fs::write(
            &file,
            "no database at all, and long enough to be looked at closely",
        )
        .expect("written");
        assert_eq!(count(&open_file(&file, &newer).expect("open")), 0);
    }

    #[test]
    fn the_files_used_last_are_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["a.sqlite", "b.sqlite", "c.sqlite", "c.sqlite-wal"] {
            std::fs::write(path(name), name).expect("written");
        }
        let old = std::fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
        let file = OpenOptions::new()
            .write(true)
            .open(path("c.sqlite"))
            .expect("there");
        file.set_times(old).expect("older");
        forget_unused(&path("a.sqlite"), 2, 1_000);
        assert!(path("a.sqlite").exists() && path("b.sqlite").exists());
        assert!(!path("c.sqlite").exists() && !path("c.sqlite-wal").exists());
        forget_unused(&path("a.sqlite"), 9, 1);
        assert!(path("a.sqlite").exists() && !path("b.sqlite").exists());
    }
}
