//! The envelopes of one child. Bounded: who tells a full mailbox is refused, who asks it waits in line.
//!
//! The line of those who ask is bounded too. Whoever asks patiently holds the message anyway for as long as they wait,
//! so their line is as long as a program may have callers, and ends only where something has gone wrong.

use super::Actor;
use super::envelope::{Deliver, SendMode};
use std::collections::VecDeque;
use std::rc::Rc;

/// How many may wait in line before a full mailbox, as a multiple of its size.
const LINE_FACTOR: usize = 16;
/// How many may wait patiently before a full mailbox, whatever its size.
pub(super) const PATIENT_MAX: usize = 65_536;
/// Notes to self that have not been handled; more is an actor flooding itself.
const NOTES_MAX: usize = 65_536;

pub(super) type AnyEnvelope<A> = Rc<dyn Deliver<A>>;

pub(super) struct Mailbox<A: Actor> {
    envelopes: VecDeque<AnyEnvelope<A>>,
    line: VecDeque<AnyEnvelope<A>>,
    size: usize,
}

/// There was no room.
pub(super) struct Full;

impl<A: Actor> Mailbox<A> {
    pub(super) fn new(size: usize) -> Self {
        Self {
            envelopes: VecDeque::new(),
            line: VecDeque::new(),
            size: size.max(1),
        }
    }

    pub(super) fn resize(&mut self, size: usize) {
        self.size = size.max(1);
        self.let_in();
    }

    pub(super) fn admit(&mut self, envelope: AnyEnvelope<A>, mode: SendMode) -> Result<(), Full> {
        let has_room = self.envelopes.len() < self.size; // then nobody stands in line: see `let_in`
        match mode {
            SendMode::Ask | SendMode::AskPatiently | SendMode::Tell if has_room => {
                self.envelopes.push_back(envelope)
            }
            SendMode::Ask if self.line.len() < self.size * LINE_FACTOR => self.line.push_back(envelope),
            SendMode::AskPatiently if self.line.len() < PATIENT_MAX => self.line.push_back(envelope),
            SendMode::Ask | SendMode::AskPatiently | SendMode::Tell => return Err(Full),
            SendMode::Note if self.envelopes.len() < NOTES_MAX => self.envelopes.push_back(envelope),
            SendMode::Note => return Err(Full),
        }
        Ok(())
    }

    /// An envelope that must not be refused: how a child ended.
    pub(super) fn admit_always(&mut self, envelope: AnyEnvelope<A>) {
        self.envelopes.push_back(envelope);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.envelopes.is_empty()
    }

    pub(super) fn front(&self) -> Option<AnyEnvelope<A>> {
        self.envelopes.front().cloned()
    }

    pub(super) fn remove_front(&mut self) {
        self.envelopes.pop_front();
        self.let_in();
    }

    /// Takes out an envelope whose asker has gone.
    pub(super) fn forget(&mut self, address: *const ()) {
        self.line.retain(|envelope| envelope.address() != address);
        self.envelopes.retain(|envelope| envelope.address() != address);
        self.let_in();
    }

    /// Takes out the notes that an incarnation wrote to itself.
    pub(super) fn take_notes(&mut self) -> Vec<AnyEnvelope<A>> {
        if self
            .envelopes
            .iter()
            .all(|envelope| envelope.mode() != SendMode::Note)
        {
            return Vec::new();
        }
        let (notes, envelopes) = self
            .envelopes
            .drain(..)
            .partition(|envelope| envelope.mode() == SendMode::Note);
        self.envelopes = envelopes;
        self.let_in();
        notes.into()
    }

    pub(super) fn take_all(&mut self) -> Vec<AnyEnvelope<A>> {
        self.envelopes.drain(..).chain(self.line.drain(..)).collect()
    }

    /// Fills free room from the line, after everything that makes room.
    fn let_in(&mut self) {
        while self.envelopes.len() < self.size {
            let Some(envelope) = self.line.pop_front() else {
                return;
            };
            self.envelopes.push_back(envelope);
        }
    }
}
