//! A whole tree, held by whoever started it.

use super::surroundings::Surroundings;
use super::{Actor, Blocking, Child, Exit, Observer, Registry, Spec};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// What holds for a whole tree.
#[derive(Clone, Default)]
pub struct RootSettings {
    /// Everything that is left to chance follows from it.
    pub seed: u64,
    /// Who sees the events.
    pub observer: Option<Observer>,
    /// Where work that computes for long runs.
    pub blocking: Blocking,
}

/// A running tree. Dropped, it takes the tree with it, without ceremony.
pub struct Root {
    spec: Spec,
    surroundings: Rc<Surroundings>,
    end: Rc<End>,
}

#[derive(Default)]
struct End {
    exit: RefCell<Option<Exit>>,
    known: Notify,
}

impl End {
    fn come(&self, exit: Exit) {
        self.exit.borrow_mut().get_or_insert(exit);
        self.known.notify_waiters();
    }
}

impl Root {
    /// Starts a tree on the current `LocalSet`. A tree whose top does not come up has ended: see [`Root::wait`].
    pub async fn start_local<A: Actor>(child: Child<A>, settings: RootSettings) -> Self {
        let surroundings = Rc::new(Surroundings::new(
            settings.seed,
            settings.observer,
            settings.blocking,
        ));
        let spec = child.spec();
        spec.register(&surroundings);
        let end = Rc::new(End::default());
        let told = end.clone();
        if let Err(exit) = spec.start(&surroundings, Box::new(move |_, exit| told.come(exit))) {
            end.come(exit);
        }
        let root = Self {
            spec,
            surroundings,
            end,
        };
        root.settle_if_ended();
        tokio::task::yield_now().await;
        root
    }

    /// Waits for the end of the tree. From then on every port into it fails at once.
    pub async fn wait(&self) -> Exit {
        loop {
            let known = self.end.known.notified();
            if let Some(exit) = self.settle_if_ended() {
                return exit;
            }
            known.await;
        }
    }

    /// Stops the tree in order: from the last child to the first, each drained within its grace, all `within`.
    pub async fn shutdown(&self, within: Duration) -> Exit {
        self.spec.order_stop(true, Some(within));
        self.wait().await
    }

    /// The boundaries of every actor this tree has had.
    pub fn registry(&self) -> &Registry {
        &self.surroundings.registry
    }

    fn settle_if_ended(&self) -> Option<Exit> {
        let exit = self.end.exit.borrow().clone()?;
        self.spec.go_down(&exit);
        Some(exit)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.spec.kill();
        self.spec.go_down(&Exit::Killed);
    }
}
