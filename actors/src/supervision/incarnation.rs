//! One life of an actor: what ends with it.

use super::Exit;
use super::letter::Orphan;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::time::Instant;

/// What is true of one incarnation only, shared by its context, its driver and the letters it has opened.
pub(super) struct Incarnation {
    pub(super) number: u64,
    pub(super) since: Instant,
    /// How it wants to end; the first word counts.
    ending: RefCell<Option<Exit>>,
    pub(super) order: Cell<Option<StopOrder>>,
    pub(super) progressed: Cell<bool>,
    /// Letters opened and not yet answered.
    open: Cell<usize>,
    /// Tasks that a shutdown waits for.
    farewells: Cell<usize>,
    /// Letters whose handling was cut off; they are told when the cause is known.
    orphans: RefCell<Vec<Rc<dyn Orphan>>>,
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
    pub(super) said_goodbye: bool,
}

impl StopOrder {
    /// Messages are handled while it drains, and while it cleans up: a supervisor learns from them who is gone.
    pub(super) fn takes_post(self) -> bool {
        self.drain || self.said_goodbye
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
            farewells: Cell::default(),
            orphans: RefCell::default(),
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

    pub(super) fn letter_opened(&self) {
        self.open.set(self.open.get() + 1);
    }

    pub(super) fn letter_closed(&self) {
        self.open.set(self.open.get() - 1);
    }

    pub(super) fn letter_cut_off(&self, letter: Rc<dyn Orphan>) {
        self.orphans.borrow_mut().push(letter);
    }

    pub(super) fn take_orphans(&self) -> Vec<Rc<dyn Orphan>> {
        self.orphans.take()
    }

    pub(super) fn farewell(self: &Rc<Self>) -> Farewell {
        self.farewells.set(self.farewells.get() + 1);
        Farewell(self.clone())
    }

    /// Nothing is left that the order to go waits for, but for letters in the mailbox.
    pub(super) fn may_leave(&self, order: StopOrder) -> bool {
        order.said_goodbye && self.farewells.get() == 0 && (!order.drain || self.open.get() == 0)
    }
}

/// Keeps a shutdown waiting until it is dropped.
pub(super) struct Farewell(Rc<Incarnation>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.farewells.set(self.0.farewells.get() - 1);
    }
}
