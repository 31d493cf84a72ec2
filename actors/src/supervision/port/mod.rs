//! What an actor holds to reach another: typed by message, alive across restarts, honest about what it knows.

mod errors;
mod function;

pub use errors::{AskError, TellError};

use super::envelope::{Envelope, ReplyState, SendMode};
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
    fn post(&self, envelope: &Rc<Envelope<M>>) -> Posted;
    /// For news that must not be refused.
    fn post_always(&self, envelope: &Rc<Envelope<M>>);
    fn forget(&self, envelope: &Envelope<M>);
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
        Self(Rc::new(function::FunctionPort::new(name, answer)))
    }

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
        self.ask_as(SendMode::Ask, message, within)
    }

    /// The same for those who are many and come all at once: they stand in a longer line before they are refused.
    pub fn ask_patiently(
        &self,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static {
        self.ask_as(SendMode::AskPatiently, message, within)
    }

    fn ask_as(
        &self,
        mode: SendMode,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Reply, AskError<M>>> + use<M> + 'static {
        let deadline = Instant::now().checked_add(within);
        let envelope = Envelope::new(message, mode);
        match self.0.post(&envelope) {
            Posted::Queued => {}
            Posted::Busy => envelope.settle(ReplyState::Busy),
            Posted::Down(cause) => envelope.settle(ReplyState::Down(cause)),
        }
        wait_for_reply(
            Asked {
                place: self.0.clone(),
                envelope,
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
        let envelope = Envelope::new(message, SendMode::Tell);
        let posted = self.0.post(&envelope);
        match (posted, envelope) {
            (Posted::Queued, _) => Ok(()),
            (Posted::Busy, envelope) => envelope
                .take_message()
                .map_or(Ok(()), |message| Err(TellError::Busy(message))),
            (Posted::Down(cause), envelope) => envelope
                .take_message()
                .map_or(Ok(()), |message| Err(TellError::Down { cause, message })),
        }
    }

    /// Sends news that must not be refused, whatever the mailbox holds. Their number must be bounded elsewhere.
    pub(super) fn tell_always(&self, message: M) {
        self.0.post_always(&Envelope::new(message, SendMode::Tell));
    }
}

/// Takes the envelope back when the asker goes.
struct Asked<M: Message> {
    place: Rc<dyn Accept<M>>,
    envelope: Rc<Envelope<M>>,
}

impl<M: Message> Asked<M> {
    fn take_back(&self) -> Option<M> {
        let message = self.envelope.take_message();
        if message.is_some() {
            self.place.forget(&self.envelope);
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
    let state = poll_fn(|cx| {
        if let Poll::Ready(state) = asked.envelope.poll_reply(cx.waker()) {
            return Poll::Ready(Some(state));
        }
        match clock.as_mut().as_pin_mut() {
            Some(clock) => clock.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await;
    let Some(state) = state else {
        return Err(AskError::Timeout {
            message: asked.take_back(),
        });
    };
    match state {
        ReplyState::Answered(reply) => Ok(reply),
        ReplyState::Died { incarnation, cause } => Err(AskError::Died { incarnation, cause }),
        ReplyState::Down(cause) => match asked.envelope.take_message() {
            Some(message) => Err(AskError::Down { cause, message }),
            None => Err(AskError::Died {
                incarnation: 0,
                cause,
            }),
        },
        ReplyState::Busy => match asked.envelope.take_message() {
            Some(message) => Err(AskError::Busy(message)),
            None => Err(AskError::Timeout { message: None }),
        },
        ReplyState::Waiting(_) | ReplyState::Told => Err(AskError::Timeout {
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
