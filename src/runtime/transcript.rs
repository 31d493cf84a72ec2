//! What the sub-agent of a run and its model said to each other, for a person.

use super::{Runtime, RuntimeError};
use impresario_actors::transcripts::read_sessions;
use impresario_policies::domain::RunId;
use impresario_policies::transcript::{Transcript, TranscriptFacts, attempts_from_scratch, write_transcript};

impl Runtime {
    /// The conversation of a run, from its nested session where that is kept and from the journal where it is not. `words`
    /// is what the sub-agent says now, where somebody hears it.
    pub async fn transcript(&self, run: &RunId, words: String) -> Result<Transcript, RuntimeError> {
        let steps = self.steps(run, 0).await?;
        let (sessions, run) = (self.0.defaults.sessions.clone(), run.clone());
        let written = tokio::task::spawn_blocking(move || {
            let read = read_sessions(&sessions, &run, &attempts_from_scratch(&steps));
            let read = read.unwrap_or_else(|error| {
                tracing::warn!(run.id = %run, %error, "nested session not read");
                Vec::new()
            });
            write_transcript(&TranscriptFacts {
                run: &run,
                steps: &steps,
                sessions: &read,
                words: &words,
            })
        });
        let broke = |_| RuntimeError::Inside("writing a transcript broke".to_string());
        written.await.map_err(broke)
    }
}
