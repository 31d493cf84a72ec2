//! The state of every message is known.

use super::cast::*;
use crate::supervision::*;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn a_full_mailbox_refuses_tells_and_gives_them_back() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let jot = child.port::<Jot>();
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let mut taken = 0;
        for number in 0..100 {
            match jot.clone().tell(Jot { number }) {
                Ok(()) => taken += 1,
                Err(TellError::Busy(jot)) => assert_eq!(jot.number, number),
                Err(down) => panic!("{down}"),
            }
        }
        assert_eq!(taken, 16);
    });
}

#[test]
fn asks_wait_in_line_before_a_full_mailbox_and_beyond_the_line_they_are_refused() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let count = child.port::<Count>();
        let asks: Vec<_> = (0..16 + 16 * 16).map(|_| count.ask(Count, SOON)).collect();
        let refused = count.ask(Count, SOON).await;
        assert!(matches!(refused, Err(AskError::Busy(Count))), "{refused:?}");
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let mut replies = Vec::new();
        for ask in asks {
            replies.push(ask.await.unwrap().1);
        }
        assert_eq!(replies, (1..=272).collect::<Vec<_>>());
    });
}

#[test]
fn patient_asks_stand_in_a_long_line_that_ends_too() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let count = child.port::<Count>();
        let places = 16 + crate::supervision::mailbox::PATIENT_MAX;
        let asks: Vec<_> = (0..places).map(|_| count.ask_patiently(Count, SOON)).collect();
        let refused = count.ask_patiently(Count, SOON).await;
        assert!(matches!(refused, Err(AskError::Busy(Count))), "{refused:?}");
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        for (ask, place) in asks.into_iter().zip(1..) {
            assert_eq!(ask.await.unwrap().1, place);
        }
    });
}

#[test]
fn asks_and_tells_keep_their_order_full_or_not_and_across_a_crash() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log).mailbox(2);
        let (jot, boom) = (child.port::<Jot>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        boom.tell(Boom).unwrap();
        jot.tell(Jot { number: 0 }).unwrap();
        let asks: Vec<_> = (1..6).map(|number| jot.ask(Jot { number }, SOON)).collect();
        assert!(jot.tell(Jot { number: 9 }).is_err(), "nobody jumps the line");
        for ask in asks {
            ask.await.unwrap();
        }
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
fn an_ask_never_begun_times_out_with_its_message_and_is_not_handled_later() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let jot = child.port::<Jot>();
        let expired = jot.ask(Jot { number: 1 }, ms(500)).await;
        let Err(AskError::Timeout {
            message: Some(message),
        }) = expired
        else {
            panic!("{expired:?}")
        };
        assert_eq!(message, Jot { number: 1 });
        drop(jot.ask(Jot { number: 2 }, SOON));
        jot.tell(Jot { number: 3 }).unwrap();
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        pass(1).await;
        assert_eq!(log.take()[2..], ["jot 3 by a#1"]);
    });
}

#[test]
fn asks_taken_back_leave_their_room_to_others() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let jot = child.port::<Jot>();
        for _ in 0..1000 {
            drop(jot.ask(Jot { number: 1 }, SOON));
        }
        for number in 0..16 {
            jot.tell(Jot { number }).unwrap();
        }
        drop(child);
    });
}

#[test]
fn an_ask_to_a_stuck_answer_times_out_and_others_are_served_meanwhile() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (slow, count) = (child.port::<Slow>(), child.port::<Count>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let stuck = slow.ask(
            Slow {
                millis: u64::MAX / 2,
                then_panic: false,
            },
            ms(1000),
        );
        let stuck = tokio::task::spawn_local(stuck);
        let begun = tokio::time::Instant::now();
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 1));
        assert_eq!(begun.elapsed(), ms(0));
        assert!(matches!(
            stuck.await.unwrap(),
            Err(AskError::Timeout { message: None })
        ));
        assert_eq!(begun.elapsed(), ms(1000));
    });
}

#[test]
fn an_idempotent_ask_is_sent_again_when_its_handler_died() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let slow = child.port::<Slow>();
        let boom = child.port::<Boom>();
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let again = slow.ask_again(
            Slow {
                millis: 40,
                then_panic: false,
            },
            SOON,
        );
        let again = tokio::task::spawn_local(again);
        pass(20).await;
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(again.await.unwrap().unwrap(), 9);
        let poison = boom.ask_again(Boom, SOON).await;
        assert!(
            matches!(poison, Err(AskError::Down { .. })),
            "a poisonous one ends with the tree: {poison:?}"
        );
    });
}

