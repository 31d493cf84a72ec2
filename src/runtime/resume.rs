//! Going on with a run that was parked, or that was cut off together with its host and its runtime.
//!
//! What was paid for stands in the journal and in the nested session, so the new run begins with both: the passes of
//! actor and judge, what the person answered, the brief, the models that were chosen.

use super::{ASK, Run, Runtime, RuntimeError, lock};
use impresario_actors::gateways::session_file;
use impresario_actors::journal::{RunFilter, RunProgress, RunSummary};
use impresario_actors::messages::journal::ReadClaimable;
use impresario_policies::domain::{
    Briefing, Cap, Inherited, Origin, Reason, ReasonCode, RunId, RunRequest, RunState, SessionId,
};
use impresario_policies::interruption::{Interruption, describe_interruption};
use impresario_policies::projection::RunProjection;
use impresario_policies::receipt::work_of;
use impresario_policies::resumption::{
    Driver, ResumptionDecision, ResumptionFacts, Successor, decide_resumption, refuse_without_session,
};
use std::collections::BTreeSet;

/// A run that a person can go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumable {
    /// The run.
    pub run: RunSummary,
    /// Its runtime is dead and its host with it: it goes on when that host opens its session again, or here.
    pub cut_off: bool,
}

impl Runtime {
    /// Goes on with a run that is parked, failed or cancelled, or whose runtime is dead, as a new run that names it.
    pub async fn resume(&self, run: &RunId) -> Result<Run, RuntimeError> {
        self.resume_under(run, Cap::NONE).await
    }

    /// The same under another cap of its own; in what `cap` does not say, the caps of the run hold anew.
    pub async fn resume_under(&self, run: &RunId, cap: Cap) -> Result<Run, RuntimeError> {
        self.resume_as_under(self.new_run_id(), run, cap).await
    }

    /// The same with an id chosen by the caller, so that asking twice starts one run.
    pub async fn resume_as(&self, as_run: RunId, run: &RunId) -> Result<Run, RuntimeError> {
        self.resume_as_under(as_run, run, Cap::NONE).await
    }

    async fn resume_as_under(&self, as_run: RunId, run: &RunId, cap: Cap) -> Result<Run, RuntimeError> {
        if !self.runs(RunFilter::id_prefix(as_run.as_str())).await?.is_empty() {
            return Ok(self.run(as_run));
        }
        let mut decision = decide_resumption(&self.resumption_facts(run).await?);
        if decision == ResumptionDecision::TakeOver {
            self.take_over(run).await?;
            decision = decide_resumption(&self.resumption_facts(run).await?);
        }
        match decision {
            ResumptionDecision::GoOn => self.go_on_with(as_run, run, cap).await,
            ResumptionDecision::Refuse(reason) => Err(RuntimeError::Refused(reason)),
            ResumptionDecision::TakeOver => Err(refused(format!(
                "Run {run} was cut off, and what it started is not gone yet. Try again in a moment."
            ))),
        }
    }

    /// The one run whose id begins so.
    pub async fn find_run(&self, prefix: &str) -> Result<RunSummary, RuntimeError> {
        let mut found = self.runs(RunFilter::id_prefix(prefix)).await?;
        let shown = prefix.chars().take(40).collect::<String>();
        match (found.pop(), found.is_empty()) {
            (Some(run), true) if !prefix.is_empty() => Ok(run),
            (None, _) => Err(refused(format!("No run begins with {shown:?}."))),
            (Some(_), _) => Err(refused(format!(
                "More than one run begins with {shown:?}; say more of its id."
            ))),
        }
    }

    /// The runs that are unfinished while their runtime is dead: nobody drives them until their session is opened
    /// again or a person goes on with them.
    pub async fn cut_off_runs(&self) -> Result<BTreeSet<RunId>, RuntimeError> {
        let claimable = self
            .ask(|inside| inside.ports.read_claimable.ask_again(ReadClaimable, ASK))
            .await??;
        let unfinished = claimable
            .into_iter()
            .filter(|orphan| orphan.run.ended_at.is_none());
        Ok(unfinished.map(|orphan| orphan.run.run).collect())
    }

    /// The runs that wait for a person to go on with them, and what failed or was cancelled in this session; the newest
    /// first.
    pub async fn resumable(&self, session: Option<&SessionId>) -> Result<Vec<Resumable>, RuntimeError> {
        let cut_off = self.cut_off_runs().await?;
        let all = self.runs(RunFilter::default()).await?;
        let goes_on = |run: &RunSummary| {
            let facts = facts_of(run, &all, cut_off.contains(&run.run));
            match decide_resumption(&facts) {
                // What failed or was cancelled elsewhere is gone on with by who names it.
                ResumptionDecision::GoOn => {
                    run.state == RunState::Parked || (session.is_some() && run.session.as_ref() == session)
                }
                ResumptionDecision::TakeOver => true,
                ResumptionDecision::Refuse(_) => false,
            }
        };
        let resumable = all.iter().filter(|run| goes_on(run)).map(|run| Resumable {
            cut_off: cut_off.contains(&run.run),
            run: run.clone(),
        });
        Ok(resumable.collect())
    }

