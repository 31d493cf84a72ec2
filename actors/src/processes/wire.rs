//! What the runtime and the keeper say to each other: one JSON object a line over a socket pair.
//!
//! The socket is the keeper's standard input. The three streams of the program travel with the first byte of
//! [`Order::Start`], in the order input, output, error.

use impresario_policies::domain::Containment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::ContainmentSetting;

/// The longest line either side accepts. The kernel bounds arguments and environment at about 2 MB.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// First argument of the keeper's executable: what this process of it is there for.
pub const ROLE_KEEP: &str = "impresario-keeper:keep";

/// A program, in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// A path, or a name to be looked up in the `PATH` of `environment`.
    pub program: String,
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    pub working_directory: String,
}

/// From the runtime to the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Order {
    /// Start this. The first order, and there is one.
    Start {
        /// The mark of the run and its part, for the environment and for the sweep.
        mark: String,
        /// The runtime's process id: a keeper that finds another parent came too late.
        runtime: i32,
        program: Program,
        containment: ContainmentSetting,
        /// How long everything has between being asked to end and being killed when the runtime is gone.
        orphan_grace_ms: u64,
        /// So many processes it may have at a time.
        processes_max: u32,
    },
    /// Say whether anything but the program is left. It goes on to serve another run if not.
    Look,
    /// End it: ask, wait this long, kill. A second one may shorten the wait.
    Stop { grace_ms: u64 },
}

/// From the keeper to the runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Report {
    /// The program runs: its `exec` succeeded.
    Started {
        /// Its process id, as seen from outside a namespace; none when it ended before it could be seen.
        pid: Option<i32>,
        containment: Containment,
        /// Why it is not held better, where that was tried.
        note: Option<String>,
    },
    /// The program does not run, and nothing else does.
    Failed {
        /// What could not be done.
        what: Failure,
        /// The system's error number.
        errno: i32,
        note: Option<String>,
    },
    /// What was asked with [`Order::Look`].
    Looked {
        /// There is nothing but the program, which was frozen meanwhile.
        alone: bool,
    },
    /// There are more processes than there may be. All of them are being killed.
    Overrun { processes: u32 },
    Exited {
        /// Its exit code, if it had one.
        code: Option<i32>,
        /// The signal it died of, if it did.
        signal: Option<i32>,
    },
    /// Everything ended. The last report.
    Empty {
        method: Containment,
        /// The kernel told the keeper that it has no child left.
        no_children: bool,
        /// How many processes had to be killed.
        killed: u32,
        /// How many processes with the run's marker there still are.
        processes_left: u32,
    },
}

/// What could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Going to the working directory.
    WorkingDirectory,
    Program,
    /// Making a namespace, where one was demanded.
    Namespace,
    /// Something the keeper needs for itself.
    Keeper,
}

/// A message as a line, with its line feed.
pub fn line_of<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("plain data with text keys serialises");
    line.push(b'\n');
    line
}

/// The message in a line without its line feed.
pub fn message_in<'line, T: Deserialize<'line>>(line: &'line [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_its_line() {
        let order = Order::Stop { grace_ms: 2_000 };
        let line = line_of(&order);
        assert_eq!(line.last(), Some(&b'\n'));
        assert_eq!(
            message_in::<Order>(&line[..line.len() - 1]).expect("the same order"),
            order
        );
    }

    #[test]
    fn a_line_feed_in_a_value_does_not_end_the_line() {
        let report = Report::Failed {
            what: Failure::Keeper,
            errno: 2,
            note: Some("a\nb".to_string()),
        };
        assert_eq!(line_of(&report).iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
