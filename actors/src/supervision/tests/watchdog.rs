//! The one test with real time: it waits for reports, never for a time to pass.

use crate::supervision::{Stall, Watchdog, WatchdogSettings};
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn a_stuck_thread_is_noticed_and_so_is_its_recovery() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (reports, reported) = mpsc::channel();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let settings = WatchdogSettings {
            stalled_after: Duration::from_millis(40),
        };
        let _watchdog = Watchdog::start(settings, move |stall| reports.send(stall).unwrap()).unwrap();
        let patience = Duration::from_secs(60);
        let stall = reported
            .recv_timeout(patience)
            .expect("this thread is stuck here, and it is noticed");
        assert!(
            matches!(stall, Stall::Stalled(long) if long >= settings.stalled_after),
            "{stall:?}"
        );
        while reported.try_recv() != Ok(Stall::Over) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(reported.recv().is_err(), "dropped, its thread has ended");
}
