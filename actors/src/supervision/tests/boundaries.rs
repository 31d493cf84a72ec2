//! Chaos: every boundary of a small world is hit, and what is promised holds.

use super::cast::*;
use crate::supervision::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

fn strike_once(at: impl Fn(&Boundary) -> bool + 'static, verdict: Verdict) {
    let mut armed = true;
    set_boundary_hook(Some(Box::new(move |boundary| {
        if armed && at(boundary) {
            armed = false;
            return verdict;
        }
        Verdict::Pass
    })));
}

async fn strike_at(when: When, verdict: Verdict) -> (Result<(u64, u32), AskError<Count>>, Vec<String>) {
    let log = Log::default();
    let child = worker("a", &log);
    let count = child.port::<Count>();
    let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
    strike_once(
        move |boundary| boundary.message == "Count" && boundary.when == when,
        verdict,
    );
    let reply = count.ask(Count, SOON).await;
    set_boundary_hook(None);
    (reply, log.take())
}

#[test]
fn killed_before_it_was_opened_a_message_goes_to_the_next_life() {
    for verdict in [Verdict::Panic, Verdict::Stop] {
        tell_story(async move {
            let (reply, lines) = strike_at(When::Before, verdict).await;
            assert_eq!(reply.unwrap(), (2, 1));
            assert!(lines[2].starts_with("exit a#1"), "{lines:?}");
        });
    }
}

#[test]
fn killed_after_the_handler_the_asker_learns_that_it_died() {
    tell_story(async {
        let (reply, _) = strike_at(When::After, Verdict::Panic).await;
        assert!(
            matches!(
                reply,
                Err(AskError::Died {
                    cause: Exit::Panicked { .. },
                    ..
                })
            ),
            "{reply:?}"
        );
        let (reply, lines) = strike_at(When::After, Verdict::Stop).await;
        assert!(
            matches!(
                reply,
                Err(AskError::Died {
                    cause: Exit::Killed,
                    ..
                })
            ),
            "{reply:?}"
        );
        assert!(!lines.iter().any(|line| line.starts_with("goodbye")), "{lines:?}");
    });
}

#[test]
fn after_an_answer_that_comes_later_means_when_it_has_come() {
    tell_story(async {
        let log = Log::default();
        let child = worker("a", &log);
        let slow = child.port::<Slow>();
        let _root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let begun = tokio::time::Instant::now();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let shared = seen.clone();
        set_boundary_hook(Some(Box::new(move |boundary| {
            shared
                .borrow_mut()
                .push((boundary.when, begun.elapsed().as_millis()));
            Verdict::Pass
        })));
        slow.ask(
            Slow {
                millis: 30,
                then_panic: false,
            },
            SOON,
        )
        .await
        .unwrap();
        set_boundary_hook(None);
        assert_eq!(*seen.borrow(), [(When::Before, 0), (When::After, 30)]);
    });
}

#[test]
fn the_registry_knows_every_boundary_of_every_actor_the_tree_has_had() {
    tell_story(async {
        let log = Log::default();
        let (child, runs) = dynamic_supervisor("dynamic_supervisor", settings(Strategy::OneForOne));
        let root = start(&log, settings(Strategy::OneForOne), vec![child.spec()]).await;
        let kinds = |root: &Root| -> BTreeSet<&str> {
            root.registry()
                .boundaries()
                .iter()
                .map(|boundary| boundary.kind)
                .collect()
        };
        assert_eq!(kinds(&root), BTreeSet::from(["dynamic_supervisor", "supervisor"]));
        runs.start(worker("a", &log).spec(), None).await.unwrap();
        assert_eq!(
            kinds(&root),
            BTreeSet::from(["dynamic_supervisor", "supervisor", "worker"])
        );
        let of_worker = root.registry().boundaries();
        let of_worker = of_worker.iter().filter(|boundary| boundary.kind == "worker");
        assert_eq!(of_worker.count(), 2 * Worker::HANDLES.len());
    });
}

// A small world: clients ask a router, the router asks a ledger, the ledger writes to a book that outlives it.

#[derive(Default)]
struct Book {
    entries: BTreeMap<u64, u32>,
    written: Vec<u64>,
}

