//! Who is restarted, when, with whom, and what becomes of the messages meanwhile.

use super::cast::*;
use crate::supervision::*;

#[test]
fn a_panic_restarts_with_fresh_state_behind_the_same_port() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (count, boom) = (child.port::<Count>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 1));
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 2));
        let (died, first, second) = tokio::join!(
            boom.ask(Boom, SOON),
            count.ask(Count, SOON),
            count.ask(Count, SOON)
        );
        match died {
            Err(AskError::Died {
                incarnation: 1,
                cause: Exit::Panicked { message, at },
            }) => {
                assert_eq!(&*message, "boom");
                assert!(at.contains("cast.rs:"), "{at}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((first.unwrap(), second.unwrap()), ((2, 1), (2, 2)));
        assert!(
            !log.take().iter().any(|line| line.starts_with("goodbye")),
            "no hook runs on a broken actor"
        );
    });
}

#[test]
fn tells_queued_behind_a_crash_survive_in_order() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (jot, boom) = (child.port::<Jot>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        boom.tell(Boom).unwrap();
        for number in 0..5 {
            jot.tell(Jot { number }).unwrap();
        }
        pass(50).await;
        jot.tell(Jot { number: 5 }).unwrap();
        pass(500).await;
        let jots: Vec<_> = log
            .take()
            .into_iter()
            .filter(|line| line.starts_with("jot"))
            .collect();
        assert_eq!(
            jots,
            (0..6)
                .map(|number| format!("jot {number} by a#2"))
                .collect::<Vec<_>>()
        );
    });
}

