//! Endings that were told and could not be written. They are settled as soon as the journal can be written again.
//!
//! What is settled is what was told: the run's tree is grown once more with the order to park, and decides from the same
//! steps. One run tries first; the others follow when it succeeded, so that a full disk is not asked for each of them.

use super::Runs;
use super::adoption::Adopted;
use crate::journal::JournalError;
use crate::messages::run::{Refusal, RunClosed, SettleDue};
use crate::supervision::{Answer, Context, Handles};
use impresario_policies::domain::{GroupId, Reason, ReasonCode, RunId, TerminalState};
use impresario_policies::unwritable::{ToldEnding, WriteFailure};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// How often it is looked whether the journal can be written again.
const SETTLE_AGAIN: Duration = Duration::from_secs(5);

/// The endings that were told; shared with whoever waits for one.
#[derive(Clone, Default)]
pub struct Told(Rc<RefCell<Endings>>);

#[derive(Default)]
struct Endings {
    unsettled: BTreeMap<RunId, Unsettled>,
    /// A note to oneself is on its way.
    is_due: bool,
    /// Who tried last; the next one follows, so that one that cannot be settled is in nobody's way.
    tried: Option<RunId>,
}

struct Unsettled {
    ending: ToldEnding,
    generation: u64,
    group: Option<GroupId>,
}

impl Told {
    /// How this run ended, if that was only told.
    pub(super) fn ending_of(&self, run: &RunId) -> Option<ToldEnding> {
        let endings = self.0.borrow();
        endings.unsettled.get(run).map(|told| told.ending.clone())
    }

    pub(super) fn add(&self, run: RunId, ending: ToldEnding, generation: u64, group: Option<GroupId>) {
        let unsettled = Unsettled {
            ending,
            generation,
            group,
        };
        // What was told first holds.
        self.0.borrow_mut().unsettled.entry(run).or_insert(unsettled);
    }

    fn remove(&self, run: &RunId) -> bool {
        self.0.borrow_mut().unsettled.remove(run).is_some()
    }

    /// The runs to settle as runs to go on with; the first of them, or all.
    fn to_settle(&self, runs_max: usize) -> Vec<Adopted> {
        let mut endings = self.0.borrow_mut();
        let is_later = |run: &RunId| endings.tried.as_ref().is_some_and(|tried| run > tried);
        let (later, earlier): (Vec<_>, Vec<_>) = endings.unsettled.iter().partition(|(run, _)| is_later(run));
        let in_turn = later.into_iter().chain(earlier).take(runs_max);
        let to_settle = in_turn
            .map(|(run, told)| Adopted {
                run: run.clone(),
                group: told.group.clone(),
                generation: told.generation,
                must_park: Some(told.must_park()),
            })
            .collect::<Vec<_>>();
        endings.tried = to_settle.last().map(|tried| tried.run.clone());
        to_settle
    }

    /// With what order an adopted run comes back whose ending was told already.
    pub(super) fn order_of(&self, run: &RunId) -> Option<Reason> {
        self.0.borrow().unsettled.get(run).map(Unsettled::must_park)
    }
}

impl Unsettled {
    /// A run whose answer is on disk, or that was cancelled there, ends with that, whatever the order says.
    fn must_park(&self) -> Reason {
        self.ending.reason.clone().unwrap_or_else(|| Reason {
            code: ReasonCode::JournalUnwritable,
            message: "The journal could not be written for a while.".to_string(),
        })
    }
}

/// The ending of a run that could not even be parked.
pub(super) fn parked(reason: Reason) -> ToldEnding {
    ToldEnding {
        state: TerminalState::Parked,
        reason: Some(reason),
    }
}

/// Why a run was not accepted, and what to do about it.
pub(super) fn not_accepted(error: &JournalError) -> Refusal {
    let code = match error.write_failure() {
        WriteFailure::Passing | WriteFailure::Lasting => ReasonCode::JournalUnwritable,
        WriteFailure::NotOurs | WriteFailure::StepRefused | WriteFailure::OutOfStep => ReasonCode::Internal,
    };
    let advice = error.advice().unwrap_or_default();
    let message = format!("The run cannot be written to the journal: {error}. {advice}");
    Refusal(Reason {
        code,
        message: message.trim_end().to_string(),
    })
}

/// The journal is there and does not get to it: as far as anybody can say, nothing can be written now.
pub(super) fn not_reached(why: &str) -> Refusal {
    Refusal(Reason {
        code: ReasonCode::JournalUnwritable,
        message: format!("The run cannot be written to the journal: {why}."),
    })
}

impl Runs {
    /// Remembers an ending that was only told, or that one of them is on disk now.
    pub(super) fn note_told(&mut self, closed: &RunClosed, ctx: &mut Context<Self>) {
        let Some(live) = self.live.get(&closed.run) else {
            return;
        };
        match &closed.told {
            Some(ending) => {
                let (generation, group) = (live.generation, live.group.clone());
                self.tools
                    .told
                    .add(closed.run.clone(), ending.clone(), generation, group);
                self.settle_later(ctx);
            }
            // The journal can be written again: the others need not wait.
            None if self.tools.told.remove(&closed.run) => self.settle(usize::MAX, ctx),
            None => {}
        }
    }

    pub(super) fn settle_later(&mut self, ctx: &mut Context<Self>) {
        let was_due = std::mem::replace(&mut self.tools.told.0.borrow_mut().is_due, true);
        if !was_due {
            ctx.notify_after(SETTLE_AGAIN, SettleDue);
        }
    }

    /// For an incarnation that finds endings which an earlier one told.
    pub(super) fn settle_again(&mut self, ctx: &mut Context<Self>) {
        let is_needed = {
            let mut endings = self.tools.told.0.borrow_mut();
            endings.is_due = false;
            !endings.unsettled.is_empty()
        };
        if is_needed {
            self.settle_later(ctx);
        }
    }

    fn settle(&mut self, runs_max: usize, ctx: &mut Context<Self>) {
        if ctx.shutting_down() {
            return;
        }
        for unsettled in self.tools.told.to_settle(runs_max) {
            self.take_on(unsettled, ctx);
        }
    }
}

impl Handles<SettleDue> for Runs {
    fn handle(&mut self, _: SettleDue, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.tools.told.0.borrow_mut().is_due = false;
        if !self.tools.told.0.borrow().unsettled.is_empty() {
            self.settle(1, ctx);
            self.settle_later(ctx);
        }
        Answer::now(())
    }
}
