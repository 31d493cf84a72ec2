//! The log of system prompts: a file of the person's, that only its owner can read.
//!
//! Receives [`LogPrompt`] from whoever sees one; asks nobody. What was logged already is known to the file's own side,
//! which outlives this actor. Redacting and writing are linked work on a thread of their own, one prompt after the other;
//! where too many wait, the newest is left out.

mod file;
mod wire;

pub use file::PromptFile;

use crate::context::local::HeavyWork;
use crate::gateways::WallClock;
use crate::messages::prompts::LogPrompt;
use crate::supervision::{Actor, Answer, Context, Handles};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Mutex;

/// So many prompts wait at a time; each may be as long as a line of the bridge.
const WAITING_MAX: usize = 16;

pub struct PromptLog {
    file: PromptFile,
    heavy_work: HeavyWork,
    clock: Rc<dyn WallClock>,
    /// Prompts are written in the order in which they were seen.
    turn: Arc<Mutex<()>>,
}

impl Actor for PromptLog {
    const KIND: &'static str = "prompt log";
    const HANDLES: &'static [&'static str] = &["LogPrompt"];
}

impl PromptLog {
    pub fn new(file: PromptFile, heavy_work: HeavyWork, clock: Rc<dyn WallClock>) -> Self {
        Self {
            file,
            heavy_work,
            clock,
            turn: Arc::default(),
        }
    }
}

impl Handles<LogPrompt> for PromptLog {
    fn handle(&mut self, seen: LogPrompt, _: &mut Context<Self>) -> Answer<Self, Result<(), String>> {
        if !self.file.wants(seen.source) {
            return Answer::now(Ok(()));
        }
        // Each that waits holds the turn, and so does the one that is written.
        if Arc::strong_count(&self.turn) > WAITING_MAX {
            return Answer::now(Err("too many prompts wait to be logged".to_string()));
        }
        let (file, heavy_work, turn) = (self.file.clone(), self.heavy_work, self.turn.clone());
        let now = self.clock.now();
        Answer::later(async move {
            let _turn = turn.lock_owned().await;
            let written = heavy_work.run(move || file.log(&seen, now)).await;
            let failed = written.and_then(|written| written.map_err(|error| error.to_string()));
            failed.inspect_err(|why| tracing::warn!(why, "a system prompt is not logged"))
        })
    }
}
