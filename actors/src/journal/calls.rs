//! A tool call begins once and ends once, whoever says so.

use super::{JournalError, Row};
use impresario_policies::domain::{AttemptNumber, Step};
use std::collections::BTreeMap;
use std::fmt;

/// Why a step about a tool call is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRefusal {
    /// Its start stands already.
    BeganBefore,
    /// Its end stands already.
    EndedBefore,
    /// There is no start of it.
    NeverBegan,
}

impl fmt::Display for CallRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeganBefore => "began before",
            Self::EndedBefore => "ended before",
            Self::NeverBegan => "never began",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Begun,
    Ended,
}

/// The tool calls of one run, as its steps stand in the journal.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<(AttemptNumber, String), Standing>);

/// What a step says of a call.
enum Said {
    Begins,
    Ends,
}

/// Whether a step says something of a tool call.
pub(super) fn concerns(step: &Step) -> bool {
    said(step).is_some()
}

fn said(step: &Step) -> Option<(Said, AttemptNumber, &str)> {
    match step {
        Step::ToolStarted { attempt, call, .. } => Some((Said::Begins, *attempt, call)),
        Step::ToolEnded { attempt, call, .. } | Step::ToolIndeterminate { attempt, call, .. } => {
            Some((Said::Ends, *attempt, call))
        }
        _ => None,
    }
}

impl Calls {
    /// No call of it ever began.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes what stands already as it is: earlier versions told starts twice, and knew calls by the model's id alone.
    pub(super) fn add(&mut self, step: &Step) {
        if let Some((said, attempt, call)) = said(step) {
            let standing = match said {
                Said::Begins => Standing::Begun,
                Said::Ends => Standing::Ended,
            };
            self.0.insert((attempt, call.to_string()), standing);
        }
    }

    /// Adds what `row` says, unless it does not fit what stands.
    pub(super) fn check(&mut self, row: &Row) -> Result<(), JournalError> {
        let Some((said, attempt, call)) = said(&row.step) else {
            return Ok(());
        };
        let standing = self.0.get(&(attempt, call.to_string())).copied();
        let why = match (said, standing) {
            (Said::Begins, None) | (Said::Ends, Some(Standing::Begun)) => None,
            (Said::Begins, Some(_)) => Some(CallRefusal::BeganBefore),
            (Said::Ends, Some(Standing::Ended)) => Some(CallRefusal::EndedBefore),
            (Said::Ends, None) => Some(CallRefusal::NeverBegan),
        };
        if let Some(why) = why {
            return Err(JournalError::Call {
                run: row.run.clone(),
                attempt,
                call: call.to_string(),
                why,
            });
        }
        self.add(&row.step);
        Ok(())
    }
}