#[test]
fn rest_for_one_stops_in_reverse_and_restarts_in_order() {
    tell_story(async {
        let log = Log::default();
        let children = ["a", "b", "c"].map(|name| worker(name, &log));
        let boom = children[1].port::<Boom>();
        let specs = children.into_iter().map(Child::spec).collect();
        let _root = start(&log, settings(Strategy::RestForOne), specs).await;
        log.take();
        let _ = boom.ask(Boom, SOON).await;
        pass(300).await;
        let expected = [
            "exit b#1 panicked boom",
            "restart b group=2 in 100",
            "stopping c",
            "goodbye c#1",
            "exit c#1 was shut down",
            "up b#2",
            "up c#2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn one_for_all_stops_everyone_in_reverse() {
    tell_story(async {
        let log = Log::default();
        let children = ["a", "b", "c"].map(|name| worker(name, &log));
        let fail = children[1].port::<Fail>();
        let specs = children.into_iter().map(Child::spec).collect();
        let _root = start(&log, settings(Strategy::OneForAll), specs).await;
        log.take();
        fail.ask(Fail, SOON).await.unwrap();
        pass(300).await;
        let expected = [
            "exit b#1 failed: no more paper",
            "restart b group=3 in 100",
            "stopping c",
            "goodbye c#1",
            "exit c#1 was shut down",
            "stopping a",
            "goodbye a#1",
            "exit a#1 was shut down",
            "up a#2",
            "up b#2",
            "up c#2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn a_transient_child_rests_after_a_normal_end_and_a_temporary_one_after_any() {
    tell_story(async {
        let log = Log::default();
        let transient = worker("a", &log).restart(Restart::Transient);
        let temporary = worker("b", &log).restart(Restart::Temporary);
        let (quit, boom, count) = (
            transient.port::<Quit>(),
            transient.port::<Boom>(),
            transient.port::<Count>(),
        );
        let (boom_b, count_b) = (temporary.port::<Boom>(), temporary.port::<Count>());
        let _root = start(
            &log,
            settings(Strategy::OneForOne),
            vec![transient.spec(), temporary.spec()],
        )
        .await;
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap().0, 2);
        quit.ask(Quit, SOON).await.unwrap();
        let down = count.ask(Count, SOON).await;
        assert!(
            matches!(
                down,
                Err(AskError::Down {
                    cause: Exit::Normal,
                    message: Count
                })
            ),
            "{down:?}"
        );
        let _ = boom_b.ask(Boom, SOON).await;
        let down = count_b.ask(Count, SOON).await;
        assert!(
            matches!(
                down,
                Err(AskError::Down {
                    cause: Exit::Panicked { .. },
                    ..
                })
            ),
            "{down:?}"
        );
    });
}

#[test]
fn shutdown_drains_in_reverse_and_kills_at_the_deadline() {
    tell_story(async {
        let log = Log::default();
        let children = [
            worker("a", &log),
            worker("b", &log).grace(ms(200)),
            worker("c", &log),
        ];
        let ports = [0, 1, 2].map(|index| children[index].port::<Slow>());
        let late = children[0].port::<Count>();
        let specs = children.into_iter().map(Child::spec).collect();
        let root = start(&log, settings(Strategy::OneForOne), specs).await;
        log.take();
        let asks = [(0, 100), (1, 60_000), (2, 1000)].map(|(index, millis)| {
            let port: &Port<Slow> = &ports[index];
            tokio::task::spawn_local(port.ask(
                Slow {
                    millis,
                    then_panic: false,
                },
                SOON,
            ))
        });
        pass(1).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
        assert_eq!(
            begun.elapsed(),
            ms(1199),
            "c drains for 999, b is killed after 200, a was done"
        );
        let mut replies = Vec::new();
        for ask in asks {
            replies.push(ask.await.unwrap().ok());
        }
        assert_eq!(replies, [Some(9), None, Some(9)]);
        let expected = [
            "stopping root",
            "stopping c",
            "goodbye c#1",
            "exit c#1 was shut down",
            "stopping b",
            "goodbye b#1",
            "exit b#1 was killed",
            "stopping a",
            "goodbye a#1",
            "exit a#1 was shut down",
            "exit root#1 was shut down",
        ];
        assert_eq!(log.take(), expected);
        let down = late.ask(Count, SOON).await;
        assert!(
            matches!(
                down,
                Err(AskError::Down {
                    cause: Exit::Shutdown,
                    ..
                })
            ),
            "{down:?}"
        );
    });
}

#[test]
fn pauses_double_and_begin_anew_when_the_child_has_settled() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (count, boom) = (child.port::<Count>(), child.port::<Boom>());
        let patient = SupervisorSettings {
            intensity: 100,
            ..settings(Strategy::OneForOne)
        };
        let _root = start(&log, patient, vec![child.spec()]).await;
        let crash = async || {
            let begun = tokio::time::Instant::now();
            let _ = boom.ask(Boom, SOON).await;
            count.ask(Count, SOON).await.unwrap();
            begun.elapsed().as_millis()
        };
        let mut pauses = Vec::new();
        for _ in 0..7 {
            pauses.push(crash().await);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
        pass(61_000).await;
        assert_eq!(crash().await, 100);
    });
}

#[test]
fn one_childs_pause_does_not_delay_another() {
    tell_story(async {
        let log = Log::default();
        let (a, b) = (worker("a", &log), worker("b", &log));
        let (boom_a, boom_b, count_b) = (a.port::<Boom>(), b.port::<Boom>(), b.port::<Count>());
        let slow = BackoffSettings {
            first: ms(20_000),
            ..settings(Strategy::OneForOne).backoff
        };
        let slow_inside = SupervisorSettings {
            backoff: BackoffSettings {
                delay_max: ms(20_000),
                ..slow
            },
            ..settings(Strategy::OneForOne)
        };
        let _root = start(&log, slow_inside, vec![a.spec(), b.spec()]).await;
        let begun = tokio::time::Instant::now();
        let _ = boom_a.ask(Boom, SOON).await;
        pass(15_000).await;
        let _ = boom_b.ask(Boom, SOON).await;
        count_b.ask(Count, SOON).await.unwrap();
        assert_eq!(begun.elapsed(), ms(35_000));
        assert_eq!(log.take().last().unwrap(), "up b#2", "a was back 15 s before");
    });
}

#[test]
fn jitter_follows_from_the_seed() {
    let pauses_of = |seed| {
        let log = Log::default();
        let shared = log.clone();
        tell_story(async move {
            let child = worker("a", &shared);
            let (count, boom) = (child.port::<Count>(), child.port::<Boom>());
            let mut jittery = settings(Strategy::OneForOne);
            jittery.backoff.jitter = true;
            let tree = supervisor("root", jittery, vec![child.spec()]);
            let of_root = RootSettings {
                seed,
                observer: shared.observer(),
                ..Default::default()
            };
            let _root = Root::start_local(tree, of_root).await;
            for _ in 0..3 {
                let _ = boom.ask(Boom, SOON).await;
                count.ask(Count, SOON).await.unwrap();
            }
        });
        log.take()
    };
    assert_eq!(pauses_of(1), pauses_of(1));
    assert_ne!(pauses_of(1), pauses_of(2));
}

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
fn a_builder_that_panics_is_an_exit_like_any_other() {
    tell_story(async {
        let log = Log::default();
        let child: Child<Worker> = Child::new("a", |_| panic!("no config"));
        let count = child.port::<Count>();
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let exit = root.wait().await;
        assert!(
            matches!(&exit, Exit::Escalated { why, .. } if why.contains("no config")),
            "{exit}"
        );
        assert!(matches!(count.ask(Count, SOON).await, Err(AskError::Down { .. })));
        assert_eq!(
            log.take()
                .iter()
                .filter(|line| line.starts_with("exit a#"))
                .count(),
            4
        );
    });
}

struct Fragile;

impl Actor for Fragile {
    const KIND: &'static str = "fragile";
    const HANDLES: &'static [&'static str] = &["Count"];

    fn started(&mut self, ctx: &mut Context<Self>) {
        assert!(ctx.incarnation() > 2, "not yet");
    }
}

impl Handles<Count> for Fragile {
    fn handle(&mut self, _: Count, ctx: &mut Context<Self>) -> Answer<Self, (u64, u32)> {
        Answer::now((ctx.incarnation(), 0))
    }
}

#[test]
fn a_panic_in_started_is_an_exit_like_any_other_and_messages_wait_for_a_life_that_comes_up() {
    tell_story(async {
        let log = Log::default();
        let child = Child::new("a", |_| Fragile);
        let count = child.port::<Count>();
        let early = tokio::task::spawn_local(count.ask(Count, SOON));
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        assert_eq!(early.await.unwrap().unwrap(), (3, 0));
        let exits = log.take().into_iter().filter(|line| line.starts_with("exit a#"));
        assert_eq!(
            exits.collect::<Vec<_>>(),
            ["exit a#1 panicked not yet", "exit a#2 panicked not yet"]
        );
    });
}

#[test]
fn a_group_restart_does_not_wait_for_a_dependent_that_waits_for_the_dead() {
    tell_story(async {
        let log = Log::default();
        let (base, dependent) = (worker("base", &log), worker("dependent", &log).grace(ms(60_000)));
        let (boom, base_slow) = (base.port::<Boom>(), base.port::<Slow>());
        let (port, count) = (dependent.port::<Work>(), dependent.port::<Count>());
        let specs = vec![base.spec(), dependent.spec()];
        let _root = start(&log, settings(Strategy::RestForOne), specs).await;
        let wait_for_base = move |_: &mut Worker, ctx: &mut Context<Worker>| {
            let never = base_slow.ask(
                Slow {
                    millis: 50_000,
                    then_panic: false,
                },
                ms(100_000),
            );
            ctx.spawn_then(never, |_, _, _| {});
        };
        port.ask(work(wait_for_base), SOON).await.unwrap();
        let begun = tokio::time::Instant::now();
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
        assert_eq!(begun.elapsed(), ms(100), "the pause and nothing else");
    });
}

#[test]
fn the_grace_of_a_stopping_task_is_waited_for_and_then_it_is_killed() {
    struct Slowpoke(u64);
    impl Actor for Slowpoke {
        const KIND: &'static str = "slowpoke";
        const HANDLES: &'static [&'static str] = &[];
        fn stopping(&mut self, ctx: &mut Context<Self>) {
            assert!(ctx.shutting_down());
            ctx.spawn(pass(self.0));
        }
    }
    let time_to_go = |needed: u64| {
        let log = Log::default();
        let shared = log.clone();
        tell_story(async move {
            let child = Child::new("a", move |_| Slowpoke(needed)).grace(ms(500));
            let root = start(&shared, settings(Strategy::OneForOne), vec![child.spec()]).await;
            let begun = tokio::time::Instant::now();
            assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
            shared.write(format!("{} ms", begun.elapsed().as_millis()));
        });
        let lines = log.take();
        (lines[lines.len() - 3].clone(), lines[lines.len() - 1].clone())
    };
    assert_eq!(
        time_to_go(300),
        ("exit a#1 was shut down".into(), "300 ms".into())
    );
    assert_eq!(time_to_go(900), ("exit a#1 was killed".into(), "500 ms".into()));
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
fn a_dropped_root_takes_the_tree_with_it() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (slow, count) = (child.port::<Slow>(), child.port::<Count>());
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let in_work = tokio::task::spawn_local(slow.ask(
            Slow {
                millis: 9000,
                then_panic: false,
            },
            SOON,
        ));
        pass(1).await;
        drop(root);
        assert!(matches!(
            in_work.await.unwrap(),
            Err(AskError::Died {
                cause: Exit::Killed,
                ..
            })
        ));
        assert!(matches!(count.ask(Count, SOON).await, Err(AskError::Down { .. })));
    });
}

