//! Which models are left to cool: what the runs of this runtime tell each other about models that cannot be had.
//!
//! Receives [`AskForModel`] before each attempt and [`ModelHeard`] after it. It keeps nothing on disk, because nothing it
//! knows is worth more than a few minutes: a restarted one knows nothing, and whoever waits for a model asks it. What a
//! run did because of it is a step of the run.

use crate::messages::cool_downs::{AskForModel, GivenModel, ModelAnswer, ModelHeard, ModelKey};
use crate::supervision::{Actor, Answer, Context, Handles};
use impresario_policies::cool_down::{
    Access, Candidate, CandidateDecision, Heard, Standing, choose_candidate,
};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Of more models or logins than this nothing is known; what was cool long ago goes first.
const STANDINGS_MAX: usize = 1_000;

pub struct CoolDowns {
    began: Instant,
    models: BTreeMap<ModelKey, Standing>,
    /// Logins that a provider refused, under an empty model.
    logins: BTreeMap<ModelKey, Standing>,
    probes: u64,
    waiting: Vec<Waiting>,
}

struct Waiting {
    ask: AskForModel,
    until: Instant,
    reply: oneshot::Sender<Option<ModelAnswer>>,
}

impl Actor for CoolDowns {
    const KIND: &'static str = "cool downs";
    const HANDLES: &'static [&'static str] = &["AskForModel", "ModelHeard"];
}

impl Default for CoolDowns {
    /// Every model may be asked.
    fn default() -> Self {
        Self {
            began: Instant::now(),
            models: BTreeMap::new(),
            logins: BTreeMap::new(),
            probes: 0,
            waiting: Vec::new(),
        }
    }
}

impl Handles<AskForModel> for CoolDowns {
    fn handle(&mut self, ask: AskForModel, ctx: &mut Context<Self>) -> Answer<Self, Option<ModelAnswer>> {
        if !ask.waits {
            return Answer::now(self.answer(&ask, ask.patience, ctx));
        }
        let (reply, answered) = oneshot::channel();
        self.look_after(ask.patience, ctx);
        self.waiting.push(Waiting {
            until: Instant::now() + ask.patience,
            ask,
            reply,
        });
        self.serve(ctx);
        Answer::later(async move { answered.await.unwrap_or_default() })
    }
}

impl Handles<ModelHeard> for CoolDowns {
    fn handle(&mut self, told: ModelHeard, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let ModelHeard { key, heard, settings } = told;
        let now = self.now();
        let login = login_of(&key);
        if let Heard::LoginRefused { .. } = heard {
            let standing = self.logins.remove(&login).unwrap_or_default();
            keep(
                &mut self.logins,
                login,
                standing.after(&heard, now, &settings),
                now,
            );
        } else {
            // Whatever else became of it, the login was good enough.
            self.logins.remove(&login);
            let standing = self.models.remove(&key).unwrap_or_default();
            keep(&mut self.models, key, standing.after(&heard, now, &settings), now);
        }
        self.serve(ctx);
        Answer::now(())
    }
}

fn login_of(key: &ModelKey) -> ModelKey {
    ModelKey {
        model: String::new(),
        ..key.clone()
    }
}

fn keep(standings: &mut BTreeMap<ModelKey, Standing>, key: ModelKey, standing: Standing, now: Duration) {
    if standings.len() >= STANDINGS_MAX {
        standings.retain(|_, standing| standing.is_worth_keeping(now));
    }
    if standing != Standing::default() && standings.len() < STANDINGS_MAX {
        standings.insert(key, standing);
    }
}

impl CoolDowns {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn answer(
        &mut self,
        ask: &AskForModel,
        patience: Duration,
        ctx: &mut Context<Self>,
    ) -> Option<ModelAnswer> {
        let now = self.now();
        let candidates = ask.models.iter().map(|key| self.candidate(key));
        let candidates = candidates.collect::<Vec<_>>();
        Some(match choose_candidate(&candidates, now, patience)? {
            CandidateDecision::Wait { place, left, why } => ModelAnswer::Wait {
                model: ask.models[place].model.clone(),
                left,
                why,
            },
            CandidateDecision::Ask {
                place,
                is_probe,
                passed_over,
            } => {
                let key = ask.models[place].clone();
                ModelAnswer::Ask(GivenModel {
                    probe: is_probe.then(|| self.begin_probe(&key, now, ctx)),
                    key,
                    passed_over,
                })
            }
        })
    }

    fn candidate(&self, key: &ModelKey) -> Candidate {
        Candidate {
            model: key.model.clone(),
            of_model: self.models.get(key).cloned().unwrap_or_default(),
            of_login: self.logins.get(&login_of(key)).cloned().unwrap_or_default(),
        }
    }

    fn begin_probe(&mut self, key: &ModelKey, now: Duration, ctx: &mut Context<Self>) -> oneshot::Sender<()> {
        self.probes += 1;
        let number = self.probes;
        let tried = |standing: &&mut Standing| standing.access(now) == Access::Probe;
        for standing in self.tried_with(key).filter(tried) {
            standing.begin_probe(number);
        }
        let (hold, over) = oneshot::channel();
        let key = key.clone();
        ctx.spawn_then(over, move |cool_downs, _, ctx| {
            for standing in cool_downs.tried_with(&key) {
                standing.give_up_probe(number);
            }
            cool_downs.serve(ctx);
        });
        hold
    }

    fn tried_with(&mut self, key: &ModelKey) -> impl Iterator<Item = &mut Standing> {
        let of_login = self.logins.get_mut(&login_of(key));
        self.models.get_mut(key).into_iter().chain(of_login)
    }

    /// Answers everybody for whom a model is back, and everybody who has waited long enough.
    fn serve(&mut self, ctx: &mut Context<Self>) {
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.reply.is_closed() {
                continue;
            }
            let patience = waiting.until.saturating_duration_since(Instant::now());
            match self.answer(&waiting.ask, patience, ctx) {
                Some(ModelAnswer::Wait { left, .. }) => {
                    if let Some(left) = left {
                        self.look_after(left, ctx);
                    }
                    self.waiting.push(waiting);
                }
                // Who has gone meanwhile drops it, which gives a probe up.
                answer => drop(waiting.reply.send(answer)),
            }
        }
    }

    fn look_after(&self, pause: Duration, ctx: &mut Context<Self>) {
        ctx.spawn_then(tokio::time::sleep(pause), |cool_downs, (), ctx| {
            cool_downs.serve(ctx)
        });
    }
}
