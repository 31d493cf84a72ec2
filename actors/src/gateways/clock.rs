//! Wall time and chance. Deadlines use `tokio::time`, which a simulation pauses; these two are for names and records.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// Milliseconds since 1970, for people and file names; never for deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

/// What the clock on the wall says.
pub trait WallClock {
    fn now(&self) -> UnixMillis;
}

/// The operating system's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWallClock;

impl WallClock for SystemWallClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    fn now(&self) -> UnixMillis {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        UnixMillis(since_epoch.map_or(0, |passed| passed.as_millis() as u64))
    }
}

/// Where chance comes from, so that a seed can be the whole run.
pub trait Entropy {
    /// The next 64 bits.
    fn next(&self) -> u64;
}

/// Chance from the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn next(&self) -> u64 {
        fastrand::u64(..)
    }
}

/// Chance from a seed.
#[derive(Debug, Clone)]
pub struct SeededEntropy(RefCell<fastrand::Rng>);

impl SeededEntropy {
    /// The same seed gives the same sequence on every machine.
    pub fn new(seed: u64) -> Self {
        Self(RefCell::new(fastrand::Rng::with_seed(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn next(&self) -> u64 {
        self.0.borrow_mut().u64(..)
    }
}
