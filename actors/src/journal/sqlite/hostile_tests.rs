//! The journal in hostile surroundings: bits that flip, files that go, rows and numbers that nobody wrote.

use super::*;
use crate::journal::tests::samples::*;
use crate::journal::{JournalReader, OpenError};
use impresario_policies::domain::{RunState, Step};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::TempDir;

/// A journal of the layout before there were checksums, as the program wrote it: three runs that ended, and one whose
/// command was killed.
const LAYOUT_3: &[u8] = include_bytes!("fixtures/layout-3.sqlite");

fn at(directory: &Path) -> PathBuf {
    directory.join(JOURNAL_FILE)
}

fn says(by: &str) -> Step {
    cancel_requested(by)
}

/// Three runs, of which the second says something that stands nowhere else in the file.
fn three_runs(directory: &Path) -> Result<SqliteStore, Box<dyn std::error::Error>> {
    let mut store = SqliteStore::open(directory, &runtime(1))?.store;
    for (number, by) in [(1, "somebody"), (2, "unmistakable words"), (3, "somebody else")] {
        store.commit(&rows(&run(number), [accepted(), says(by)]))?;
    }
    Ok(store)
}

fn closed(store: SqliteStore) -> Outcome {
    store
        .connection
        .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))?;
    Ok(())
}

fn flip(file: &Path, place: u64) -> Outcome {
    let mut opened = std::fs::OpenOptions::new().read(true).write(true).open(file)?;
    let mut byte = [0];
    opened.seek(SeekFrom::Start(place))?;
    opened.read_exact(&mut byte)?;
    opened.seek(SeekFrom::Start(place))?;
    Ok(opened.write_all(&[byte[0] ^ 0x04])?)
}

fn places_of(file: &Path, text: &str) -> Result<Vec<u64>, std::io::Error> {
    let bytes = std::fs::read(file)?;
    let windows = (0..).zip(bytes.windows(text.len()));
    Ok(windows
        .filter(|(_, window)| *window == text.as_bytes())
        .map(|(place, _)| place)
        .collect())
}

fn ids_of(store: &mut SqliteStore) -> Result<Vec<RunId>, JournalError> {
    let runs = store.runs(&RunFilter::default())?;
    Ok(runs.into_iter().rev().map(|run| run.run).collect())
}

/// Only the second run is set aside, its rows are kept, it is told once, and the others are as they were.
fn check_second_set_aside(directory: &Path, why: &str) -> Outcome {
    let mut opened = SqliteStore::open(directory, &runtime(2))?;
    assert_eq!(opened.set_aside, None);
    let damaged = opened
        .damaged
        .iter()
        .map(|damaged| damaged.run.clone())
        .collect::<Vec<_>>();
    assert_eq!(damaged, [run(2).to_string()]);
    let notices = opened.notices();
    assert!(notices.len() == 1 && notices[0].contains(why), "{notices:?}");
    assert_eq!(ids_of(&mut opened.store)?, [run(1), run(3)]);
    assert_eq!(opened.store.steps(&run(3), 0)?.len(), 2);
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        opened
            .store
            .connection
            .query_row(&sql, [], |row| row.get::<_, i64>(0))
    };
    assert_eq!((count("damaged_runs")?, count("damaged_steps")?), (1, 2));
    opened.store.commit(&rows(&run(4), [accepted()]))?;
    drop(opened);
    assert_eq!(
        SqliteStore::open(directory, &runtime(3))?.notices(),
        Vec::<String>::new()
    );
    Ok(())
}

#[test]
fn a_flipped_bit_in_a_step_takes_its_run_only() -> Outcome {
    let directory = tempfile::tempdir()?;
    closed(three_runs(directory.path())?)?;
    let file = at(directory.path());
    // Pages that were split keep what stood on them before, too.
    for place in places_of(&file, "unmistakable words")? {
        flip(&file, place)?;
    }
    check_second_set_aside(directory.path(), "step 2 is not as it was written")
}

#[test]
fn a_flipped_bit_shows_while_the_journal_is_in_use() -> Outcome {
    let directory = tempfile::tempdir()?;
    let store = three_runs(directory.path())?;
    let changed = "UPDATE steps SET step = replace(step, 'unmistakable', 'unmistakeable')";
    store.connection.execute(changed, [])?;
    let mut store = store;
    let damaged = store.steps(&run(2), 0).err().ok_or("it was read")?;
    assert!(matches!(damaged, JournalError::RunDamaged { .. }), "{damaged}");
    assert_eq!(store.steps(&run(1), 0)?.len(), 2);
    drop(store);
    check_second_set_aside(directory.path(), "step 2 is not as it was written")
}

