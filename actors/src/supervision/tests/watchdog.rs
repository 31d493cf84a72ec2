//! The tests with real time: they wait for reports, never for a time to pass.

use super::cast::*;
use crate::supervision::*;
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn a_stuck_thread_is_noticed_with_the_actor_at_work_and_so_is_its_recovery() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (reports, reported) = mpsc::channel();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let settings = WatchdogSettings {
            stalled_after: Duration::from_millis(40),
        };
        let watchdog = Watchdog::start(settings, move |stall| reports.send(stall).unwrap()).unwrap();
        let log = Log::default();
        let child = worker("thinker", &log);
        let port = child.port::<Work>();
        let _root = start_tree(&log, child).await;
        let (stalls, stalled) = mpsc::channel();
        let think = work(move |_, _| {
            let stall = reported
                .recv_timeout(Duration::from_secs(60))
                .expect("this thread is stuck here");
            stalls.send((stall, reported)).unwrap();
        });
        port.ask(think, SOON).await.unwrap();
        let (stall, reported) = stalled.recv().unwrap();
        match stall {
            Stall::Stalled { silent_for, actor } => {
                assert!(silent_for >= settings.stalled_after, "{silent_for:?}");
                assert_eq!(actor.as_deref(), Some("thinker"));
            }
            Stall::Over => panic!("there was no stall"),
        }
        while reported.try_recv() != Ok(Stall::Over) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(watchdog);
        assert!(reported.recv().is_err(), "dropped, its thread has ended");
    });
}
