//! Runs that a sub-agent asks for: where they stand, and whether there may be so many.

use super::ASK;
use crate::journal::RunFilter;
use crate::messages::journal::{ReadRun, ReadRuns};
use crate::messages::run::StartRun;
use crate::supervision::Port;
use impresario_policies::domain::{AdmissionTerms, Reason, ReasonCode, RunId, RunRequest, Step, TreePlace};
use impresario_policies::spawning::{SpawnFacts, narrower, refuse_spawn};

/// Whom it takes to know it.
pub(super) struct Tree {
    /// The run around this process.
    pub(super) within: RunId,
    pub(super) steps: Port<ReadRun>,
    pub(super) read: Port<ReadRuns>,
}

impl Tree {
    /// Gives each its place, and says why they may not begin.
    pub(super) async fn place(&self, starts: &mut [StartRun]) -> Option<Reason> {
        let parent = self.parent().await;
        let place = match parent.as_ref().and_then(|parent| parent.terms.tree.as_ref()) {
            Some(above) => TreePlace {
                root: above.root.clone(),
                depth: above.depth + 1,
                parent: Some(self.within.clone()),
            },
            None => TreePlace {
                root: self.within.clone(),
                depth: 1,
                parent: Some(self.within.clone()),
            },
        };
        let asked = starts.len();
        let mut terms = parent.map(|parent| parent.terms.admission);
        for start in starts.iter_mut() {
            let own = start.request.terms.admission;
            let narrowed = terms.map_or(own, |terms| narrower(own, terms));
            start.request.terms.admission = narrowed;
            start.request.terms.tree = Some(place.clone());
            terms = Some(narrowed);
        }
        self.refuse(&place, asked, terms?).await
    }

    async fn parent(&self) -> Option<RunRequest> {
        let read = ReadRun {
            run: self.within.clone(),
            after: 0,
        };
        let steps = self.steps.ask_again(read, ASK).await.ok()?.ok()?;
        match &steps.first()?.step {
            Step::Accepted { request } => Some((**request).clone()),
            _ => None,
        }
    }

    async fn refuse(&self, place: &TreePlace, asked: usize, terms: AdmissionTerms) -> Option<Reason> {
        let filter = RunFilter {
            below: Some(place.root.clone()),
            ..RunFilter::default()
        };
        let started = match self.read.ask_again(ReadRuns { filter }, ASK).await {
            Ok(Ok(runs)) => runs.len(),
            // Who cannot count lets nobody begin.
            Ok(Err(_)) | Err(_) => {
                return Some(Reason {
                    code: ReasonCode::Internal,
                    message: "The journal does not say how many runs sub-agents have started.".to_string(),
                });
            }
        };
        let facts = SpawnFacts {
            depth: place.depth,
            started,
            asked,
        };
        refuse_spawn(facts, terms)
    }
}
