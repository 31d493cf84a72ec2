//! The letters of one child. Bounded: who tells a full mailbox is refused, who asks it waits in line.
//!
//! The line of those who ask is bounded too. Whoever asks patiently holds the message anyway for as long as they wait,
//! so their line is as long as a program may have callers, and ends only where something has gone wrong.

use super::Actor;
use super::letter::{Deliver, Manner};
use std::collections::VecDeque;
use std::rc::Rc;

/// How many may wait in line before a full mailbox, as a multiple of its size.
const LINE_FACTOR: usize = 16;
/// How many may wait patiently before a full mailbox, whatever its size.
pub(super) const PATIENT_MAX: usize = 65_536;
/// Notes to self that have not been handled; more is an actor flooding itself.
const NOTES_MAX: usize = 65_536;

pub(super) type AnyLetter<A> = Rc<dyn Deliver<A>>;

pub(super) struct Mailbox<A: Actor> {
    letters: VecDeque<AnyLetter<A>>,
    line: VecDeque<AnyLetter<A>>,
    size: usize,
}

/// There was no room.
pub(super) struct Full;

impl<A: Actor> Mailbox<A> {
    pub(super) fn new(size: usize) -> Self {
        Self {
            letters: VecDeque::new(),
            line: VecDeque::new(),
            size: size.max(1),
        }
    }

    pub(super) fn resize(&mut self, size: usize) {
        self.size = size.max(1);
        self.let_in();
    }

    pub(super) fn admit(&mut self, letter: AnyLetter<A>, manner: Manner) -> Result<(), Full> {
        let has_room = self.letters.len() < self.size; // then nobody stands in line: see `let_in`
        match manner {
            Manner::Ask | Manner::AskPatiently | Manner::Tell if has_room => self.letters.push_back(letter),
            Manner::Ask if self.line.len() < self.size * LINE_FACTOR => self.line.push_back(letter),
            Manner::AskPatiently if self.line.len() < PATIENT_MAX => self.line.push_back(letter),
            Manner::Ask | Manner::AskPatiently | Manner::Tell => return Err(Full),
            Manner::Note if self.letters.len() < NOTES_MAX => self.letters.push_back(letter),
            Manner::Note => return Err(Full),
        }
        Ok(())
    }

    /// A letter that must not be refused: how a child ended.
    pub(super) fn admit_always(&mut self, letter: AnyLetter<A>) {
        self.letters.push_back(letter);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub(super) fn front(&self) -> Option<AnyLetter<A>> {
        self.letters.front().cloned()
    }

    pub(super) fn remove_front(&mut self) {
        self.letters.pop_front();
        self.let_in();
    }

    /// Takes out a letter whose asker has gone.
    pub(super) fn forget(&mut self, address: *const ()) {
        self.line.retain(|letter| letter.address() != address);
        self.letters.retain(|letter| letter.address() != address);
        self.let_in();
    }

    /// Takes out the notes that an incarnation wrote to itself.
    pub(super) fn take_notes(&mut self) -> Vec<AnyLetter<A>> {
        if self.letters.iter().all(|letter| letter.manner() != Manner::Note) {
            return Vec::new();
        }
        let (notes, letters) = self
            .letters
            .drain(..)
            .partition(|letter| letter.manner() == Manner::Note);
        self.letters = letters;
        self.let_in();
        notes.into()
    }

    /// Takes out everything.
    pub(super) fn take_all(&mut self) -> Vec<AnyLetter<A>> {
        self.letters.drain(..).chain(self.line.drain(..)).collect()
    }

    /// Fills free room from the line, after everything that makes room.
    fn let_in(&mut self) {
        while self.letters.len() < self.size {
            let Some(letter) = self.line.pop_front() else {
                return;
            };
            self.letters.push_back(letter);
        }
    }
}