message!(#[derive(Clone)] Put { id: u64, value: u32 } -> u64);
message!(#[derive(Clone)] Route { id: u64, value: u32 } -> u64);

struct Ledger {
    book: Rc<RefCell<Book>>,
    looks_first: bool,
}

impl Actor for Ledger {
    const KIND: &'static str = "ledger";
    const HANDLES: &'static [&'static str] = &["Put"];
}

impl Handles<Put> for Ledger {
    fn handle(&mut self, put: Put, ctx: &mut Context<Self>) -> Answer<Self, u64> {
        let mut book = self.book.borrow_mut();
        if !(self.looks_first && book.entries.contains_key(&put.id)) {
            book.entries.insert(put.id, put.value);
            book.written.push(put.id);
            ctx.progress();
        }
        Answer::now(put.id)
    }
}

struct Router {
    put: Port<Put>,
}

impl Actor for Router {
    const KIND: &'static str = "router";
    const HANDLES: &'static [&'static str] = &["Route"];
}

impl Handles<Route> for Router {
    fn handle(&mut self, Route { id, value }: Route, _: &mut Context<Self>) -> Answer<Self, u64> {
        let put = self.put.clone();
        Answer::later(async move {
            pass(id % 7).await;
            put.ask_again(Put { id, value }, ms(600_000)).await.unwrap_or(0)
        })
    }
}

/// When the world is struck.
#[derive(Clone)]
enum Strikes {
    At(Vec<usize>),
    By { chance: f64 },
}

#[derive(Debug, PartialEq)]
struct Outcome {
    boundaries: Vec<Boundary>,
    strikes: usize,
    lines: Vec<String>,
    broken: Vec<String>,
}

fn live_through(seed: u64, strikes: Strikes, looks_first: bool) -> Outcome {
    let outcome = Rc::new(RefCell::new(None));
    let told = outcome.clone();
    tell_story(async move { *told.borrow_mut() = Some(world(seed, strikes, looks_first).await) });
    outcome.take().unwrap()
}

async fn world(seed: u64, strikes: Strikes, looks_first: bool) -> Outcome {
    let log = Log::default();
    let seen = Rc::new(RefCell::new((Vec::new(), 0)));
    let shared = seen.clone();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut dice = random.fork();
    set_boundary_hook(Some(Box::new(move |boundary| {
        let (boundaries, struck) = &mut *shared.borrow_mut();
        boundaries.push(boundary.clone());
        let here = match &strikes {
            Strikes::At(places) => places.contains(&(boundaries.len() - 1)),
            Strikes::By { chance } => dice.f64() < *chance,
        };
        if !here {
            return Verdict::Pass;
        }
        *struck += 1;
        if dice.bool() {
            Verdict::Panic
        } else {
            Verdict::Stop
        }
    })));

    let book = Rc::new(RefCell::new(Book::default()));
    let shared = book.clone();
    let ledger = Child::new("ledger", move |_| Ledger {
        book: shared.clone(),
        looks_first,
    });
    let put = ledger.port::<Put>();
    let router = Child::new("router", move |_| Router { put: put.clone() });
    let route = router.port::<Route>();
    let tireless = |strategy| SupervisorSettings {
        intensity: u32::MAX,
        backoff: BackoffSettings {
            first: ms(5),
            delay_max: ms(100),
            ..Default::default()
        },
        strategy,
        ..Default::default()
    };
    let pair = supervisor(
        "pair",
        tireless(Strategy::RestForOne),
        vec![ledger.spec(), router.spec()],
    );
    let (keeper, visitors) = dynamic_supervisor("dynamic_supervisor", tireless(Strategy::OneForOne));
    let top = supervisor(
        "top",
        tireless(Strategy::OneForOne),
        vec![pair.spec(), keeper.spec()],
    );
    let settings = RootSettings {
        seed,
        observer: log.observer(),
        top: tireless(Strategy::OneForOne),
    };
    let root = Root::start_local(top, settings).await;

    let clients: Vec<_> = (1..=8)
        .map(|id| {
            let (route, wait, value) = (route.clone(), random.u64(0..50), random.u32(..));
            tokio::task::spawn_local(async move {
                pass(wait).await;
                (
                    id,
                    value,
                    route.ask_again(Route { id, value }, ms(3_600_000)).await,
                )
            })
        })
        .collect();
    let visitor = worker("visitor", &log).restart(Restart::Transient);
    let visited = visitor.port::<Jot>();
    let _ = visitors.start(visitor.spec(), None).await; // it may be struck: then there is no visitor
    let _ = visited.tell(Jot { number: 1 });
    pass(20).await;
    let _ = visitors.stop("visitor").await;

    let mut broken = Vec::new();
    for client in clients {
        let (id, value, reply) = client.await.unwrap();
        if reply.as_ref().ok() != Some(&id) {
            broken.push(format!("{id} was not acknowledged: {reply:?}"));
        }
        if book.borrow().entries.get(&id) != Some(&value) {
            broken.push(format!("{id} was acknowledged and is lost"));
        }
    }
    let mut written = book.borrow().written.clone();
    written.sort_unstable();
    if written.windows(2).any(|pair| pair[0] == pair[1]) {
        broken.push(format!("written twice: {written:?}"));
    }
    set_boundary_hook(None);
    let exit = root.shutdown(SOON).await;
    if exit != Exit::Shutdown {
        broken.push(format!("the shutdown ended as: {exit}"));
    }
    let (boundaries, strikes) = seen.take();
    Outcome {
        boundaries,
        strikes,
        lines: log.take(),
        broken,
    }
}

