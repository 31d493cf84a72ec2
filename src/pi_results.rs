//! Results whose session cannot come back: Pi writes a session only after its own model answered, so one with nothing but
//! skills is gone when it is left. The next session in the same workspace takes them.

use crate::bridge::PiHost;
use crate::bridge::wire::SessionStart;
use crate::runtime::{Runtime, lock};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_policies::adoption::{LeftResultFacts, takes_left_result};
use impresario_policies::domain::{RunId, RunRequest, RunState, SessionId, Step};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So many of the newest runs are looked at.
const RUNS_LOOKED_AT_MAX: usize = 50;
/// A Pi that was just left may still be putting its runs away: how often that is waited for, and how long.
const LOOKS_MAX: u32 = 8;
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub(crate) struct LeftResults {
    pub(crate) runtime: Runtime,
    pub(crate) host: PiHost,
    /// The session that is open now.
    pub(crate) open: Arc<Mutex<Option<SessionId>>>,
    /// The runs whose results it takes; the runtime looks here.
    pub(crate) taken: Arc<Mutex<BTreeSet<RunId>>>,
}

/// What is found at one look.
#[derive(Default)]
struct Found {
    ours_to_take: Vec<RunId>,
    /// Their runtime still lives: it is being left, or it serves a session beside this one.
    of_somebody_alive: bool,
    /// It works on in this process, for a session that was left.
    working_on: Option<RunId>,
}

impl LeftResults {
    /// Takes what was left where this session works. `were_open` are the sessions that this process had before.
    pub(crate) async fn take_over(self, start: SessionStart, were_open: BTreeSet<SessionId>) {
        let mut looks = 0;
        loop {
            let found = self.look(&start, &were_open).await;
            if lock(&self.open).as_ref() != Some(&start.session) {
                return;
            }
            if !found.ours_to_take.is_empty() {
                self.take(found.ours_to_take, &start.session).await;
            }
            looks += 1;
            match found.working_on {
                Some(run) => drop(self.runtime.run(run).outcome().await),
                None if found.of_somebody_alive && looks < LOOKS_MAX => {
                    tokio::time::sleep(BETWEEN_LOOKS).await
                }
                None => return,
            }
        }
    }

    async fn take(&self, runs: Vec<RunId>, session: &SessionId) {
        for run in runs {
            self.host.hand_over(run.clone(), session.clone());
            lock(&self.taken).insert(run);
        }
        if let Err(error) = self.runtime.adopt().await {
            tracing::warn!(%error, "results of an earlier session not taken");
        }
    }

    async fn look(&self, start: &SessionStart, were_open: &BTreeSet<SessionId>) -> Found {
        let newest = RunFilter::newest(RUNS_LOOKED_AT_MAX);
        let runs = self.runtime.runs(newest).await.unwrap_or_default();
        let claimable = self.runtime.claimable().await.unwrap_or_default();
        let claimable = claimable.into_iter().map(|run| run.run).collect::<BTreeSet<_>>();
        let mut found = Found::default();
        for run in runs {
            let Some(session) = run.session.clone().filter(|session| *session != start.session) else {
                continue;
            };
            let of_this_process = were_open.contains(&session);
            let taken = lock(&self.taken).contains(&run.run);
            if run.host != "pi" || run.acknowledged || (taken && !of_this_process) {
                continue;
            }
            if !self.was_left(&run, start, of_this_process).await {
                continue;
            }
            match (
                run.ended_at.is_some(),
                of_this_process,
                claimable.contains(&run.run),
            ) {
                (true, true, _) | (true, _, true) => found.ours_to_take.push(run.run),
                (false, true, _) => found.working_on = Some(run.run),
                (false, false, true) => {}
                (_, false, false) => found.of_somebody_alive = true,
            }
        }
        found
    }

    async fn was_left(&self, run: &RunSummary, start: &SessionStart, of_this_process: bool) -> bool {
        let Ok(steps) = self.runtime.steps(&run.run, 0).await else {
            return false;
        };
        let request = steps.iter().find_map(|recorded| match &recorded.step {
            Step::Accepted { request } => Some(request),
            _ => None,
        });
        let delivered = steps
            .iter()
            .any(|recorded| matches!(recorded.step, Step::Delivered));
        request.is_some_and(|request| {
            takes_left_result(LeftResultFacts {
                same_workspace: is_same_place(&request.workspace, Path::new(&start.cwd)),
                session_kept: session_kept(request),
                shown_here: of_this_process && delivered,
                cancelled: run.state == RunState::Cancelled,
            })
        })
    }
}

fn session_kept(request: &RunRequest) -> Option<bool> {
    let file = request.terms.session_file.as_ref()?;
    file.try_exists().ok()
}

fn is_same_place(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
