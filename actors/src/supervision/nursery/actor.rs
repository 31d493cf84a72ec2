//! The nursery itself.
//!
//! Receives: `StartChild` and `StopChild` from anyone with a [`Nursery`](super::Nursery), `ChildGone` from its
//! children, `RetryDue` from itself. Sends: [`ChildExited`] to the owners of its children.

use super::{ChildExited, StartChild, StartError, StopChild, StopError};
use crate::message;
use crate::supervision::incarnation::Incarnation;
use crate::supervision::restart::{Ended, RestartHistory};
use crate::supervision::{
    Actor, Answer, Context, Event, Exit, Handles, Message, Name, Port, Spec, SupervisorSettings,
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

/// The actor behind [`nursery`](super::nursery).
pub struct NurseryActor {
    settings: SupervisorSettings,
    wards: BTreeMap<Name, Ward>,
    tickets: u64,
    /// Told when the last child is gone, once the nursery was told to go.
    empty: Option<Rc<Notify>>,
}

struct Ward {
    spec: Spec,
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

impl NurseryActor {
    pub(super) fn new(settings: SupervisorSettings) -> Self {
        Self {
            settings,
            wards: BTreeMap::new(),
            tickets: 0,
            empty: None,
        }
    }
}

impl Actor for NurseryActor {
    const KIND: &'static str = "nursery";
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

impl Handles<StartChild> for NurseryActor {
    fn handle(
        &mut self,
        message: StartChild,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<(), StartError>> {
        let StartChild { spec, on_exit } = message;
        let name = spec.name().clone();
        if ctx.shutting_down() {
            return Answer::now(Err(StartError::NurseryDown(Exit::Shutdown)));
        }
        if self.wards.contains_key(&name) {
            return Answer::now(Err(StartError::NameTaken(name)));
        }
        spec.register(&ctx.surroundings);
        self.tickets += 1;
        let ward = Ward {
            spec,
            rank: self.tickets,
            life: None,
            ticket: None,
            history: RestartHistory::default(),
            told_to_go: false,
            on_exit: None,
            waiting: Vec::new(),
        };
        self.wards.insert(name.clone(), ward);
        match self.start(&name, ctx) {
            Ok(()) => {
                if let Some(ward) = self.wards.get_mut(&name) {
                    ward.on_exit = on_exit;
                }
                Answer::now(Ok(()))
            }
            Err(exit) => {
                if let Some(ward) = self.wards.remove(&name) {
                    ward.spec.go_down(&exit);
                }
                Answer::now(Err(StartError::Failed(exit)))
            }
        }
    }
}

impl Handles<StopChild> for NurseryActor {
    fn handle(&mut self, message: StopChild, _: &mut Context<Self>) -> Answer<Self, Result<Exit, StopError>> {
        let Some(ward) = self.wards.get_mut(&message.name) else {
            return Answer::now(Err(StopError::NotThere(message.name)));
        };
        let (sender, receiver) = oneshot::channel();
        ward.waiting.push(sender);
        self.tell_to_go(&message.name, true);
        Answer::later(async move { receiver.await.unwrap_or(Err(StopError::NurseryBusy)) })
    }
}

impl Handles<ChildGone> for NurseryActor {
    fn handle(&mut self, ChildGone { name, ended }: ChildGone, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let Some(ward) = self.wards.get_mut(&name) else {
            return Answer::now(());
        };
        if ward.life != Some(ended.life) {
            return Answer::now(());
        }
        ward.life = None;
        if ward.told_to_go {
            self.let_go(&name, ended.life, ended.exit);
        } else {
            self.child_ended(&name, ended, ctx);
        }
        Answer::now(())
    }
}

impl Handles<RetryDue> for NurseryActor {
    fn handle(&mut self, due: RetryDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let is_due = self
            .wards
            .get(&due.name)
            .is_some_and(|ward| ward.ticket == Some(due.ticket));
        if is_due {
            self.start_again(&due.name, ctx);
        }
        Answer::now(())
    }
}

impl NurseryActor {
    fn start(&mut self, name: &Name, ctx: &mut Context<Self>) -> Result<(), Exit> {
        let Some(ward) = self.wards.get_mut(name) else {
            return Ok(());
        };
        let (post, child) = (ctx.port::<ChildGone>(), name.clone());
        let report = move |incarnation: &Incarnation, exit| {
            post.tell_always(ChildGone {
                name: child,
                ended: Ended::new(incarnation, exit),
            });
        };
        let started = ward.spec.start(&ctx.surroundings, Box::new(report));
        ward.ticket = None;
        ward.life = Some(ward.spec.lives());
        started
    }

    fn start_again(&mut self, name: &Name, ctx: &mut Context<Self>) {
        let Err(exit) = self.start(name, ctx) else { return };
        let life = self.wards.get(name).map_or(0, |ward| ward.spec.lives());
        let ended = Ended::at_start(life, exit);
        ctx.port::<ChildGone>().tell_always(ChildGone {
            name: name.clone(),
            ended,
        });
    }

    fn child_ended(&mut self, name: &Name, ended: Ended, ctx: &mut Context<Self>) {
        let Some(ward) = self.wards.get_mut(name) else {
            return;
        };
        ward.history.observe(&ended, &self.settings);
        let restarts = ward.history.in_period(self.settings.period);
        let chance = ctx.surroundings.chance();
        let decision =
            ward.history
                .decide(&ended.exit, ward.spec.restart(), restarts, chance, &self.settings);
        match decision {
            RestartDecision::Rest(_) => self.let_go(name, ended.life, ended.exit),
            RestartDecision::Restart { delay } => self.restart_after(name, delay, ctx),
            RestartDecision::GiveUp(reason) => {
                let why: Arc<str> = format!("{}, the last time it {}", reason.as_str(), ended.exit).into();
                let supervisor = ctx.slot.name().clone();
                ctx.surroundings.emit(Event::Escalated {
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
        if let Some(ward) = self.wards.get_mut(name) {
            ward.history.restarted();
            ward.ticket = Some(ticket);
        }
        ctx.surroundings.emit(Event::RestartIn {
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
        let Some(ward) = self.wards.get_mut(name) else {
            return;
        };
        ward.told_to_go = true;
        if ward.life.is_some() {
            ward.spec.order_stop(drain, None);
        } else {
            let life = ward.spec.lives();
            self.let_go(name, life, Exit::Shutdown); // it was waiting for a restart
        }
    }

    /// A child is gone for good: everyone who waits is told.
    fn let_go(&mut self, name: &Name, life: u64, exit: Exit) {
        let Some(mut ward) = self.wards.remove(name) else {
            return;
        };
        ward.tell_everyone(life, &exit);
        self.notice_emptiness();
    }

    fn notice_emptiness(&self) {
        if let Some(empty) = self.empty.as_ref().filter(|_| self.wards.is_empty()) {
            empty.notify_one();
        }
    }

    fn names_from_last(&self) -> Vec<Name> {
        let mut ranked: Vec<_> = self
            .wards
            .iter()
            .map(|(name, ward)| (ward.rank, name.clone()))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().rev().map(|(_, name)| name).collect()
    }
}

impl Ward {
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

/// However a nursery ends, its children do not outlive it, and their owners learn of it.
impl Drop for NurseryActor {
    fn drop(&mut self) {
        for name in self.names_from_last() {
            let Some(mut ward) = self.wards.remove(&name) else {
                continue;
            };
            ward.spec.kill();
            let life = ward.spec.lives();
            ward.tell_everyone(life, &Exit::Killed);
        }
    }
}
