//! Kill actors on purpose, and check afterwards that the promises held.
//!
//! [`Chaos`] is a plan for one thread: at every boundary (an actor is about to handle a message, or has just handled it)
//! it may kill that actor, as a seed says. It counts what it saw and what it did, so that a test can assert that its
//! faults really happened. [`audit`] reads nothing but evidence: journal rows as JSON, processes, deliveries, effects and
//! calls of models as the outside saw them. Both work under a paused clock and under a real one, so a program can do to its own set-up in CI
//! what the tests here do:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use impresario::chaos::{self, Plan};
//! use impresario::{Runtime, SubAgent};
//!
//! let plan = Plan::Seeded { seed: 7, per_mille: 20, kills_max: 50 };
//! let runtime = Runtime::builder().state_directory("target/chaos").chaos(plan).start().await?;
//! let run = runtime.spawn(SubAgent::explore("Where is the entry point?")).await?;
//! run.outcome().await?;
//! runtime.shutdown().await?;
//! let breaches = chaos::audit(&chaos::evidence_of("target/chaos")?);
//! assert!(breaches.is_empty(), "{breaches:?}");
//! # Ok(())
//! # }
//! ```

mod auditor;
mod evidence;
mod money;
mod tokens;
mod tool_calls;
mod wire;
mod worktrees;

pub use auditor::{Breach, audit};
pub use evidence::{
    DeliverySeen, EffectSeen, Evidence, EvidenceError, Expected, JournalRow, ModelCallSeen, OrderedCall,
    ProcessSeen, Tokens, WorktreeSeen, evidence_of,
};

pub use impresario_actors::supervision::When;
use impresario_actors::supervision::{Boundary, Verdict, set_boundary_hook};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Whom to kill, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nobody: only count.
    Watch,
    /// At these boundaries, counted from 1 in the order in which they are passed.
    At(Vec<u64>),
    /// The `nth` time (from 1) that such a boundary is passed.
    AtBoundary {
        /// What kind of actor.
        kind: String,
        /// Which message.
        message: String,
        /// Which side.
        when: When,
        /// Which time.
        nth: u64,
    },
    /// As chance has it; the seed is the whole plan.
    Seeded {
        /// Gives the same kills at the same boundaries.
        seed: u64,
        /// So many kills in a thousand boundaries.
        per_mille: u32,
        /// At most so many kills.
        kills_max: u64,
    },
}

/// A boundary, without the life that passed it.
pub type BoundaryKey = (&'static str, &'static str, When);

/// What was seen and done.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// How often each boundary was passed.
    pub passed: BTreeMap<BoundaryKey, u64>,
    /// How often an actor was killed there.
    pub killed: BTreeMap<BoundaryKey, u64>,
    /// All boundaries passed.
    pub boundaries: u64,
    /// The boundaries at which somebody was killed, counted from 1.
    pub kills: Vec<u64>,
    /// One line a boundary, where asked for.
    pub story: Vec<String>,
}

/// A plan at work on this thread.
#[derive(Debug, Clone)]
pub struct Chaos(Rc<RefCell<Record>>);

impl Chaos {
    /// Begins on this thread; every actor that lives here is in reach. Replaces an earlier plan.
    pub fn begin(plan: Plan) -> Self {
        let chaos = Self(Rc::default());
        let record = chaos.0.clone();
        let mut dice = match plan {
            Plan::Seeded { seed, .. } => fastrand::Rng::with_seed(seed),
            Plan::Watch | Plan::At(_) | Plan::AtBoundary { .. } => fastrand::Rng::with_seed(0),
        };
        set_boundary_hook(Some(Box::new(move |boundary| {
            let mut record = record.borrow_mut();
            record.pass(boundary);
            let verdict = plan.decide(&record, boundary, &mut dice);
            if verdict != Verdict::Pass {
                record.kill(boundary);
            }
            verdict
        })));
        chaos
    }

    /// Ends it, and says what was seen and done.
    pub fn end(self) -> Record {
        set_boundary_hook(None);
        self.0.take()
    }
}

fn key_of(boundary: &Boundary) -> BoundaryKey {
    (boundary.kind, boundary.message, boundary.when)
}

impl Record {
    fn pass(&mut self, boundary: &Boundary) {
        self.boundaries += 1;
        *self.passed.entry(key_of(boundary)).or_default() += 1;
        let Boundary {
            name,
            incarnation,
            message,
            when,
            ..
        } = boundary;
        self.story.push(format!(
            "{} {name}#{incarnation} {when:?} {message}",
            self.boundaries
        ));
    }

    fn kill(&mut self, boundary: &Boundary) {
        self.kills.push(self.boundaries);
        *self.killed.entry(key_of(boundary)).or_default() += 1;
        if let Some(line) = self.story.last_mut() {
            line.push_str(" KILLED");
        }
    }
}

impl Plan {
    /// Half of the kills are panics, half are stops.
    fn decide(&self, record: &Record, boundary: &Boundary, dice: &mut fastrand::Rng) -> Verdict {
        let strike = match self {
            Self::Watch => false,
            Self::At(places) => places.contains(&record.boundaries),
            Self::AtBoundary {
                kind,
                message,
                when,
                nth,
            } => {
                let here = boundary.kind == kind && boundary.message == message && boundary.when == *when;
                here && record.passed.get(&key_of(boundary)) == Some(nth)
            }
            Self::Seeded {
                per_mille, kills_max, ..
            } => {
                let lucky = dice.u32(0..1000) < *per_mille;
                lucky && (record.kills.len() as u64) < *kills_max
            }
        };
        match (strike, record.boundaries % 2) {
            (false, _) => Verdict::Pass,
            (true, 0) => Verdict::Stop,
            (true, _) => Verdict::Panic,
        }
    }
}
