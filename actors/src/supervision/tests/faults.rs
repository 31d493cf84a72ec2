//! What goes wrong elsewhere (see the experiments with actix, kameo and ractor) and does not here.

use super::cast::*;
use crate::supervision::*;
use std::cell::Cell;
use std::rc::Rc;

/// Panics in every place that runs after a panic.
struct Nasty;

impl Drop for Nasty {
    fn drop(&mut self) {
        panic!("dropped badly")
    }
}

impl Actor for Nasty {
    const KIND: &'static str = "nasty";
    const HANDLES: &'static [&'static str] = &["Boom", "Count", "Baggage"];

    fn stopping(&mut self, _: &mut Context<Self>) {
        panic!("stopped badly")
    }
}

impl Handles<Boom> for Nasty {
    fn handle(&mut self, _: Boom, _: &mut Context<Self>) -> Answer<Self, ()> {
        panic!("boom")
    }
}

impl Handles<Count> for Nasty {
    fn handle(&mut self, _: Count, ctx: &mut Context<Self>) -> Answer<Self, (u64, u32)> {
        Answer::now((ctx.incarnation(), 0))
    }
}

/// A message that panics when nobody takes it.
struct Baggage(bool);

message!(impl Baggage);

impl Drop for Baggage {
    fn drop(&mut self) {
        assert!(!self.0, "baggage left behind");
    }
}

impl Handles<Baggage> for Nasty {
    fn handle(&mut self, mut baggage: Baggage, _: &mut Context<Self>) -> Answer<Self, ()> {
        baggage.0 = false;
        Answer::now(())
    }
}

#[test]
fn an_actor_that_panics_in_drop_after_a_panic_does_not_abort_and_comes_back() {
    tell_story(async {
        let log = Log::default();
        let child = Child::new("nasty", |_| Nasty);
        let (boom, count) = (child.port::<Boom>(), child.port::<Count>());
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        assert!(matches!(boom.ask(Boom, SOON).await, Err(AskError::Died { .. })));
        assert_eq!(count.ask(Count, SOON).await.unwrap().0, 2);
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
        let lines = log.take();
        assert!(
            lines.contains(&"exit nasty#2 panicked dropped badly".to_string()),
            "{lines:#?}"
        );
    });
}

#[test]
fn messages_that_panic_in_drop_harm_nobody() {
    tell_story(async {
        let log = Log::default();
        let child = Child::new("nasty", |_| Nasty).restart(Restart::Temporary);
        let (boom, baggage) = (child.port::<Boom>(), child.port::<Baggage>());
        let healthy = worker("healthy", &log);
        let count = healthy.port::<Count>();
        let specs = vec![child.spec(), healthy.spec()];
        let _root = start(&log, settings(Strategy::OneForOne), specs).await;
        boom.tell(Boom).unwrap();
        baggage.tell(Baggage(true)).unwrap();
        pass(1).await;
        assert!(log.take().contains(&"dead nasty 1 Baggage".to_string()));
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 1));
    });
}

struct Chatterbox(Rc<Cell<u32>>);

message!(Again);

impl Actor for Chatterbox {
    const KIND: &'static str = "chatterbox";
    const HANDLES: &'static [&'static str] = &["Again"];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.notify(Again);
    }
}

impl Handles<Again> for Chatterbox {
    fn handle(&mut self, _: Again, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.0.set(self.0.get() + 1);
        ctx.notify(Again);
        Answer::now(())
    }
}

#[test]
fn an_actor_that_feeds_itself_does_not_starve_its_siblings_and_has_a_turn_of_64() {
    tell_story(async {
        let log = Log::default();
        let said = Rc::new(Cell::new(0));
        let shared = said.clone();
        let chatterbox = Child::new("chatterbox", move |_| Chatterbox(shared.clone()));
        let other = worker("other", &log);
        let count = other.port::<Count>();
        let specs = vec![chatterbox.spec(), other.spec()];
        let _root = start(&log, settings(Strategy::OneForOne), specs).await;
        let sibling = async move {
            for _ in 0..20 {
                let before = said.get();
                count.ask(Count, SOON).await.unwrap();
                let meanwhile = said.get() - before;
                assert!(
                    (1..=128).contains(&meanwhile) && meanwhile.is_multiple_of(64),
                    "{meanwhile}"
                );
            }
        };
        tokio::task::spawn_local(sibling).await.unwrap();
    });
}

struct Flooder;

impl Actor for Flooder {
    const KIND: &'static str = "flooder";
    const HANDLES: &'static [&'static str] = &["Again"];

    fn started(&mut self, ctx: &mut Context<Self>) {
        for _ in 0..100_000 {
            ctx.notify(Again);
        }
    }
}

impl Handles<Again> for Flooder {
    fn handle(&mut self, _: Again, _: &mut Context<Self>) -> Answer<Self, ()> {
        Answer::now(())
    }
}

#[test]
fn an_actor_that_floods_itself_fails() {
    tell_story(async {
        let log = Log::default();
        let root = start(
            &log,
            settings(Strategy::OneForOne),
            vec![Child::new("a", |_| Flooder).spec()],
        )
        .await;
        let exit = root.wait().await;
        assert!(
            matches!(&exit, Exit::Escalated { why, .. } if why.contains("floods itself")),
            "{exit}"
        );
    });
}

struct Quitter;

impl Actor for Quitter {
    const KIND: &'static str = "quitter";
    const HANDLES: &'static [&'static str] = &[];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

#[test]
fn an_actor_that_stops_in_started_is_bounded_and_starves_nobody() {
    tell_story(async {
        let log = Log::default();
        let mut hasty = settings(Strategy::OneForOne);
        hasty.backoff.first = ms(0);
        let root = start(&log, hasty, vec![Child::new("a", |_| Quitter).spec()]).await;
        let exit = root.wait().await;
        assert!(matches!(&exit, Exit::Escalated { .. }), "{exit}");
        assert_eq!(
            log.take()
                .iter()
                .filter(|line| line.starts_with("exit a#"))
                .count(),
            4
        );
    });
}

#[test]
fn an_actor_lives_on_when_its_last_port_is_gone() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        pass(60_000).await;
        assert_eq!(log.take(), ["up a#1", "up root#1"]);
        assert_eq!(root.shutdown(SOON).await, Exit::Shutdown);
    });
}

#[test]
fn an_observer_that_panics_harms_nobody() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let (boom, count) = (child.port::<Boom>(), child.port::<Count>());
        let tree = supervisor("root", settings(Strategy::OneForOne), vec![child.spec()]);
        let observer: Observer = Rc::new(|_| panic!("I saw nothing"));
        let _root = Root::start_local(
            tree,
            RootSettings {
                observer: Some(observer),
                ..Default::default()
            },
        )
        .await;
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
    });
}

#[test]
fn a_tree_whose_scheduler_goes_away_says_so() {
    install_panic_hook();
    let log = Log::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tasks = tokio::task::LocalSet::new();
    let (root, jot) = tasks.block_on(&runtime, async {
        let child = worker("a", &log);
        let jot = child.port::<Jot>();
        (
            start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await,
            jot,
        )
    });
    drop(tasks);
    let exit = runtime.block_on(root.wait());
    assert_eq!(exit, Exit::Lost);
    assert!(matches!(
        jot.tell(Jot { number: 1 }),
        Err(TellError::Down {
            cause: Exit::Lost,
            ..
        })
    ));
}
