//! Where traces are kept: a directory of the workspace that belongs to the person.

use async_trait::async_trait;
use impresario_policies::trace_file::Trace;
use std::path::PathBuf;

/// Where the traces of a workspace are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePlace {
    pub workspace: PathBuf,
    /// The directory, below it.
    pub directory: String,
}

/// What actors may ask of the place where traces are kept. Failures are for the log: no run fails because of its trace.
#[async_trait(?Send)]
pub trait TraceShelf {
    /// Keeps a trace whole, in place of an earlier one of the same run, and says what its file is called.
    async fn keep(&self, place: &TracePlace, trace: Trace) -> Result<String, String>;
    /// The newest traces of exactly this skill, newest first.
    async fn newest(&self, place: &TracePlace, skill: &str, newest: usize) -> Result<Vec<Trace>, String>;
    /// Forgets the oldest traces of exactly this skill until so many are left, and says how many went.
    async fn forget(&self, place: &TracePlace, skill: &str, kept: usize) -> Result<usize, String>;
}