#[test]
fn a_shutdown_between_two_lives_ends_at_once() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (boom, count) = (child.port::<Boom>(), child.port::<Count>());
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let _ = boom.ask(Boom, SOON).await;
        let waiting = tokio::task::spawn_local(count.ask(Count, SOON));
        let begun = tokio::time::Instant::now();
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
        assert!(matches!(
            waiting.await.unwrap(),
            Err(AskError::Down {
                cause: Exit::Shutdown,
                ..
            })
        ));
        assert_eq!(begun.elapsed(), ms(0));
    });
}

#[test]
fn crashes_seen_while_a_group_is_being_stopped_are_not_forgotten() {
    tell_story(async {
        let log = Log::default();
        let children = ["a", "b", "c"].map(|name| worker(name, &log).grace(ms(1000)));
        let (boom_a, boom_b) = (children[0].port::<Boom>(), children[1].port::<Boom>());
        let (work_c, count_a) = (children[2].port::<Work>(), children[0].port::<Count>());
        let specs = children.into_iter().map(Child::spec).collect();
        let _root = start(&log, settings(Strategy::RestForOne), specs).await;
        // c takes its time to go, so that a can crash while b's group is being stopped.
        work_c
            .ask(work(|worker, _| worker.slow_goodbye = ms(500)), SOON)
            .await
            .unwrap();
        log.take();
        let _ = boom_b.ask(Boom, SOON).await;
        pass(100).await;
        let _ = boom_a.ask(Boom, SOON).await;
        assert_eq!(count_a.ask(Count, SOON).await.unwrap(), (2, 1));
        pass(1000).await;
        let expected = [
            "exit b#1 panicked boom",
            "restart b group=2 in 100",
            "stopping c",
            "goodbye c#1",
            "exit a#1 panicked boom",
            "exit c#1 was shut down",
            "restart a group=3 in 100",
            "up a#2",
            "up b#2",
            "up c#2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
#[should_panic(expected = "root has two children called a")]
fn two_children_of_one_name_are_refused() {
    let log = Log::default();
    let _ = supervisor(
        "root",
        settings(Strategy::OneForOne),
        vec![worker("a", &log).spec(), worker("a", &log).spec()],
    );
}

#[test]
fn whoever_drains_and_asks_one_that_is_gone_already_learns_it_at_once() {
    tell_story(async {
        let log = Log::default();
        let (first, last) = (worker("first", &log), worker("last", &log));
        let (port, count) = (first.port::<Work>(), last.port::<Count>());
        let root = start(
            &log,
            settings(Strategy::OneForOne),
            vec![first.spec(), last.spec()],
        )
        .await;
        let ask_on_leaving = move |worker: &mut Worker, _: &mut Context<Worker>| {
            worker.last_words = Some(count);
        };
        port.ask(work(ask_on_leaving), SOON).await.unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
        assert_eq!(begun.elapsed(), ms(0));
        assert!(log.take().contains(&"nobody heard first".to_string()));
    });
}

#[test]
fn a_shutdown_that_takes_too_long_is_cut_short_at_every_depth() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log).grace(ms(60_000));
        let (slow, count) = (child.port::<Slow>(), child.port::<Count>());
        let inner = supervisor("inner", settings(Strategy::OneForOne), vec![child.spec()]);
        let root = start(&log, settings(Strategy::OneForOne), vec![inner.spec()]).await;
        let stuck = slow.ask(
            Slow {
                millis: 3_600_000,
                then_panic: false,
            },
            ms(7_200_000),
        );
        pass(1).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(root.shutdown(ms(300)).await, Exit::Killed);
        assert_eq!(begun.elapsed(), ms(300));
        assert!(matches!(
            stuck.await,
            Err(AskError::Died {
                cause: Exit::Killed,
                ..
            })
        ));
        assert!(matches!(count.ask(Count, SOON).await, Err(AskError::Down { .. })));
    });
}

