//! Children that come and go.

use super::cast::*;
use crate::supervision::*;
use std::cell::RefCell;
use std::rc::Rc;

type Exits = Rc<RefCell<Vec<(String, u64, Exit)>>>;

/// An owner who writes down what he is told.
fn owner() -> (Exits, Option<Port<ChildExited>>) {
    let exits = Exits::default();
    let told = exits.clone();
    let port = Port::answered_by("owner", move |gone: ChildExited| {
        told.borrow_mut()
            .push((gone.name.to_string(), gone.incarnation, gone.exit));
    });
    (exits, Some(port))
}

async fn a_dynamic_supervisor(log: &Log) -> (Root, DynamicSupervisor) {
    let (child, dynamic_supervisor) = dynamic_supervisor("dynamic_supervisor", settings(Strategy::OneForOne));
    let root = start(log, settings(Strategy::OneForOne), vec![child.spec()]).await;
    log.take();
    (root, dynamic_supervisor)
}

#[test]
fn children_start_are_restarted_and_their_owner_learns_of_the_end_once() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let child = worker("a", &log).restart(Restart::Transient);
        let (boom, count, quit) = (child.port::<Boom>(), child.port::<Count>(), child.port::<Quit>());
        let (exits, on_exit) = owner();
        dynamic_supervisor.start(child.spec(), on_exit).await.unwrap();
        let _ = boom.ask(Boom, SOON).await;
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (2, 1));
        assert!(exits.borrow().is_empty());
        quit.ask(Quit, SOON).await.unwrap();
        pass(1).await;
        assert_eq!(*exits.borrow(), [("a".to_string(), 2, Exit::Normal)]);
        assert!(matches!(
            count.ask(Count, SOON).await,
            Err(AskError::Down {
                cause: Exit::Normal,
                ..
            })
        ));
        dynamic_supervisor
            .start(worker("a", &log).spec(), None)
            .await
            .expect("the name is free again");
    });
}

#[test]
fn a_child_restarted_too_often_is_given_up_alone() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let (bad, good) = (worker("bad", &log), worker("good", &log));
        let (boom, count) = (bad.port::<Boom>(), good.port::<Count>());
        let (exits, on_exit) = owner();
        dynamic_supervisor.start(bad.spec(), on_exit).await.unwrap();
        dynamic_supervisor.start(good.spec(), None).await.unwrap();
        while !matches!(boom.ask(Boom, SOON).await, Err(AskError::Down { .. })) {}
        let told = exits.take();
        assert!(
            matches!(&told[..], [(_, 4, Exit::Escalated { child, .. })] if &**child == "bad"),
            "{told:?}"
        );
        assert_eq!(count.ask(Count, SOON).await.unwrap(), (1, 1));
    });
}

#[test]
fn a_name_is_taken_once_and_a_child_that_does_not_come_up_is_refused() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        dynamic_supervisor
            .start(worker("a", &log).spec(), None)
            .await
            .unwrap();
        let twin = dynamic_supervisor.start(worker("a", &log).spec(), None).await;
        assert_eq!(twin, Err(StartError::NameTaken("a".into())));
        let (exits, on_exit) = owner();
        let broken: Child<Worker> = Child::new("b", |_| panic!("no config"));
        let broken = dynamic_supervisor.start(broken.spec(), on_exit).await;
        assert!(
            matches!(broken, Err(StartError::Failed(Exit::Panicked { .. }))),
            "{broken:?}"
        );
        pass(10_000).await;
        assert!(exits.borrow().is_empty(), "it was never there");
    });
}

#[test]
fn stop_waits_until_the_child_is_gone() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let child = worker("a", &log);
        let (slow, boom) = (child.port::<Slow>(), child.port::<Boom>());
        let (exits, on_exit) = owner();
        dynamic_supervisor.start(child.spec(), on_exit).await.unwrap();
        let in_work = tokio::task::spawn_local(slow.ask(
            Slow {
                millis: 700,
                then_panic: false,
            },
            SOON,
        ));
        pass(0).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(dynamic_supervisor.stop("a").await, Ok(Exit::Shutdown));
        assert_eq!(begun.elapsed(), ms(700));
        assert_eq!(in_work.await.unwrap().unwrap(), 9);
        assert_eq!(exits.borrow().len(), 1);
        assert_eq!(
            dynamic_supervisor.stop("a").await,
            Err(StopError::NotThere("a".into()))
        );
        let down = boom.ask(Boom, SOON).await;
        assert!(matches!(down, Err(AskError::Down { .. })));
        dynamic_supervisor
            .start(worker("b", &log).spec(), None)
            .await
            .unwrap();
    });
}

