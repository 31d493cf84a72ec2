//! The git worktree of a run: made before its first attempt, kept as a patch and removed before its end.
//!
//! What is under way here is never left in the middle by a wish to stop: half a worktree is no end of a run.

use super::Run;
use crate::gateways::{DeliveredChanges, WorktreeAsk, WorktreeError};
use crate::supervision::Context;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use impresario_policies::domain::{Reason, ReasonCode, Step, TerminalState};
use impresario_policies::worktree::describe_changes;

impl Run {
    pub(super) fn prepare_worktree(&mut self, ctx: &mut Context<Self>) {
        let Some(request) = self.request() else { return };
        let inherited = request.terms.inherited.as_ref();
        let ask = WorktreeAsk {
            run: self.id.clone(),
            workspace: request.workspace.clone(),
            goes_on_in: inherited.and_then(|earlier| earlier.worktree.clone()),
        };
        let worktrees = self.tools.worktrees.clone();
        let prepare = async move { worktrees.prepare(ask).await }.boxed_local();
        self.with_git(prepare, ctx, |run, made, ctx| match made {
            Ok(worktree) => {
                let worktree = Box::new(worktree);
                run.record(vec![Step::WorktreePrepared { worktree }], ctx);
            }
            Err(error) => {
                run.facts.worktree_refused = Some(Reason {
                    code: ReasonCode::WorktreeUnavailable,
                    message: error.0,
                });
            }
        });
    }

    pub(super) fn take_patch(
        &mut self,
        state: TerminalState,
        reason: Option<Reason>,
        ctx: &mut Context<Self>,
    ) {
        let Some(own) = &self.projection.worktree else {
            return;
        };
        let (worktrees, run, worktree) = (
            self.tools.worktrees.clone(),
            self.id.clone(),
            own.worktree.clone(),
        );
        let take = async move { worktrees.take_patch(&run, &worktree).await }.boxed_local();
        self.with_git(take, ctx, move |run, taken, ctx| {
            let step = match taken {
                Ok(patch) => Step::PatchTaken {
                    patch: Box::new(patch),
                    state,
                    reason,
                },
                Err(WorktreeError(why)) => Step::PatchNotTaken { why, state, reason },
            };
            run.record(vec![step], ctx);
        });
    }

    pub(super) fn clear_worktree(&mut self, ctx: &mut Context<Self>) {
        let (worktrees, run) = (self.tools.worktrees.clone(), self.id.clone());
        let clear = async move { worktrees.clear(&run).await }.boxed_local();
        self.with_git(clear, ctx, |run, cleared, ctx| {
            let step = match cleared {
                Ok(()) => Step::WorktreeCleared,
                Err(WorktreeError(why)) => Step::WorktreeStays { why },
            };
            run.record(vec![step], ctx);
        });
    }

    /// A git that an earlier life of the run began is over before another one begins.
    fn with_git<T: 'static>(
        &mut self,
        work: LocalBoxFuture<'static, T>,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) {
        let contain = self.contain();
        self.at_worktree = true;
        let alone = async move {
            contain.await;
            work.await
        };
        self.effect(alone, ctx, move |run, done, ctx| {
            run.at_worktree = false;
            then(run, done, ctx);
        });
    }

    pub(super) fn delivered_changes(&self) -> Option<DeliveredChanges> {
        let own = self.projection.worktree.as_ref()?;
        let kept = own.kept.as_ref()?;
        Some(DeliveredChanges {
            text: describe_changes(&self.id, own)?,
            worktree: own.worktree.clone(),
            patch: kept.patch.as_ref().ok().cloned(),
            cleared: own.cleared,
        })
    }
}
