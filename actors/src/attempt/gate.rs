//! The runtime's say on tools and calls of the model: a call begins when it is paid for, starts are on disk before tools run, results are reviewed before the model sees them.
//!
//! That a call began is said here and nowhere else: a runner asks, and what its stream tells of a start is for the
//! clocks only. A call that was never let in (an unknown tool, arguments that do not fit) has neither start nor end.

use super::evidence::Witness;
use super::guide::Guide;
use super::prompts::Prompts;
use super::silence::JournalWait;
use super::wire::named_in;
use super::{ASK, AttemptPorts, OpenCalls, Previews, Unsaid, WRITTEN_WITHIN, calls_and};
use crate::gateways::{
    CallAsked, ContextEngine, PASSAGES_MAX, Reach, RetrievalRequest, ToolAnswer, ToolGate, ToolPlace,
    ToolVerdict, Tools,
};
use crate::messages::ledger::OverBudget;
use crate::messages::run::{ReadOverflow, RecordSteps, ReviewToolResult};
use crate::purse::Purse;
use async_trait::async_trait;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::budget::CONCLUDE;
use impresario_policies::cache_markers::MarkerEdit;
use impresario_policies::domain::{AttemptNumber, Isolation, Replay, Step};
use impresario_policies::overflow_review::{
    OverflowReview, ResultLimits, ToolResultFacts, review_tool_result,
};
use impresario_policies::redact::redact;
use impresario_policies::trace_file::{kept_arguments, kept_preview};
use impresario_policies::worktree_commands::refuse_command;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A little before the clock of a tool, so that the sub-agent reads an answer instead of being stopped.
fn before(clock: Duration) -> Duration {
    clock.mul_f64(0.9)
}

/// The runtime's say on tools, as the runner sees it.
pub(super) struct Gate {
    pub(super) attempt: AttemptNumber,
    pub(super) result_limits: Arc<ResultLimits>,
    pub(super) ports: AttemptPorts,
    pub(super) stopping: CancellationToken,
    pub(super) context: Rc<dyn ContextEngine>,
    pub(super) tools: Arc<dyn Tools>,
    pub(super) workspace: PathBuf,
    /// Directories beside it that may be read in.
    pub(super) readable: Vec<PathBuf>,
    /// The time of one call of a tool.
    pub(super) within: Duration,
    pub(super) traced: Option<usize>,
    pub(super) previews: Previews,
    pub(super) open_calls: OpenCalls,
    pub(super) witness: Rc<Witness>,
    pub(super) purse: Rc<Purse>,
    pub(super) prompts: Rc<Prompts>,
    pub(super) unsaid: Unsaid,
    /// The sub-agent has yet to be told that it should come to an end.
    pub(super) conclude: Cell<bool>,
    pub(super) journal_waits: Rc<Cell<u32>>,
    /// It works in a git worktree of its own.
    pub(super) isolation: Isolation,
    /// Gives it the rules of directories; none where they are not wanted.
    pub(super) guide: Option<Guide>,
}

/// So many passages where the sub-agent does not say.
const PASSAGES_DEFAULT: usize = 8;
/// So long the next call of the model waits for the ends of the tools before it.
const ENDS_WRITTEN_WITHIN: Duration = Duration::from_secs(1);
const STOPPED: &str = "the run is being stopped";

#[async_trait(?Send)]
impl ToolGate for Gate {
    async fn calling(&self, asked: CallAsked) -> Result<Vec<MarkerEdit>, String> {
        let waiting = JournalWait::begin(&self.journal_waits);
        let paid_for = async {
            // What the model has read is on disk. A disk that is slow holds up no model for long.
            let _ = timeout(ENDS_WRITTEN_WITHIN, self.open_calls.all_written()).await;
            let waited = self.prompts.await_turn(&asked).await;
            let outline = asked
                .outline
                .clone()
                .map(|outline| (asked.model.clone(), outline));
            let conclude = self.purse.reserve(asked).await?;
            let (edits, seen) = self.prompts.plan(outline, waited).await;
            if let Some(seen) = seen {
                self.purse.saw(seen);
            }
            Ok::<_, OverBudget>((conclude, edits))
        };
        let reserved = tokio::select! {
            biased;
            () = self.stopping.cancelled() => return Err(STOPPED.to_string()),
            reserved = paid_for => reserved,
        };
        drop(waiting);
        let (conclude, edits) = reserved.map_err(|OverBudget(why)| why)?;
        self.conclude.set(self.conclude.get() || conclude);
        Ok(edits)
    }

    async fn starting(
        &self,
        call: &str,
        tool: &str,
        summary: &str,
        arguments: &str,
        replay: Replay,
    ) -> Result<(), String> {
        if self.stopping.is_cancelled() {
            return Err(STOPPED.to_string());
        }
        let target = self.witness.begins(call, tool, arguments).await;
        if let Some(guide) = &self.guide {
            guide.begins(call, tool, arguments);
        }
        let step = Step::ToolStarted {
            attempt: self.attempt,
            call: call.to_string(),
            tool: tool.to_string(),
            summary: redact(summary).into_owned(),
            arguments: self.traced.and_then(|_| kept_arguments(arguments)),
            replay,
            target,
        };
        let waiting = JournalWait::begin(&self.journal_waits);
        let steps = calls_and(&self.unsaid, Some(step));
        let recorded = tokio::select! {
            biased;
            recorded = self.ports.record.ask_again(RecordSteps { steps }, WRITTEN_WITHIN) => recorded,
            () = self.stopping.cancelled() => return Err(STOPPED.to_string()),
        };
        drop(waiting);
        match recorded {
            Ok(Ok(())) => {}
            Ok(Err(refused)) => return Err(refused.0),
            Err(error) => return Err(format!("{error:?}")),
        }
        self.open_calls.began(call);
        match self.stopping.is_cancelled() {
            true => Err(STOPPED.to_string()),
            false => Ok(()),
        }
    }