#[test]
fn a_row_that_nobody_wrote_stops_no_start() -> Outcome {
    let rows_of_nobody = [
        ("state = 'bananas'", "a state is not what we wrote"),
        ("owner = 'nobody'", "an owner is not what we wrote"),
        ("steps = -1, checksum = NULL", "damaged_runs"),
        ("task = task || '!'", "its row is not as it was written"),
    ];
    for (row, why) in rows_of_nobody {
        let directory = tempfile::tempdir()?;
        let store = three_runs(directory.path())?;
        let sql = format!("UPDATE runs SET {row} WHERE run = ?1");
        store.connection.execute(&sql, [run(2).as_str()])?;
        let mut store = store;
        assert_eq!(
            ids_of(&mut store)?,
            [run(1), run(3)],
            "{row}: the others are listed"
        );
        drop(store);
        check_second_set_aside(directory.path(), why)?;
    }
    Ok(())
}

#[test]
fn what_an_older_version_writes_meanwhile_is_believed() -> Outcome {
    let directory = tempfile::tempdir()?;
    let store = three_runs(directory.path())?;
    let as_before = "UPDATE runs SET state = 'parked', steps = 3, ended_at = 9 WHERE run = ?1";
    store.connection.execute(as_before, [run(2).as_str()])?;
    let step = "INSERT INTO steps (run, sequence, generation, at, step) VALUES (?1, 3, 1, 9, '{\"step\":\"delivered\"}')";
    store.connection.execute(step, [run(2).as_str()])?;
    drop(store);
    let mut opened = SqliteStore::open(directory.path(), &runtime(2))?;
    assert_eq!(opened.damaged, []);
    assert_eq!(opened.store.steps(&run(2), 0)?.len(), 3);
    Ok(())
}

fn with_layout_3() -> Result<TempDir, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    std::fs::write(at(directory.path()), LAYOUT_3)?;
    Ok(directory)
}

#[test]
fn a_journal_from_before_the_checksums_opens() -> Outcome {
    let directory = with_layout_3()?;
    let mut opened = SqliteStore::open(directory.path(), &runtime(1))?;
    assert_eq!(opened.notices(), Vec::<String>::new());
    let store = &mut opened.store;
    let runs = store.runs(&RunFilter::default())?;
    let states = runs.iter().rev().map(|run| run.state).collect::<Vec<_>>();
    assert_eq!(
        states,
        [
            RunState::Succeeded,
            RunState::Failed,
            RunState::Succeeded,
            RunState::Admitted
        ]
    );
    for run in &runs {
        assert_eq!(store.steps(&run.run, 0)?.len() as u64, run.steps);
    }
    let orphans = store.claimable()?;
    assert_eq!(orphans.len(), 1);
    let left = &orphans[0].run;
    let generation = store.claim(&left.run, left.generation)?;
    let next = Row {
        run: left.run.clone(),
        sequence: left.steps + 1,
        generation,
        at: left.last_step_at,
        step: says("the test"),
    };
    store.commit(&[next])?;
    assert_eq!(store.steps(&left.run, 0)?.len() as u64, left.steps + 1);
    drop(opened);
    assert_eq!(
        SqliteStore::open(directory.path(), &runtime(2))?.notices(),
        Vec::<String>::new()
    );
    Ok(())
}

#[test]
fn a_journal_from_before_the_checksums_can_be_read_alone() -> Outcome {
    let directory = with_layout_3()?;
    let reader = JournalReader::open(directory.path())?.ok_or("there is one")?;
    assert_eq!(reader.runs(&RunFilter::default())?.len(), 4);
    Ok(())
}

#[test]
fn an_impossible_schema_version_is_put_right_by_the_tables() -> Outcome {
    for number in [-5, 0, 1, 2, 3, 20_000, i32::MAX] {
        let directory = tempfile::tempdir()?;
        let store = three_runs(directory.path())?;
        store.connection.pragma_update(None, "user_version", number)?;
        drop(store);
        let mut opened = SqliteStore::open(directory.path(), &runtime(2))?;
        assert_eq!(opened.notices(), Vec::<String>::new(), "{number}");
        assert_eq!(ids_of(&mut opened.store)?, [run(1), run(2), run(3)], "{number}");
    }
    let directory = with_layout_3()?;
    let raw = Connection::open(at(directory.path()))?;
    raw.pragma_update(None, "user_version", -1)?;
    drop(raw);
    let mut opened = SqliteStore::open(directory.path(), &runtime(2))?;
    assert_eq!(ids_of(&mut opened.store)?.len(), 4);
    Ok(())
}

