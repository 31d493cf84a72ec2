//! Says which results of the main agent's tools an anchor has made stale.
//!
//! Receives [`PlanCuts`] when an anchor was set; asks nobody. What was left out stands in the session; here it is only
//! counted, and a restarted one counts from nothing.

use crate::messages::session::{CountCuts, CutsCounted, PlanCuts};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::cache_markers::prices_of;
use impresario_policies::truncation::{CutResult, results_to_cut};

#[derive(Debug, Default)]
pub struct Truncation {
    counted: CutsCounted,
}

impl Actor for Truncation {
    const KIND: &'static str = "truncation";
    const HANDLES: &'static [&'static str] = &["PlanCuts", "CountCuts"];
}

impl Handles<PlanCuts> for Truncation {
    fn handle(&mut self, plan: PlanCuts, _: &mut Context<Self>) -> Answer<Self, Vec<CutResult>> {
        let cuts = results_to_cut(&plan.seen, &plan.since, prices_of(&plan.model), &plan.terms);
        self.counted.anchors += 1;
        self.counted.results += cuts.len() as u64;
        for entry in &plan.seen {
            let is_cut = cuts.iter().any(|cut| cut.id == entry.id);
            self.counted.characters += if is_cut { entry.characters } else { 0 };
        }
        Answer::now(cuts)
    }
}

impl Handles<CountCuts> for Truncation {
    fn handle(&mut self, _: CountCuts, _: &mut Context<Self>) -> Answer<Self, CutsCounted> {
        Answer::now(self.counted)
    }
}
