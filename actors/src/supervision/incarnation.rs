//! One life of an actor: what ends with it.

use super::Exit;
use super::envelope::Unanswered;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::time::Instant;

/// What is true of one incarnation only, shared by its context, its driver and the envelopes it has in_flight.
pub(super) struct Incarnation {
    pub(super) number: u64,
    pub(super) since: Instant,
    /// How it wants to end; the first word counts.
    ending: RefCell<Option<Exit>>,
    pub(super) order: Cell<Option<StopOrder>>,
    pub(super) progressed: Cell<bool>,
    /// Envelopes in_flight and not yet answered.
    open: Cell<usize>,
    /// Tasks that a shutdown waits for.
    shutdown_guards: Cell<usize>,
    /// Envelopes whose handling was cut off; they are told when the cause is known.
    unanswered: RefCell<Vec<Rc<dyn Unanswered>>>,
}

/// The order to go.
#[derive(Clone, Copy)]
pub(super) struct StopOrder {
    /// Whether what is in the mailbox and in work is finished first.
    pub(super) drain: bool,
    /// When it is killed; never if none.
    pub(super) deadline: Option<Instant>,
    /// The actor has been told.
    pub(super) announced: bool,
    /// The actor's `stopping` has returned.
    pub(super) stopping_returned: bool,
}

impl StopOrder {
    /// Messages are handled while it drains, and while it cleans up: a supervisor learns from them who is gone.
    pub(super) fn takes_post(self) -> bool {
        self.drain || self.stopping_returned
    }
}

impl Incarnation {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            since: Instant::now(),
            ending: RefCell::default(),
            order: Cell::default(),
            progressed: Cell::default(),
            open: Cell::default(),
            shutdown_guards: Cell::default(),
            unanswered: RefCell::default(),
        }
    }

    pub(super) fn end(&self, exit: Exit) {
        self.ending.borrow_mut().get_or_insert(exit);
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.borrow().is_some()
    }

    pub(super) fn take_ending(&self) -> Option<Exit> {
        self.ending.take()
    }

    pub(super) fn envelope_opened(&self) {
        self.open.set(self.open.get() + 1);
    }

    pub(super) fn envelope_closed(&self) {
        self.open.set(self.open.get() - 1);
    }

    pub(super) fn envelope_cut_off(&self, envelope: Rc<dyn Unanswered>) {
        self.unanswered.borrow_mut().push(envelope);
    }

    pub(super) fn take_unanswered(&self) -> Vec<Rc<dyn Unanswered>> {
        self.unanswered.take()
    }

    pub(super) fn shutdown_guard(self: &Rc<Self>) -> ShutdownGuard {
        self.shutdown_guards.set(self.shutdown_guards.get() + 1);
        ShutdownGuard(self.clone())
    }

    /// Nothing is left that the order to go waits for, but for envelopes in the mailbox.
    pub(super) fn may_leave(&self, order: StopOrder) -> bool {
        order.stopping_returned && self.shutdown_guards.get() == 0 && (!order.drain || self.open.get() == 0)
    }
}

/// Keeps a shutdown waiting until it is dropped.
pub(super) struct ShutdownGuard(Rc<Incarnation>);

impl Drop for ShutdownGuard {
    fn drop(&mut self) {
        self.0.shutdown_guards.set(self.0.shutdown_guards.get() - 1);
    }
}