#[test]
fn one_seed_tells_one_story() {
    let mut stories = BTreeSet::new();
    for seed in 0..30 {
        let story = live_through(seed, Strikes::By { chance: 0.15 }, true);
        assert_eq!(
            story,
            live_through(seed, Strikes::By { chance: 0.15 }, true),
            "seed {seed}"
        );
        stories.insert(format!("{story:?}"));
    }
    assert_eq!(stories.len(), 30, "and another seed another one");
}

#[test]
fn a_strike_at_any_one_boundary_breaks_nothing() {
    let calm = live_through(42, Strikes::At(vec![]), true);
    assert_eq!((calm.strikes, calm.broken.len()), (0, 0));
    assert!(calm.boundaries.len() >= 32, "{}", calm.boundaries.len());
    for place in 0..calm.boundaries.len() {
        let struck = live_through(42, Strikes::At(vec![place]), true);
        assert_eq!(struck.strikes, 1);
        assert_eq!(struck.broken, [""; 0], "struck at {place}: {:#?}", struck.lines);
    }
}

#[test]
fn many_strikes_break_nothing_and_hit_every_boundary_there_is() {
    let mut hit = BTreeSet::new();
    let mut strikes = 0;
    for seed in 0..400 {
        let story = live_through(seed, Strikes::By { chance: 0.2 }, true);
        assert_eq!(story.broken, [""; 0], "seed {seed}: {:#?}", story.lines);
        strikes += story.strikes;
        hit.extend(
            story
                .boundaries
                .iter()
                .map(|boundary| (boundary.kind, boundary.message, boundary.when)),
        );
    }
    assert!(strikes > 400, "{strikes}");
    let kinds: BTreeSet<_> = hit.iter().map(|(kind, message, _)| (*kind, *message)).collect();
    let expected = [
        ("ledger", "Put"),
        ("dynamic_supervisor", "ChildGone"),
        ("dynamic_supervisor", "RetryDue"),
        ("dynamic_supervisor", "StartChild"),
        ("dynamic_supervisor", "StopChild"),
        ("router", "Route"),
        ("supervisor", "ChildEnded"),
        ("supervisor", "RestartDue"),
        ("worker", "Jot"),
    ];
    assert_eq!(kinds, BTreeSet::from(expected));
    assert_eq!(hit.len(), 2 * expected.len());
}

#[test]
fn the_strikes_find_a_ledger_that_does_not_look_first() {
    let found = (0..100)
        .filter(|seed| {
            !live_through(*seed, Strikes::By { chance: 0.1 }, false)
                .broken
                .is_empty()
        })
        .count();
    assert!(found > 10, "{found}");
}
