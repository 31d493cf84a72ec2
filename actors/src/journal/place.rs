//! May this row be written where it says?

use super::{JournalError, Row, RunSummary, RuntimeId};
use impresario_policies::domain::Step;

/// Where a row stands to what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the first step of a new run.
    Begins,
    /// It is the next step.
    Follows,
    /// Its place is taken; fine if by an equal step.
    Taken,
}

/// Decides where `row`, written by `writer`, belongs in the run as it stands.
pub(super) fn decide_place(
    run: Option<&RunSummary>,
    row: &Row,
    writer: &RuntimeId,
) -> Result<Place, JournalError> {
    let Some(run) = run else {
        return decide_beginning(row);
    };
    if run.generation != row.generation || run.owner != *writer {
        return Err(JournalError::Fenced {
            run: row.run.clone(),
            current: run.generation,
            attempted: row.generation,
        });
    }
    if (1..=run.steps).contains(&row.sequence) {
        return Ok(Place::Taken);
    }
    let expected = run.steps + 1;
    if row.sequence != expected {
        return Err(JournalError::Gap {
            run: row.run.clone(),
            expected,
            sequence: row.sequence,
        });
    }
    let may_follow_the_end = matches!(
        row.step,
        Step::Delivered | Step::Observed { .. } | Step::DeliveryAcknowledged
    );
    if run.ended_at.is_some() && !may_follow_the_end {
        return Err(JournalError::AlreadyEnded {
            run: row.run.clone(),
            sequence: row.sequence,
        });
    }
    Ok(Place::Follows)
}

fn decide_beginning(row: &Row) -> Result<Place, JournalError> {
    if row.sequence != 1 {
        return Err(JournalError::Gap {
            run: row.run.clone(),
            expected: 1,
            sequence: row.sequence,
        });
    }
    if row.generation != 1 {
        let attempted = row.generation;
        return Err(JournalError::Fenced {
            run: row.run.clone(),
            current: 1,
            attempted,
        });
    }
    match row.step {
        Step::Accepted { .. } => Ok(Place::Begins),
        _ => Err(JournalError::NotAccepted { run: row.run.clone() }),
    }
}
