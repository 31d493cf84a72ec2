//! Plans the prompt-cache markers of requests, of the main thread and of sub-agents.
//!
//! Receives the skeleton of each request ([`PlanMarkers`]) and, from a host, [`PlanNotApplied`]; asks nobody. What it
//! remembers of earlier requests only makes plans better: a restarted one knows nothing, and its first plans leave a
//! request nearly as it is.

use crate::messages::session::{CountPlans, PlanMarkers, PlanNotApplied, PlansCounted};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::cache_markers::{Planned, Planner, prices_of};
use tokio::time::Instant;

/// What a host says of a failure, in characters; the rest is cut.
const WHY_CHARACTERS_MAX: usize = 200;

#[derive(Debug)]
pub struct CacheMarkers {
    began: Instant,
    planner: Planner,
    counted: PlansCounted,
}

impl Default for CacheMarkers {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            planner: Planner::default(),
            counted: PlansCounted::default(),
        }
    }
}

impl Actor for CacheMarkers {
    const KIND: &'static str = "cache markers";
    const HANDLES: &'static [&'static str] = &["PlanMarkers", "PlanNotApplied", "CountPlans"];
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

impl Handles<PlanNotApplied> for CacheMarkers {
    fn handle(&mut self, said: PlanNotApplied, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.counted.not_applied += 1;
        self.counted.why = Some(said.why.chars().take(WHY_CHARACTERS_MAX).collect());
        Answer::now(())
    }
}

impl Handles<CountPlans> for CacheMarkers {
    fn handle(&mut self, _: CountPlans, _: &mut Context<Self>) -> Answer<Self, PlansCounted> {
        Answer::now(self.counted.clone())
    }
}
