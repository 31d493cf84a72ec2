//! What is known of a message that was not answered.

use crate::supervision::{Exit, Message};
use std::fmt;

/// Why an ask has no reply, by what is known.
pub enum AskError<M> {
    /// Handling had begun and was cut off: send it again only if that does no harm.
    Died {
        /// The life that was handling it.
        incarnation: u64,
        cause: Exit,
    },
    /// Never handled, and nobody comes back.
    Down {
        /// How the last life ended.
        cause: Exit,
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
    Down {
        /// How the last life ended.
        cause: Exit,
        message: M,
    },
    /// The mailbox is full.
    Busy(M),
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
