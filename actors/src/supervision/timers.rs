//! What comes due for one incarnation. Timers of one instant fire in the order they were set.

use super::Actor;
use super::context::TimerKey;
use super::mailbox::AnyEnvelope;
use std::collections::BTreeMap;
use tokio::time::Instant;

pub(super) struct Timers<A: Actor> {
    pending: BTreeMap<TimerKey, AnyEnvelope<A>>,
    set: u64,
}

impl<A: Actor> Timers<A> {
    pub(super) fn new() -> Self {
        Self {
            pending: BTreeMap::new(),
            set: 0,
        }
    }

    pub(super) fn set(&mut self, due: Instant, envelope: AnyEnvelope<A>) -> TimerKey {
        self.set += 1;
        let key = TimerKey {
            due,
            number: self.set,
        };
        self.pending.insert(key, envelope);
        key
    }

    pub(super) fn cancel(&mut self, key: TimerKey) -> bool {
        self.pending.remove(&key).is_some()
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.pending.keys().next().map(|key| key.due)
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Option<AnyEnvelope<A>> {
        let first = self.pending.first_entry()?;
        (first.key().due <= now).then(|| first.remove())
    }
}
