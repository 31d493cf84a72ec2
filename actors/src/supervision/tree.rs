//! What everyone in one tree shares.

use super::{Event, Observer, Registry, panic_hook};
use std::cell::RefCell;

pub(super) struct TreeContext {
    pub(super) observer: Option<Observer>,
    pub(super) registry: Registry,
    random: RefCell<fastrand::Rng>,
}

impl TreeContext {
    pub(super) fn new(seed: u64, observer: Option<Observer>) -> Self {
        let random = RefCell::new(fastrand::Rng::with_seed(seed));
        Self {
            observer,
            registry: Registry::default(),
            random,
        }
    }

    pub(super) fn chance(&self) -> u32 {
        self.random.borrow_mut().u32(..)
    }

    /// An observer that panics harms nobody but itself.
    pub(super) fn emit(&self, event: Event) {
        super::observer::trace(&event);
        let Some(observer) = &self.observer else { return };
        if let Err(exit) = panic_hook::guard(|| observer(&event)) {
            tracing::error!(%exit, "observer panicked");
        }
    }
}
