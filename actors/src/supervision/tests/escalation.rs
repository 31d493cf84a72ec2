//! What happens above a child that does not come back.

use super::cast::*;
use crate::supervision::*;

#[test]
fn too_many_restarts_escalate_and_the_parent_restarts_the_subtree_behind_the_same_ports() {
    tell_story(async {
        let log = Log::default();
        let (a, b) = (worker("a", &log), worker("b", &log));
        let (boom, count_a, count_b) = (a.port::<Boom>(), a.port::<Count>(), b.port::<Count>());
        let below = supervisor("below", settings(Strategy::OneForOne), vec![a.spec(), b.spec()]);
        let root = start(&log, settings(Strategy::OneForOne), vec![below.spec()]).await;
        for _ in 0..4 {
            let _ = boom.ask(Boom, SOON).await;
        }
        pass(1).await;
        let lines = log.take();
        assert!(
            lines.contains(&"escalated below over a".to_string()),
            "{lines:#?}"
        );
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("exit below#1 gave up on a")),
            "{lines:#?}"
        );
        assert_eq!(count_a.ask(Count, SOON).await.unwrap(), (5, 1));
        assert_eq!(count_b.ask(Count, SOON).await.unwrap(), (2, 1));
        // It goes on crashing: below gives up again and again, and then root gives up on below.
        let crash_on = async { while !matches!(boom.ask(Boom, SOON).await, Err(AskError::Down { .. })) {} };
        let (exit, ()) = tokio::join!(root.wait(), crash_on);
        assert!(
            matches!(&exit, Exit::Escalated { child, .. } if &**child == "below"),
            "{exit}"
        );
    });
}

#[test]
fn progress_erases_the_restarts_so_far() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (port, boom, count) = (child.port::<Work>(), child.port::<Boom>(), child.port::<Count>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        for _ in 0..20 {
            port.ask(work(|_, ctx| ctx.progress()), SOON).await.unwrap();
            let _ = boom.ask(Boom, SOON).await;
        }
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (21, 1));
    });
}

#[test]
fn restarts_in_a_row_without_progress_escalate_however_slow_they_are() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (port, boom) = (child.port::<Work>(), child.port::<Boom>());
        let strict = SupervisorSettings {
            without_progress_max: Some(4),
            ..settings(Strategy::OneForOne)
        };
        let root = start(&log, strict, vec![child.spec()]).await;
        for _ in 0..3 {
            pass(100_000).await;
            let _ = boom.ask(Boom, SOON).await;
        }
        port.ask(work(|_, ctx| ctx.progress()), SOON).await.unwrap();
        for crash in 0..5 {
            pass(100_000).await;
            let died = boom.ask(Boom, SOON).await;
            assert!(
                matches!(died, Err(AskError::Died { .. })),
                "crash {crash}: {died:?}"
            );
        }
        let exit = root.wait().await;
        let Exit::Escalated { why, .. } = &exit else {
            panic!("{exit}")
        };
        assert!(why.contains("without progress"), "{why}");
    });
}

#[test]
fn when_a_subtree_is_down_for_good_everyone_who_waits_learns_it_at_once() {
    tell_story(async {
        let log = Log::default();
        let broken: Child<Worker> = Child::new("broken", |_| panic!("no config"));
        let patient = BackoffSettings {
            first: ms(1000),
            jitter: false,
            ..Default::default()
        };
        let (inner, count) = (worker("inner", &log), broken.port::<Count>());
        let inner_count = inner.port::<Slow>();
        let inner = supervisor("inner tree", settings(Strategy::OneForOne), vec![inner.spec()]);
        let once = SupervisorSettings {
            intensity: 1,
            backoff: patient,
            ..settings(Strategy::OneForOne)
        };
        let _root = start(&log, once, vec![inner.spec(), broken.spec()]).await;
        let begun = tokio::time::Instant::now();
        let waiting = (0..10).map(|_| tokio::task::spawn_local(count.ask(Count, ms(3_600_000))));
        let waiting: Vec<_> = waiting.collect();
        let in_work = inner_count.ask(
            Slow {
                millis: 3_600_000,
                then_panic: false,
            },
            ms(7_200_000),
        );
        let in_work = tokio::task::spawn_local(in_work);
        for ask in waiting {
            let down = ask.await.unwrap();
            assert!(
                matches!(
                    down,
                    Err(AskError::Down {
                        cause: Exit::Escalated { .. },
                        ..
                    })
                ),
                "{down:?}"
            );
        }
        assert!(matches!(
            in_work.await.unwrap(),
            Err(AskError::Died {
                cause: Exit::Shutdown,
                ..
            })
        ));
        assert_eq!(begun.elapsed(), ms(1000));
    });
}

