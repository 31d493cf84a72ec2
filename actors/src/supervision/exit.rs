//! How an actor ended.

use impresario_policies::restart::ExitKind;
use std::fmt;
use std::sync::Arc;

/// What a child is called in its tree, in events and on screen.
pub type Name = Arc<str>;

/// How one incarnation of an actor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It said that it was done.
    Normal,
    /// It gave up, and says why.
    Failed(Arc<str>),
    /// A handler, a builder, `started`, or a linked task panicked.
    Panicked {
        message: Arc<str>,
        /// Where, as `file:line`; known when our panic hook is installed.
        at: Arc<str>,
    },
    /// It was told to go, and went in time.
    Shutdown,
    /// It was removed from outside: a deadline passed, or what held it died.
    Killed,
    /// A supervisor gave up on a child.
    Escalated {
        /// The child given up.
        child: Name,
        /// How that child ended, and why it was not restarted once more.
        why: Arc<str>,
    },
    /// The thread's scheduler went away under it.
    Lost,
}

impl Exit {
    /// Whether a transient child is restarted after it.
    pub fn is_abnormal(&self) -> bool {
        !matches!(self, Self::Normal | Self::Shutdown)
    }

    pub(super) fn kind(&self) -> ExitKind {
        match self {
            Self::Normal => ExitKind::Finished,
            Self::Shutdown => ExitKind::Ordered,
            Self::Failed(_) | Self::Panicked { .. } | Self::Killed | Self::Escalated { .. } | Self::Lost => {
                ExitKind::Broken
            }
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("finished"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Panicked { message, at } => write!(f, "panicked at {at}: {message}"),
            Self::Shutdown => f.write_str("was shut down"),
            Self::Killed => f.write_str("was killed"),
            Self::Escalated { child, why } => write!(f, "gave up on {child}: {why}"),
            Self::Lost => f.write_str("was lost with its scheduler"),
        }
    }
}
