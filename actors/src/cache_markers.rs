//! Keeps the prompt-cache markers of the main thread's requests valid.
//!
//! Receives the skeleton of each request ([`PlanMarkers`]); asks nobody, keeps nothing.

use crate::messages::session::PlanMarkers;
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::cache_markers::{MarkerEdit, plan_marker_edits};

#[derive(Debug, Default)]
pub struct CacheMarkers;

impl Actor for CacheMarkers {
    const KIND: &'static str = "cache markers";
    const HANDLES: &'static [&'static str] = &["PlanMarkers"];
}

impl Handles<PlanMarkers> for CacheMarkers {
    fn handle(&mut self, plan: PlanMarkers, _: &mut Context<Self>) -> Answer<Self, Vec<MarkerEdit>> {
        Answer::now(plan_marker_edits(&plan.markers))
    }
}
