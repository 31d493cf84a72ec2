//! Which model an attempt runs on: the one that is meant, unless others have just found that it cannot be had.

use super::{ASK, Run};
use crate::gateways::Login;
use crate::messages::cool_downs::{AskForModel, GivenModel, ModelAnswer, ModelHeard, ModelKey};
use crate::messages::run::{AskForRoom, Lane};
use crate::supervision::Context;
use impresario_policies::cool_down::{Heard, describe_passed_over, describe_wait, hear};
use impresario_policies::domain::{AttemptNumber, Caller, RunRequest, Step};
use impresario_policies::fallback::{StartFrom, models_to_ask, provider};
use std::time::Duration;

/// Room comes when another run ends, and every run ends: the wait is bounded by theirs.
pub(super) const ROOM_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// An attempt that is about to begin.
#[derive(Debug, Clone)]
pub(super) struct AttemptPlan {
    pub(super) number: AttemptNumber,
    /// Meant for it.
    pub(super) model: String,
    pub(super) from: StartFrom,
}

impl Run {
    pub(super) fn ask_for_model(&mut self, plan: AttemptPlan, waits: bool, ctx: &mut Context<Self>) {
        let Some(request) = self.request() else { return };
        let patience = request.persistence.wait_max;
        let models = models_to_ask(&self.projection, &plan.model);
        let message = AskForModel {
            models: models
                .into_iter()
                .map(|model| self.key_of(request, model))
                .collect(),
            patience,
            waits,
        };
        let port = self.ports.models.clone();
        let asked = async move { port.ask_again(message, patience + ASK).await };
        self.effect(asked, ctx, move |run, reply, ctx| match reply {
            Ok(Some(ModelAnswer::Ask(given))) => run.take_lane(plan, Some(given), ctx),
            Ok(Some(ModelAnswer::Wait { model, left, why })) => {
                run.show_now(describe_wait(&model, left, &why), left.unwrap_or_default());
                run.ask_for_model(plan, true, ctx);
            }
            // Whoever knows it is gone: no run ends because of that.
            Ok(None) | Err(_) => run.take_lane(plan, None, ctx),
        });
    }

    fn key_of(&self, request: &RunRequest, model: String) -> ModelKey {
        let runner = (self.tools.runner)(&request.runner);
        let login = runner.map_or(Login::UNKNOWN, |runner| runner.login(&model));
        ModelKey {
            workspace: request.workspace.clone(),
            login: (self.tools.login_id)(provider(&model), &login),
            model,
        }
    }

    /// What the run asks for when it is to call this model.
    pub(super) fn ask_for_room(&self, model: &str) -> Option<AskForRoom> {
        let request = self.request()?;
        let runner = (self.tools.runner)(&request.runner);
        Some(AskForRoom {
            run: self.id.clone(),
            group: request.group.clone(),
            lane: Lane {
                provider: provider(model).to_string(),
                login: self.key_of(request, model.to_string()).login,
            },
            terms: request.terms.admission,
            memory: runner.map_or(0, |runner| runner.memory()),
        })
    }

    /// The run has room; another provider than it was given for may be full.
    fn take_lane(&mut self, plan: AttemptPlan, given: Option<GivenModel>, ctx: &mut Context<Self>) {
        let model = given.as_ref().map_or(&plan.model, |given| &given.key.model);
        let Some(ask) = self.ask_for_room(model) else {
            return;
        };
        if ask.terms.provider_width == 0 {
            return self.begin_attempt(plan, given, ctx);
        }
        self.show_now(
            format!("waiting for room at {}", ask.lane.provider),
            Duration::ZERO,
        );
        let port = self.ports.room.clone();
        let asked = async move { port.ask_again(ask, ROOM_WITHIN).await };
        self.effect(asked, ctx, move |run, reply, ctx| match reply {
            Ok(()) => run.begin_attempt(plan, given, ctx),
            Err(error) => ctx.fail(format!("get room at a provider: {error:?}")),
        });
    }

    fn begin_attempt(&mut self, plan: AttemptPlan, given: Option<GivenModel>, ctx: &mut Context<Self>) {
        let AttemptPlan { number, model, from } = plan;
        let model = given.as_ref().map_or(model, |given| given.key.model.clone());
        let Some(seed) = self.attempt_seed(number, model.clone(), from) else {
            return;
        };
        let started = Step::AttemptStarted {
            attempt: number,
            model: model.clone(),
            runner: seed.request.runner.clone(),
            session_file: Some(self.session_file()),
            resumes_session: from != StartFrom::Scratch,
        };
        let considered = given.as_ref().and_then(|given| considered(number, given));
        if let Some(Step::ModelsConsidered { passed_over, .. }) = &considered
            && !passed_over.is_empty()
        {
            let why = passed_over.iter().map(describe_passed_over);
            let why = why.collect::<Vec<_>>().join(" ");
            self.notice(|request| format!("{} runs on {model}. {why}", request.what.name()));
        }
        self.given = given;
        self.facts.live_attempt = Some(number);
        self.record_then(
            considered.into_iter().chain([started]).collect(),
            Box::new(move |run, ctx| run.start_attempt(seed, ctx)),
            ctx,
        );
    }

    /// What a step on disk says of the model goes to the other runs. An incarnation that reads it later does not say it
    /// again.
    pub(super) fn hear(&mut self, step: &Step) {
        let heard = match step {
            Step::ModelCalled { call } if matches!(call.by, Caller::SubAgent { .. }) => {
                let answered = call.used.is_some_and(|used| !used.is_nothing());
                answered.then_some(Heard::Answered)
            }
            Step::AttemptEnded { .. } => self.projection.latest_attempt().and_then(hear),
            _ => None,
        };
        let settings = self.request().map(|request| request.persistence.cool_down);
        if let (Some(heard), Some(given), Some(settings)) = (heard, &self.given, settings) {
            let key = given.key.clone();
            // Nobody there to hear it: then nobody cools either.
            let _ = self.ports.heard.tell(ModelHeard { key, heard, settings });
        }
        if let Step::AttemptEnded { .. } = step {
            self.given = None;
        }
    }
}

/// Worth a step where anything is to be said.
fn considered(attempt: AttemptNumber, given: &GivenModel) -> Option<Step> {
    let is_probe = given.probe.is_some();
    (is_probe || !given.passed_over.is_empty()).then(|| Step::ModelsConsidered {
        attempt,
        passed_over: given.passed_over.clone(),
        is_probe,
    })
}
