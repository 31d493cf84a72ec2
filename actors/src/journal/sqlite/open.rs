//! Opening the journal: making it, checking it, setting aside what is no journal.
//!
//! A file that is damaged or not ours is renamed with all that belongs to it, and a new journal begins; nothing is ever
//! overwritten. A file of a newer version is left where it is and the start is refused, for that version will come
//! back for it. All of this happens under a lock, so that two runtimes that start at once do not get in each other's way.

use super::errors::read_failure;
use super::{JOURNAL_FILE, SqliteStore, runtimes, schema, write_to};
use crate::gateways::UnixMillis;
use crate::journal::ownership::{RuntimeLock, is_any_alive};
use crate::journal::{JournalError, OpenError, RuntimeIdentity};
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs that work side by side write to pages of their own; with SQLite's two megabytes a few hundred of them push out
/// each other's. Taken only as it is needed.
const CACHE_KIB_MAX: i64 = 16 * 1024;

/// A file up to this size is checked at every start; a larger one only when there is a reason to.
const CHECKED_ALWAYS_BYTES_MAX: u64 = 4 << 20;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const LOG_BYTES_KEPT: i64 = 16 << 20;
/// What SQLite keeps beside a file; moved before the file itself, so that a log is never left to a new file.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// An open journal.
#[derive(Debug)]
pub struct Opened {
    /// The journal.
    pub store: SqliteStore,
    /// What stood in its place and was no journal.
    pub set_aside: Option<SetAside>,
}

/// A file that stood in the journal's place and was no journal that we can use. Nothing of it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{from} was {why}; it is kept as {to} and a new journal was begun: runs from before are not known any more",
    from = from.display(),
    to = to.display()
)]
pub struct SetAside {
    /// Where it stood.
    pub from: PathBuf,
    /// Where it is now.
    pub to: PathBuf,
    /// What was wrong with it.
    pub why: String,
}

impl SqliteStore {
    /// Opens the journal in the state directory for a new runtime; makes both where they are missing.
    pub fn open(directory: &Path, runtime: &RuntimeIdentity) -> Result<Opened, OpenError> {
        let places = Places::new(directory);
        let prepared = prepare_directory(directory).and_then(|()| prepare_directory(&places.runtimes));
        let _opening = prepared
            .and_then(|()| lock_opening(directory))
            .map_err(|error| places.unusable(error))?;

        let Looked {
            mut fault,
            connection,
        } = look(&places).map_err(|error| places.unusable(error))?;
        if fault.is_none() {
            match open_store(&places, runtime) {
                // A large file is not checked page by page, and some pages are needed at once.
                Err(OpenError::Storage {
                    source: JournalError::Damaged { why },
                    ..
                }) => {
                    fault = Some(format!("damaged ({why})"));
                }
                opened => {
                    return opened.map(|store| Opened {
                        store,
                        set_aside: None,
                    });
                }
            }
        }
        // Nothing may hold the file while it is moved.
        drop(connection);
        let set_aside = fault
            .map(|why| set_aside(&places, why, runtime.started_at))
            .transpose()?;
        let store = open_store(&places, runtime)?;
        Ok(Opened { store, set_aside })
    }
}

/// Where everything is.
struct Places {
    directory: PathBuf,
    /// The journal.
    file: PathBuf,
    /// The lock files.
    runtimes: PathBuf,
    /// There when somebody saw that the journal is damaged.
    suspicion: PathBuf,
}

impl Places {
    fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            file: directory.join(JOURNAL_FILE),
            runtimes: directory.join("runtimes"),
            suspicion: directory.join(format!("{JOURNAL_FILE}.suspect")),
        }
    }

    fn unusable(&self, error: io::Error) -> OpenError {
        OpenError::StateDirectory {
            path: self.directory.clone(),
            why: error.to_string(),
        }
    }

    fn storage(&self, source: JournalError) -> OpenError {
        OpenError::Storage {
            path: self.file.clone(),
            source,
        }
    }
}

fn open_store(places: &Places, runtime: &RuntimeIdentity) -> Result<SqliteStore, OpenError> {
    let unusable = |error| places.unusable(error);
    make_private(&places.file).map_err(unusable)?;
    let mut connection = open_ours(places)?;
    let lock = RuntimeLock::take(&places.runtimes, &runtime.id).map_err(unusable)?;
    let registered = write_to(&mut connection, &runtime.id, |transaction, us| {
        runtimes::forget_dead(transaction, &places.runtimes, us)?;
        runtimes::register(transaction, runtime)
    });
    if let Err(source) = registered {
        lock.remove();
        return Err(places.storage(source));
    }
    Ok(SqliteStore {
        connection,
        runtime: runtime.id.clone(),
        runtimes: places.runtimes.clone(),
        suspicion: places.suspicion.clone(),
        calls: Default::default(),
        lock: Some(lock),
    })
}

