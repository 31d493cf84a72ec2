//! What does a result prove? Files, commands, tools, models and money, as the runtime saw them, and what the answer says
//! that they do not bear out.
//!
//! Everything here is a projection of the journal, so that a receipt survives whatever the run survives. A model has no
//! say in it.

#![warn(missing_docs)]

mod claims;
mod flags;
mod names;
mod target;
mod words;
mod work;

pub use flags::{AnswerFacts, files_to_look_for, flag_answer};
pub use names::{NamesSeen, names_in_result};
pub(crate) use target::{CHANGING, READING, without_detours};
pub use target::{Named, Place, TargetNamed, exit_code, exit_code_said, target_named};
pub use words::{flag_words, receipt_line, receipt_lines};
pub use work::work_of;

use crate::domain::{Flag, ModelUsage, PatchedFile, RunId, Work};
use crate::projection::RunProjection;
use serde::Serialize;

/// What a result proves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// The run that it goes on with, whose work is in it.
    pub goes_on_with: Option<RunId>,
    /// What it did.
    pub work: Work,
    /// What it changed in a git worktree of its own, as git says; none where it had none, or where nothing could be kept.
    pub patch: Option<PatchProof>,
    /// The models that answered its sub-agent, each once.
    pub models: Vec<String>,
    /// Calls of models, those of actor and judge included.
    pub model_calls: usize,
    /// What they used, as far as that is known.
    pub used: ModelUsage,
    /// Calls and attempts of which nobody knows what they used.
    pub uncounted: usize,
    /// What the answer says that all this does not bear out.
    pub flags: Vec<Flag>,
}

/// What a patch proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchProof {
    /// Of the file that holds it.
    pub sha256: String,
    /// How many files it changes.
    pub files_in_all: u32,
    /// The first of them.
    pub files: Vec<PatchedFile>,
    /// Nothing that git does not ignore is left out.
    pub complete: bool,
}

impl Receipt {
    /// Of a run as far as it came.
    pub fn of(run: &RunProjection) -> Self {
        let mut work = work_of(run);
        let request = run.accepted.as_ref().map(|accepted| &accepted.request);
        let patch = run
            .worktree
            .as_ref()
            .and_then(|own| own.kept.as_ref()?.patch.as_ref().ok());
        let patch = patch.map(|patch| PatchProof {
            sha256: patch.sha256.clone(),
            files_in_all: patch.files_in_all,
            files: patch.files.clone(),
            complete: patch.complete,
        });
        // Git saw every file, whoever changed it.
        work.may_have_changed_more &= !patch.as_ref().is_some_and(|patch| patch.complete);
        let mut models: Vec<String> = Vec::new();
        let served = run.attempts.iter().map(|attempt| attempt.model.clone());
        for model in served {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        // What results named is for comparing answers with, and proves nothing by itself.
        work.named.clear();
        work.listed.clear();
        work.named_more = false;
        let used = run.used();
        Self {
            goes_on_with: request
                .filter(|request| request.continues.is_some())
                .and_then(|request| request.origin.resumes.clone()),
            work,
            patch,
            models,
            model_calls: run.calls.len(),
            used: used.counted,
            uncounted: used.calls_uncounted + used.attempts_uncounted,
            flags: run.flags.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
