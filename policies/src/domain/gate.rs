//! Gates: a command that decides by its exit code whether what a run answered counts.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A command that is run when a run has answered, where the run worked. With exit code 0 the run succeeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Then it is killed, and the gate is closed.
    pub timeout: Duration,
    /// It may run again when it was cut off: running it twice is the same as once.
    #[serde(default)]
    pub repeatable: bool,
}

impl Gate {
    /// How long a gate has where nobody says.
    pub const TIMEOUT: Duration = Duration::from_secs(600);

    /// A program with its arguments.
    pub fn command<Word: Into<String>>(words: impl IntoIterator<Item = Word>) -> Self {
        Self {
            command: words.into_iter().map(Into::into).collect(),
            timeout: Self::TIMEOUT,
            repeatable: false,
        }
    }

    /// Then it is killed, and the gate is closed; 10 minutes unless said.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// It may run again when it was cut off. Unless this is said, the run is parked for a person to look.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }
}

/// How the command of a gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum GateEnding {
    /// By itself.
    Exited {
        /// 0 opens the gate.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// Which.
        signal: i32,
    },
    /// It was killed when its time was over.
    TimedOut,
    /// It started more processes than a run may have, and was killed with all of them.
    TooManyProcesses {
        /// So many.
        processes: u32,
    },
    /// It could not be started.
    NotStarted {
        /// Why, in a sentence.
        why: String,
    },
}

impl GateEnding {
    /// The run may go on.
    pub fn is_open(&self) -> bool {
        *self == Self::Exited { code: 0 }
    }
}
