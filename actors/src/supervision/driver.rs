//! Lives one incarnation: owns the actix future, polls it under a guard, and knows how it ended.

use super::actor_cell::ActorCell;
use super::envelope::SendMode;
use super::incarnation::{Incarnation, StopOrder};
use super::linked::LinkedTasks;
use super::mailbox::Full;
use super::panic_hook::guard;
use super::shell::{Leave, Shell, WakeUp};
use super::tree::TreeContext;
use super::watchdog;
use super::{Actor, Context, Event, Exit};
use actix::dev::ContextFut;
use actix::{ActorContext, Addr, AsyncContext};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};
use tokio::time::{Instant, Sleep, sleep_until};

/// How a parent learns that a child ended.
pub(super) type Report = Box<dyn FnOnce(&Incarnation, Exit)>;

pub(super) struct Running<A: Actor> {
    future: ContextFut<Shell<A>, actix::Context<Shell<A>>>,
    /// actix stops an actor whose last address is gone.
    address: Addr<Shell<A>>,
    incarnation: Rc<Incarnation>,
    /// Wakes us for the next timer, or for the deadline of an order to go.
    alarm: Option<Pin<Box<Sleep>>>,
    report: Option<Report>,
}

/// Builds an actor, runs its `started`, and sets it going. Nothing is reported when this fails.
pub(super) fn start<A: Actor>(
    cell: &Rc<ActorCell<A>>,
    build: &dyn Fn(&mut Context<A>) -> A,
    tree: &Rc<TreeContext>,
    report: Report,
) -> Result<(), Exit> {
    let incarnation = cell.begin(tree);
    let mut actix = actix::Context::<Shell<A>>::new();
    let mut context = Context::new(cell.clone(), incarnation.clone(), tree.clone());
    let built = guard(|| {
        let mut actor = Box::new(build(&mut context));
        actor.started(&mut context);
        match incarnation.take_ending() {
            Some(exit) => Err(exit),
            None => Ok(actor),
        }
    });
    let actor = match built.flatten() {
        Ok(actor) => actor,
        Err(exit) => {
            let exit = guard(|| drop(context)).err().unwrap_or(exit);
            cell.settle_exit(&incarnation, &exit);
            return Err(exit);
        }
    };
    context.leave_if_ending(&mut actix);
    actix.spawn(LinkedTasks::new());
    let future = actix.into_future(Shell { actor, context });
    let address = future.address();
    let number = incarnation.number;
    let running = Running {
        future,
        address,
        incarnation,
        alarm: None,
        report: Some(report),
    };
    cell.running.set(Some(Box::new(running)));
    tokio::task::spawn_local(Driver {
        cell: cell.clone(),
        number,
    });
    cell.emit(Event::Up {
        child: cell.name().clone(),
        incarnation: number,
    });
    Ok(())
}

/// Tells the running incarnation to go; the first order counts. Says whether there is one.
pub(super) fn order_stop<A: Actor>(cell: &ActorCell<A>, drain: bool, deadline: Option<Instant>) -> bool {
    let Some(incarnation) = cell.life.borrow().clone() else {
        return false;
    };
    if incarnation.order.get().is_some() {
        return true;
    }
    let order = StopOrder {
        drain,
        deadline,
        announced: false,
        stopping_returned: false,
    };
    incarnation.order.set(Some(order));
    cell.emit(Event::Stopping {
        child: cell.name().clone(),
    });
    cell.wake();
    true
}

/// Removes the running incarnation at once; the parent is not told. One that is being polled goes when it is done.
pub(super) fn kill<A: Actor>(cell: &ActorCell<A>, exit: Exit) {
    match cell.running.take() {
        Some(mut running) => {
            running.report = None;
            running.finish(cell, exit);
            cell.wake();
        }
        None => {
            if let Some(incarnation) = &*cell.life.borrow() {
                incarnation.end(exit);
            }
        }
    }
}

/// The task of one incarnation.
struct Driver<A: Actor> {
    cell: Rc<ActorCell<A>>,
    number: u64,
}

