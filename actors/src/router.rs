//! Takes skills that a person typed, one in flight per session, and those that an agent delegated, beside them.
//!
//! Receives [`StartSkill`] and notes to itself. Has the order resolved into a request (the wiring knows how), hands it to
//! the sub-agent supervisor, and waits until the run is over. After a restart it learns from the journal what is in flight.

use crate::journal::{RunFilter, RuntimeId};
use crate::messages::journal::ReadRuns;
use crate::messages::run::{AwaitRun, Refusal, StartRun};
use crate::messages::session::{RecoverDue, SkillOrder, SkillOver, StartSkill};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use futures_util::future::LocalBoxFuture;
use impresario_policies::domain::{Reason, ReasonCode, RunId, RunRequest, RunState, SessionId, WhatToRun};
use impresario_policies::user_lines;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;

const ASK: Duration = Duration::from_secs(30);
/// A run is bounded by its own clocks; this only keeps a lost wake-up from lasting for ever.
const RUN_OVER: Duration = Duration::from_secs(24 * 3600);

/// So many delegated skills are at work or wait for room; an agent that wants more is refused.
const BESIDE_MAX: usize = 16;

/// Whom the router reaches.
#[derive(Clone)]
pub struct RouterPorts {
    /// Takes on a run.
    pub start: Port<StartRun>,
    /// Waits for its end.
    pub await_run: Port<AwaitRun>,
    /// Finds what is in flight.
    pub read: Port<ReadRuns>,
}

/// Makes a request of an order: finds the skill, reads it, fills in the settings.
pub type Resolve = Rc<dyn Fn(SkillOrder) -> LocalBoxFuture<'static, Result<RunRequest, Reason>>>;

pub struct Router {
    runtime: RuntimeId,
    ports: RouterPorts,
    resolve: Resolve,
    in_flight: BTreeMap<Option<SessionId>, RunId>,
    /// Those that agents wait for.
    beside: BTreeSet<RunId>,
    recovery: Option<Vec<oneshot::Sender<()>>>,
}

impl Actor for Router {
    const KIND: &'static str = "router";
    const HANDLES: &'static [&'static str] = &["RecoverDue", "StartSkill", "SkillOver"];

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.notify(RecoverDue);
    }
}

impl Router {
    /// A router that knows of no skill in flight until it has asked the journal.
    pub fn new(runtime: RuntimeId, ports: RouterPorts, resolve: Resolve) -> Self {
        Self {
            runtime,
            ports,
            resolve,
            in_flight: BTreeMap::new(),
            beside: BTreeSet::new(),
            recovery: Some(Vec::new()),
        }
    }
}

impl Handles<RecoverDue> for Router {
    fn handle(&mut self, _: RecoverDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let read = self.ports.read.clone();
        let filter = RunFilter {
            owner: Some(self.runtime.clone()),
            ..RunFilter::unfinished()
        };
        let ours = async move { read.ask_again(ReadRuns { filter }, ASK).await };
        ctx.spawn_then(ours, |router, reply, ctx| match reply {
            Ok(Ok(runs)) => {
                let skills = runs
                    .into_iter()
                    .filter(|run| matches!(run.what, WhatToRun::Skill(_)));
                for run in skills {
                    router.watch(run.session, run.run, ctx);
                }
                router.recovery = None;
            }
            Ok(Err(error)) => ctx.fail(format!("find the skills in flight: {error}")),
            Err(error) => ctx.fail(format!("find the skills in flight: {error}")),
        });
        Answer::now(())
    }
}

impl Handles<StartSkill> for Router {
    fn handle(&mut self, start: StartSkill, ctx: &mut Context<Self>) -> Answer<Self, Result<(), Refusal>> {
        let (answer, reply) = oneshot::channel();
        let recovered = self.recovered();
        ctx.spawn_then(recovered, move |router, (), ctx| router.start(start, answer, ctx));
        Answer::later(async move {
            reply
                .await
                .unwrap_or_else(|_| Err(refusal(ReasonCode::Internal, "The router was replaced.")))
        })
    }
}

impl Handles<SkillOver> for Router {
    fn handle(&mut self, over: SkillOver, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.in_flight.retain(|_, run| *run != over.run);
        self.beside.remove(&over.run);
        Answer::now(())
    }
}

