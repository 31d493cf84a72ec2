//! Facts about the writing thread.

use super::disk::{SimulatedDisk, StoreFaults};
use super::samples::*;
use crate::journal::{Committed, JournalError, RunFilter, SqliteStore, Store, Writer};
use impresario_policies::domain::Step;
use std::sync::mpsc;

/// A writer whose thread waits until the returned sender is used, so that requests pile up behind it.
async fn held(store: impl Store + 'static) -> Result<(Writer, mpsc::Sender<()>), Box<dyn std::error::Error>> {
    let writer = Writer::start(store)?;
    let (release, released) = mpsc::channel::<()>();
    let (reached, is_reached) = tokio::sync::oneshot::channel();
    let handle = writer.handle();
    tokio::spawn(async move {
        let wait = move |_: &mut dyn Store| {
            let _ = reached.send(());
            let _ = released.recv();
            Ok(())
        };
        handle.with_store(wait).await
    });
    is_reached.await?;
    Ok((writer, release))
}

#[tokio::test]
async fn what_is_answered_is_there_to_read() -> Outcome {
    let directory = tempfile::tempdir()?;
    let writer = Writer::start(SqliteStore::open(directory.path(), &runtime(1))?.store)?;
    let handle = writer.handle();
    assert_eq!(
        handle.commit(rows(&run(1), whole_run())).await,
        Ok(Committed {
            through: whole_run().len() as u64
        })
    );
    let steps = handle.with_store(|store| store.steps(&run(1), 0)).await?;
    assert_eq!(steps.len(), whole_run().len());
    Ok(writer.close().await?)
}

#[tokio::test]
async fn commits_that_wait_are_written_together_and_a_bad_one_fails_alone() -> Outcome {
    let disk = SimulatedDisk::new();
    let (writer, release) = held(disk.open(&runtime(1))).await?;
    let handle = writer.handle();
    let commits = (1..=20).map(|number| {
        let handle = handle.clone();
        let sequence = if number == 7 { 5 } else { 1 };
        async move { handle.commit(vec![row(&run(number), sequence, accepted())]).await }
    });
    let waiting = futures_util::future::join_all(commits);
    let (outcomes, ()) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        let _ = release.send(());
    });
    let bad: Vec<_> = outcomes.iter().filter(|outcome| outcome.is_err()).collect();
    assert_eq!(bad, [&Err(gap(&run(7), 1, 5))]);
    assert_eq!(
        handle
            .with_store(|store| store.runs(&RunFilter::default()))
            .await?
            .len(),
        19
    );
    assert_eq!(disk.commits(), 21, "one together, then each alone");
    Ok(writer.close().await?)
}

#[tokio::test]
async fn commits_that_wait_cost_one_transaction() -> Outcome {
    let disk = SimulatedDisk::new();
    let (writer, release) = held(disk.open(&runtime(1))).await?;
    let handle = writer.handle();
    let commits = (1..=20).map(|number| handle.commit(rows(&run(number), [accepted()])));
    let (outcomes, ()) = tokio::join!(futures_util::future::join_all(commits), async {
        let _ = release.send(());
    });
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(disk.commits(), 1);
    Ok(writer.close().await?)
}

#[tokio::test]
async fn a_read_sees_what_was_committed_before_it_and_nothing_later() -> Outcome {
    let (writer, release) = held(SimulatedDisk::new().open(&runtime(1))).await?;
    let handle = writer.handle();
    let (before, steps, after, ()) = tokio::join!(
        biased;
        handle.commit(rows(&run(1), [accepted()])),
        handle.with_store(|store| store.steps(&run(1), 0)),
        handle.commit(vec![row(&run(1), 2, Step::Admitted)]),
        async {
            let _ = release.send(());
        }
    );
    assert_eq!((before?.through, steps?.len(), after?.through), (1, 1, 2));
    Ok(writer.close().await?)
}

#[tokio::test]
async fn an_asker_that_went_away_has_written_all_the_same() -> Outcome {
    let (writer, release) = held(SimulatedDisk::new().open(&runtime(1))).await?;
    let handle = writer.handle();
    let mut asked = Box::pin(handle.commit(rows(&run(1), [accepted()])));
    assert!(futures_util::poll!(asked.as_mut()).is_pending());
    drop(asked);
    let _ = release.send(());
    assert_eq!(
        handle.commit(rows(&run(1), [accepted()])).await,
        Ok(Committed { through: 1 })
    );
    assert_eq!(handle.with_store(|store| store.steps(&run(1), 0)).await?.len(), 1);
    Ok(writer.close().await?)
}

#[tokio::test]
async fn a_full_disk_is_told_and_the_thread_goes_on() -> Outcome {
    let disk = SimulatedDisk::new();
    disk.set_faults(StoreFaults {
        disk_full: 1..2,
        ..StoreFaults::default()
    });
    let writer = Writer::start(disk.open(&runtime(1)))?;
    let handle = writer.handle();
    assert_eq!(
        handle.commit(rows(&run(1), [accepted()])).await,
        Err(JournalError::DiskFull)
    );
    assert_eq!(disk.faults_injected(), 1);
    assert_eq!(
        handle.commit(rows(&run(1), [accepted()])).await,
        Ok(Committed { through: 1 })
    );
    Ok(writer.close().await?)
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_settled_by_asking_again() -> Outcome {
    let disk = SimulatedDisk::new();
    disk.set_faults(StoreFaults {
        answer_lost: 1..2,
        ..StoreFaults::default()
    });
    let mut store = disk.open(&runtime(1));
    let lost = store.commit(&rows(&run(1), [accepted()]));
    assert_eq!(
        lost,
        Err(JournalError::Storage {
            why: "the disk did not answer".into()
        })
    );
    assert_eq!(disk.faults_injected(), 1);
    assert_eq!(store.commit(&rows(&run(1), [accepted()])), Ok(()));
    assert_eq!(store.steps(&run(1), 0)?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_closed_journal_has_written_what_was_asked_and_refuses_the_rest() -> Outcome {
    let directory = tempfile::tempdir()?;
    let writer = Writer::start(SqliteStore::open(directory.path(), &runtime(1))?.store)?;
    let handle = writer.handle();
    let (last, closed) = tokio::join!(biased; handle.commit(rows(&run(1), [accepted()])), writer.close());
    assert_eq!((last, closed), (Ok(Committed { through: 1 }), Ok(())));
    assert_eq!(
        handle.commit(rows(&run(2), [accepted()])).await,
        Err(JournalError::Closed)
    );
    let mut reopened = SqliteStore::open(directory.path(), &runtime(2))?.store;
    assert_eq!(reopened.steps(&run(1), 0)?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn the_runtime_is_dead_to_others_when_its_last_handle_is_gone() -> Outcome {
    let directory = tempfile::tempdir()?;
    let writer = Writer::start(SqliteStore::open(directory.path(), &runtime(1))?.store)?;
    let handle = writer.handle();
    handle.commit(rows(&run(1), [accepted()])).await?;
    writer.close().await?;
    let mut heir = SqliteStore::open(directory.path(), &runtime(2))?.store;
    assert_eq!(heir.claim(&run(1), 1), Ok(2));
    Ok(())
}
