//! What an actor holds to reach another: typed by message, alive across restarts, honest about what it knows.

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

/// Why an ask has no reply, by what is known.
pub enum AskError<M> {
    /// Handling had begun and was cut off: send it again only if that does no harm.
    Died {
        /// The life that was handling it.
        incarnation: u64,
        /// How that life ended.
        cause: Exit,
    },
    /// Never handled, and nobody comes back.
    Down {
        /// How the last life ended.
        cause: Exit,
        /// The message, untouched.
        message: M,
    },
    /// Never handled: the mailbox is full, and so is the line before it.
    Busy(M),
    /// No reply in time.
    Timeout {
        /// The message, if its handling never began.
        message: Option<M>,
    },
}

/// Why a message was not taken.
pub enum TellError<M> {
    /// Nobody comes back.
    Down {
        /// How the last life ended.
        cause: Exit,
        /// The message, untouched.
        message: M,
    },
    /// The mailbox is full.
    Busy(M),
}

impl<M: Message> Port<M> {
    pub(super) fn new(place: Rc<dyn Accept<M>>) -> Self {
        Self(place)
    }

    /// A port with no actor behind it: each message is given to `answer` at once. For tests, and for the edge
    /// of a tree.
    pub fn answered_by(name: &str, answer: impl FnMut(M) -> M::Reply + 'static) -> Self {
        Self(Rc::new(Desk {
            name: name.into(),
            answer: std::cell::RefCell::new(Box::new(answer)),
        }))
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
        let deadline = Instant::now().checked_add(within);
        let letter = Letter::new(message, Manner::Ask);
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

    /// The same for a message that may be handled twice: it is also sent again after `Died`, until the time is up.
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
        let mut first = Some(port.ask(message.clone(), within));
        async move {
            loop {
                let left = until.map_or(within, |until| until.saturating_duration_since(Instant::now()));
                let asked = first.take().unwrap_or_else(|| port.ask(message.clone(), left));
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

/// A place where a function stands instead of an actor.
struct Desk<M: Message> {
    name: Name,
    answer: std::cell::RefCell<AnswerFunction<M>>,
}

type AnswerFunction<M> = Box<dyn FnMut(M) -> <M as Message>::Reply>;

impl<M: Message> Accept<M> for Desk<M> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn post(&self, letter: &Rc<Letter<M>>) -> Posted {
        let Ok(mut answer) = self.answer.try_borrow_mut() else {
            return Posted::Busy;
        };
        if let Some(message) = letter.take_message() {
            letter.settle(Fate::Answered(answer(message)));
        }
        Posted::Queued
    }

    fn post_always(&self, letter: &Rc<Letter<M>>) {
        self.post(letter);
    }

    fn forget(&self, _: &Letter<M>) {}
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

impl<M: Message> fmt::Display for AskError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Died { incarnation, cause } => {
                write!(
                    f,
                    "{}: the actor died while handling it (life {incarnation} of it {cause})",
                    M::NAME
                )
            }
            Self::Down { cause, .. } => write!(
                f,
                "{}: nobody is there to handle it (the last life {cause})",
                M::NAME
            ),
            Self::Busy(_) => write!(f, "{}: the mailbox is full", M::NAME),
            Self::Timeout { message: Some(_) } => {
                write!(f, "{}: its handling did not begin in time", M::NAME)
            }
            Self::Timeout { message: None } => write!(f, "{}: no answer in time", M::NAME),
        }
    }
}

impl<M: Message> fmt::Debug for AskError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskError({self})")
    }
}

impl<M: Message> std::error::Error for AskError<M> {}

impl<M: Message> fmt::Display for TellError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down { cause, .. } => write!(
                f,
                "{}: nobody is there to handle it (the last life {cause})",
                M::NAME
            ),
            Self::Busy(_) => write!(f, "{}: the mailbox is full", M::NAME),
        }
    }
}

impl<M: Message> fmt::Debug for TellError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TellError({self})")
    }
}

impl<M: Message> std::error::Error for TellError<M> {}