#[test]
fn a_child_that_waits_for_its_restart_can_be_stopped() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let child = worker("a", &log);
        let boom = child.port::<Boom>();
        let (exits, on_exit) = owner();
        dynamic_supervisor.start(child.spec(), on_exit).await.unwrap();
        let _ = boom.ask(Boom, SOON).await;
        pass(1).await;
        assert_eq!(dynamic_supervisor.stop("a").await, Ok(Exit::Shutdown));
        pass(1000).await;
        assert_eq!(exits.borrow().len(), 1);
        assert!(!log.take().contains(&"up a#2".to_string()));
    });
}

#[test]
fn a_dynamic_supervisor_that_dies_takes_its_children_with_it_and_tells_their_owners() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let children = ["a", "b"].map(|name| worker(name, &log));
        let count = children[1].port::<Count>();
        let (exits, on_exit) = owner();
        for child in children {
            dynamic_supervisor
                .start(child.spec(), on_exit.clone())
                .await
                .unwrap();
        }
        let mut armed = true;
        set_boundary_hook(Some(Box::new(move |boundary| {
            let here = boundary.kind == "dynamic_supervisor";
            if here && std::mem::take(&mut armed) {
                Verdict::Panic
            } else {
                Verdict::Pass
            }
        })));
        assert_eq!(
            dynamic_supervisor.stop("a").await,
            Err(StopError::NotThere("a".into())),
            "the next life knows no a"
        );
        set_boundary_hook(None);
        let told: Vec<_> = exits
            .borrow()
            .iter()
            .map(|(name, _, exit)| (name.clone(), exit.clone()))
            .collect();
        assert_eq!(
            told,
            [("b".to_string(), Exit::Killed), ("a".to_string(), Exit::Killed)]
        );
        assert!(matches!(
            count.ask(Count, SOON).await,
            Err(AskError::Down {
                cause: Exit::Killed,
                ..
            })
        ));
        dynamic_supervisor
            .start(worker("a", &log).spec(), None)
            .await
            .unwrap();
    });
}

#[test]
fn a_dynamic_supervisor_that_is_told_to_go_stops_all_children_at_the_same_time_and_takes_no_new_ones() {
    tell_story(async {
        let log = Log::default();
        let (root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let (exits, on_exit) = owner();
        for name in ["a", "b", "c"] {
            let child = worker(name, &log);
            let slow = child.port::<Slow>();
            dynamic_supervisor
                .start(child.spec(), on_exit.clone())
                .await
                .unwrap();
            tokio::task::spawn_local(slow.ask(
                Slow {
                    millis: 1000,
                    then_panic: false,
                },
                SOON,
            ));
        }
        pass(1).await;
        let begun = tokio::time::Instant::now();
        let (exit, late) = tokio::join!(root.shutdown(SOON), async {
            pass(10).await;
            dynamic_supervisor.start(worker("late", &log).spec(), None).await
        });
        assert_eq!((exit, begun.elapsed().as_millis()), (Exit::Shutdown, 999));
        assert_eq!(late, Err(StartError::SupervisorDown(Exit::Shutdown)));
        assert_eq!(exits.borrow().len(), 3);
    });
}

#[test]
fn a_temporary_child_is_not_restarted_and_its_owner_learns_how_it_died() {
    tell_story(async {
        let log = Log::default();
        let (_root, dynamic_supervisor) = a_dynamic_supervisor(&log).await;
        let child = worker("a", &log).restart(Restart::Temporary);
        let boom = child.port::<Boom>();
        let (exits, on_exit) = owner();
        dynamic_supervisor.start(child.spec(), on_exit).await.unwrap();
        let _ = boom.ask(Boom, SOON).await;
        pass(1).await;
        let told = exits.take();
        assert!(
            matches!(&told[..], [(_, 1, Exit::Panicked { message, .. })] if &**message == "boom"),
            "{told:?}"
        );
        assert_eq!(
            dynamic_supervisor.stop("a").await,
            Err(StopError::NotThere("a".into()))
        );
    });
}
