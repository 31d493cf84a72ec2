//! When a child that died is started again.

use super::cast::*;
use crate::supervision::*;

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
