//! What a handler gives back: a reply now, or work that ends in one.

use super::linked::Then;
use super::{Actor, Context};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::future::Future;

pub(super) type AnswerTask<A, R> = LocalBoxFuture<'static, Then<A, R>>;

/// A reply, or the linked work that leads to one. A panic in that work is the exit of its actor.
#[must_use = "a handler's answer must be given back"]
pub struct Answer<A: Actor, R>(pub(super) Form<A, R>);

pub(super) enum Form<A: Actor, R> {
    Now(R),
    Later(AnswerTask<A, R>),
}

impl<A: Actor, R: 'static> Answer<A, R> {
    /// The reply is known.
    pub fn now(reply: R) -> Self {
        Self(Form::Now(reply))
    }

    /// The reply comes out of `work`; meanwhile the actor handles other messages.
    pub fn later(work: impl Future<Output = R> + 'static) -> Self {
        Self::then(work, |_, reply, _| reply)
    }

    /// When `work` is done, `then` sees the actor and makes the reply. Its first argument needs its type said:
    /// `|actor: &mut Self, output, ctx| …`.
    pub fn then<T: 'static>(
        work: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut A, T, &mut Context<A>) -> R + 'static,
    ) -> Self {
        let task = async move {
            let output = work.await;
            let then: Then<A, R> = Box::new(move |actor, ctx| then(actor, output, ctx));
            then
        };
        Self(Form::Later(task.boxed_local()))
    }
}
