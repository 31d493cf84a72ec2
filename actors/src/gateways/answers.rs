//! Where answers are kept whole that are cut for whoever asked.

use async_trait::async_trait;
use impresario_policies::domain::{AttemptNumber, RunId, WholeAnswer};

#[async_trait(?Send)]
pub trait AnswerShelf {
    /// Keeps all that was said in an attempt, in place of what was kept of it before. It is on disk when this returns.
    async fn keep(&self, run: &RunId, attempt: AttemptNumber, text: String) -> WholeAnswer;
}
