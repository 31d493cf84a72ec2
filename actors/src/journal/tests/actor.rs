//! Facts about the journal actor, over the writing thread and inline.

use super::disk::{SimulatedDisk, StoreFaults};
use super::samples::*;
use crate::gateways::UnixMillis;
use crate::journal::{
    Alert, Journal, JournalAccess, JournalError, OverflowContent, Retention, RunFilter, SkillOf, SqliteStore,
    Writer,
};
use crate::messages::journal::*;
use crate::supervision::{
    BackoffSettings, Boundary, Child, Event, Observer, Port, Root, RootSettings, SupervisorSettings, Verdict,
    When, install_panic_hook, set_boundary_hook, supervisor,
};
use impresario_policies::budget::Scope;
use impresario_policies::domain::{SessionId, Step};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

const SOON: Duration = Duration::from_secs(30);
const DELAY_MAX: Duration = Duration::from_millis(40);

/// Everything that can be asked.
struct Ports {
    commit: Port<Commit>,
    read_run: Port<ReadRun>,
    read_runs: Port<ReadRuns>,
    spent: Port<ReadSpent>,
    claimable: Port<ReadClaimable>,
    claim: Port<ClaimRun>,
    keep: Port<KeepOverflow>,
    fetch: Port<FetchOverflow>,
    list: Port<ListOverflow>,
    prune: Port<Prune>,
    raise_alert: Port<RaiseAlert>,
    last_alert: Port<ReadAlert>,
}

async fn start(access: JournalAccess, observer: Option<Observer>) -> (Root, Ports) {
    let child = Child::new("journal", move |_| Journal::new(access.clone()));
    let ports = Ports {
        commit: child.port(),
        read_run: child.port(),
        read_runs: child.port(),
        spent: child.port(),
        claimable: child.port(),
        claim: child.port(),
        keep: child.port(),
        fetch: child.port(),
        list: child.port(),
        prune: child.port(),
        raise_alert: child.port(),
        last_alert: child.port(),
    };
    let backoff = BackoffSettings {
        first: Duration::ZERO,
        ..BackoffSettings::default()
    };
    let settings = SupervisorSettings {
        intensity: 100,
        backoff,
        ..SupervisorSettings::default()
    };
    let root = supervisor("root", settings, vec![child.spec()]);
    (
        Root::start_local(
            root,
            RootSettings {
                observer,
                ..RootSettings::default()
            },
        )
        .await,
        ports,
    )
}

/// On one thread, with the clock paused for what happens inline.
fn tell_story(paused: bool, story: impl Future<Output = Outcome>) -> Outcome {
    install_panic_hook();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(paused)
        .build()?;
    tokio::task::LocalSet::new().block_on(&runtime, story)
}

/// One story over both ways to the store; a run of a dead runtime is there to be claimed.
fn check<S: Future<Output = Outcome>>(story: impl Fn(JournalAccess) -> S) -> Outcome {
    let disk = SimulatedDisk::new();
    crate::journal::Store::commit(&mut disk.open(&runtime(1)), &rows(&run(1), [accepted()]))?;
    tell_story(
        true,
        story(JournalAccess::inline(disk.open(&runtime(2)), 7, DELAY_MAX)),
    )?;

    let directory = tempfile::tempdir()?;
    let mut dead = SqliteStore::open(directory.path(), &runtime(1))?.store;
    crate::journal::Store::commit(&mut dead, &rows(&run(1), [accepted()]))?;
    drop(dead);
    let writer = Writer::start(SqliteStore::open(directory.path(), &runtime(2))?.store)?;
    tell_story(false, story(JournalAccess::thread(writer.handle())))
}

