//! The place of one child in its tree. It outlives the incarnations, so ports lead here.

use super::driver::Running;
use super::envelope::{Deliver, Envelope, ReplyState, SendMode};
use super::incarnation::Incarnation;
use super::mailbox::{AnyEnvelope, Full, Mailbox};
use super::panic_hook::guard;
use super::port::{Accept, Posted};
use super::timers::Timers;
use super::tree::TreeContext;
use super::{Actor, Event, Exit, Handles, Message, Name};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

pub(super) struct ActorCell<A: Actor> {
    name: Name,
    mailbox: RefCell<Mailbox<A>>,
    pub(super) timers: RefCell<Timers<A>>,
    /// Set while nobody will ever handle an envelope again, as far as anyone knows.
    down: RefCell<Option<Exit>>,
    lives: Cell<u64>,
    pub(super) life: RefCell<Option<Rc<Incarnation>>>,
    /// Out of its place while it is polled.
    pub(super) running: Cell<Option<Box<Running<A>>>>,
    waker: RefCell<Option<Waker>>,
    awake: Cell<bool>,
    tree: RefCell<Option<Rc<TreeContext>>>,
}

impl<A: Actor> ActorCell<A> {
    pub(super) fn new(name: Name, mailbox_size: usize) -> Rc<Self> {
        Rc::new(Self {
            name,
            mailbox: RefCell::new(Mailbox::new(mailbox_size)),
            timers: RefCell::new(Timers::new()),
            down: RefCell::default(),
            lives: Cell::default(),
            life: RefCell::default(),
            running: Cell::default(),
            waker: RefCell::default(),
            awake: Cell::default(),
            tree: RefCell::default(),
        })
    }

    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    pub(super) fn resize_mailbox(&self, size: usize) {
        self.mailbox.borrow_mut().resize(size);
    }

    pub(super) fn lives(&self) -> u64 {
        self.lives.get()
    }

    /// A new incarnation begins; ports wait for it rather than fail.
    pub(super) fn begin(&self, tree: &Rc<TreeContext>) -> Rc<Incarnation> {
        let number = self.lives.get() + 1;
        self.lives.set(number);
        let incarnation = Rc::new(Incarnation::new(number));
        self.down.replace(None);
        self.tree.replace(Some(tree.clone()));
        self.life.replace(Some(incarnation.clone()));
        self.waker.replace(None);
        self.awake.set(false);
        incarnation
    }

    pub(super) fn emit(&self, event: Event) {
        let tree = self.tree.borrow().clone();
        if let Some(tree) = tree {
            tree.emit(event);
        }
    }

    // The mailbox, as the shell and the driver see it.

    pub(super) fn front(&self) -> Option<AnyEnvelope<A>> {
        self.mailbox.borrow().front()
    }

    pub(super) fn remove_front(&self) {
        self.mailbox.borrow_mut().remove_front();
    }

    pub(super) fn has_post(&self) -> bool {
        !self.mailbox.borrow().is_empty()
    }

    pub(super) fn admit(&self, envelope: AnyEnvelope<A>, mode: SendMode) -> Result<(), Full> {
        self.mailbox.borrow_mut().admit(envelope, mode)?;
        self.wake();
        Ok(())
    }

    // Waking the driver.

    pub(super) fn wake(&self) {
        if self.awake.replace(true) {
            return;
        }
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn now_polling(&self, waker: &Waker) {
        self.awake.set(false);
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    // Ends.

    /// What dies with an incarnation, once its actor is dropped: timers, notes, and the hopes of those who asked.
    pub(super) fn settle_exit(&self, incarnation: &Incarnation, exit: &Exit) {
        self.life.replace(None);
        let mut unanswered = incarnation.take_unanswered();
        unanswered.retain(|one| !one.died(incarnation.number, exit));
        let event = Event::Exited {
            child: self.name.clone(),
            incarnation: incarnation.number,
            exit: exit.clone(),
        };
        self.emit(event);
        let timers = self.timers.replace(Timers::new());
        let notes = self.mailbox.borrow_mut().take_notes();
        let cut_off = unanswered.iter().map(|envelope| envelope.name());
        self.report_dead(cut_off.chain(notes.iter().map(|envelope| envelope.name())), exit);
        drop_guarded((timers, notes));
    }

    /// Nobody comes back: everyone who waits is told, and everyone who will ask too.
    pub(super) fn go_down(&self, cause: &Exit) {
        self.down.replace(Some(cause.clone()));
        let leftovers = self.mailbox.borrow_mut().take_all();
        let (asked, dead): (Vec<_>, Vec<_>) = leftovers
            .into_iter()
            .partition(|envelope| envelope.go_down(cause));
        self.report_dead(dead.iter().map(|envelope| envelope.name()), cause);
        drop_guarded((asked, dead));
    }

    fn report_dead(&self, messages: impl Iterator<Item = &'static str>, cause: &Exit) {
        let mut counts = BTreeMap::<&'static str, usize>::new();
        for message in messages {
            *counts.entry(message).or_default() += 1;
        }
        for (message, count) in counts {
            let (child, cause) = (self.name.clone(), cause.clone());
            self.emit(Event::DeadLetters {
                child,
                message,
                count,
                cause,
            });
        }
    }
}

/// A message that panics when it is dropped harms nobody.
fn drop_guarded(envelopes: impl Sized) {
    if let Err(exit) = guard(|| drop(envelopes)) {
        tracing::error!(%exit, "dropping a message panicked");
    }
}

impl<A: Handles<M>, M: Message> Accept<M> for ActorCell<A> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn post(&self, envelope: &Rc<Envelope<M>>) -> Posted {
        if let Some(cause) = &*self.down.borrow() {
            return Posted::Down(cause.clone());
        }
        match self.admit(envelope.clone(), envelope.mode()) {
            Ok(()) => Posted::Queued,
            Err(Full) => Posted::Busy,
        }
    }

    fn post_always(&self, envelope: &Rc<Envelope<M>>) {
        if self.down.borrow().is_some() {
            envelope.settle(ReplyState::Told);
            return;
        }
        self.mailbox.borrow_mut().admit_always(envelope.clone());
        self.wake();
    }

    fn forget(&self, envelope: &Envelope<M>) {
        let address = Deliver::<A>::address(envelope);
        self.mailbox.borrow_mut().forget(address);
    }
}
