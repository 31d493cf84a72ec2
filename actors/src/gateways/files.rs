//! Looking at files for a receipt: what they are now, and whether they are there. Nothing is changed.

use async_trait::async_trait;
use impresario_policies::domain::FileState;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[async_trait(?Send)]
pub trait FileLooks {
    /// What a file is now.
    async fn look(&self, file: PathBuf) -> FileState;
    /// Of the files that an answer names, those that are there; none where that cannot be said in time.
    async fn cited(&self, answer: &str, workspace: &Path) -> Option<BTreeSet<String>>;
}
