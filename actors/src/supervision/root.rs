//! A whole tree, held by whoever started it.

use super::restart::{Ended, RestartHistory};
use super::tree::TreeContext;
use super::{Actor, Child, ChildSpec, Event, Exit, Observer, Registry, Restart, SupervisorSettings};
use impresario_policies::restart::RestartDecision;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// What holds for a whole tree.
#[derive(Clone, Default)]
pub struct RootSettings {
    /// Everything that is left to chance follows from it.
    pub seed: u64,
    pub observer: Option<Observer>,
    /// How often the top of the tree may break itself and be started again. What it gave up on is final.
    pub top: SupervisorSettings,
}

/// A running tree. Dropped, it takes the tree with it, without ceremony.
pub struct Root(Rc<Tree>);

struct Tree {
    spec: ChildSpec,
    tree: Rc<TreeContext>,
    settings: SupervisorSettings,
    history: RefCell<RestartHistory>,
    told_to_go: Cell<bool>,
    exit: RefCell<Option<Exit>>,
    exit_known: Notify,
}

impl Root {
    /// Starts a tree on the current `LocalSet`. A tree whose top does not come up has ended: see [`Root::wait`].
    pub async fn start_local<A: Actor>(child: Child<A>, settings: RootSettings) -> Self {
        let RootSettings { seed, observer, top } = settings;
        let tree = Rc::new(Tree {
            spec: child.spec(),
            tree: Rc::new(TreeContext::new(seed, observer)),
            settings: top,
            history: RefCell::default(),
            told_to_go: Cell::default(),
            exit: RefCell::default(),
            exit_known: Notify::new(),
        });
        tree.spec.register(&tree.tree);
        tree.start();
        tokio::task::yield_now().await;
        Self(tree)
    }

    /// Waits for the end of the tree. From then on every port into it fails at once.
    pub async fn wait(&self) -> Exit {
        loop {
            let known = self.0.exit_known.notified();
            if let Some(exit) = self.0.exit.borrow().clone() {
                return exit;
            }
            known.await;
        }
    }

    /// Stops the tree in order: from the last child to the first, each drained within its grace, all `within`.
    pub async fn shutdown(&self, within: Duration) -> Exit {
        self.0.told_to_go.set(true);
        if !self.0.spec.order_stop(true, Some(within)) {
            self.0.end(Exit::Shutdown); // it was between two lives, or has ended before
        }
        self.wait().await
    }

    /// The boundaries of every actor this tree has had.
    pub fn registry(&self) -> &Registry {
        &self.0.tree.registry
    }
}

impl Tree {
    fn start(self: &Rc<Self>) {
        let tree = self.clone();
        let report = move |incarnation: &super::incarnation::Incarnation, exit| {
            tree.top_ended(Ended::new(incarnation, exit));
        };
        if let Err(exit) = self.spec.start(&self.tree, Box::new(report)) {
            self.top_ended(Ended::at_start(self.spec.lives(), exit));
        }
    }

    /// A top that broke is started again: it may have been killed like any other actor. Everything else is the end.
    fn top_ended(self: &Rc<Self>, ended: Ended) {
        let broke = matches!(ended.exit, Exit::Panicked { .. } | Exit::Killed);
        if self.told_to_go.get() || !broke {
            return self.end(ended.exit);
        }
        let mut history = self.history.borrow_mut();
        history.observe(&ended, &self.settings);
        let restarts = history.in_period(self.settings.period);
        let chance = self.tree.chance();
        match history.decide(&ended.exit, Restart::Permanent, restarts, chance, &self.settings) {
            RestartDecision::Restart { delay } => {
                history.restarted();
                self.start_after(delay);
            }
            RestartDecision::Rest(_) | RestartDecision::GiveUp(_) => self.end(ended.exit),
        }
    }

    fn start_after(self: &Rc<Self>, delay: Duration) {
        let child = self.spec.name().clone();
        self.tree.emit(Event::RestartIn {
            child,
            delay,
            group: 1,
        });
        let tree = self.clone();
        tokio::task::spawn_local(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            if tree.exit.borrow().is_none() {
                tree.start();
            }
        });
    }

    /// Whoever asked anyone in this tree learns that nobody comes back.
    fn end(&self, exit: Exit) {
        let exit = self.exit.borrow_mut().get_or_insert(exit).clone();
        self.spec.go_down(&exit);
        self.exit_known.notify_waiters();
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.0.spec.kill();
        self.0.end(Exit::Killed);
    }
}
