//! What several runs spend from together: groups, sessions, the day.
//!
//! Receives [`ReserveCall`]; asks the journal what was spent before, once for every scope and for the day again and again,
//! because other runtimes of the user spend too. It keeps nothing on disk: a restarted one asks the journal, and what was
//! set aside for calls under way is known again when they are in the journal. So a kill costs at most the call that each
//! run has under way.

use crate::gateways::{UnixMillis, WallClock};
use crate::messages::journal::ReadSpent;
use crate::messages::ledger::{OverBudget, Reservation, ReserveCall};
use crate::supervision::{Actor, Answer, Context, Handles, Port};
use futures_util::future::join_all;
use impresario_policies::budget::{Room, Scope, Spent, is_to_conclude, room};
use impresario_policies::utc_date::DAY_MS;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

const ASK: Duration = Duration::from_secs(10);
/// What other runtimes have spent today is looked up again after so long.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Accounts on which nothing is reserved are forgotten above so many; the journal knows them.
const ACCOUNTS_MAX: usize = 1_000;

/// Whom the ledger reaches.
#[derive(Clone)]
pub struct LedgerPorts {
    pub spent: Port<ReadSpent>,
}

pub struct Ledger {
    ports: LedgerPorts,
    clock: Rc<dyn WallClock>,
    accounts: BTreeMap<Scope, Account>,
    /// In the order in which they asked.
    waiting: Vec<Waiting>,
}

struct Account {
    spent: Spent,
    reserved: Spent,
    looked_up: Instant,
    since: UnixMillis,
}

/// When a call may begin.
enum Turn {
    Now,
    Later,
}

struct Waiting {
    ask: ReserveCall,
    reply: oneshot::Sender<Result<Reservation, OverBudget>>,
}

impl Actor for Ledger {
    const KIND: &'static str = "ledger";
    const HANDLES: &'static [&'static str] = &["ReserveCall"];
}

impl Ledger {
    /// A ledger that knows nothing yet.
    pub fn new(ports: LedgerPorts, clock: Rc<dyn WallClock>) -> Self {
        Self {
            ports,
            clock,
            accounts: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }
}

impl Handles<ReserveCall> for Ledger {
    fn handle(
        &mut self,
        ask: ReserveCall,
        ctx: &mut Context<Self>,
    ) -> Answer<Self, Result<Reservation, OverBudget>> {
        let (reply, answered) = oneshot::channel();
        let unknown = self.unknown(&ask);
        let waiting = Waiting { ask, reply };
        match unknown.is_empty() {
            true => self.take(waiting, ctx),
            false => self.look_up(unknown, waiting, ctx),
        }
        Answer::later(async move {
            let gone = |_| Err(OverBudget("the ledger was replaced; ask again".into()));
            answered.await.unwrap_or_else(gone)
        })
    }
}

impl Ledger {
    /// The scopes of which nobody knows what was spent, or only what was spent some time ago.
    fn unknown(&self, ask: &ReserveCall) -> Vec<ReadSpent> {
        let scopes = ask.limits.iter().map(|limit| &limit.scope);
        let unknown = scopes.filter(|scope| self.is_unknown(scope));
        unknown
            .map(|scope| ReadSpent {
                scope: scope.clone(),
                since: self.since(scope),
                assumed_usd_per_million: ask.assumed_usd_per_million,
            })
            .collect()
    }

    fn is_unknown(&self, scope: &Scope) -> bool {
        let Some(account) = self.accounts.get(scope) else {
            return true;
        };
        match scope {
            Scope::Day => account.looked_up.elapsed() >= LOOK_AGAIN || account.since != self.since(scope),
            Scope::Tree(_) | Scope::Session(_) => false,
        }
    }

    fn since(&self, scope: &Scope) -> UnixMillis {
        match scope {
            Scope::Day => UnixMillis(self.clock.now().0 / DAY_MS * DAY_MS),
            Scope::Tree(_) | Scope::Session(_) => UnixMillis(0),
        }
    }

    fn look_up(&mut self, unknown: Vec<ReadSpent>, waiting: Waiting, ctx: &mut Context<Self>) {
        let port = self.ports.spent.clone();
        let reads = join_all(unknown.into_iter().map(move |read| {
            let port = port.clone();
            async move { (read.clone(), port.ask_again(read, ASK).await) }
        }));
        ctx.spawn_then(reads, |ledger, found, ctx| {
            for (read, spent) in found {
                let unread = match spent {
                    Ok(Ok(spent)) => {
                        ledger.open(read, spent);
                        continue;
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                let why = format!("what was spent cannot be read: {unread}");
                let _ = waiting.reply.send(Err(OverBudget(why)));
                return;
            }
            ledger.take(waiting, ctx);
        });
    }

    fn open(&mut self, read: ReadSpent, spent: Spent) {
        if self.accounts.len() >= ACCOUNTS_MAX {
            self.accounts
                .retain(|_, account| account.reserved != Spent::default());
        }
        let before = self.accounts.get(&read.scope);
        let reserved = before.map_or(Spent::default(), |account| account.reserved);
        let account = Account {
            spent,
            reserved,
            looked_up: Instant::now(),
            since: read.since,
        };
        self.accounts.insert(read.scope, account);
    }

    fn take(&mut self, waiting: Waiting, ctx: &mut Context<Self>) {
        self.waiting.push(waiting);
        self.serve(ctx);
    }

    /// Answers everybody whose call fits, and everybody whose call never will.
    fn serve(&mut self, ctx: &mut Context<Self>) {
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.reply.is_closed() {
                continue;
            }
            match self.decide(&waiting.ask) {
                Ok(Turn::Later) => self.waiting.push(waiting),
                Ok(Turn::Now) => {
                    let reservation = self.reserve(&waiting.ask, ctx);
                    // Who has gone meanwhile drops it, which settles it.
                    let _ = waiting.reply.send(Ok(reservation));
                }
                Err(refused) => {
                    let _ = waiting.reply.send(Err(refused));
                }
            }
        }
    }

    fn decide(&self, ask: &ReserveCall) -> Result<Turn, OverBudget> {
        let mut turn = Turn::Now;
        for limit in &ask.limits {
            let (spent, reserved) = self.standing(&limit.scope);
            match room(&limit.cap, spent, reserved, ask.want) {
                Room::Fits => {}
                Room::AfterOthers => turn = Turn::Later,
                Room::Spent => return Err(OverBudget(limit.describe_spent(spent, ask.want))),
            }
        }
        Ok(turn)
    }

    fn standing(&self, scope: &Scope) -> (Spent, Spent) {
        let account = self.accounts.get(scope);
        account.map_or_else(Default::default, |account| (account.spent, account.reserved))
    }

    fn reserve(&mut self, ask: &ReserveCall, ctx: &mut Context<Self>) -> Reservation {
        let (settle, settled) = oneshot::channel();
        let (limits, want) = (ask.limits.clone(), ask.want);
        let conclude = limits
            .iter()
            .any(|limit| is_to_conclude(&limit.cap, self.standing(&limit.scope).0.plus(want)));
        for limit in &limits {
            if let Some(account) = self.accounts.get_mut(&limit.scope) {
                account.reserved = account.reserved.plus(want);
            }
        }
        ctx.spawn_then(settled, move |ledger, took, ctx| {
            let took = took.unwrap_or(want);
            for limit in &limits {
                if let Some(account) = ledger.accounts.get_mut(&limit.scope) {
                    account.reserved = account.reserved.minus(want);
                    account.spent = account.spent.plus(took);
                }
            }
            ledger.serve(ctx);
        });
        Reservation { settle, conclude }
    }
}
