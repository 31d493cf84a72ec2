//! The supervision layer: actors that die are brought back, and what became of every message is known.
//!
//! # Theory of operation
//!
//! For a reader who knows OTP: supervisors, child specifications, restart strategies and restart intensity are meant as
//! there. What differs is said below.
//!
//! ```text
//!   Port<M> ──────────────► ActorCell<A>                      one for the life of the tree
//!   what others hold        │ mailbox: Envelopes, a limit     survives every restart
//!                           │ timers, the current incarnation
//!                           ▼
//!                         Driver ── polls ──► Shell<A> (the actix actor)
//!                           │                  │ wakes, takes the first envelope,
//!                           │                  ▼ calls the handler
//!                           │                 A: Actor + Handles<M>, with its Context
//!                           ▼                  │ its linked tasks
//!                    Exit, to the Supervisor ──┘ an Answer, now or later
//! ```
//!
//! **The life of one ask.** [`Port::ask`] puts the message into an envelope and the envelope into the mailbox of the
//! actor's cell: at that call, so that asks and tells keep their order. A full mailbox refuses ([`AskError::Busy`]), a
//! cell that nobody will ever come back to says so ([`AskError::Down`]). The cell wakes its driver, a tokio task. The
//! driver moves due timers into the mailbox, sends actix one wake-up and polls the actix actor under `catch_unwind`. The
//! shell takes envelopes from the front, at most 64 in a turn, and calls the handler. An [`Answer`] that is there now
//! settles the envelope; one that comes later is a linked task of this incarnation, which may look at the actor again
//! when it is done. The asker's future sees the envelope settled.
//!
//! **When the actor dies** (a panic, [`Context::end`], a kill), the driver drops it without running any hook. Messages
//! whose handling had begun are settled as [`AskError::Died`]: nobody knows how far they came. Messages still in the
//! mailbox wait for the next incarnation; that is why ports survive restarts and a restart loses nothing that nobody
//! had begun. Timers and what an actor told itself die with it. Then the supervisor hears the [`Exit`].
//!
//! **What follows** is the policy `impresario_policies::restart`: leave it, start it again after a pause, or give up and end
//! with [`Exit::Escalated`], which the supervisor above sees as the exit of a child. Unlike OTP's, restarts are paced by a
//! back-off, and [`Context::progress`] of a child erases its restarts.
//!
//! **Static and dynamic children.** [`supervisor`] has a fixed list, started in order and stopped in reverse, with a
//! strategy. [`dynamic_supervisor`] starts and stops children by message, one for one, and tells an owner how each ended.
//! Both are actors like any other: killed, they take their children along, and their parent starts them anew.
//!
//! **Stopping** is an order with a grace. The actor's `stopping` runs, then (unless the order says at once) the mailbox is
//! drained and answers under way are waited for; at the deadline it is killed.
//!
//! **What the libraries do.** tokio schedules the drivers and keeps time. actix carries one kind of message, the wake-up,
//! and polls the future in which all linked tasks of an incarnation live. Mailboxes, envelopes, timers and everything about
//! life and death are ours (ADR 0001); nothing outside this folder names actix.
//!
//! Everything of one tree lives on one thread. With a paused clock the same seed gives the same story; [`Boundary`] hooks kill actors before and after each handler, which is how the chaos tests work.
//!
//! | read | for |
//! |---|---|
//! | `port/`, `envelope.rs`, `mailbox.rs` | messages and what became of them |
//! | `actor_cell.rs`, `driver.rs`, `shell.rs`, `incarnation.rs`, `linked.rs` | one actor and its lives |
//! | `child.rs`, `supervisor.rs`, `dynamic_supervisor/`, `restart.rs` | trees |
//! | `boundary.rs`, `watchdog.rs`, `observer.rs`, `panic_hook.rs` | faults, made and seen |
//!
//! ```
//! use impresario_actors::supervision::*;
//! use std::time::Duration;
//!
//! message!(Greet { name: String } -> String);
//!
//! #[derive(Default)]
//! struct Greeter {
//!     greeted: u32,
//! }
//!
//! impl Actor for Greeter {
//!     const KIND: &'static str = "greeter";
//!     const HANDLES: &'static [&'static str] = &[Greet::NAME];
//! }
//!
//! impl Handles<Greet> for Greeter {
//!     fn handle(&mut self, greet: Greet, ctx: &mut Context<Self>) -> Answer<Self, String> {
//!         assert!(!greet.name.is_empty(), "nobody to greet");
//!         self.greeted += 1;
//!         Answer::now(format!("Hello {}, says life {}", greet.name, ctx.incarnation()))
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # tokio::task::LocalSet::new().block_on(&runtime, async {
//! install_panic_hook();
//! let greeter = Child::new("greeter", |_| Greeter::default());
//! let port = greeter.port::<Greet>();
//! let tree = supervisor("root", SupervisorSettings::default(), vec![greeter.spec()]);
//! let root = Root::start_local(tree, RootSettings::default()).await;
//!
//! let within = Duration::from_secs(5);
//! let died = port.ask(Greet { name: String::new() }, within).await;
//! assert!(matches!(died, Err(AskError::Died { incarnation: 1, .. })));
//! let greeting = port.ask(Greet { name: "Anna".into() }, within).await;
//! assert_eq!(greeting.unwrap(), "Hello Anna, says life 2");
//! assert_eq!(root.shutdown(within).await, Exit::Shutdown);
//! # });
//! ```

mod actor;
mod actor_cell;
mod answer;
mod boundary;
mod child;
mod context;
mod driver;
mod dynamic_supervisor;
mod envelope;
mod exit;
mod incarnation;
mod linked;
mod mailbox;
mod observer;
mod panic_hook;
mod port;
mod registry;
mod restart;
mod root;
mod shell;
mod supervisor;
mod timers;
mod tree;
mod watchdog;

#[cfg(test)]
mod tests;

pub use actor::{Actor, Handles, Message};
pub use answer::Answer;
pub use boundary::{Boundary, BoundaryHook, Verdict, When, set_boundary_hook};
pub use child::{Child, ChildSpec, Registration};
pub use context::{Context, TimerKey};
pub use dynamic_supervisor::{
    ChildExited, DynamicSupervisor, DynamicSupervisorActor, StartError, StopError, dynamic_supervisor,
};
pub use exit::{Exit, Name};
pub use impresario_policies::restart::{BackoffSettings, RestartKind as Restart};
pub use observer::{Event, Observer};
pub use panic_hook::install_panic_hook;
pub use port::{AskError, Port, TellError};
pub use registry::{KnownBoundary, Registry};
pub use root::{Root, RootSettings};
pub use supervisor::{Strategy, Supervisor, SupervisorSettings, supervisor};
pub use watchdog::{Stall, Watchdog, WatchdogSettings};

pub use crate::message;
