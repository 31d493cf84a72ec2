//! An id under which something was accepted before: the same again is the same run, anything else is refused.

use super::{ASK, Refusal};
use crate::journal::{JournalError, Row};
use crate::messages::journal::ReadRun;
use crate::supervision::Port;
use impresario_policies::domain::{Reason, ReasonCode};

/// What stands under the ids of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing stood there: it was written now.
    New,
    Same,
    Other,
    Unknown,
}

/// Whether this can mean that something was accepted under the id before.
pub(super) fn may_stand(error: &JournalError) -> bool {
    matches!(
        error,
        JournalError::Conflict { .. } | JournalError::Fenced { .. } | JournalError::AlreadyEnded { .. }
    )
}

/// Compares the first step of each run with the one that was to be written.
pub(super) async fn find(steps: &Port<ReadRun>, wanted: &[Row]) -> Standing {
    for row in wanted {
        let read = ReadRun {
            run: row.run.clone(),
            after: 0,
        };
        match steps.ask_again(read, ASK).await {
            Ok(Ok(standing)) if standing.first().is_some_and(|first| first.step == row.step) => {}
            Ok(Ok(standing)) if standing.is_empty() => return Standing::Unknown,
            Ok(Ok(_)) => return Standing::Other,
            Ok(Err(_)) | Err(_) => return Standing::Unknown,
        }
    }
    Standing::Same
}

pub(super) fn refusal() -> Refusal {
    Refusal(Reason {
        code: ReasonCode::IdTaken,
        message: "Something else was accepted under this id before. Ask with an id of its own.".to_string(),
    })
}