impl Router {
    /// Resolves when it is known what is in flight.
    fn recovered(&mut self) -> impl std::future::Future<Output = ()> + use<> {
        let waiting = self.recovery.as_mut().map(|awaited_by| {
            let (done, waiting) = oneshot::channel();
            awaited_by.push(done);
            waiting
        });
        async move {
            if let Some(waiting) = waiting {
                let _ = waiting.await;
            }
        }
    }

    fn start(
        &mut self,
        start: StartSkill,
        answer: oneshot::Sender<Result<(), Refusal>>,
        ctx: &mut Context<Self>,
    ) {
        let StartSkill { run, order, beside } = start;
        if beside {
            return self.start_beside(run, order, answer, ctx);
        }
        let session = order.session.clone();
        match self.in_flight.get(&session) {
            Some(same) if *same == run => return drop(answer.send(Ok(()))),
            Some(other) => {
                let start = StartSkill { run, order, beside };
                return self.start_if_over(other.clone(), start, answer, ctx);
            }
            None => self.in_flight.insert(session.clone(), run.clone()),
        };
        let accepted = self.accept(run.clone(), order);
        ctx.spawn_then(accepted, move |router, accepted, ctx| {
            match &accepted {
                Ok(()) => router.watch(session, run, ctx),
                Err(_) => router.in_flight.retain(|_, in_flight| *in_flight != run),
            }
            let _ = answer.send(accepted);
        });
    }

    /// Runs of agents that wait for them: room is given where runs are admitted, here only their number is bounded.
    fn start_beside(
        &mut self,
        run: RunId,
        order: SkillOrder,
        answer: oneshot::Sender<Result<(), Refusal>>,
        ctx: &mut Context<Self>,
    ) {
        if self.beside.len() >= BESIDE_MAX && !self.beside.contains(&run) {
            let message = format!("{BESIDE_MAX} delegated skills are at work. Wait for one of them.");
            return drop(answer.send(Err(refusal(ReasonCode::Busy, &message))));
        }
        self.beside.insert(run.clone());
        let accepted = self.accept(run.clone(), order);
        ctx.spawn_then(accepted, move |router, accepted, ctx| {
            match &accepted {
                Ok(()) => router.await_end(run, ctx),
                Err(_) => drop(router.beside.remove(&run)),
            }
            let _ = answer.send(accepted);
        });
    }

    fn accept(
        &self,
        run: RunId,
        order: SkillOrder,
    ) -> impl std::future::Future<Output = Result<(), Refusal>> + use<> {
        let (resolve, port) = (self.resolve.clone(), self.ports.start.clone());
        async move {
            let request = Box::new(resolve(order).await.map_err(Refusal)?);
            let accepted = port.ask_again(StartRun { run, request }, ASK).await;
            accepted.unwrap_or_else(|error| Err(refusal(ReasonCode::Internal, &error.to_string())))
        }
    }

    /// A result is seen a moment before the end of its run is told here: the journal knows.
    fn start_if_over(
        &mut self,
        other: RunId,
        start: StartSkill,
        answer: oneshot::Sender<Result<(), Refusal>>,
        ctx: &mut Context<Self>,
    ) {
        let read = self.ports.read.clone();
        let filter = RunFilter::id_prefix(other.as_str());
        let asked = async move { read.ask_again(ReadRuns { filter }, ASK).await };
        ctx.spawn_then(asked, move |router, reply, ctx| {
            let state = match reply {
                Ok(Ok(runs)) => runs.first().map_or(RunState::Accepted, |run| run.state),
                Ok(Err(_)) | Err(_) => RunState::Running,
            };
            if state < RunState::Succeeded {
                return drop(answer.send(Err(busy(state))));
            }
            router.in_flight.retain(|_, run| *run != other);
            router.start(start, answer, ctx);
        });
    }

    fn watch(&mut self, session: Option<SessionId>, run: RunId, ctx: &mut Context<Self>) {
        self.in_flight.insert(session, run.clone());
        self.await_end(run, ctx);
    }

    fn await_end(&self, run: RunId, ctx: &mut Context<Self>) {
        let port = self.ports.await_run.clone();
        let over = run.clone();
        ctx.spawn_then(
            async move { port.ask_again(AwaitRun { run }, RUN_OVER).await },
            move |_, _, ctx| ctx.notify(SkillOver { run: over }),
        );
    }
}

fn busy(state: RunState) -> Refusal {
    refusal(ReasonCode::Busy, &user_lines::busy(state))
}

fn refusal(code: ReasonCode, message: &str) -> Refusal {
    Refusal(Reason {
        code,
        message: message.to_string(),
    })
}