    async fn resumption_facts(&self, run: &RunId) -> Result<ResumptionFacts, RuntimeError> {
        let all = self.runs(RunFilter::default()).await?;
        let Some(found) = all.iter().find(|found| found.run == *run) else {
            return Err(refused(format!("There is no run {run} in the journal.")));
        };
        let cut_off = self.cut_off_runs().await?.contains(run);
        Ok(facts_of(found, &all, cut_off))
    }

    /// Parks a run of a dead runtime here, after nothing of it was seen to be left.
    async fn take_over(&self, run: &RunId) -> Result<(), RuntimeError> {
        lock(&self.0.defaults.wanted).insert(run.clone());
        self.adopt().await?;
        let ours = RunFilter {
            progress: RunProgress::Unfinished,
            ..RunFilter::id_prefix(run.as_str())
        };
        let cut_off = self.cut_off_runs().await?;
        let is_ours = !self.runs(ours).await?.is_empty() && !cut_off.contains(run);
        if is_ours {
            self.run(run.clone()).outcome().await?;
        }
        Ok(())
    }

    async fn go_on_with(&self, as_run: RunId, run: &RunId, cap: Cap) -> Result<Run, RuntimeError> {
        let steps = self.steps(run, 0).await?;
        let projection = RunProjection::of(&steps);
        let Some(accepted) = &projection.accepted else {
            return Err(refused(format!("Run {run} has no beginning in the journal.")));
        };
        let session = session_file(&self.0.defaults.sessions, run);
        if let Some(reason) = refuse_without_session(run, &projection, session.exists()) {
            return Err(RuntimeError::Refused(reason));
        }
        let mut request = RunRequest {
            origin: Origin {
                host: self.0.defaults.host.clone(),
                // Where the person is now: the result belongs there.
                session: lock(&self.0.defaults.session).clone(),
                resumes: Some(run.clone()),
            },
            continues: self.continue_session(run, &as_run, &projection)?,
            ..self.inherit(&accepted.request, &projection)
        };
        let budget = &mut request.terms.budget;
        for own in [&mut budget.run, &mut budget.tree] {
            own.usd = cap.usd.or(own.usd);
            own.tokens = cap.tokens.or(own.tokens);
        }
        self.spawn_request_as(as_run, request).await
    }

    /// What is known and paid for goes along. Where nobody here reaches the model that judges, nobody judges.
    fn inherit(&self, request: &RunRequest, projection: &RunProjection) -> RunRequest {
        let mut request = request.clone();
        request.terms.inherited = Some(Box::new(Inherited {
            passes: projection.passes.clone(),
            questions: projection.questions.clone(),
            brief: projection.brief.clone(),
            verdict: projection.verdict.clone(),
            work: Some(Box::new(work_of(projection))),
            answer: projection.answer.clone(),
            whole: projection
                .answer
                .as_ref()
                .and_then(|_| projection.whole_answer().cloned().map(Box::new)),
            worktree: match &projection.worktree {
                Some(own) => Some(own.worktree.clone()),
                // It was parked before it went on there.
                None => request
                    .terms
                    .inherited
                    .as_ref()
                    .and_then(|earlier| earlier.worktree.clone()),
            },
        }));
        if let Some(routing) = &mut request.terms.routing {
            routing.kept = projection.choice.clone();
        }
        if let Briefing::Judged { model, .. } = &request.briefing
            && model != super::OFFLINE_MODEL
            && !self.0.defaults.has_providers
        {
            request.briefing = Briefing::Direct;
        }
        request
    }

    /// Copies the nested session of a run for the one that goes on with it, and says what it is told. Without a session
    /// the new run begins from scratch.
    fn continue_session(
        &self,
        run: &RunId,
        as_run: &RunId,
        projection: &RunProjection,
    ) -> Result<Option<String>, RuntimeError> {
        let file_of = |run: &RunId| session_file(&self.0.defaults.sessions, run);
        match std::fs::copy(file_of(run), file_of(as_run)) {
            Ok(_) => Ok(Some(describe_interruption(projection, Interruption::Parked))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(format!(
                "The nested session of run {run} cannot be copied ({}).",
                error.kind()
            ))),
        }
    }
}

fn facts_of(run: &RunSummary, all: &[RunSummary], cut_off: bool) -> ResumptionFacts {
    let goes_on_with = |run: &RunSummary| all.iter().find(|other| other.resumes.as_ref() == Some(&run.run));
    let successor = std::iter::successors(goes_on_with(run), |next| goes_on_with(next)).last();
    let successor = successor.map(|newest| Successor {
        run: newest.run.clone(),
        state: newest.state,
    });
    ResumptionFacts {
        run: run.run.clone(),
        state: run.state,
        driver: if cut_off { Driver::Dead } else { Driver::Alive },
        successor,
    }
}

fn refused(message: String) -> RuntimeError {
    RuntimeError::Refused(Reason {
        code: ReasonCode::NotResumable,
        message,
    })
}
