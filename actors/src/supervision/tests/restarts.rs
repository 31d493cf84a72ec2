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
