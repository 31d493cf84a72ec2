//! What can go wrong with the journal. Every text fits after "failed to write: " and reads as one sentence.

use super::RuntimeId;
use super::calls::CallRefusal;
use impresario_policies::domain::{AttemptNumber, RunId};
use impresario_policies::unwritable::WriteFailure;
use std::path::PathBuf;

/// Why the journal did not do what was asked. Nothing of the request happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("step {sequence} of run {run} is already something else")]
    Conflict { run: RunId, sequence: u64 },
    #[error("step {sequence} of run {run} came when step {expected} was due")]
    Gap {
        run: RunId,
        expected: u64,
        sequence: u64,
    },
    /// Another runtime has taken the run over; whoever gets this must let go of it at once.
    #[error("run {run} belongs to generation {current} now, not to generation {attempted}")]
    Fenced {
        run: RunId,
        current: u64,
        attempted: u64,
    },
    /// The run has its terminal step; only its delivery can follow.
    #[error("run {run} has already ended, its step {sequence} cannot follow")]
    AlreadyEnded { run: RunId, sequence: u64 },
    #[error("there is no run {run}")]
    UnknownRun { run: RunId },
    /// The first step of a run is not its acceptance.
    #[error("run {run} does not begin with its acceptance")]
    NotAccepted { run: RunId },
    /// A tool call begins once and ends once.
    #[error("tool call {call} of attempt {attempt} of run {run} {why}")]
    Call {
        run: RunId,
        attempt: AttemptNumber,
        call: String,
        why: CallRefusal,
    },
    #[error("overflow_{handle} of run {run} is already something else")]
    OverflowConflict { run: RunId, handle: u32 },
    #[error("{bytes} bytes are more than the {bytes_max} that the journal keeps in one piece")]
    TooLarge { bytes: usize, bytes_max: usize },
    /// The runtime that owns the run is alive.
    #[error("run {run} belongs to runtime {owner}, which is alive")]
    OwnerAlive { run: RunId, owner: RuntimeId },
    /// Somebody else took the run over in the meantime.
    #[error("run {run} was taken over by another runtime in the meantime")]
    ClaimLost { run: RunId },
    #[error("the disk that holds the journal is full")]
    DiskFull,
    #[error("the journal is read-only")]
    ReadOnly,
    /// Another process held the journal for too long.
    #[error("the journal was locked by another process for too long")]
    Busy,
    /// What the file holds is no journal any more; it is set aside at the next start.
    #[error("the journal is damaged ({why}); it will be set aside when Impresario starts next")]
    Damaged { why: String },
    /// The rows of one run are not as they were written; they are set aside at the next start.
    #[error("run {run} cannot be read any more: {why}")]
    RunDamaged { run: String, why: String },
    /// The journal's file, or its log, is not where it was.
    #[error("the journal is gone: {why}")]
    Vanished { why: String },
    /// A step was written by another version and cannot be read by this one.
    #[error("step {sequence} of run {run} cannot be read by this version: {why}")]
    Unreadable { run: RunId, sequence: u64, why: String },
    #[error("the journal's storage failed: {why}")]
    Storage { why: String },
    /// The thread that writes is gone; the runtime cannot go on.
    #[error("the journal is closed")]
    Closed,
}

impl JournalError {
    /// What a person can do about it, where somebody can; a sentence of its own.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::DiskFull => Some("Free some space on the disk that holds the state directory."),
            Self::ReadOnly => Some("Make the state directory writable for this user, or choose another one."),
            Self::Busy => Some("See which process holds the journal, and try again."),
            Self::Storage { .. } => {
                Some("Look whether the disk that holds the state directory is full, failing or read-only.")
            }
            Self::Damaged { .. } => {
                Some("Start Impresario again: it sets aside what is damaged, and says so.")
            }
            Self::RunDamaged { .. } => Some("Start Impresario again: it sets the run aside, and says so."),
            Self::Vanished { .. } => {
                Some("Put the file back, or start Impresario again: it begins a new journal.")
            }
            Self::Closed => Some("Start Impresario again."),
            _ => None,
        }
    }

    /// The world stands in the way (full disk, read-only, broken), not the request.
    pub(super) fn is_of_the_world(&self) -> bool {
        let is_of_one_run = matches!(self, Self::RunDamaged { .. });
        !is_of_one_run
            && matches!(
                self.write_failure(),
                WriteFailure::Passing | WriteFailure::Lasting
            )
    }

    /// What it means for a write that was asked for.
    pub fn write_failure(&self) -> WriteFailure {
        match self {
            Self::DiskFull | Self::ReadOnly | Self::Busy | Self::Storage { .. } => WriteFailure::Passing,
            Self::Damaged { .. } | Self::RunDamaged { .. } | Self::Vanished { .. } | Self::Closed => {
                WriteFailure::Lasting
            }
            Self::Fenced { .. } | Self::OwnerAlive { .. } | Self::ClaimLost { .. } => WriteFailure::NotOurs,
            Self::Call { .. } | Self::OverflowConflict { .. } | Self::TooLarge { .. } => {
                WriteFailure::StepRefused
            }
            Self::Conflict { .. }
            | Self::Gap { .. }
            | Self::AlreadyEnded { .. }
            | Self::UnknownRun { .. }
            | Self::NotAccepted { .. }
            | Self::Unreadable { .. } => WriteFailure::OutOfStep,
        }
    }
}

/// Why the journal could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The state directory cannot be made or used.
    #[error("the state directory {path} cannot be used: {why}", path = path.display())]
    StateDirectory { path: PathBuf, why: String },
    /// A newer Impresario wrote the journal; this one would not understand it and leaves it alone.
    #[error(
        "the journal {path} was written by a newer Impresario (schema {found}, this one knows {known}); update Impresario or choose another state directory",
        path = path.display()
    )]
    NewerSchema { path: PathBuf, found: u32, known: u32 },
    /// The journal is damaged, and a living runtime still writes to it.
    #[error(
        "the journal {path} is damaged ({why}), and another Impresario still uses it; stop that one first",
        path = path.display()
    )]
    DamagedInUse { path: PathBuf, why: String },
    #[error("the journal {path} cannot be opened: {source}", path = path.display())]
    Storage { path: PathBuf, source: JournalError },
}

impl OpenError {
    /// What a person can do about it, where the text itself does not say it; a sentence of its own.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Storage { source, .. } => source.advice(),
            Self::StateDirectory { .. } | Self::NewerSchema { .. } | Self::DamagedInUse { .. } => None,
        }
    }
}
