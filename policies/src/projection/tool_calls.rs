//! The tool calls of an attempt, found by name at once however many there are.

use super::{ToolCallProjection, ToolFate};
use crate::domain::CallEvidence;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Tool calls, in order of their beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCalls {
    calls: Vec<ToolCallProjection>,
    /// Where the call that began last under a name is.
    latest: BTreeMap<String, usize>,
}

impl ToolCalls {
    /// Adds a call that began. A second start of a call that is in flight is the same one told twice, and false.
    pub(super) fn begin(&mut self, begun: ToolCallProjection) -> bool {
        if self
            .latest_of(&begun.call)
            .is_some_and(|call| call.fate == ToolFate::InFlight)
        {
            return false;
        }
        self.latest.insert(begun.call.clone(), self.calls.len());
        self.calls.push(begun);
        true
    }

    /// Says what became of a call that is in flight; false when there is no such call.
    pub(super) fn settle(&mut self, call: &str, fate: ToolFate, at_ms: u64) -> bool {
        let place = self.latest.get(call).copied();
        let known = place.and_then(|place| self.calls.get_mut(place));
        match known {
            Some(known) if known.fate == ToolFate::InFlight => {
                known.fate = fate;
                known.over_at_ms = Some(at_ms);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Keeps what was seen of a call when it ended; what was seen first stands.
    pub(super) fn keep_evidence(&mut self, call: &str, evidence: &CallEvidence) {
        let place = self.latest.get(call).copied();
        if let Some(known) = place.and_then(|place| self.calls.get_mut(place)) {
            known.evidence.get_or_insert_with(|| Box::new(evidence.clone()));
        }
    }

    fn latest_of(&self, call: &str) -> Option<&ToolCallProjection> {
        self.calls.get(*self.latest.get(call)?)
    }
}

impl Deref for ToolCalls {
    type Target = [ToolCallProjection];

    fn deref(&self) -> &Self::Target {
        &self.calls
    }
}

impl<'a> IntoIterator for &'a ToolCalls {
    type Item = &'a ToolCallProjection;
    type IntoIter = std::slice::Iter<'a, ToolCallProjection>;

    fn into_iter(self) -> Self::IntoIter {
        self.calls.iter()
    }
}
