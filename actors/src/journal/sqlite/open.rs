//! Opening the journal: making it, checking it, setting aside what is no journal.
//!
//! A file that is damaged or not ours is renamed with all that belongs to it, and a new journal begins; nothing is ever
//! overwritten. A file of a newer version is left where it is and the start is refused, for that version will come
//! back for it. All of this happens under a lock, so that two runtimes that start at once do not get in each other's way.

use super::damage::{self, DamagedRun, Depth};
use super::errors::read_failure;
use super::identity::OpenFiles;
use super::lost::{LostCommits, find_lost_commits};
use super::schema::Version;
use super::{JOURNAL_FILE, SqliteStore, runs, runtimes, schema, write_to};
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

#[derive(Debug)]
pub struct Opened {
    pub store: SqliteStore,
    /// What stood in its place and was no journal.
    pub set_aside: Option<SetAside>,
    /// The runs that were set aside, because they cannot be read any more.
    pub damaged: Vec<DamagedRun>,
    /// What a damaged log took.
    pub lost: Option<LostCommits>,
}

impl Opened {
    /// What a person should know of it, a sentence each.
    pub fn notices(&self) -> Vec<String> {
        let set_aside = self.set_aside.iter().map(ToString::to_string);
        let damaged = self.damaged.iter().map(ToString::to_string);
        let lost = self.lost.iter().map(|lost| {
            format!("{lost}; runs that were under way are parked, for nobody knows what else they did")
        });
        set_aside.chain(lost).chain(damaged).collect()
    }
}

/// A file that stood in the journal's place and was no journal that we can use. Nothing of it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{from} was {why}; it is kept as {to} and a new journal was begun: runs from before are not known any more",
    from = from.display(),
    to = to.display()
)]
pub struct SetAside {
    pub from: PathBuf,
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
            depth,
            lost,
        } = look(&places).map_err(|error| places.unusable(error))?;
        if fault.is_none() {
            match open_store(&places, runtime, depth, lost) {
                // A large file is not checked page by page, and some pages are needed at once.
                Err(OpenError::Storage {
                    source: JournalError::Damaged { why },
                    ..
                }) => {
                    fault = Some(format!("damaged ({why})"));
                }
                opened => return opened,
            }
        }
        // Nothing may hold the file while it is moved.
        drop(connection);
        let set_aside = fault
            .map(|why| set_aside(&places, why, runtime.started_at))
            .transpose()?;
        let opened = open_store(&places, runtime, Depth::OpenRuns, None)?;
        Ok(Opened { set_aside, ..opened })
    }
}

struct Places {
    directory: PathBuf,
    file: PathBuf,
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

fn open_store(
    places: &Places,
    runtime: &RuntimeIdentity,
    depth: Depth,
    lost: Option<LostCommits>,
) -> Result<Opened, OpenError> {
    let unusable = |error| places.unusable(error);
    make_private(&places.file).map_err(unusable)?;
    let mut connection = open_ours(places)?;
    let lock = RuntimeLock::take(&places.runtimes, &runtime.id).map_err(unusable)?;
    // Before anything is written, so that a page that cannot be read is in nobody's way.
    let damaged = damage::find_damaged(&connection, depth);
    let registered = write_to(&mut connection, &runtime.id, |transaction, us| {
        damage::set_aside(transaction, &damaged, runtime.started_at)?;
        if let Some(lost) = &lost {
            runs::suspect_unfinished(transaction, &lost.to_string())?;
        }
        runtimes::forget_dead(transaction, &places.runtimes, us)?;
        runtimes::register(transaction, runtime)
    });
    if let Err(source) = registered {
        lock.remove();
        return Err(places.storage(source));
    }
    let store = SqliteStore {
        connection,
        runtime: runtime.id.clone(),
        runtimes: places.runtimes.clone(),
        suspicion: places.suspicion.clone(),
        known: Default::default(),
        files: OpenFiles::look(&places.file).map_err(unusable)?,
        lock: Some(lock),
    };
    if depth == Depth::AllRuns {
        // Everything was looked at; what could not be read shows itself again.
        let _ = std::fs::remove_file(&places.suspicion);
    }
    Ok(Opened {
        store,
        set_aside: None,
        damaged,
        lost,
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
struct Looked {
    /// Why the file cannot be our journal. None when it can, or is not there.
    fault: Option<String>,
    /// Kept until the journal is open: the last connection to go takes SQLite's log with it, and making that anew costs
    /// more than everything else at the start.
    connection: Option<Connection>,
    /// How closely its rows are to be looked at.
    depth: Depth,
    /// What SQLite drops of its log.
    lost: Option<LostCommits>,
}

impl Default for Looked {
    fn default() -> Self {
        Self {
            fault: None,
            connection: None,
            depth: Depth::OpenRuns,
            lost: None,
        }
    }
}

impl Looked {
    fn fault(why: impl Into<String>) -> Self {
        Self {
            fault: Some(why.into()),
            ..Self::default()
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
    let is_unused = !is_any_alive(&places.runtimes)?;
    let was_not_closed = companion(file, "-wal").exists() && is_unused;
    // Before SQLite sees the log, for it says nothing of what it drops.
    let lost = if is_unused {
        find_lost_commits(file).unwrap_or_default()
    } else {
        None
    };
    let is_worth_a_look =
        metadata.len() <= CHECKED_ALWAYS_BYTES_MAX || places.suspicion.exists() || was_not_closed;
    let looked = if is_worth_a_look {
        look_within(file)
    } else {
        Looked::default()
    };
    Ok(Looked { lost, ..looked })
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
            connection: Some(connection),
            depth: Depth::AllRuns,
            ..Looked::default()
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

pub(super) fn companion(file: &Path, suffix: &str) -> PathBuf {
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
    if let Version::Newer(found) = schema::read_version(found) {
        return Err(OpenError::NewerSchema {
            path: file.to_path_buf(),
            found,
            known: schema::SCHEMA_NEWEST,
        });
    }
    configure(&connection).map_err(of_sqlite)?;
    bring_up_to_date(&mut connection, found).map_err(storage)?;
    Ok(connection)
}

/// A number that does not fit the tables is put right by them. Tables of no version make the file none of ours.
fn bring_up_to_date(connection: &mut Connection, found: i64) -> Result<(), JournalError> {
    let is_possible = schema::read_version(found) == Version::Known;
    if is_possible && migrate(connection).is_ok() {
        return Ok(());
    }
    let version = schema::version_of_tables(connection).map_err(migration_failure)?;
    let Some(version) = version else {
        return match is_possible {
            // A disk that is full stands in the way of a migration too.
            true => migrate(connection).map_err(|error| match error {
                JournalError::Storage { .. } => impossible_version(found),
                other => other,
            }),
            false => Err(impossible_version(found)),
        };
    };
    connection
        .pragma_update(None, "user_version", version)
        .map_err(read_failure)?;
    migrate(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), JournalError> {
    schema::migrate(connection).map_err(migration_failure)?;
    schema::check_tables(connection).map_err(read_failure)
}

fn impossible_version(found: i64) -> JournalError {
    JournalError::Damaged {
        why: format!("its schema version says {found}, and its tables are those of no version"),
    }
}

fn migration_failure(error: rusqlite_migration::Error) -> JournalError {
    match error {
        rusqlite_migration::Error::RusqliteError { query: _, err } => read_failure(err),
        other => JournalError::Storage {
            why: other.to_string(),
        },
    }
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
