//! The tool calls of a reply: each asks the gate before it runs, and its result passes the gate before the model sees it.

use super::agent_loop::Stop;
use super::tools::{ToolOutcome, Toolbox};
use crate::gateways::{RunnerEvent, RunnerEvents, ToolCall, ToolGate, ToolVerdict};
use crate::runners::preview::preview_of;
use impresario_policies::call_words::telling_argument;
use impresario_policies::domain::{Picture, Replay};
use std::rc::Rc;
use tokio_util::sync::CancellationToken;

/// So many calls of a reply run at the same time, where running them twice does no harm.
const AT_A_TIME_MAX: usize = 8;
/// The first characters of a result that the trace shows.
const SUMMARY_CHARACTERS_MAX: usize = 200;

pub(super) struct ToolCalls {
    pub(super) toolbox: Toolbox,
    pub(super) gate: Rc<dyn ToolGate>,
    pub(super) events: RunnerEvents,
    pub(super) cancel: CancellationToken,
}

/// A call that is over.
pub(super) struct MadeCall {
    pub(super) call: ToolCall,
    /// What the model is told.
    pub(super) text: String,
    /// What it is shown beside that.
    pub(super) pictures: Vec<Picture>,
    /// What the runtime is told; none of a call that never began.
    pub(super) ended: Option<RunnerEvent>,
}

impl ToolCalls {
    /// What changes something runs alone and in its turn: the next call may build on it.
    pub(super) fn at_a_time(&self, calls: &[ToolCall]) -> usize {
        let is_safe = |call: &ToolCall| self.toolbox.replay(&call.tool) == Replay::Safe;
        match calls.iter().all(is_safe) {
            true => AT_A_TIME_MAX,
            false => 1,
        }
    }

    pub(super) async fn make(&self, name: String, call: ToolCall) -> Result<MadeCall, Stop> {
        if !self.toolbox.offers(&call.tool) {
            let text = format!(
                "There is no tool {:?}. There are: {}.",
                call.tool,
                self.toolbox.names().join(", ")
            );
            return Ok(never_began(call, text));
        }
        let arguments = call.arguments.to_string();
        if let Some(why) = self.gate.forbids(&call.tool, &arguments) {
            return Ok(never_began(call, why));
        }
        let (replay, summary) = (self.toolbox.replay(&call.tool), summarise(&call.arguments));
        let starting = self
            .gate
            .starting(&name, &call.tool, &summary, &arguments, replay);
        unless_cancelled(&self.cancel, starting)
            .await?
            .map_err(Stop::Broken)?;
        let started = RunnerEvent::ToolStarted {
            call: name.clone(),
            tool: call.tool.clone(),
        };
        // Nobody who listens any more is no loss: the attempt is over.
        let _ = self.events.send(started).await;
        let mut outcome = unless_cancelled(&self.cancel, self.toolbox.run(&name, &call)).await?;
        let pictures = std::mem::take(&mut outcome.pictures);
        let (bytes, is_error) = (outcome.text.len() as u64, outcome.is_error);
        let preview = preview_of(&outcome.text);
        let (text, overflow) = self.review(&name, &call, outcome).await?;
        Ok(MadeCall {
            call,
            text,
            pictures,
            ended: Some(RunnerEvent::ToolEnded {
                call: name,
                is_error,
                bytes,
                preview,
                overflow,
            }),
        })
    }

    async fn review(
        &self,
        name: &str,
        call: &ToolCall,
        outcome: ToolOutcome,
    ) -> Result<(String, Option<String>), Stop> {
        if self.toolbox.reads_overflow(&call.tool) {
            return Ok((outcome.text, None));
        }
        if outcome.is_error {
            self.gate.failed(name);
        }
        let review = self.gate.review(name, &call.tool, &outcome.text);
        Ok(match unless_cancelled(&self.cancel, review).await? {
            ToolVerdict::Pass => (outcome.text, None),
            ToolVerdict::Replace { text, overflow } => (text, overflow),
        })
    }
}

fn never_began(call: ToolCall, text: String) -> MadeCall {
    MadeCall {
        call,
        text,
        pictures: Vec::new(),
        ended: None,
    }
}

pub(super) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop::Cancelled),
        done = work => Ok(done),
    }
}

/// What a call is about in one line; all of its arguments where no name is known.
fn summarise(arguments: &serde_json::Value) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(telling) = telling_argument(arguments) {
        return one_line(&telling).chars().take(SUMMARY_CHARACTERS_MAX).collect();
    }
    let mut line = String::new();
    if let Some(fields) = arguments.as_object() {
        for (name, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let value = one_line(&value);
            line.push_str(&format!(
                "{}{name}={value}",
                if line.is_empty() { "" } else { " " }
            ));
        }
    }
    line.chars().take(SUMMARY_CHARACTERS_MAX).collect()
}
