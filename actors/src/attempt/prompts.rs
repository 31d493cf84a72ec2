//! What an attempt knows of its prompts: when one may begin, where its cache markers belong, what it has in common with
//! the one before. Nobody waits for any of it for long: without an answer a request goes out as it is.

use super::AttemptPorts;
use crate::gateways::{CallAsked, Outline, RunnerEvent};
use crate::messages::session::{AskForTurn, PlanMarkers};
use impresario_policies::cache_markers::{MarkerEdit, MarkerRequest, Planned, tokens_min_of};
use impresario_policies::domain::{CacheTerms, PromptSeen, RunId};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tokio::sync::oneshot;

/// A planner that is being restarted is there again after this, or the request goes out without it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Prompts {
    run: RunId,
    ports: AttemptPorts,
    terms: Cell<CacheTerms>,
    /// Held until the answer begins: others with the same beginning wait for it.
    first: RefCell<Option<oneshot::Sender<()>>>,
}

impl Prompts {
    pub(super) fn new(run: RunId, ports: AttemptPorts) -> Self {
        Self {
            run,
            ports,
            terms: Cell::default(),
            first: RefCell::default(),
        }
    }

    pub(super) fn hold(&self, terms: CacheTerms) {
        self.terms.set(terms);
    }

    /// Waits where another request is about to put the same beginning into the provider's cache; says for how long.
    pub(super) async fn await_turn(&self, asked: &CallAsked) -> Duration {
        let Some(outline) = &asked.outline else {
            return Duration::ZERO;
        };
        let terms = self.terms.get();
        let ask = AskForTurn {
            request: self.request(&asked.model, outline.clone()),
            terms,
        };
        // Who asks again waits for nobody less than for itself.
        drop(self.first.take());
        let within = ANSWERED_WITHIN + Duration::from_millis(terms.sibling_wait_ms);
        let Ok(turn) = self.ports.turn.ask_again(ask, within).await else {
            return Duration::ZERO;
        };
        self.first.replace(turn.first);
        turn.waited
    }

    /// How the markers of a request have to change, and what is known of its prompt.
    pub(super) async fn plan(
        &self,
        asked: Option<(String, Outline)>,
        waited: Duration,
    ) -> (Vec<MarkerEdit>, Option<PromptSeen>) {
        let Some((model, outline)) = asked else {
            return (Vec::new(), None);
        };
        let mut terms = self.terms.get();
        terms.enabled &= outline.is_open;
        let tokens_min = tokens_min_of(&model, &terms);
        let kinds = outline.blocks.iter().map(|block| block.kind).collect::<Vec<_>>();
        let request = self.request(&model, outline);
        let plan = PlanMarkers { request, terms };
        let Ok(Planned { edits, seen }) = self.ports.plan_markers.ask_again(plan, ANSWERED_WITHIN).await
        else {
            return (Vec::new(), None);
        };
        let broke_at = seen
            .broke_at
            .and_then(|place| Some((place as u64 + 1, kinds.get(place)?.words().to_string())));
        let seen = PromptSeen {
            blocks: seen.blocks as u64,
            tokens: seen.tokens,
            broke_at,
            idle_ms: seen.idle.map(|idle| idle.as_millis() as u64),
            expected_read: seen.expected.read,
            tokens_min,
            waited_ms: waited.as_millis() as u64,
        };
        (edits, Some(seen))
    }

    /// The answer has begun, or is over: the beginning of the prompt is in the cache, or never will be.
    pub(super) fn heard(&self, event: &RunnerEvent) {
        match event {
            RunnerEvent::Text { .. }
            | RunnerEvent::ToolStarted { .. }
            | RunnerEvent::Called { .. }
            | RunnerEvent::Ended(_) => drop(self.first.take()),
            RunnerEvent::Active
            | RunnerEvent::Alive
            | RunnerEvent::ToolEnded { .. }
            | RunnerEvent::RetryAnnounced { .. }
            | RunnerEvent::Told { .. }
            | RunnerEvent::Replied { .. }
            | RunnerEvent::Unread { .. } => {}
        }
    }

    fn request(&self, model: &str, outline: Outline) -> MarkerRequest {
        MarkerRequest {
            conversation: self.run.to_string(),
            model: model.to_string(),
            blocks: outline.blocks,
        }
    }
}
