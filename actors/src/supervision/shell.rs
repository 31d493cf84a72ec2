//! The actix actor around ours. The only door to it is a message, so the driver rings.

use super::incarnation::StopOrder;
use super::{Actor, Context};

/// Envelopes handled in one go before others get their turn.
pub(super) const TURN: usize = 64;

pub(super) struct Shell<A: Actor> {
    pub(super) actor: Box<A>,
    pub(super) context: Context<A>,
}

pub(super) struct WakeUp;

/// It is time to go.
pub(super) struct Leave;

impl<A: Actor> actix::Actor for Shell<A> {
    type Context = actix::Context<Self>;
}

impl actix::Message for WakeUp {
    type Result = ();
}

impl actix::Message for Leave {
    type Result = ();
}

impl<A: Actor> actix::Handler<WakeUp> for Shell<A> {
    type Result = ();

    fn handle(&mut self, _: WakeUp, actix: &mut actix::Context<Self>) {
        for _ in 0..TURN {
            if self.context.incarnation.is_ending() {
                break;
            }
            let Some(envelope) = self.context.cell.front() else {
                break;
            };
            envelope.deliver(&mut self.actor, &mut self.context);
            self.context.leave_if_ending(actix);
        }
    }
}

impl<A: Actor> actix::Handler<Leave> for Shell<A> {
    type Result = ();

    fn handle(&mut self, _: Leave, actix: &mut actix::Context<Self>) {
        self.actor.stopping(&mut self.context);
        self.context.leave_if_ending(actix);
        if let Some(order) = self.context.incarnation.order.get() {
            self.context.incarnation.order.set(Some(StopOrder {
                stopping_returned: true,
                ..order
            }));
        }
    }
}
