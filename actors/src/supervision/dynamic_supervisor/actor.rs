//! The dynamic supervisor itself.
//!
//! Receives: `StartChild` and `StopChild` from anyone with a [`DynamicSupervisor`](super::DynamicSupervisor), `ChildGone` from its
//! children, `RetryDue` from itself. Sends: [`ChildExited`] to the owners of its children.

use super::{ChildExited, StartChild, StartError, StopChild, StopError};
use crate::message;
use crate::supervision::incarnation::Incarnation;
use crate::supervision::restart::{Ended, RestartHistory};
use crate::supervision::{
    Actor, Answer, ChildSpec, Context, Event, Exit, Handles, Message, Name, Port, SupervisorSettings,
};
use impresario_policies::restart::RestartDecision;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

message!(ChildGone {
    name: Name,
    ended: Ended
});
message!(RetryDue {
    name: Name,
    ticket: u64
});

/// The actor behind [`dynamic supervisor`](super::dynamic supervisor).
pub struct DynamicSupervisorActor {
    settings: SupervisorSettings,
    children: BTreeMap<Name, DynamicChild>,
    tickets: u64,
    /// Told when the last child is gone, once the dynamic supervisor was told to go.
    empty: Option<Rc<Notify>>,
}

struct DynamicChild {
    spec: ChildSpec,
    /// When it came, among the others.
    rank: u64,
    life: Option<u64>,
    /// The restart it waits for.
    ticket: Option<u64>,
    history: RestartHistory,
    told_to_go: bool,
    on_exit: Option<Port<ChildExited>>,
    waiting: Vec<oneshot::Sender<Result<Exit, StopError>>>,
}

impl DynamicSupervisorActor {
    pub(super) fn new(settings: SupervisorSettings) -> Self {
        Self {
            settings,
            children: BTreeMap::new(),
            tickets: 0,
            empty: None,
        }
    }
}

impl Actor for DynamicSupervisorActor {
    const KIND: &'static str = "dynamic_supervisor";
    const HANDLES: &'static [&'static str] =
        &[StartChild::NAME, StopChild::NAME, ChildGone::NAME, RetryDue::NAME];

    fn stopping(&mut self, ctx: &mut Context<Self>) {
        let drain = ctx.incarnation.order.get().is_some_and(|order| order.drain);
        let empty = Rc::new(Notify::new());
        self.empty = Some(empty.clone());
        ctx.spawn(async move { empty.notified().await });
        for name in self.names_from_last() {
            self.tell_to_go(&name, drain);
        }
        self.notice_emptiness();
    }
}

impl Handles<StartChild> for DynamicSupervisorActor {
    fn handle(
        &mut self,
        message: StartChild,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<(), StartError>> {
        let StartChild { spec, on_exit } = message;
        let name = spec.name().clone();
        if ctx.shutting_down() {
            return Answer::now(Err(StartError::SupervisorDown(Exit::Shutdown)));
        }
        if self.children.contains_key(&name) {
            return Answer::now(Err(StartError::NameTaken(name)));
        }
        spec.register(&ctx.tree);
        self.tickets += 1;
        let child = DynamicChild {
            spec,
            rank: self.tickets,
            life: None,
            ticket: None,
            history: RestartHistory::default(),
            told_to_go: false,
            on_exit: None,
            waiting: Vec::new(),
        };
        self.children.insert(name.clone(), child);
        match self.start(&name, ctx) {
            Ok(()) => {
                if let Some(child) = self.children.get_mut(&name) {
                    child.on_exit = on_exit;
                }
                Answer::now(Ok(()))
            }
            Err(exit) => {
                if let Some(child) = self.children.remove(&name) {
                    child.spec.go_down(&exit);
                }
                Answer::now(Err(StartError::Failed(exit)))
            }
        }
    }
}

impl Handles<StopChild> for DynamicSupervisorActor {
    fn handle(&mut self, message: StopChild, _: &mut Context<Self>) -> Answer<Self, Result<Exit, StopError>> {
        let Some(child) = self.children.get_mut(&message.name) else {
            return Answer::now(Err(StopError::NotThere(message.name)));
        };
        let (sender, receiver) = oneshot::channel();
        child.waiting.push(sender);
        self.tell_to_go(&message.name, true);
        Answer::later(async move { receiver.await.unwrap_or(Err(StopError::SupervisorBusy)) })
    }
}

impl Handles<ChildGone> for DynamicSupervisorActor {
    fn handle(&mut self, ChildGone { name, ended }: ChildGone, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let Some(child) = self.children.get_mut(&name) else {
            return Answer::now(());
        };
        if child.life != Some(ended.life) {
            return Answer::now(());
        }
        child.life = None;
        if child.told_to_go {
            self.let_go(&name, ended.life, ended.exit);
        } else {
            self.child_ended(&name, ended, ctx);
        }
        Answer::now(())
    }
}

impl Handles<RetryDue> for DynamicSupervisorActor {
    fn handle(&mut self, due: RetryDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let is_due = self
            .children
            .get(&due.name)
            .is_some_and(|child| child.ticket == Some(due.ticket));
        if is_due {
            self.start_again(&due.name, ctx);
        }
        Answer::now(())
    }
}

impl DynamicSupervisorActor {
    fn start(&mut self, name: &Name, ctx: &mut Context<Self>) -> Result<(), Exit> {
        let Some(child) = self.children.get_mut(name) else {
            return Ok(());
        };
        let (port, gone) = (ctx.port::<ChildGone>(), name.clone());
        let report = move |incarnation: &Incarnation, exit| {
            port.tell_always(ChildGone {
                name: gone,
                ended: Ended::new(incarnation, exit),
            });
        };
        let started = child.spec.start(&ctx.tree, Box::new(report));
        child.ticket = None;
        child.life = Some(child.spec.lives());
        started
    }

