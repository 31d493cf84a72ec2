//! What an actor starts beside its handlers is part of it.

use super::cast::*;
use crate::supervision::*;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::Poll;

async fn one_worker(log: &Log) -> (Root, Port<Work>, Port<Slow>, Port<Count>) {
    let child = worker("a", log);
    let ports = (child.port(), child.port(), child.port());
    let root = start(log, settings(Strategy::OneForOne), vec![child.spec()]).await;
    log.take();
    (root, ports.0, ports.1, ports.2)
}

#[test]
fn a_panic_in_a_later_answer_is_the_exit_of_its_actor() {
    tell_story(async {
        let log = Log::default();
        let (_root, _, slow, count) = one_worker(&log).await;
        let bystander = slow.ask(
            Slow {
                millis: 5000,
                then_panic: false,
            },
            SOON,
        );
        let died = slow
            .ask(
                Slow {
                    millis: 20,
                    then_panic: true,
                },
                SOON,
            )
            .await;
        let Err(AskError::Died {
            cause: Exit::Panicked { message, at },
            ..
        }) = died
        else {
            panic!("{died:?}")
        };
        assert_eq!(&*message, "slow boom");
        assert!(at.contains("cast.rs:"), "{at}");
        assert!(matches!(
            bystander.await,
            Err(AskError::Died { incarnation: 1, .. })
        ));
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
    });
}

#[test]
fn a_panic_in_a_linked_task_is_the_exit_of_its_actor() {
    tell_story(async {
        let log = Log::default();
        let (_root, port, _, count) = one_worker(&log).await;
        let spawn = |_: &mut Worker, ctx: &mut Context<Worker>| {
            ctx.spawn(async {
                pass(10).await;
                panic!("task boom")
            });
        };
        port.ask(work(spawn), SOON).await.unwrap();
        pass(200).await;
        assert_eq!(log.take()[0], "exit a#1 panicked task boom");
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
    });
}

#[test]
fn what_follows_a_task_sees_the_actor() {
    tell_story(async {
        let log = Log::default();
        let (_root, port, _, count) = one_worker(&log).await;
        let spawn = |_: &mut Worker, ctx: &mut Context<Worker>| {
            ctx.spawn_then(
                async {
                    pass(10).await;
                    41
                },
                |worker, output, ctx| {
                    worker.counted = output;
                    ctx.notify(Jot { number: output });
                    ctx.spawn_then(async { 1 }, |worker, one, _| worker.counted += one);
                },
            );
        };
        port.ask(work(spawn), SOON).await.unwrap();
        pass(11).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 43));
        assert_eq!(log.take(), ["jot 41 by a#1"]);
    });
}

#[test]
fn linked_tasks_are_dropped_with_their_life() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (port, boom) = (child.port::<Work>(), child.port::<Boom>());
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let alive = Rc::new(());
        let held = alive.clone();
        let spawn = move |_: &mut Worker, ctx: &mut Context<Worker>| {
            ctx.spawn(async move {
                std::future::pending::<()>().await;
                drop(held);
            });
        };
        port.ask(work(spawn), SOON).await.unwrap();
        assert_eq!(Rc::strong_count(&alive), 2);
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(Rc::strong_count(&alive), 1);
    });
}

struct Adder {
    sum: u32,
}

message!(Add { amount: u32 } -> u32);

impl Actor for Adder {
    const KIND: &'static str = "adder";
    const HANDLES: &'static [&'static str] = &["Add"];
}

impl Handles<Add> for Adder {
    fn handle(&mut self, add: Add, _: &mut Context<Self>) -> Answer<Self, u32> {
        Answer::then(
            async move {
                pass(10).await;
                add.amount
            },
            |adder: &mut Self, amount, _| {
                adder.sum += amount;
                adder.sum
            },
        )
    }
}

#[test]
fn an_answer_can_come_from_the_actor_when_its_work_is_done() {
    tell_story(async {
        let log = Log::default();
        let child = Child::new("adder", |_| Adder { sum: 0 });
        let add = child.port::<Add>();
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let both = tokio::join!(add.ask(Add { amount: 1 }, SOON), add.ask(Add { amount: 2 }, SOON));
        assert_eq!((both.0.unwrap(), both.1.unwrap()), (1, 3));
    });
}

/// Waits for a signal that never comes, and counts how often somebody looks.
fn counted(polls: &Rc<Cell<u32>>) -> impl Future<Output = ()> + 'static {
    let polls = polls.clone();
    std::future::poll_fn(move |_| {
        polls.set(polls.get() + 1);
        Poll::Pending
    })
}

#[test]
fn a_wake_up_looks_at_what_was_woken_and_not_at_everything_that_waits() {
    const WAITING: u32 = 1_000;
    tell_story(async {
        let log = Log::default();
        let (_root, port, slow, count) = one_worker(&log).await;
        let polls = Rc::new(Cell::new(0));
        let seen = polls.clone();
        let spawn = move |_: &mut Worker, ctx: &mut Context<Worker>| {
            for _ in 0..WAITING {
                ctx.spawn(counted(&seen));
            }
        };
        port.ask(work(spawn), SOON).await.unwrap();
        for _ in 0..20 {
            count.ask(Count, SOON).await.unwrap();
            let soon = Slow {
                millis: 1,
                then_panic: false,
            };
            slow.ask(soon, SOON).await.unwrap();
        }
        assert_eq!(polls.get(), WAITING, "each was looked at once, when it began");
    });
}

#[test]
fn those_who_wait_are_told_of_a_death_in_the_order_in_which_they_came() {
    tell_story(async {
        let log = Log::default();
        let (_root, port, slow, _) = one_worker(&log).await;
        for number in 0..5 {
            let asked = slow.ask(
                Slow {
                    millis: 5000,
                    then_panic: false,
                },
                SOON,
            );
            let log = log.clone();
            tokio::task::spawn_local(async move {
                let died = matches!(asked.await, Err(AskError::Died { .. }));
                log.write(format!("{number} died: {died}"));
            });
        }
        pass(1).await;
        let _ = port.ask(work(|_, _| panic!("boom")), SOON).await;
        pass(1).await;
        let told = log.take();
        let told = told.iter().filter(|line| line.contains("died"));
        let expected = (0..5).map(|number| format!("{number} died: true"));
        assert_eq!(told.cloned().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    });
}
