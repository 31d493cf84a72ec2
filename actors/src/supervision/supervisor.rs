//! Starts its children in order, brings back those that die, stops them in reverse, and knows when to give up.
//!
//! Receives: `ChildEnded` from its children, `RestartDue` from itself. A supervisor is a child like any other: when
//! it dies its children die with it, and the next life starts them all anew, behind the same ports.

use super::incarnation::Incarnation;
use super::restart::{Ended, RestartHistory};
use super::{
    Actor, Answer, BackoffSettings, Child, ChildSpec, Context, Event, Exit, Handles, Message, Name, Restart,
};
use crate::message;
use impresario_policies::restart::RestartDecision;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Who is restarted together with a child that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Only itself.
    #[default]
    OneForOne,
    OneForAll,
    /// Itself and those started after it.
    RestForOne,
}

/// How a supervisor, or a dynamic supervisor, treats its children.
#[derive(Debug, Clone)]
pub struct SupervisorSettings {
    /// Who is restarted together. A dynamic supervisor always restarts one for one.
    pub strategy: Strategy,
    /// More restarts than this within `period` and the supervisor gives up. Progress of a child erases its restarts.
    pub intensity: u32,
    /// How long a restart counts.
    pub period: Duration,
    /// Restarts of one child in a row without progress that are allowed, however slow; none sets no such limit.
    pub without_progress_max: Option<u32>,
    /// How the pauses before restarts grow.
    pub backoff: BackoffSettings,
}

impl Default for SupervisorSettings {
    fn default() -> Self {
        Self {
            strategy: Strategy::OneForOne,
            intensity: 5,
            period: Duration::from_secs(10),
            without_progress_max: None,
            backoff: BackoffSettings::default(),
        }
    }
}

/// A supervisor of `children`, as a child.
///
/// # Panics
///
/// When two children have one name: nobody could tell them apart.
pub fn supervisor(name: &str, settings: SupervisorSettings, children: Vec<ChildSpec>) -> Child<Supervisor> {
    let mut names = BTreeSet::new();
    for spec in &children {
        assert!(
            names.insert(spec.name().clone()),
            "{name} has two children called {}",
            spec.name()
        );
    }
    let specs: Rc<[ChildSpec]> = Rc::from(children);
    let below = specs.clone();
    Child::new(name, move |_| Supervisor::new(settings.clone(), specs.clone())).above(below)
}

message!(ChildEnded {
    child: usize,
    ended: Ended
});
message!(RestartDue { ticket: u64 });

/// The actor behind [`supervisor`].
pub struct Supervisor {
    settings: SupervisorSettings,
    specs: Rc<[ChildSpec]>,
    children: Vec<ChildState>,
    /// What goes on step by step: nothing else is begun meanwhile.
    plan: Option<Plan>,
    /// Exits seen while a plan was under way that has nothing to do with them.
    late: VecDeque<ChildEnded>,
    tickets: u64,
}

/// What is known about one child.
#[derive(Default)]
struct ChildState {
    life: Option<u64>,
    /// The restart it waits for.
    ticket: Option<u64>,
    history: RestartHistory,
}

/// Children to stop, one after the other from the back, and what then follows.
struct Plan {
    to_stop: Vec<usize>,
    drain: bool,
    then: Next,
}

enum Next {
    Start { group: Vec<usize>, delay: Duration },
    Escalate { child: Name, why: Arc<str> },
    Leave { gone: Rc<Notify> },
}

impl Supervisor {
    fn new(settings: SupervisorSettings, specs: Rc<[ChildSpec]>) -> Self {
        let children = specs.iter().map(|_| ChildState::default()).collect();
        Self {
            settings,
            specs,
            children,
            plan: None,
            late: VecDeque::new(),
            tickets: 0,
        }
    }
}

impl Actor for Supervisor {
    const KIND: &'static str = "supervisor";
    const HANDLES: &'static [&'static str] = &[ChildEnded::NAME, RestartDue::NAME];

    fn started(&mut self, ctx: &mut Context<Self>) {
        for child in 0..self.specs.len() {
            self.start(child, ctx);
        }
    }

    fn stopping(&mut self, ctx: &mut Context<Self>) {
        let gone = Rc::new(Notify::new());
        let drain = ctx.incarnation.order.get().is_some_and(|order| order.drain);
        self.plan = Some(Plan {
            to_stop: self.forget_restarts(),
            drain,
            then: Next::Leave { gone: gone.clone() },
        });
        ctx.spawn(async move { gone.notified().await });
        self.follow_plan(ctx);
    }
}

impl Handles<ChildEnded> for Supervisor {
    fn handle(&mut self, message: ChildEnded, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let child_state = &mut self.children[message.child];
        if child_state.life != Some(message.ended.life) {
            return Answer::now(());
        }
        child_state.life = None;
        match &self.plan {
            Some(plan) if plan.to_stop.contains(&message.child) => self.follow_plan(ctx),
            Some(_) => self.late.push_back(message),
            None => self.child_ended(message, ctx),
        }
        Answer::now(())
    }
}

impl Handles<RestartDue> for Supervisor {
    fn handle(&mut self, due: RestartDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        if self.plan.is_none() {
            for child in 0..self.children.len() {
                if self.children[child].ticket == Some(due.ticket) {
                    self.start(child, ctx);
                }
            }
        }
        Answer::now(())
    }
}