    fn start_again(&mut self, name: &Name, ctx: &mut Context<Self>) {
        let Err(exit) = self.start(name, ctx) else { return };
        let life = self.children.get(name).map_or(0, |child| child.spec.lives());
        let ended = Ended::at_start(life, exit);
        ctx.port::<ChildGone>().tell_always(ChildGone {
            name: name.clone(),
            ended,
        });
    }

    fn child_ended(&mut self, name: &Name, ended: Ended, ctx: &mut Context<Self>) {
        let Some(child) = self.children.get_mut(name) else {
            return;
        };
        child.history.observe(&ended, &self.settings);
        let restarts = child.history.in_period(self.settings.period);
        let chance = ctx.tree.chance();
        let decision = child.history.decide(
            &ended.exit,
            child.spec.restart(),
            restarts,
            chance,
            &self.settings,
        );
        match decision {
            RestartDecision::Rest(_) => self.let_go(name, ended.life, ended.exit),
            RestartDecision::Restart { delay } => self.restart_after(name, delay, ctx),
            RestartDecision::GiveUp(reason) => {
                let why: Arc<str> = format!("{}, the last time it {}", reason.as_str(), ended.exit).into();
                let supervisor = ctx.cell.name().clone();
                ctx.tree.emit(Event::Escalated {
                    supervisor,
                    child: name.clone(),
                    why: why.clone(),
                });
                self.let_go(
                    name,
                    ended.life,
                    Exit::Escalated {
                        child: name.clone(),
                        why,
                    },
                );
            }
        }
    }

    fn restart_after(&mut self, name: &Name, delay: Duration, ctx: &mut Context<Self>) {
        self.tickets += 1;
        let ticket = self.tickets;
        if let Some(child) = self.children.get_mut(name) {
            child.history.restarted();
            child.ticket = Some(ticket);
        }
        ctx.tree.emit(Event::RestartIn {
            child: name.clone(),
            delay,
            group: 1,
        });
        if delay.is_zero() {
            self.start_again(name, ctx);
        } else {
            ctx.notify_after(
                delay,
                RetryDue {
                    name: name.clone(),
                    ticket,
                },
            );
        }
    }

    fn tell_to_go(&mut self, name: &Name, drain: bool) {
        let Some(child) = self.children.get_mut(name) else {
            return;
        };
        child.told_to_go = true;
        if child.life.is_some() {
            child.spec.order_stop(drain, None);
        } else {
            let life = child.spec.lives();
            self.let_go(name, life, Exit::Shutdown); // it was waiting for a restart
        }
    }

    /// A child is gone for good: everyone who waits is told.
    fn let_go(&mut self, name: &Name, life: u64, exit: Exit) {
        let Some(mut child) = self.children.remove(name) else {
            return;
        };
        child.tell_everyone(life, &exit);
        self.notice_emptiness();
    }

    fn notice_emptiness(&self) {
        if let Some(empty) = self.empty.as_ref().filter(|_| self.children.is_empty()) {
            empty.notify_one();
        }
    }

    fn names_from_last(&self) -> Vec<Name> {
        let mut ranked: Vec<_> = self
            .children
            .iter()
            .map(|(name, child)| (child.rank, name.clone()))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().rev().map(|(_, name)| name).collect()
    }
}

impl DynamicChild {
    fn tell_everyone(&mut self, life: u64, exit: &Exit) {
        self.spec.go_down(exit);
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(Ok(exit.clone())); // it may have stopped waiting
        }
        if let Some(owner) = self.on_exit.take() {
            let name = self.spec.name().clone();
            owner.tell_always(ChildExited {
                name,
                incarnation: life,
                exit: exit.clone(),
            });
        }
    }
}

/// However a dynamic supervisor ends, its children do not outlive it, and their owners learn of it.
impl Drop for DynamicSupervisorActor {
    fn drop(&mut self) {
        for name in self.names_from_last() {
            let Some(mut child) = self.children.remove(&name) else {
                continue;
            };
            child.spec.kill();
            let life = child.spec.lives();
            child.tell_everyone(life, &Exit::Killed);
        }
    }
}
