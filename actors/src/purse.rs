//! What one part of a run pays its calls of models from: asks before each, and settles after it.

use crate::gateways::CallAsked;
use crate::messages::ledger::{OverBudget, Reservation, ReserveCall};
use crate::supervision::Port;
use impresario_policies::budget::{Allowance, CallBefore, CallDecision, Spent, estimate_call};
use impresario_policies::domain::{Caller, ModelCall, ModelUsage, PromptSeen};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

/// The calls under way of everybody else end within their clocks.
const ROOM_WITHIN: Duration = Duration::from_secs(3_600);

/// The budget of one attempt, or of one pass of actor and judge.
pub struct Purse {
    allowance: RefCell<Allowance>,
    ledger: Port<ReserveCall>,
    /// Calls under way, oldest first.
    open: RefCell<VecDeque<Open>>,
    last: Cell<Option<CallBefore>>,
    told: Cell<bool>,
}

struct Open {
    model: String,
    bytes: u64,
    reserved: ModelUsage,
    reservation: Option<Reservation>,
    prompt: Option<Box<PromptSeen>>,
}

impl Purse {
    /// A purse with what is left of the run's allowance.
    pub fn new(allowance: Allowance, ledger: Port<ReserveCall>) -> Self {
        Self {
            allowance: RefCell::new(allowance),
            ledger,
            open: RefCell::default(),
            last: Cell::default(),
            told: Cell::default(),
        }
    }

    /// Sets something aside for a call, or says why it may not begin. True, once, when the caller should conclude.
    pub async fn reserve(&self, asked: CallAsked) -> Result<bool, OverBudget> {
        let last = self.last.get();
        let reserved = estimate_call(&asked.model, asked.bytes, asked.tokens_max, last.as_ref());
        let (ask, conclude_alone) = self.ask_of(&reserved)?;
        let reservation = match ask {
            Some(ask) => Some(self.ask_ledger(ask).await?),
            None => None,
        };
        let conclude = conclude_alone || reservation.as_ref().is_some_and(|shared| shared.conclude);
        self.open.borrow_mut().push_back(Open {
            model: asked.model,
            bytes: asked.bytes,
            reserved,
            reservation,
            prompt: None,
        });
        Ok(conclude && !self.told.replace(true))
    }

    /// What is known of the prompt of the call that was let in last.
    pub fn saw(&self, prompt: PromptSeen) {
        if let Some(open) = self.open.borrow_mut().back_mut() {
            open.prompt = Some(Box::new(prompt));
        }
    }

    fn ask_of(&self, reserved: &ModelUsage) -> Result<(Option<ReserveCall>, bool), OverBudget> {
        let allowance = self.allowance.borrow();
        let want = Spent::of(reserved, allowance.assumed_usd_per_million);
        let conclude = match allowance.decide_call(want, self.under_way(&allowance)) {
            CallDecision::Make { conclude } => conclude,
            CallDecision::Refuse(why) => return Err(OverBudget(why)),
        };
        let ask = (!allowance.shared.is_empty()).then(|| ReserveCall {
            limits: allowance.shared.clone(),
            want,
            assumed_usd_per_million: allowance.assumed_usd_per_million,
        });
        Ok((ask, conclude))
    }

    /// A runner that goes on at once asks for its next call before we have heard what the last one took.
    fn under_way(&self, allowance: &Allowance) -> Spent {
        let open = self.open.borrow();
        let reserved = open
            .iter()
            .map(|open| Spent::of(&open.reserved, allowance.assumed_usd_per_million));
        reserved.fold(Spent::default(), Spent::plus)
    }

    async fn ask_ledger(&self, ask: ReserveCall) -> Result<Reservation, OverBudget> {
        match self.ledger.ask_again(ask, ROOM_WITHIN).await {
            Ok(reply) => reply,
            Err(error) => Err(OverBudget(format!("nobody keeps the ledger ({error:?})"))),
        }
    }

    /// The oldest call is over: says what it counts as. One that nobody asked for is paid for none the less; one that
    /// was not let in took nothing.
    pub fn settle(&self, by: Caller, served: Option<String>, used: Option<ModelUsage>) -> Option<ModelCall> {
        let asked = self.open.borrow_mut().pop_front();
        let unasked = || {
            used.filter(|used| !used.is_nothing())?;
            Some(Open {
                model: served.clone().unwrap_or_default(),
                bytes: 0,
                reserved: ModelUsage::default(),
                reservation: None,
                prompt: None,
            })
        };
        let open = asked.or_else(unasked)?;
        let call = ModelCall {
            by,
            requested: open.model,
            served,
            used,
            reserved: open.reserved,
            prompt: open.prompt,
        };
        let mut allowance = self.allowance.borrow_mut();
        let took = Spent::of(&call.counted(), allowance.assumed_usd_per_million);
        allowance.spent = allowance.spent.plus(took);
        if let Some(reservation) = open.reservation {
            // A ledger that is gone asks the journal.
            let _ = reservation.settle.send(took);
        }
        if let Some(used) = call.used.filter(|used| !used.is_nothing()) {
            let bytes = open.bytes;
            self.last.set(Some(CallBefore { bytes, used }));
        }
        Some(call)
    }

    /// Calls that were begun and of which nothing more is heard.
    pub fn settle_cut(&self, by: Caller) -> Vec<ModelCall> {
        let mut cut = Vec::new();
        while !self.open.borrow().is_empty() {
            cut.extend(self.settle(by, None, None));
        }
        cut
    }
}