impl Supervisor {
    fn start(&mut self, child: usize, ctx: &mut Context<Self>) {
        let spec = &self.specs[child];
        let post = ctx.port::<ChildEnded>();
        let report = move |incarnation: &Incarnation, exit| {
            post.tell_always(ChildEnded {
                child,
                ended: Ended::new(incarnation, exit),
            });
        };
        let started = spec.start(&ctx.tree, Box::new(report));
        let life = spec.lives();
        self.children[child].ticket = None;
        self.children[child].life = Some(life);
        if let Err(exit) = started {
            let ended = Ended::at_start(life, exit);
            ctx.port::<ChildEnded>().tell_always(ChildEnded { child, ended });
        }
    }

    fn child_ended(&mut self, ChildEnded { child, ended }: ChildEnded, ctx: &mut Context<Self>) {
        let spec = &self.specs[child];
        self.children[child].history.observe(&ended, &self.settings);
        if ended.progressed {
            ctx.progress(); // what was reached below counts above
        }
        let period = self.settings.period;
        let restarts = self
            .children
            .iter_mut()
            .map(|child_state| child_state.history.in_period(period))
            .sum();
        let chance = ctx.tree.chance();
        let history = &self.children[child].history;
        match history.decide(&ended.exit, spec.restart(), restarts, chance, &self.settings) {
            RestartDecision::Rest(_) => spec.go_down(&ended.exit),
            RestartDecision::Restart { delay } => self.restart(child, delay, ctx),
            RestartDecision::GiveUp(reason) => {
                let why = format!("{}, the last time it {}", reason.as_str(), ended.exit).into();
                self.escalate(child, why, ctx);
            }
        }
    }

    fn restart(&mut self, child: usize, delay: Duration, ctx: &mut Context<Self>) {
        self.children[child].history.restarted();
        let concerned = match self.settings.strategy {
            Strategy::OneForOne => child..child + 1,
            Strategy::OneForAll => 0..self.children.len(),
            Strategy::RestForOne => child..self.children.len(),
        };
        let is_member = |index: &usize| {
            let child_state = &self.children[*index];
            *index == child || child_state.life.is_some() || child_state.ticket.is_some()
        };
        let group: Vec<usize> = concerned.filter(is_member).collect();
        let event = Event::RestartIn {
            child: self.specs[child].name().clone(),
            delay,
            group: group.len(),
        };
        ctx.tree.emit(event);
        // Not drained: a member at work may be waiting for the very one that died.
        self.plan = Some(Plan {
            to_stop: group.clone(),
            drain: false,
            then: Next::Start { group, delay },
        });
        self.follow_plan(ctx);
    }

    fn escalate(&mut self, child: usize, why: Arc<str>, ctx: &mut Context<Self>) {
        let child = self.specs[child].name().clone();
        let supervisor = ctx.cell.name().clone();
        ctx.tree.emit(Event::Escalated {
            supervisor,
            child: child.clone(),
            why: why.clone(),
        });
        self.plan = Some(Plan {
            to_stop: self.forget_restarts(),
            drain: false,
            then: Next::Escalate { child, why },
        });
        self.follow_plan(ctx);
    }

    /// Nobody is started any more. Gives those who are there.
    fn forget_restarts(&mut self) -> Vec<usize> {
        for child_state in &mut self.children {
            child_state.ticket = None;
        }
        self.running()
    }

    fn running(&self) -> Vec<usize> {
        (0..self.children.len())
            .filter(|index| self.children[*index].life.is_some())
            .collect()
    }

    /// Stops the next one, or goes on to what follows when all are gone.
    fn follow_plan(&mut self, ctx: &mut Context<Self>) {
        while let Some(plan) = &mut self.plan {
            let Some(&child) = plan.to_stop.last() else { break };
            let spec = &self.specs[child];
            if self.children[child].life.is_some() {
                spec.order_stop(plan.drain, None);
                return;
            }
            if plan.drain {
                spec.go_down(&Exit::Shutdown); // those who drain after it need not wait for it
            }
            plan.to_stop.pop();
        }
        match self.plan.take().map(|plan| plan.then) {
            Some(Next::Start { group, delay }) => self.start_again(&group, delay, ctx),
            Some(Next::Escalate { child, why }) => ctx.end(Exit::Escalated { child, why }),
            Some(Next::Leave { gone }) => gone.notify_one(),
            None => {}
        }
        while self.plan.is_none() && !ctx.incarnation.is_ending() && !ctx.shutting_down() {
            let Some(ended) = self.late.pop_front() else {
                return;
            };
            self.child_ended(ended, ctx);
        }
    }

    fn start_again(&mut self, group: &[usize], delay: Duration, ctx: &mut Context<Self>) {
        self.tickets += 1;
        for &child in group {
            let spec = &self.specs[child];
            if spec.restart() == Restart::Temporary {
                spec.go_down(&Exit::Shutdown);
            } else if delay.is_zero() {
                self.start(child, ctx);
            } else {
                self.children[child].ticket = Some(self.tickets);
            }
        }
        if !delay.is_zero() {
            ctx.notify_after(delay, RestartDue { ticket: self.tickets });
        }
    }
}

/// However a supervisor ends, its children do not outlive it.
impl Drop for Supervisor {
    fn drop(&mut self) {
        for child in self.running().into_iter().rev() {
            self.specs[child].kill();
        }
    }
}
