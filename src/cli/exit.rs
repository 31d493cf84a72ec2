//! Exit codes, and the sentence that goes with a failure.

use super::output::say;
use crate::chain_files::NoChain;
use crate::runtime::{RuntimeError, StartError};
use impresario_actors::journal::OpenError;
use impresario_policies::domain::{Reason, ReasonCode, TerminalState};
use std::process::ExitCode;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const CANCELLED: u8 = 3;
const PARKED: u8 = 4;

/// What the help says of them.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  succeeded
  1  failed
  2  usage: the command could not be understood
  3  cancelled
  4  parked: a person has to look; `impresario runs resume <run>` goes on";

/// The exit code for the end of a run.
pub(super) fn code_of(state: TerminalState) -> ExitCode {
    match state {
        TerminalState::Succeeded => ExitCode::SUCCESS,
        TerminalState::Failed => ExitCode::from(FAILED),
        TerminalState::Cancelled => ExitCode::from(CANCELLED),
        TerminalState::Parked => ExitCode::from(PARKED),
    }
}

/// Why a command came to nothing.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            message: message.into(),
        }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            message: message.into(),
        }
    }

    /// What the person is told.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Tells the person and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        say(&self.message);
        ExitCode::from(self.code)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::failed(match error {
            StartError::Journal(error @ OpenError::Storage { .. }) => {
                format!("{error}. {}", error.advice().unwrap_or_default())
            }
            StartError::Journal(error) => error.to_string(),
            other => format!("failed to {other}"),
        })
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Refused(reason) => reason.into(),
            RuntimeError::MessageRefused(reason) => Self::failed(reason.message),
            RuntimeError::GroupRefused(refusal) => Self::usage(refusal.to_string()),
            RuntimeError::ChainRefused(refusal) => Self::usage(refusal.to_string()),
            other => Self::failed(format!("failed to {other}")),
        }
    }
}

impl From<NoChain> for Failure {
    fn from(error: NoChain) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        refused(reason)
    }
}

fn refused(reason: Reason) -> Failure {
    match reason.code {
        ReasonCode::UnknownAgent
        | ReasonCode::UnknownSkill
        | ReasonCode::UnknownModel
        | ReasonCode::NotResumable => Failure::usage(reason.message),
        _ => Failure::failed(reason.message),
    }
}
