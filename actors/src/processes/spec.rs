//! What is to be started, and why it could not be.

use super::{Mark, Part};
use impresario_policies::domain::RunId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// How strongly processes are to be held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainmentSetting {
    /// A PID namespace where the system allows one, else the keeper alone.
    #[default]
    Auto,
    /// The keeper alone.
    Keeper,
    /// A PID namespace, or nothing is started.
    Namespace,
}

/// A program to be run below a keeper.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// A path, or a name to be looked up in the `PATH` of `environment`.
    pub program: PathBuf,
    /// What follows the program's name.
    pub arguments: Vec<String>,
    /// The whole environment; nothing of ours is inherited. The run's marker is added.
    pub environment: BTreeMap<String, String>,
    pub working_directory: PathBuf,
    /// The run it belongs to.
    pub run: RunId,
    /// Which of the run's programs it is.
    pub part: Part,
    /// How strongly it is held.
    pub containment: ContainmentSetting,
    /// The keeper's executable, as [`find_keeper`](super::find_keeper) found it.
    pub keeper: PathBuf,
}

impl ProcessSpec {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            run: self.run.clone(),
            part: self.part,
        }
    }
}

/// Why a program could not be started. Nothing is left running when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no `impresario-keeper` found {looked_in}; install it beside `impresario` or set its path")]
    KeeperMissing { looked_in: String },
    /// The keeper's file is there and cannot be run.
    #[error("the keeper {path} cannot be run ({source})")]
    KeeperUnusable { path: PathBuf, source: io::Error },
    /// The keeper ended, or said nothing, before the program ran.
    #[error("the keeper {path} {what} before the program ran; is it the keeper of this version?")]
    KeeperSilent { path: PathBuf, what: &'static str },
    #[error("program {program} not found in the PATH it is given, or its interpreter is missing")]
    ProgramNotFound { program: PathBuf },
    /// The program's file is there and may not or cannot be executed.
    #[error("program {program} cannot be executed ({source})")]
    ProgramNotExecutable { program: PathBuf, source: io::Error },
    #[error("working directory {path} cannot be entered ({source})")]
    WorkingDirectory { path: PathBuf, source: io::Error },
    /// A namespace was demanded and the system gives none.
    #[error("this system gives no PID namespace ({why}); set containment to `auto` or `keeper`")]
    NoNamespace { why: String },
    #[error("{what} is not valid UTF-8: {value}")]
    NotText { what: &'static str, value: String },
    #[error("the system refused {what} ({source})")]
    System { what: &'static str, source: io::Error },
}

impl From<StartError> for crate::gateways::SpawnError {
    fn from(error: StartError) -> Self {
        Self {
            is_our_loss: matches!(error, StartError::KeeperSilent { .. }),
            why: error.to_string(),
        }
    }
}
