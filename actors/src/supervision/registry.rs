//! Every boundary that a tree can have, so that a chaos test can prove that it hit them all.

use super::When;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// One side of the handling of one message by one kind of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownBoundary {
    pub kind: &'static str,
    pub message: &'static str,
    pub when: When,
}

/// The kinds of actors a tree has had, and what each of them handles.
#[derive(Debug, Default)]
pub struct Registry(RefCell<BTreeMap<&'static str, BTreeSet<&'static str>>>);

impl Registry {
    pub(super) fn add(&self, kind: &'static str, handles: &'static [&'static str]) {
        self.0.borrow_mut().entry(kind).or_default().extend(handles);
    }

    /// All boundaries known by now, in order.
    pub fn boundaries(&self) -> Vec<KnownBoundary> {
        let mut all = Vec::new();
        for (kind, messages) in &*self.0.borrow() {
            for message in messages {
                all.push(KnownBoundary {
                    kind,
                    message,
                    when: When::Before,
                });
                all.push(KnownBoundary {
                    kind,
                    message,
                    when: When::After,
                });
            }
        }
        all
    }
}
