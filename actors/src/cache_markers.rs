//! Plans the prompt-cache markers of requests, of the main thread and of sub-agents.
//!
//! Receives the skeleton of each request ([`PlanMarkers`]), before it that of a sub-agent's ([`AskForTurn`]), and from a
//! host [`PlanNotApplied`]; asks nobody. What it remembers of earlier requests only makes plans better: a restarted one
//! knows nothing, and its first plans leave a request nearly as it is.

use crate::messages::session::{AskForTurn, CountPlans, PlanMarkers, PlanNotApplied, PlansCounted, Turn};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::cache_markers::{Planned, Planner, prices_of};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// What a host says of a failure, in characters; the rest is cut.
const WHY_CHARACTERS_MAX: usize = 200;

#[derive(Debug)]
pub struct CacheMarkers {
    began: Instant,
    planner: Planner,
    counted: PlansCounted,
    /// Prefixes that somebody is about to write into the cache, by model, with those who wait for it.
    cold: BTreeMap<(String, u64), Vec<oneshot::Sender<()>>>,
}

impl Default for CacheMarkers {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            planner: Planner::default(),
            counted: PlansCounted::default(),
            cold: BTreeMap::new(),
        }
    }
}

impl Actor for CacheMarkers {
    const KIND: &'static str = "cache markers";
    const HANDLES: &'static [&'static str] = &["PlanMarkers", "AskForTurn", "PlanNotApplied", "CountPlans"];
}

impl Handles<PlanMarkers> for CacheMarkers {
    fn handle(&mut self, plan: PlanMarkers, _: &mut Context<Self>) -> Answer<Self, Planned> {
        let planned = self
            .planner
            .plan(&plan.request, self.began.elapsed(), &plan.terms);
        self.counted.looked_at += 1;
        self.counted.changed += u64::from(!planned.edits.is_empty());
        let prices = prices_of(&plan.request.model);
        self.counted.cost += planned.seen.expected.cost(prices) as u64;
        self.counted.unplanned_cost += planned.seen.unplanned.cost(prices) as u64;
        Answer::now(planned)
    }
}

impl Handles<AskForTurn> for CacheMarkers {
    fn handle(&mut self, ask: AskForTurn, ctx: &mut Context<Self>) -> Answer<Self, Turn> {
        let patience = Duration::from_millis(ask.terms.sibling_wait_ms);
        let shared = Planner::shared_prefix(&ask.request, &ask.terms).filter(|_| !patience.is_zero());
        let Some(prefix) = shared else {
            return Answer::now(Turn::default());
        };
        let key = (ask.request.model, prefix);
        if let Some(waiting) = self.cold.get_mut(&key) {
            let (reply, begun) = oneshot::channel();
            waiting.push(reply);
            return Answer::later(wait(begun, patience));
        }
        if self.planner.is_warm(&key.0, prefix, self.began.elapsed()) {
            return Answer::now(Turn::default());
        }
        self.cold.insert(key.clone(), Vec::new());
        let (first, begun) = oneshot::channel::<()>();
        // Whoever waits is let go when it has begun, and when whoever was first is gone.
        ctx.spawn_then(begun, move |markers, _, _| drop(markers.cold.remove(&key)));
        Answer::now(Turn {
            first: Some(first),
            waited: Duration::ZERO,
        })
    }
}

/// Waits until the first has begun; one that takes too long is not waited for.
async fn wait(begun: oneshot::Receiver<()>, patience: Duration) -> Turn {
    let since = Instant::now();
    let _ = timeout(patience, begun).await;
    Turn {
        first: None,
        waited: since.elapsed(),
    }
}

impl Handles<PlanNotApplied> for CacheMarkers {
    fn handle(&mut self, said: PlanNotApplied, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.counted.not_applied += 1;
        self.counted.why = Some(said.why.chars().take(WHY_CHARACTERS_MAX).collect());
        Answer::now(())
    }
}

impl Handles<CountPlans> for CacheMarkers {
    fn handle(&mut self, _: CountPlans, _: &mut Context<Self>) -> Answer<Self, PlansCounted> {
        let waiting = self
            .cold
            .values()
            .flatten()
            .filter(|waiting| !waiting.is_closed());
        Answer::now(PlansCounted {
            waiting: waiting.count() as u64,
            ..self.counted.clone()
        })
    }
}