#[test]
fn tables_of_no_version_are_set_aside() -> Outcome {
    for number in [-1, 4] {
        let directory = tempfile::tempdir()?;
        let store = three_runs(directory.path())?;
        store
            .connection
            .execute_batch("ALTER TABLE steps RENAME COLUMN step TO stepp")?;
        store.connection.pragma_update(None, "user_version", number)?;
        drop(store);
        let mut opened = SqliteStore::open(directory.path(), &runtime(2))?;
        let set_aside = opened.set_aside.ok_or("nothing was set aside")?;
        assert!(set_aside.to_string().contains("of no version"), "{set_aside}");
        opened.store.commit(&rows(&run(1), [accepted()]))?;
    }
    Ok(())
}

#[test]
fn advice_fits_the_cause() {
    let path = PathBuf::from("journal.sqlite");
    let advice = |source| {
        OpenError::Storage {
            path: path.clone(),
            source,
        }
        .advice()
        .unwrap_or_default()
    };
    assert!(advice(JournalError::DiskFull).contains("space"));
    assert!(advice(JournalError::ReadOnly).contains("writable"));
    assert!(advice(JournalError::Busy).contains("which process"));
}

#[test]
fn a_file_that_goes_while_it_is_in_use_is_missed_at_the_next_commit() -> Outcome {
    for name in [JOURNAL_FILE, "journal.sqlite-wal"] {
        for is_replaced in [false, true] {
            let directory = tempfile::tempdir()?;
            let mut store = three_runs(directory.path())?;
            let (file, away) = (directory.path().join(name), directory.path().join("away"));
            std::fs::rename(&file, &away)?;
            if is_replaced {
                std::fs::write(&file, "something else")?;
            }
            let written = rows(&run(4), [accepted()]);
            let refused = store.commit(&written).err().ok_or("it was told to be on disk")?;
            assert!(matches!(refused, JournalError::Vanished { .. }), "{refused}");
            let word = if is_replaced { "replaced" } else { "removed" };
            assert!(
                refused.to_string().contains(&format!("{name} was {word}")),
                "{refused}"
            );
            std::fs::rename(&away, &file)?;
            store.commit(&written)?;
            assert_eq!(store.steps(&run(4), 0)?.len(), 1);
        }
    }
    Ok(())
}

/// What a kill leaves of a journal that is open: the files as they are on disk.
fn as_killed(directory: &Path) -> Result<TempDir, Box<dyn std::error::Error>> {
    let killed = tempfile::tempdir()?;
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("{JOURNAL_FILE}{suffix}");
        std::fs::copy(directory.join(&name), killed.path().join(&name))?;
    }
    Ok(killed)
}

#[test]
fn what_a_damaged_log_took_is_told_wherever_the_bit_flipped() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut store = three_runs(directory.path())?;
    let whole = ids_of(&mut store)?;
    let killed = as_killed(directory.path())?;
    let mut opened = SqliteStore::open(killed.path(), &runtime(2))?;
    assert_eq!((opened.lost, ids_of(&mut opened.store)?), (None, whole.clone()));
    assert_eq!(opened.notices(), Vec::<String>::new());

    let length = std::fs::metadata(directory.path().join("journal.sqlite-wal"))?.len();
    let mut noticed = 0;
    for part in 0..60 {
        let killed = as_killed(directory.path())?;
        flip(&killed.path().join("journal.sqlite-wal"), length * part / 60)?;
        let mut opened = SqliteStore::open(killed.path(), &runtime(2))?;
        let left = opened.store.runs(&RunFilter::default())?;
        let is_whole = left.len() == whole.len() && left.iter().all(|run| run.steps == 2);
        assert!(
            is_whole || opened.lost.is_some(),
            "part {part}: lost without a word"
        );
        noticed += u32::from(opened.lost.is_some());
        if opened.lost.is_some() {
            assert!(opened.notices()[0].contains("are lost"), "{:?}", opened.notices());
            assert!(
                left.iter().all(|run| run.suspect.is_some()),
                "they are parked when adopted"
            );
        }
    }
    assert!(noticed > 40, "only {noticed} of 60 flips were noticed");
    Ok(())
}

#[test]
fn a_log_that_was_taken_away_is_told() -> Outcome {
    let directory = tempfile::tempdir()?;
    let _store = three_runs(directory.path())?;
    let killed = as_killed(directory.path())?;
    std::fs::remove_file(killed.path().join("journal.sqlite-wal"))?;
    let opened = SqliteStore::open(killed.path(), &runtime(2))?;
    assert!(opened.lost.is_some());
    Ok(())
}
