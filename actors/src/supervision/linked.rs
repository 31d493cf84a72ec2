//! The linked work of one incarnation. Only what was woken is polled, so an actor for which ten thousand wait pays for
//! one wake-up what it pays when nobody waits; actix would poll all of it each time.

use super::shell::Shell;
use super::{Actor, Context};
use actix::fut::ActorFuture;
use futures_util::Stream;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use std::pin::Pin;
use std::task::{self, Poll};

/// What follows when linked work is done: it sees the actor.
pub(super) type Then<A, R> = Box<dyn FnOnce(&mut A, &mut Context<A>) -> R>;

pub(super) type LinkedTask<A> = LocalBoxFuture<'static, Then<A, ()>>;

/// All linked work of one incarnation, as the one future that actix polls.
pub(super) struct LinkedTasks<A: Actor> {
    /// None until there is work: most actors of a run that waits never have any.
    tasks: Option<FuturesUnordered<LinkedTask<A>>>,
}

impl<A: Actor> LinkedTasks<A> {
    pub(super) fn new() -> Self {
        Self { tasks: None }
    }

    fn take_up(&mut self, begun: &mut Vec<LinkedTask<A>>) {
        if !begun.is_empty() {
            self.tasks
                .get_or_insert_with(FuturesUnordered::new)
                .extend(begun.drain(..));
        }
    }

    fn poll_woken(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Then<A, ()>>> {
        match &mut self.tasks {
            Some(tasks) => Pin::new(tasks).poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl<A: Actor> ActorFuture<Shell<A>> for LinkedTasks<A> {
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        shell: &mut Shell<A>,
        actix: &mut actix::Context<Shell<A>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<()> {
        loop {
            self.take_up(&mut shell.context.begun);
            let Poll::Ready(Some(then)) = self.poll_woken(cx) else {
                return Poll::Pending;
            };
            then(&mut shell.actor, &mut shell.context);
            shell.context.leave_if_ending(actix);
            if shell.context.incarnation.is_ending() {
                return Poll::Pending;
            }
        }
    }
}

/// The oldest first: those who waited are told in the order in which they came.
impl<A: Actor> Drop for LinkedTasks<A> {
    fn drop(&mut self) {
        let newest_first = self.tasks.take().into_iter().flatten().collect::<Vec<_>>();
        newest_first.into_iter().rev().for_each(drop);
    }
}
