//! Who waits for room here, for whoever wants to know how many are before a run.

use super::rooms::Place;
use impresario_policies::domain::RunId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Written by the sub-agent supervisor only; read from any thread.
#[derive(Debug, Clone, Default)]
pub struct WaitingLine(Arc<Mutex<BTreeSet<Place>>>);

impl WaitingLine {
    /// How many stand before this run; none where it does not wait here.
    pub fn before(&self, run: &RunId) -> Option<usize> {
        self.places().iter().position(|(_, waits)| waits == run)
    }

    /// Nobody waits any more: whoever still does asks again.
    pub(super) fn clear(&self) {
        self.places().clear();
    }

    pub(super) fn enter(&self, place: Place) {
        self.places().insert(place);
    }

    pub(super) fn leave(&self, place: &Place) {
        self.places().remove(place);
    }

    fn places(&self) -> MutexGuard<'_, BTreeSet<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
