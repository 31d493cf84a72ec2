//! The calls of tools whose start is on disk and whose end is not.
//!
//! A model that is asked again has read the results, so what a kill leaves behind then must say that they were there: the
//! next call of the model waits until the ends are written, a moment at most.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(super) struct OpenCalls(Rc<Calls>);

#[derive(Default)]
struct Calls {
    begun: RefCell<BTreeSet<String>>,
    /// Ends that were heard of and are being written.
    unwritten: Cell<usize>,
    written: Notify,
}

/// Held while an end is being written.
pub(super) struct Unwritten(Rc<Calls>);

impl OpenCalls {
    pub(super) fn began(&self, call: &str) {
        self.0.begun.borrow_mut().insert(call.to_string());
    }

    /// None for one that was never let in.
    pub(super) fn ended(&self, call: &str) -> Option<Unwritten> {
        let begun = self.0.begun.borrow_mut().remove(call);
        begun.then(|| {
            self.0.unwritten.set(self.0.unwritten.get() + 1);
            Unwritten(self.0.clone())
        })
    }

    /// Returns when nothing is open.
    pub(super) async fn all_written(&self) {
        loop {
            let written = self.0.written.notified();
            if self.0.begun.borrow().is_empty() && self.0.unwritten.get() == 0 {
                return;
            }
            written.await;
        }
    }
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.unwritten.set(self.0.unwritten.get() - 1);
        self.0.written.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn nothing_is_waited_for_once_every_end_is_written() {
        let calls = OpenCalls::default();
        assert!(calls.all_written().now_or_never().is_some());
        calls.began("c1");
        calls.began("c2");
        assert!(calls.ended("unknown").is_none());
        let first = calls.ended("c1").expect("it began");
        assert!(calls.ended("c1").is_none(), "it ends once");
        let mut waits = Box::pin(calls.all_written());
        assert!(waits.as_mut().now_or_never().is_none());
        let second = calls.ended("c2").expect("it began");
        drop(first);
        assert!(waits.as_mut().now_or_never().is_none());
        drop(second);
        assert!(waits.now_or_never().is_some());
    }
}
