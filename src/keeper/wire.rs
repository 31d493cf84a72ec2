//! What the keeper's own processes say to each other.

use impresario_actors::processes::wire::{Failure, Program};
use serde::{Deserialize, Serialize};

/// To a process that becomes the program. The program's three streams travel with it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The value of the marker.
    pub run: String,
    /// The parent it must still have once it has asked for a signal at that parent's death.
    pub parent: i32,
    /// What to become.
    pub program: Program,
}

/// From a process that becomes the program. When its end closes after this, it has become the program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Launching {
    /// Everything is in place.
    Ready,
    /// It did not become the program.
    Failed {
        /// What could not be done.
        what: Failure,
        /// The system's error number.
        errno: i32,
    },
}

/// To the init of a namespace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToInit {
    /// Your parent is now the one that you will have: tie your life to it and furnish the namespace.
    Furnish,
    /// Start the program. Its three streams travel with it.
    Start(Launch),
}

/// From those who make a namespace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromNamespace {
    /// The init was started and has this process id outside.
    Opened {
        /// As the keeper sees it.
        init: i32,
    },
    /// There is no namespace, or none that a program could work in.
    Unavailable {
        /// What was tried and what the system said.
        why: String,
    },
    /// The namespace has a `/proc` of its own.
    Furnished,
    /// The program runs. A pidfd of it travels with this.
    Started,
    /// The program does not run.
    Failed {
        /// What could not be done.
        what: Failure,
        /// The system's error number.
        errno: i32,
    },
    /// The program ended.
    Exited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal it died of.
        signal: Option<i32>,
    },
}
