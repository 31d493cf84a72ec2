//! An answer that is longer than what is shown of it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// All that a sub-agent said, where its answer is cut for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "whole")]
pub enum WholeAnswer {
    /// It lies in a file that goes with its run.
    Kept {
        /// Where.
        file: PathBuf,
        /// Size of the file.
        bytes: u64,
    },
    /// It could not be written, so what is shown is all there is.
    Lost {
        /// How much was said.
        bytes: u64,
        /// What kept it from being written.
        why: String,
    },
}

impl WholeAnswer {
    /// Where it lies; none where it is lost.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Kept { file, .. } => Some(file),
            Self::Lost { .. } => None,
        }
    }
}
