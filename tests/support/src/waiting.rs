//! Waiting for what has to come, on a machine that may be busy.

use std::time::{Duration, Instant};

/// Nothing is measured by it: it only keeps a broken promise from lasting for ever.
pub const PATIENCE: Duration = Duration::from_secs(120);

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits until something holds; what was seen instead is told when it never does.
///
/// # Panics
/// It never came to hold.
#[track_caller]
pub fn until(mut holds: impl FnMut() -> bool, seen: impl FnOnce() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {}", seen());
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Waits until there is something, and gives it.
///
/// # Panics
/// It never came.
#[track_caller]
pub fn until_some<T>(mut look: impl FnMut() -> Option<T>, seen: impl FnOnce() -> String) -> T {
    let mut found = None;
    until(
        || {
            found = look();
            found.is_some()
        },
        seen,
    );
    found.expect("it was found")
}