    fn forbids(&self, _: &str, arguments: &str) -> Option<String> {
        match self.isolation {
            Isolation::None => None,
            Isolation::Worktree => refuse_command(&named_in(arguments).command?),
        }
    }

    fn failed(&self, call: &str) {
        if let Some(guide) = &self.guide {
            guide.failed(call);
        }
    }

    fn compacted(&self) {
        if let Some(guide) = &self.guide {
            guide.compacted();
        }
    }

    async fn review(&self, call: &str, tool: &str, result: &str) -> ToolVerdict {
        self.witness.result(call, result).await;
        let verdict = self.review_size(call, tool, result).await;
        let verdict = match &self.guide {
            Some(guide) => told_behind(verdict, result, &guide.behind(call).await),
            None => verdict,
        };
        // Behind a result it costs no call of its own, and no answer that is being written is disturbed.
        match self.conclude.take() {
            true => told_behind(verdict, result, &format!("\n\n[{CONCLUDE}]")),
            false => verdict,
        }
    }

    async fn overflow(&self, tool: &str, arguments: &serde_json::Value) -> Result<String, String> {
        let message = ReadOverflow {
            tool: tool.to_string(),
            arguments: arguments.clone(),
        };
        match self.ports.overflow.ask_again(message, ASK).await {
            Ok(reply) => reply,
            Err(error) => Err(format!("{error:?}")),
        }
    }

    async fn retrieve(&self, query: &str, passages_max: Option<usize>) -> Result<String, String> {
        if self.stopping.is_cancelled() {
            return Err(STOPPED.to_string());
        }
        let request = RetrievalRequest {
            query: query.to_string(),
            workspace: self.workspace.clone(),
            passages_max: passages_max.unwrap_or(PASSAGES_DEFAULT).clamp(1, PASSAGES_MAX),
        };
        let retrieving = timeout(before(self.within), self.context.retrieve(request));
        let retrieved = tokio::select! {
            biased;
            () = self.stopping.cancelled() => return Err(STOPPED.to_string()),
            retrieved = retrieving => retrieved,
        };
        match retrieved {
            Ok(Ok(found)) => Ok(found.into_text()),
            Ok(Err(error)) => Err(format!("failed to {error}")),
            Err(_) => Err(format!(
                "failed to retrieve: no answer within {} s. Ask for less, or go on without it.",
                self.within.as_secs()
            )),
        }
    }

    async fn use_tool(
        &self,
        call: Option<&str>,
        tool: AddedTool,
        arguments: &serde_json::Value,
    ) -> Result<ToolAnswer, String> {
        if self.stopping.is_cancelled() {
            return Err(STOPPED.to_string());
        }
        let place = ToolPlace {
            workspace: self.workspace.clone(),
            reach: Reach::Workspace,
            readable: self.readable.clone(),
            cancelled: self.stopping.clone(),
        };
        let answered = timeout(before(self.within), self.tools.call(tool, arguments, &place));
        let answered = answered.await.unwrap_or_else(|_| {
            Err(format!(
                "{} did not end within {} s and was told to stop.",
                tool.name(),
                self.within.as_secs()
            ))
        });
        if let (Some(call), Ok(answer)) = (call, &answered) {
            self.witness.receipt(call, &answer.receipt);
        }
        answered
    }
}

impl Gate {
    async fn review_size(&self, call: &str, tool: &str, result: &str) -> ToolVerdict {
        if let Some(units_max) = self.traced {
            let preview = kept_preview(result, units_max);
            self.previews.borrow_mut().insert(call.to_string(), preview);
        }
        // Only what is to be kept aside goes to who keeps it: most results are small, and large ones are copied on the way.
        let facts = ToolResultFacts {
            server: "",
            tool,
            bytes: result.len(),
        };
        if review_tool_result(&facts, &self.result_limits.ceilings) == OverflowReview::Pass {
            return ToolVerdict::Pass;
        }
        let message = ReviewToolResult {
            attempt: self.attempt,
            call: call.to_string(),
            tool: tool.to_string(),
            result: result.to_string(),
            limits: self.result_limits.clone(),
        };
        self.ports
            .review
            .ask_again(message, ASK)
            .await
            .unwrap_or(ToolVerdict::Pass)
    }
}

fn told_behind(verdict: ToolVerdict, result: &str, what: &str) -> ToolVerdict {
    if what.is_empty() {
        return verdict;
    }
    let (text, overflow) = match verdict {
        ToolVerdict::Pass => (result.to_string(), None),
        ToolVerdict::Replace { text, overflow } => (text, overflow),
    };
    ToolVerdict::Replace {
        text: format!("{text}{what}"),
        overflow,
    }
}