/// Asks everything once, and checks the answers, which are the same however often the journal dies meanwhile.
async fn ask_everything(ports: &Ports) -> Outcome {
    let written = rows(&run(2), [accepted(), model_called(0.25), Step::Admitted]);
    let committed = ports
        .commit
        .ask_again(
            Commit {
                rows: written.clone().into(),
            },
            SOON,
        )
        .await;
    assert_eq!(committed?.map(|committed| committed.through), Ok(3));
    let spent = ReadSpent {
        scope: Scope::Session(SessionId("session-a".into())),
        since: UnixMillis(0),
        assumed_usd_per_million: 1.0,
    };
    let spent = ports.spent.ask_again(spent, SOON).await??;
    assert_eq!((spent.usd, spent.tokens), (0.25, 1_154));
    let content: OverflowContent = "kept".into();
    let kept = KeepOverflow {
        run: run(2),
        entry: overflow(1, &content),
        content: content.clone(),
    };
    ports.keep.ask_again(kept, SOON).await??;
    let listing = ports.list.ask_again(ListOverflow { run: run(2) }, SOON).await??;
    assert_eq!((listing.entries.len(), listing.next_handle), (1, 2));
    let fetched = ports
        .fetch
        .ask_again(
            FetchOverflow {
                run: run(2),
                handle: 1,
            },
            SOON,
        )
        .await??;
    assert_eq!(fetched, Some(content));
    let claimable = ports.claimable.ask_again(ReadClaimable, SOON).await??;
    assert_eq!(
        claimable
            .iter()
            .map(|claimable| &claimable.run.run)
            .collect::<Vec<_>>(),
        [&run(1)]
    );
    let claim = ClaimRun {
        run: run(1),
        generation: claimable[0].run.generation,
    };
    assert_eq!(ports.claim.ask_again(claim, SOON).await?, Ok(2));
    let steps = ports
        .read_run
        .ask_again(
            ReadRun {
                run: run(2),
                after: 1,
            },
            SOON,
        )
        .await??;
    assert_eq!(steps, [written[1].recorded(), written[2].recorded()]);
    let runs = ports
        .read_runs
        .ask_again(
            ReadRuns {
                filter: RunFilter::default(),
            },
            SOON,
        )
        .await??;
    assert_eq!(runs.iter().map(|run| run.steps).collect::<Vec<_>>(), [3, 1]);
    let retention = Retention {
        acknowledged_before: UnixMillis(u64::MAX),
        abandoned_before: UnixMillis(u64::MAX),
        keep_newest: 0,
    };
    assert_eq!(
        ports.prune.ask_again(Prune { retention }, SOON).await??.runs,
        0,
        "nothing has ended"
    );
    let of = SkillOf {
        workspace: "w".into(),
        skill: "demo".into(),
    };
    let alert = Alert {
        at: UnixMillis(7),
        run: run(2),
    };
    let raise = RaiseAlert {
        of: of.clone(),
        alert: alert.clone(),
        seen: None,
    };
    assert_eq!(ports.raise_alert.ask_again(raise, SOON).await?, Ok(true));
    let last = ports.last_alert.ask_again(ReadAlert { of }, SOON).await?;
    assert_eq!(last, Ok(Some(alert)));
    Ok(())
}

#[test]
fn everything_can_be_asked() -> Outcome {
    check(|access| async move {
        let (_root, ports) = start(access, None).await;
        ask_everything(&ports).await
    })
}

