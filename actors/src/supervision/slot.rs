//! The place of one child in its tree. It outlives the incarnations, so ports lead here.

use super::driver::Running;
use super::incarnation::Incarnation;
use super::letter::{Deliver, Fate, Letter, Manner};
use super::mailbox::{AnyLetter, Full, Mailbox};
use super::panic_hook::guard;
use super::port::{Accept, Posted};
use super::surroundings::Surroundings;
use super::timers::Timers;
use super::{Actor, Event, Exit, Handles, Message, Name};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

pub(super) struct Slot<A: Actor> {
    name: Name,
    mailbox: RefCell<Mailbox<A>>,
    pub(super) timers: RefCell<Timers<A>>,
    /// Set while nobody will ever handle a letter again, as far as anyone knows.
    down: RefCell<Option<Exit>>,
    lives: Cell<u64>,
    pub(super) life: RefCell<Option<Rc<Incarnation>>>,
    /// Out of its place while it is polled.
    pub(super) running: Cell<Option<Box<Running<A>>>>,
    waker: RefCell<Option<Waker>>,
    awake: Cell<bool>,
    surroundings: RefCell<Option<Rc<Surroundings>>>,
}

impl<A: Actor> Slot<A> {
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
            surroundings: RefCell::default(),
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
    pub(super) fn begin(&self, surroundings: &Rc<Surroundings>) -> Rc<Incarnation> {
        let number = self.lives.get() + 1;
        self.lives.set(number);
        let incarnation = Rc::new(Incarnation::new(number));
        self.down.replace(None);
        self.surroundings.replace(Some(surroundings.clone()));
        self.life.replace(Some(incarnation.clone()));
        self.waker.replace(None);
        self.awake.set(false);
        incarnation
    }

    pub(super) fn emit(&self, event: Event) {
        let surroundings = self.surroundings.borrow().clone();
        if let Some(surroundings) = surroundings {
            surroundings.emit(event);
        }
    }

    // The mailbox, as the shell and the driver see it.

    pub(super) fn front(&self) -> Option<AnyLetter<A>> {
        self.mailbox.borrow().front()
    }

    pub(super) fn remove_front(&self) {
        self.mailbox.borrow_mut().remove_front();
    }

    pub(super) fn has_post(&self) -> bool {
        !self.mailbox.borrow().is_empty()
    }

    pub(super) fn admit(&self, letter: AnyLetter<A>, manner: Manner) -> Result<(), Full> {
        self.mailbox.borrow_mut().admit(letter, manner)?;
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
    pub(super) fn bury(&self, incarnation: &Incarnation, exit: &Exit) {
        self.life.replace(None);
        let mut orphans = incarnation.take_orphans();
        orphans.retain(|orphan| !orphan.died(incarnation.number, exit));
        let event = Event::Exited {
            child: self.name.clone(),
            incarnation: incarnation.number,
            exit: exit.clone(),
        };
        self.emit(event);
        let timers = self.timers.replace(Timers::new());
        let notes = self.mailbox.borrow_mut().take_notes();
        let cut_off = orphans.iter().map(|letter| letter.name());
        self.report_dead(cut_off.chain(notes.iter().map(|letter| letter.name())), exit);
        drop_guarded((timers, notes));
    }

    /// Nobody comes back: everyone who waits is told, and everyone who will ask too.
    pub(super) fn go_down(&self, cause: &Exit) {
        self.down.replace(Some(cause.clone()));
        let leftovers = self.mailbox.borrow_mut().take_all();
        let (asked, dead): (Vec<_>, Vec<_>) = leftovers.into_iter().partition(|letter| letter.go_down(cause));
        self.report_dead(dead.iter().map(|letter| letter.name()), cause);
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
fn drop_guarded(letters: impl Sized) {
    if let Err(exit) = guard(|| drop(letters)) {
        tracing::error!(%exit, "dropping a message panicked");
    }
}

impl<A: Handles<M>, M: Message> Accept<M> for Slot<A> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn post(&self, letter: &Rc<Letter<M>>) -> Posted {
        if let Some(cause) = &*self.down.borrow() {
            return Posted::Down(cause.clone());
        }
        match self.admit(letter.clone(), letter.manner()) {
            Ok(()) => Posted::Queued,
            Err(Full) => Posted::Busy,
        }
    }

    fn post_always(&self, letter: &Rc<Letter<M>>) {
        if self.down.borrow().is_some() {
            letter.settle(Fate::Told);
            return;
        }
        self.mailbox.borrow_mut().admit_always(letter.clone());
        self.wake();
    }

    fn forget(&self, letter: &Letter<M>) {
        let address = Deliver::<A>::address(letter);
        self.mailbox.borrow_mut().forget(address);
    }
}