impl<A: Actor> Future for Driver<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        let Some(mut running) = self.take_running() else {
            return Poll::Ready(());
        };
        self.cell.now_polling(cx.waker());
        let polled = watchdog::while_busy(self.cell.name(), || running.poll(&self.cell, cx));
        match polled {
            Poll::Ready(exit) => {
                running.finish(&self.cell, exit);
                Poll::Ready(())
            }
            Poll::Pending => {
                self.cell.running.set(Some(running));
                Poll::Pending
            }
        }
    }
}

impl<A: Actor> Driver<A> {
    /// What runs, if it is still the life that this task was made for.
    fn take_running(&self) -> Option<Box<Running<A>>> {
        let running = self.cell.running.take()?;
        if running.incarnation.number == self.number {
            return Some(running);
        }
        self.cell.running.set(Some(running));
        None
    }
}

impl<A: Actor> Drop for Driver<A> {
    fn drop(&mut self) {
        if let Some(running) = self.take_running() {
            running.finish(&self.cell, Exit::Lost);
        }
    }
}

impl<A: Actor> Running<A> {
    fn poll(&mut self, cell: &ActorCell<A>, cx: &mut task::Context<'_>) -> Poll<Exit> {
        loop {
            self.deliver_due(cell);
            self.ring(cell);
            let polled = guard(|| Pin::new(&mut self.future).poll(cx));
            if let Err(exit) = polled {
                return Poll::Ready(exit);
            }
            if let Some(exit) = self.incarnation.take_ending() {
                return Poll::Ready(self.as_ordered(exit));
            }
            if let Some(order) = self.incarnation.order.get() {
                if self.incarnation.may_leave(order) && !(order.drain && cell.has_post()) {
                    return Poll::Ready(Exit::Shutdown);
                }
                if order.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    return Poll::Ready(Exit::Killed);
                }
            }
            if self.wait(cell, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Moves timers that came due into the mailbox.
    fn deliver_due(&self, cell: &ActorCell<A>) {
        let Some(due) = cell.timers.borrow().next_due() else {
            return;
        };
        let now = Instant::now();
        if now < due {
            return;
        }
        while let Some(note) = { cell.timers.borrow_mut().take_due(now) } {
            if let Err(Full) = cell.admit(note, SendMode::Note) {
                self.incarnation
                    .end(Exit::Failed("its timers flood its mailbox".into()));
            }
        }
    }

    /// Tells the actor, through its actix mailbox, what there is to do.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that sends through actix: wake-ups, never messages"
    )]
    fn ring(&self, cell: &ActorCell<A>) {
        let order = self.incarnation.order.get();
        if let Some(order) = order.filter(|order| !order.announced) {
            self.incarnation.order.set(Some(StopOrder {
                announced: true,
                ..order
            }));
            self.address.do_send(Leave);
        }
        if cell.has_post() && order.is_none_or(StopOrder::takes_post) {
            self.address.do_send(WakeUp);
        }
    }

    /// Ready when a timer is due now.
    fn wait(&mut self, cell: &ActorCell<A>, cx: &mut task::Context<'_>) -> Poll<()> {
        let order = self.incarnation.order.get();
        if cell.has_post() && order.is_none_or(StopOrder::takes_post) {
            cell.wake(); // its turn is over, and there is more
        }
        let due = cell.timers.borrow().next_due();
        let deadline = order.and_then(|order| order.deadline);
        let Some(next) = due.into_iter().chain(deadline).min() else {
            self.alarm = None;
            return Poll::Pending;
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if alarm.deadline() != next {
            alarm.as_mut().reset(next);
        }
        alarm.as_mut().poll(cx)
    }

    fn as_ordered(&self, exit: Exit) -> Exit {
        match exit {
            Exit::Normal if self.incarnation.order.get().is_some() => Exit::Shutdown,
            exit => exit,
        }
    }

    /// Drops the actor without running any hook of it, settles what it had begun, and tells the parent.
    fn finish(mut self: Box<Self>, cell: &ActorCell<A>, exit: Exit) {
        self.future.ctx().terminate(); // or actix would poll it once more while dropping it
        let Self {
            future,
            address,
            incarnation,
            alarm,
            report,
        } = *self;
        drop(alarm);
        let exit = guard(|| drop((future, address))).err().unwrap_or(exit);
        cell.settle_exit(&incarnation, &exit);
        if let Some(report) = report {
            report(&incarnation, exit);
        }
    }
}