#[test]
fn a_supervisor_that_is_killed_takes_its_children_with_it_and_starts_them_anew() {
    tell_story(async {
        let log = Log::default();
        let (a, b) = (worker("a", &log), worker("b", &log));
        let (boom, count_b, slow_b) = (a.port::<Boom>(), b.port::<Count>(), b.port::<Slow>());
        let below = supervisor("below", settings(Strategy::OneForOne), vec![a.spec(), b.spec()]);
        let _root = start(&log, settings(Strategy::OneForOne), vec![below.spec()]).await;
        log.take();
        let mut armed = true;
        set_boundary_hook(Some(Box::new(move |boundary| {
            let here = &*boundary.name == "below" && boundary.message == "ChildEnded";
            if here && std::mem::take(&mut armed) {
                Verdict::Panic
            } else {
                Verdict::Pass
            }
        })));
        let in_work = tokio::task::spawn_local(slow_b.ask(
            Slow {
                millis: 9000,
                then_panic: false,
            },
            SOON,
        ));
        pass(1).await;
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count_b.ask(Count, SOON).await.unwrap(), (2, 1));
        let died = in_work.await.unwrap();
        assert!(
            matches!(
                died,
                Err(AskError::Died {
                    cause: Exit::Killed,
                    ..
                })
            ),
            "{died:?}"
        );
        set_boundary_hook(None);
        let expected = [
            "exit a#1 panicked boom",
            "exit b#1 was killed",
            "exit below#1 panicked killed at a boundary: Before ChildEnded",
            "restart below group=1 in 100",
            "up a#2",
            "up b#2",
            "up below#2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn a_top_that_was_killed_is_started_again_and_one_that_gave_up_is_not() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (boom, count) = (child.port::<Boom>(), child.port::<Count>());
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let mut armed = true;
        set_boundary_hook(Some(Box::new(move |boundary| {
            let here = boundary.kind == "supervisor" && boundary.when == When::After;
            if here && std::mem::take(&mut armed) {
                Verdict::Stop
            } else {
                Verdict::Pass
            }
        })));
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
        set_boundary_hook(None);
        assert!(log.take().contains(&"exit root#1 was killed".to_string()));
        while !matches!(boom.ask(Boom, SOON).await, Err(AskError::Down { .. })) {}
        assert!(matches!(root.wait().await, Exit::Escalated { .. }));
    });
}

#[test]
fn progress_below_counts_above() {
    let lives = |progresses: bool| {
        let log = Log::default();
        let shared = log.clone();
        tell_story(async move {
            let child = worker("a", &shared);
            let (port, boom) = (child.port::<Work>(), child.port::<Boom>());
            let strict = SupervisorSettings {
                intensity: 1,
                ..settings(Strategy::OneForOne)
            };
            let below = supervisor("below", strict.clone(), vec![child.spec()]);
            let _root = start(&shared, strict, vec![below.spec()]).await;
            for round in 0..9 {
                // Every second crash escalates.
                if progresses && round % 2 == 0 {
                    let _ = port.ask(work(|_, ctx| ctx.progress()), SOON).await;
                }
                let _ = boom.ask(Boom, SOON).await;
            }
            pass(1000).await;
        });
        log.take().iter().filter(|line| line.starts_with("up a#")).count()
    };
    assert_eq!(lives(false), 4);
    assert_eq!(lives(true), 10);
}