#[test]
fn what_nobody_handles_to_the_end_is_a_dead_letter_with_name_count_and_cause() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log).restart(Restart::Temporary);
        let (jot, quit, boom, count) = (
            child.port::<Jot>(),
            child.port::<Quit>(),
            child.port::<Boom>(),
            child.port::<Count>(),
        );
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        log.take();
        boom.tell(Boom).unwrap();
        quit.tell(Quit).unwrap();
        for number in 0..3 {
            jot.tell(Jot { number }).unwrap();
        }
        let asked = tokio::task::spawn_local(count.ask(Count, SOON));
        pass(1).await;
        assert_eq!(
            log.take(),
            [
                "exit a#1 panicked boom",
                "dead a 1 Boom",
                "dead a 3 Jot",
                "dead a 1 Quit"
            ]
        );
        let asked = asked.await.unwrap();
        assert!(matches!(
            asked,
            Err(AskError::Down {
                cause: Exit::Panicked { .. },
                message: Count
            })
        ));
        let refused = jot.tell(Jot { number: 7 });
        assert!(
            matches!(
                refused,
                Err(TellError::Down {
                    message: Jot { number: 7 },
                    ..
                })
            ),
            "{refused:?}"
        );
    });
}

#[test]
fn notes_to_self_come_after_what_is_in_the_mailbox_and_die_with_the_life_that_wrote_them() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (port, jot, boom) = (child.port::<Work>(), child.port::<Jot>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        log.take();
        port.tell(work(|_, ctx| ctx.notify(Jot { number: 2 }))).unwrap();
        jot.tell(Jot { number: 1 }).unwrap();
        pass(1).await;
        assert_eq!(log.take(), ["jot 1 by a#1", "jot 2 by a#1"]);
        port.tell(work(|_, ctx| ctx.notify(Jot { number: 3 }))).unwrap();
        boom.tell(Boom).unwrap();
        pass(500).await;
        let expected = [
            "exit a#1 panicked boom",
            "dead a 1 Boom",
            "dead a 1 Jot",
            "restart a group=1 in 100",
            "up a#2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn timers_fire_in_order_can_be_cancelled_and_die_with_their_life() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (port, boom) = (child.port::<Work>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        log.take();
        let set = |_: &mut Worker, ctx: &mut Context<Worker>| {
            ctx.notify_after(ms(30), Jot { number: 3 });
            ctx.notify_after(ms(10), Jot { number: 1 });
            let second = ctx.notify_after(ms(20), Jot { number: 2 });
            ctx.notify_after(ms(30), Jot { number: 4 });
            assert!(ctx.cancel_timer(second));
            assert!(!ctx.cancel_timer(second));
        };
        port.ask(work(set), SOON).await.unwrap();
        pass(29).await;
        assert_eq!(log.take(), ["jot 1 by a#1"]);
        pass(2).await;
        assert_eq!(log.take(), ["jot 3 by a#1", "jot 4 by a#1"]);
        port.ask(work(set), SOON).await.unwrap();
        let _ = boom.ask(Boom, SOON).await;
        pass(1000).await;
        assert!(!log.take().iter().any(|line| line.starts_with("jot")));
    });
}

#[test]
fn a_function_can_stand_where_an_actor_would() {
    tell_story(async {
        let seen = Rc::new(Cell::new(0));
        let sum = seen.clone();
        let port = Port::<Jot>::answered_by("desk", move |jot| sum.set(sum.get() + jot.number));
        port.tell(Jot { number: 2 }).unwrap();
        port.ask(Jot { number: 3 }, SOON).await.unwrap();
        assert_eq!((seen.get(), &*port.name()), (5, "desk"));
    });
}

#[test]
fn two_actors_can_hold_ports_to_each_other() {
    tell_story(async {
        let log = Log::default();
        let (left, right) = (
            Registration::<Worker>::new("left"),
            Registration::<Worker>::new("right"),
        );
        let (to_left, to_right) = (left.port::<Work>(), right.port::<Jot>());
        let back = left.port::<Jot>();
        let build = |log: &Log| {
            let log = log.clone();
            move |_: &mut Context<Worker>| Worker {
                counted: 0,
                log: log.clone(),
                slow_goodbye: ms(0),
                last_words: None,
            }
        };
        let specs = vec![left.child(build(&log)).spec(), right.child(build(&log)).spec()];
        let _root = start(&log, settings(Strategy::OneForOne), specs).await;
        log.take();
        to_left
            .ask(work(move |_, _| to_right.tell(Jot { number: 1 }).unwrap()), SOON)
            .await
            .unwrap();
        back.ask(Jot { number: 2 }, SOON).await.unwrap();
        assert_eq!(log.take(), ["jot 1 by right#1", "jot 2 by left#1"]);
    });
}
