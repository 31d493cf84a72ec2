//! What an actor holds to reach another: typed by message, alive across restarts, honest about what it knows.

mod desk;
mod errors;

pub use errors::{AskError, TellError};

use super::letter::{Fate, Letter, Manner};
use super::{Exit, Message, Name};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Leads to whatever stands at one place of a tree, now and after every restart.
pub struct Port<M: Message>(Rc<dyn Accept<M>>);

pub(super) trait Accept<M: Message> {
    fn name(&self) -> Name;
    fn post(&self, letter: &Rc<Letter<M>>) -> Posted;
    /// For news that must not be refused.
    fn post_always(&self, letter: &Rc<Letter<M>>);
    fn forget(&self, letter: &Letter<M>);
}

pub(super) enum Posted {
    Queued,
    Busy,
    Down(Exit),
}

impl<M: Message> Port<M> {
    pub(super) fn new(place: Rc<dyn Accept<M>>) -> Self {
        Self(place)
    }

    /// A port with no actor behind it: each message is given to `answer` at once. For tests, and for the edge
    /// of a tree.
    pub fn answered_by(name: &str, answer: impl FnMut(M) -> M::Reply + 'static) -> Self {
        Self(Rc::new(desk::Desk::new(name, answer)))
    }

    /// Who stands there.
    pub fn name(&self) -> Name {
        self.0.name()
    }

    /// Sends a message and waits for the reply.
    ///
    /// It is posted at this call, not at the first poll, so asks and tells keep their order. It waits out restarts;
    /// a message whose handling never began goes to the next life. A future dropped early takes its message back.
    pub fn ask(
        &self,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static {
        self.ask_as(Manner::Ask, message, within)
    }

    /// The same for those who are many and come all at once: they stand in a longer line before they are refused.
    pub fn ask_patiently(
        &self,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static {
        self.ask_as(Manner::AskPatiently, message, within)
    }

    fn ask_as(
        &self,
        manner: Manner,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static {
        let deadline = Instant::now().checked_add(within);
        let letter = Letter::new(message, manner);
        match self.0.post(&letter) {
            Posted::Queued => {}
            Posted::Busy => letter.settle(Fate::Busy),
            Posted::Down(cause) => letter.settle(Fate::Down(cause)),
        }
        wait_for_reply(
            Asked {
                place: self.0.clone(),
                letter,
            },
            deadline,
        )
    }

    /// Asks patiently with a message that may be handled twice: it is also sent again after `Died`, until the time is up.
    pub fn ask_again(
        &self,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static
    where
        M: Clone,
    {
        let port = self.clone();
        let until = Instant::now().checked_add(within);
        let mut first = Some(port.ask_patiently(message.clone(), within));
        async move {
            loop {
                let left = until.map_or(within, |until| until.saturating_duration_since(Instant::now()));
                let asked = first
                    .take()
                    .unwrap_or_else(|| port.ask_patiently(message.clone(), left));
                match asked.await {
                    Err(AskError::Died { .. }) if until.is_none_or(|until| Instant::now() < until) => {}
                    settled => return settled,
                }
            }
        }
    }

    /// Sends a message; nobody waits for a reply. It outlives a crash while it is in the mailbox.
    pub fn tell(&self, message: M) -> Result<(), TellError<M>> {
        let letter = Letter::new(message, Manner::Tell);
        let posted = self.0.post(&letter);
        match (posted, letter) {
            (Posted::Queued, _) => Ok(()),
            (Posted::Busy, letter) => letter
                .take_message()
                .map_or(Ok(()), |message| Err(TellError::Busy(message))),
            (Posted::Down(cause), letter) => letter
                .take_message()
                .map_or(Ok(()), |message| Err(TellError::Down { cause, message })),
        }
    }

    /// Sends news that must not be refused, whatever the mailbox holds. Their number must be bounded elsewhere.
    pub(super) fn tell_always(&self, message: M) {
        self.0.post_always(&Letter::new(message, Manner::Tell));
    }
}

/// Takes the letter back when the asker goes.
struct Asked<M: Message> {
    place: Rc<dyn Accept<M>>,
    letter: Rc<Letter<M>>,
}

impl<M: Message> Asked<M> {
    fn take_back(&self) -> Option<M> {
        let message = self.letter.take_message();
        if message.is_some() {
            self.place.forget(&self.letter);
        }
        message
    }
}

impl<M: Message> Drop for Asked<M> {
    fn drop(&mut self) {
        drop(self.take_back());
    }
}

async fn wait_for_reply<M: Message>(
    asked: Asked<M>,
    deadline: Option<Instant>,
) -> Result<M::Reply, AskError<M>> {
    let mut clock = pin!(deadline.map(sleep_until));
    let fate = poll_fn(|cx| {
        if let Poll::Ready(fate) = asked.letter.poll_fate(cx.waker()) {
            return Poll::Ready(Some(fate));
        }
        match clock.as_mut().as_pin_mut() {
            Some(clock) => clock.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await;
    let Some(fate) = fate else {
        return Err(AskError::Timeout {
            message: asked.take_back(),
        });
    };
    match fate {
        Fate::Answered(reply) => Ok(reply),
        Fate::Died { incarnation, cause } => Err(AskError::Died { incarnation, cause }),
        Fate::Down(cause) => match asked.letter.take_message() {
            Some(message) => Err(AskError::Down { cause, message }),
            None => Err(AskError::Died {
                incarnation: 0,
                cause,
            }),
        },
        Fate::Busy => match asked.letter.take_message() {
            Some(message) => Err(AskError::Busy(message)),
            None => Err(AskError::Timeout { message: None }),
        },
        Fate::Waiting(_) | Fate::Told => Err(AskError::Timeout {
            message: asked.take_back(),
        }),
    }
}

impl<M: Message> Clone for Port<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Message> fmt::Debug for Port<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Port<{}>({})", M::NAME, self.name())
    }
}