/// Makes a directory that only we can enter. One that exists is closed to others only if it can be nobody else's:
/// when it is empty or holds our journal.
fn prepare_directory(directory: &Path) -> io::Result<()> {
    let existed = directory.is_dir();
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let is_open_to_others = std::fs::metadata(directory)?.permissions().mode() & 0o077 != 0;
    if existed && is_open_to_others && is_ours(directory)? {
        std::fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_ours(directory: &Path) -> io::Result<bool> {
    let is_empty = std::fs::read_dir(directory)?.next().is_none();
    Ok(is_empty || directory.join(JOURNAL_FILE).is_file())
}

/// Freed when dropped.
fn lock_opening(directory: &Path) -> io::Result<File> {
    let path = directory.join("opening.lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    Ok(file)
}

/// What was seen before the journal is opened.
#[derive(Default)]
struct Looked {
    /// Why the file cannot be our journal. None when it can, or is not there.
    fault: Option<String>,
    /// Kept until the journal is open: the last connection to go takes SQLite's log with it, and making that anew costs
    /// more than everything else at the start.
    connection: Option<Connection>,
}

impl Looked {
    fn fault(why: impl Into<String>) -> Self {
        Self {
            fault: Some(why.into()),
            connection: None,
        }
    }
}

/// Looks for a reason why the file cannot be our journal.
fn look(places: &Places) -> io::Result<Looked> {
    let file = &places.file;
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Looked::default()),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Ok(Looked::fault("no file"));
    }
    if metadata.len() == 0 {
        return Ok(Looked::default());
    }
    if let Some(why) = find_fault_in_header(file)? {
        return Ok(Looked::fault(why));
    }
    let was_not_closed = companion(file, "-wal").exists() && !is_any_alive(&places.runtimes)?;
    let is_worth_a_look =
        metadata.len() <= CHECKED_ALWAYS_BYTES_MAX || places.suspicion.exists() || was_not_closed;
    Ok(if is_worth_a_look {
        look_within(file)
    } else {
        Looked::default()
    })
}

/// Reads the header without SQLite, which might change a file that is not ours.
fn find_fault_in_header(file: &Path) -> io::Result<Option<String>> {
    let mut header = [0_u8; 72];
    let mut opened = File::open(file)?;
    if let Err(error) = opened.read_exact(&mut header) {
        let is_short = error.kind() == io::ErrorKind::UnexpectedEof;
        return if is_short {
            Ok(Some("cut short".to_string()))
        } else {
            Err(error)
        };
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Ok(Some("not an SQLite file".to_string()));
    }
    let application = i32::from_be_bytes([header[68], header[69], header[70], header[71]]);
    let is_ours = application == schema::APPLICATION_ID;
    Ok((!is_ours).then(|| "a database of another program".to_string()))
}

/// Lets SQLite look at every page. A newer schema is no fault; a file that is only busy neither.
fn look_within(file: &Path) -> Looked {
    let checked =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?;
            Ok((connection, verdict))
        });
    match checked {
        Ok((connection, verdict)) if verdict == "ok" => Looked {
            fault: None,
            connection: Some(connection),
        },
        Ok((_, verdict)) => Looked::fault(format!("damaged ({})", verdict.replace('\n', " "))),
        Err(error) => match read_failure(error) {
            JournalError::Damaged { why } => Looked::fault(format!("damaged ({why})")),
            _ => Looked::default(),
        },
    }
}

/// Makes room for a new journal, unless somebody still uses what stands there.
fn set_aside(places: &Places, why: String, now: UnixMillis) -> Result<SetAside, OpenError> {
    if is_any_alive(&places.runtimes).map_err(|error| places.unusable(error))? {
        return Err(OpenError::DamagedInUse {
            path: places.file.clone(),
            why,
        });
    }
    let to = move_away(&places.file, now).map_err(|error| places.unusable(error))?;
    // What is left over is only looked at in vain.
    let _ = std::fs::remove_file(&places.suspicion);
    Ok(SetAside {
        from: places.file.clone(),
        to,
        why,
    })
}

fn move_away(file: &Path, now: UnixMillis) -> io::Result<PathBuf> {
    let to = free_name(file, now);
    for suffix in COMPANIONS {
        let from = companion(file, suffix);
        if from.exists() {
            std::fs::rename(&from, companion(&to, suffix))?;
        }
    }
    std::fs::rename(file, &to)?;
    Ok(to)
}

fn free_name(file: &Path, now: UnixMillis) -> PathBuf {
    let mut candidates = (0_u64..).map(|later| companion(file, &format!(".set-aside-{}", now.0 + later)));
    let free = candidates.find(|candidate| !candidate.exists());
    free.unwrap_or_else(|| companion(file, ".set-aside"))
}

fn companion(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes the file, or closes it to others. What SQLite puts beside it has the same mode.
fn make_private(file: &Path) -> io::Result<()> {
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(file)?;
    opened.set_permissions(Permissions::from_mode(0o600))
}

fn open_ours(places: &Places) -> Result<Connection, OpenError> {
    let file = &places.file;
    let storage = |source: JournalError| places.storage(source);
    let of_sqlite = |error: rusqlite::Error| storage(read_failure(error));
    let mut connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(of_sqlite)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(of_sqlite)?;
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(of_sqlite)?;
    if found > i64::from(schema::SCHEMA_NEWEST) {
        return Err(OpenError::NewerSchema {
            path: file.to_path_buf(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: schema::SCHEMA_NEWEST,
        });
    }
    configure(&connection).map_err(of_sqlite)?;
    schema::migrate(&mut connection).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { query: _, err } => of_sqlite(err),
        other => storage(JournalError::Storage {
            why: other.to_string(),
        }),
    })?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    // Before the log begins, so that the file itself says whose it is from its first page on.
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != schema::APPLICATION_ID {
        connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // macOS keeps a synced write in the drive's cache unless told otherwise.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_KEPT, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB_MAX)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}
