//! What a tree tells whoever watches it.

use super::{Exit, Name};
use std::rc::Rc;
use std::time::Duration;

/// Something happened in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An incarnation is up.
    Up {
        child: Name,
        /// Which life, from 1.
        incarnation: u64,
    },
    Exited {
        child: Name,
        incarnation: u64,
        exit: Exit,
    },
    /// A child, with those that depend on it, will be started again.
    RestartIn {
        child: Name,
        delay: Duration,
        /// How many are started again.
        group: usize,
    },
    /// A supervisor gave up on a child.
    Escalated {
        supervisor: Name,
        child: Name,
        why: std::sync::Arc<str>,
    },
    /// A child was told to go.
    Stopping { child: Name },
    /// Messages that nobody will handle, or whose handling was cut off, and that nobody waits for.
    DeadLetters {
        /// To whom they were sent.
        child: Name,
        message: &'static str,
        count: usize,
        cause: Exit,
    },
}

/// Sees every event of a tree, on the tree's thread, in order.
pub type Observer = Rc<dyn Fn(&Event)>;

pub(super) fn trace(event: &Event) {
    match event {
        Event::Up { child, incarnation } => {
            tracing::debug!(actor.name = &**child, incarnation, "actor is up")
        }
        Event::Exited {
            child,
            incarnation,
            exit,
        } if exit.is_abnormal() => {
            tracing::warn!(actor.name = &**child, incarnation, %exit, "actor ended");
        }
        Event::Exited {
            child,
            incarnation,
            exit,
        } => {
            tracing::debug!(actor.name = &**child, incarnation, %exit, "actor ended");
        }
        Event::RestartIn { child, delay, group } => {
            tracing::info!(actor.name = &**child, ?delay, group, "actor will be restarted");
        }
        Event::Escalated {
            supervisor,
            child,
            why,
        } => {
            tracing::error!(actor.name = &**supervisor, child = &**child, %why, "supervisor gave up on a child");
        }
        Event::Stopping { child } => tracing::debug!(actor.name = &**child, "actor was told to go"),
        Event::DeadLetters {
            child,
            message,
            count,
            cause,
        } => {
            tracing::warn!(actor.name = &**child, message, count, %cause, "dead letters");
        }
    }
}
