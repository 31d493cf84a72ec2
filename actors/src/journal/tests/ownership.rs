//! Facts about who drives a run (P7).

use super::samples::*;
use crate::journal::{ClaimableRun, JournalError, RunFilter, RuntimeIdentity, SqliteStore, Store};
use impresario_policies::domain::{RunId, SessionId, Step};

type Open<'a> = &'a dyn Fn(&RuntimeIdentity) -> Result<Box<dyn Store>, Box<dyn std::error::Error>>;

fn check(fact: impl Fn(Open<'_>) -> Outcome) -> Outcome {
    let directory = tempfile::tempdir()?;
    fact(&|runtime| Ok(Box::new(SqliteStore::open(directory.path(), runtime)?.store)))
}

fn claimable_runs(store: &mut dyn Store) -> Result<Vec<RunId>, JournalError> {
    Ok(store
        .claimable()?
        .into_iter()
        .map(|claimable| claimable.run.run)
        .collect())
}

#[test]
fn the_runs_of_a_living_runtime_cannot_be_claimed() -> Outcome {
    check(|open| {
        let mut first = open(&runtime(1))?;
        let mut second = open(&runtime(2))?;
        first.commit(&rows(&run(1), [accepted()]))?;
        assert_eq!(claimable_runs(&mut *second)?, []);
        assert_eq!(claimable_runs(&mut *first)?, []);
        let refused = JournalError::OwnerAlive {
            run: run(1),
            owner: runtime(1).id,
        };
        assert_eq!(second.claim(&run(1), 1), Err(refused));
        let foreign = row(&run(1), 2, Step::Admitted);
        assert_eq!(second.commit(&[foreign]), Err(fenced(&run(1), 1, 1)));
        first.commit(&[row(&run(1), 2, Step::Admitted)])?;
        Ok(())
    })
}

#[test]
fn the_open_runs_of_a_dead_runtime_are_claimed_oldest_first_with_what_is_known_of_it() -> Outcome {
    check(|open| {
        let dead = RuntimeIdentity {
            host: "pi".into(),
            session: Some(SessionId("s".into())),
            ..runtime(1)
        };
        let mut first = open(&dead)?;
        first.commit(&rows(&run(3), [accepted()]))?;
        first.commit(&rows(&run(2), [accepted(), failed()]))?;
        first.commit(&rows(&run(1), whole_run()))?;
        drop(first);
        let mut second = open(&runtime(2))?;
        let found = second.claimable()?;
        assert_eq!(
            found.iter().map(|found| &found.run.run).collect::<Vec<_>>(),
            [&run(2), &run(3)]
        );
        assert_eq!(found[0].owner, Some(dead));
        Ok(())
    })
}

#[test]
fn a_claim_raises_the_generation_and_fences_what_came_before() -> Outcome {
    check(|open| {
        let mut first = open(&runtime(1))?;
        first.commit(&rows(&run(1), [accepted()]))?;
        drop(first);
        let mut second = open(&runtime(2))?;
        assert_eq!(second.claim(&run(1), 1), Ok(2));
        assert_eq!(
            second.claim(&run(1), 1),
            Ok(2),
            "asked again after the answer was lost"
        );
        assert_eq!(
            second.commit(&[row(&run(1), 2, Step::Admitted)]),
            Err(fenced(&run(1), 2, 1))
        );
        second.commit(&[in_generation(row(&run(1), 2, Step::Admitted), 2)])?;
        let generations: Vec<u64> = second
            .steps(&run(1), 0)?
            .iter()
            .map(|step| step.generation)
            .collect();
        assert_eq!(generations, [1, 2]);
        let summary = second.runs(&RunFilter::default())?.remove(0);
        assert_eq!((summary.owner, summary.generation), (runtime(2).id, 2));
        assert_eq!(claimable_runs(&mut *second)?, []);
        Ok(())
    })
}

#[test]
fn of_two_that_claim_one_run_one_loses() -> Outcome {
    check(|open| {
        let mut first = open(&runtime(1))?;
        first.commit(&rows(&run(1), [accepted()]))?;
        drop(first);
        let mut second = open(&runtime(2))?;
        let mut third = open(&runtime(3))?;
        let seen: Vec<ClaimableRun> = third.claimable()?;
        assert_eq!(second.claim(&run(1), 1), Ok(2));
        let lost = Err(JournalError::ClaimLost { run: run(1) });
        assert_eq!(third.claim(&run(1), seen[0].run.generation), lost);
        let alive = Err(JournalError::OwnerAlive {
            run: run(1),
            owner: runtime(2).id,
        });
        assert_eq!(third.claim(&run(1), 2), alive);
        assert_eq!(
            third.claim(&run(9), 1),
            Err(JournalError::UnknownRun { run: run(9) })
        );
        drop(second);
        assert_eq!(third.claim(&run(1), 2), Ok(3));
        Ok(())
    })
}

#[test]
fn a_runtime_that_closed_leaves_its_open_runs_to_others() -> Outcome {
    check(|open| {
        let mut first = open(&runtime(1))?;
        first.commit(&rows(&run(1), [accepted()]))?;
        first.commit(&rows(&run(2), whole_run()))?;
        first.close()?;
        let mut second = open(&runtime(2))?;
        assert_eq!(claimable_runs(&mut *second)?, [run(1)]);
        assert!(second.claimable()?[0].owner.is_some());
        Ok(())
    })
}

#[test]
fn runtimes_that_leave_nothing_leave_no_lock_file() -> Outcome {
    let directory = tempfile::tempdir()?;
    let locks = || std::fs::read_dir(directory.path().join("runtimes")).map(Iterator::count);
    let mut idle = SqliteStore::open(directory.path(), &runtime(1))?.store;
    idle.close()?;
    assert_eq!(locks()?, 0);
    let mut killed = SqliteStore::open(directory.path(), &runtime(2))?.store;
    killed.commit(&rows(&run(1), [accepted()]))?;
    drop(killed);
    let mut heir = SqliteStore::open(directory.path(), &runtime(3))?.store;
    assert_eq!(locks()?, 2, "its run has to be claimed first");
    heir.claim(&run(1), 1)?;
    drop(heir);
    let mut last = SqliteStore::open(directory.path(), &runtime(4))?.store;
    assert_eq!(locks()?, 2, "the first is forgotten, the heir is not");
    last.close()?;
    assert_eq!(locks()?, 1);
    Ok(())
}

#[test]
fn a_lock_file_that_somebody_removed_counts_as_free() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut first = SqliteStore::open(directory.path(), &runtime(1))?.store;
    first.commit(&rows(&run(1), [accepted()]))?;
    drop(first);
    std::fs::remove_dir_all(directory.path().join("runtimes"))?;
    let mut second = SqliteStore::open(directory.path(), &runtime(2))?.store;
    assert_eq!(second.claim(&run(1), 1), Ok(2));
    Ok(())
}

#[test]
fn runs_that_are_claimed_together_are_answered_each_by_itself() -> Outcome {
    check(|open| {
        let mut first = open(&runtime(1))?;
        for number in [1, 2, 3] {
            first.commit(&rows(&run(number), [accepted()]))?;
        }
        drop(first);
        let mut second = open(&runtime(2))?;
        let claims = [(run(1), 1), (run(2), 7), (run(9), 1), (run(3), 1)];
        let lost = JournalError::ClaimLost { run: run(2) };
        let unknown = JournalError::UnknownRun { run: run(9) };
        let answers = second.claim_all(&claims);
        assert_eq!(answers, [Ok(2), Err(lost), Err(unknown), Ok(2)]);
        assert_eq!(claimable_runs(&mut *second)?, [run(2)]);
        Ok(())
    })
}
