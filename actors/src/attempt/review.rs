//! What the host gets of an answer, and where all of it is kept.

use crate::event_log::log_event;
use crate::gateways::AnswerShelf;
use impresario_policies::domain::{AttemptNumber, RunId, WholeAnswer};
use impresario_policies::output_sanitizer::{SanitizerSettings, sanitize_output};
use impresario_policies::router_log;
use impresario_policies::whole_answer::text_to_keep;
use std::rc::Rc;

/// How an attempt's answer is reviewed.
#[derive(Clone)]
pub struct AnswerReview {
    /// What ran, for the log.
    pub name: String,
    pub settings: SanitizerSettings,
    pub shelf: Rc<dyn AnswerShelf>,
}

impl AnswerReview {
    /// What is kept aside is on disk when this returns: the step that names it comes after it.
    pub(super) async fn review(
        &self,
        run: &RunId,
        attempt: AttemptNumber,
        said: &str,
    ) -> (String, Option<WholeAnswer>) {
        let answer = sanitize_output(said, &self.settings);
        router_log::output_sanitized(&self.name, &answer)
            .iter()
            .for_each(log_event);
        let whole = match text_to_keep(&answer) {
            Some(text) => Some(self.shelf.keep(run, attempt, text.to_string()).await),
            None => None,
        };
        if let Some(WholeAnswer::Lost { why, .. }) = &whole {
            tracing::warn!(run.id = %run, %attempt, why, "answer not kept whole");
        }
        (answer.text.into_owned(), whole)
    }
}