#[test]
fn nobody_is_started_any_more_when_the_tree_was_told_to_go() {
    tell_story(async {
        let log = Log::default();
        let (a, b) = (worker("a", &log), worker("b", &log));
        let (boom, slow) = (a.port::<Boom>(), b.port::<Slow>());
        let root = start(&log, settings(Strategy::OneForOne), vec![a.spec(), b.spec()]).await;
        let _ = boom.ask(Boom, SOON).await;
        let last = slow.ask(
            Slow {
                millis: 2000,
                then_panic: false,
            },
            SOON,
        );
        pass(50).await;
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
        assert_eq!(last.await.unwrap(), 9);
        assert!(!log.take().contains(&"up a#2".to_string()));
    });
}

#[test]
fn nothing_is_left_of_a_tree_that_is_gone() {
    for shut_down in [true, false] {
        tell_story(async move {
            let log = Log::default();
            let sentinel = std::rc::Rc::new(());
            let held = sentinel.clone();
            let place = Place::<Worker>::new("a");
            let (own_port, own_log) = (place.port::<Count>(), log.clone());
            let child = place.child(move |ctx| {
                let (held, port) = (held.clone(), own_port.clone());
                ctx.spawn(async move {
                    let _held = (held, port);
                    std::future::pending::<()>().await;
                });
                Worker {
                    counted: 0,
                    log: own_log.clone(),
                    slow_goodbye: ms(0),
                    last_words: None,
                }
            });
            let boom = child.port::<Boom>();
            let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
            let _ = boom.ask(Boom, SOON).await;
            pass(200).await;
            assert_eq!(std::rc::Rc::strong_count(&sentinel), 3);
            if shut_down {
                assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
            }
            drop((root, boom));
            tokio::task::yield_now().await;
            assert_eq!(std::rc::Rc::strong_count(&sentinel), 1);
        });
    }
}
