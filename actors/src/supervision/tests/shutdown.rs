//! How a tree goes: in order, in time, and without a trace.

use super::cast::*;
use crate::supervision::*;

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
    // The restart of a comes due before, when and after the last one has drained.
    for millis in 95..=105 {
        tell_story(async move {
            let log = Log::default();
            let (a, b) = (worker("a", &log), worker("b", &log));
            let (boom, slow) = (a.port::<Boom>(), b.port::<Slow>());
            let root = start(&log, settings(Strategy::OneForOne), vec![a.spec(), b.spec()]).await;
            let last = slow.ask(
                Slow {
                    millis,
                    then_panic: false,
                },
                SOON,
            );
            let _ = boom.ask(Boom, SOON).await;
            tokio::task::yield_now().await;
            assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
            assert_eq!(last.await.unwrap(), 9);
            let lines = log.take();
            assert!(!lines.contains(&"up a#2".to_string()), "{millis}: {lines:?}");
        });
    }
}

#[test]
fn nothing_is_left_of_a_tree_that_is_gone() {
    for shut_down in [true, false] {
        tell_story(async move {
            let log = Log::default();
            let sentinel = std::rc::Rc::new(());
            let held = sentinel.clone();
            let place = Registration::<Worker>::new("a");
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
