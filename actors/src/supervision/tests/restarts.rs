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
            "exit c#1 shut down",
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
            "exit c#1 shut down",
            "stopping a",
            "goodbye a#1",
            "exit a#1 shut down",
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
            "exit c#1 shut down",
            "stopping b",
            "goodbye b#1",
            "exit b#1 killed",
            "stopping a",
            "goodbye a#1",
            "exit a#1 shut down",
            "exit root#1 shut down",
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