#[test]
fn a_journal_killed_at_any_boundary_answers_the_same_when_asked_again() -> Outcome {
    let hits: Rc<RefCell<BTreeMap<(&str, When), u32>>> = Rc::default();
    for verdict in [Verdict::Panic, Verdict::Stop] {
        let counted = hits.clone();
        check(|access| {
            let counted = counted.clone();
            async move {
                let (root, ports) = start(access, None).await;
                let killed: Rc<RefCell<BTreeMap<(&str, When), u32>>> = Rc::default();
                let killing = killed.clone();
                set_boundary_hook(Some(Box::new(move |boundary: &Boundary| {
                    let times = &mut *killing.borrow_mut();
                    let times = times.entry((boundary.message, boundary.when)).or_default();
                    *times += 1;
                    let is_first = boundary.kind == "journal" && *times == 1;
                    if is_first { verdict } else { Verdict::Pass }
                })));
                let outcome = ask_everything(&ports).await;
                set_boundary_hook(None);
                for (boundary, times) in killed.borrow().iter() {
                    *counted.borrow_mut().entry(*boundary).or_default() += times;
                }
                drop(root);
                outcome
            }
        })?;
    }
    let hits = hits.borrow();
    for message in <Journal as crate::supervision::Actor>::HANDLES {
        for when in [When::Before, When::After] {
            assert!(
                hits.contains_key(&(*message, when)),
                "{message} was never killed {when:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_journal_whose_thread_is_gone_fails_with_a_sentence() -> Outcome {
    let writer = Writer::start(SimulatedDisk::new().open(&runtime(1)))?;
    let access = JournalAccess::thread(writer.handle());
    tell_story(false, async move {
        writer.close().await?;
        let exits: Rc<RefCell<Vec<String>>> = Rc::default();
        let told = exits.clone();
        let observer: Observer = Rc::new(move |event: &Event| {
            if let Event::Exited { exit, .. } = event {
                told.borrow_mut().push(exit.to_string());
            }
        });
        let (_root, ports) = start(access, Some(observer)).await;
        let asked = ports
            .commit
            .ask(
                Commit {
                    rows: rows(&run(1), [accepted()]).into(),
                },
                SOON,
            )
            .await;
        assert_eq!(asked?, Err(JournalError::Closed));
        tokio::task::yield_now().await;
        let exits = exits.borrow();
        assert!(
            exits
                .iter()
                .any(|exit| exit.contains("the thread that writes the journal is gone")),
            "{exits:?}"
        );
        Ok(())
    })
}

#[test]
fn a_disk_that_recovers_is_told_of_in_between() -> Outcome {
    let disk = SimulatedDisk::new();
    disk.set_faults(StoreFaults {
        disk_full: 1..3,
        ..StoreFaults::default()
    });
    let access = JournalAccess::inline(disk.open(&runtime(1)), 1, DELAY_MAX);
    tell_story(true, async move {
        let (_root, ports) = start(access, None).await;
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            let commit = Commit {
                rows: rows(&run(1), [accepted()]).into(),
            };
            outcomes.push(
                ports
                    .commit
                    .ask(commit, SOON)
                    .await?
                    .map(|committed| committed.through),
            );
        }
        assert_eq!(
            outcomes,
            [Err(JournalError::DiskFull), Err(JournalError::DiskFull), Ok(1)]
        );
        assert_eq!(disk.faults_injected(), 2);
        Ok(())
    })
}

/// The virtual times at which twenty commits, asked at once, were answered.
fn times_of_answers(seed: u64) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let access = JournalAccess::inline(SimulatedDisk::new().open(&runtime(1)), seed, DELAY_MAX);
    let times: Rc<RefCell<Vec<Duration>>> = Rc::default();
    let noted = times.clone();
    tell_story(true, async move {
        let began = Instant::now();
        let (_root, ports) = start(access, None).await;
        let commits = (0..20).map(|number| {
            let answer = ports.commit.ask(
                Commit {
                    rows: rows(&run(number), [accepted()]).into(),
                },
                SOON,
            );
            let noted = noted.clone();
            async move {
                let answer = answer.await;
                noted.borrow_mut().push(began.elapsed());
                answer
            }
        });
        for outcome in futures_util::future::join_all(commits).await {
            outcome??;
        }
        Ok(())
    })?;
    Ok(times.take())
}

#[test]
fn the_delays_of_a_simulation_follow_from_its_seed() -> Outcome {
    let times = times_of_answers(5)?;
    assert_eq!(times, times_of_answers(5)?);
    assert_ne!(times, times_of_answers(6)?);
    assert!(
        times
            .iter()
            .all(|time| *time <= DELAY_MAX + Duration::from_millis(1)),
        "{times:?}"
    );
    assert!(times.iter().any(|time| *time > Duration::ZERO));
    Ok(())
}

#[test]
fn a_commit_that_was_not_answered_when_the_simulated_tree_died_is_on_disk() -> Outcome {
    let disk = SimulatedDisk::new();
    let access = JournalAccess::inline(disk.open(&runtime(1)), 3, Duration::from_secs(3600));
    let answered = Rc::new(Cell::new(false));
    let told = answered.clone();
    tell_story(true, async move {
        let (root, ports) = start(access, None).await;
        let asked = ports.commit.ask(
            Commit {
                rows: rows(&run(1), [accepted()]).into(),
            },
            SOON,
        );
        tokio::task::spawn_local(async move {
            told.set(matches!(asked.await, Ok(Ok(_))));
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(root);
        Ok(())
    })?;
    assert!(!answered.get());
    let mut heir = disk.open(&runtime(2));
    assert_eq!(crate::journal::Store::claim(&mut heir, &run(1), 1), Ok(2));
    Ok(())
}
