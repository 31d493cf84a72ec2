//! The supervision layer: actors that die are brought back, and the fate of every message is known.
//!
//! actix is the mailbox's bell and the scheduler, nothing more, and nothing outside this folder names it.
//!
//! - An [`Actor`] handles [`Message`]s one at a time; each handler gives an [`Answer`], now or later.
//! - A [`Child`] says how an actor is built and what follows its exits; [`supervisor`] and [`nursery`] are
//!   children too, so trees nest, and they can be killed like any other actor.
//! - A [`Port`] is what others hold. It survives every restart of what is behind it, and its errors say what is
//!   known about the message.
//! - Everything of one tree lives on one thread. With a paused clock, [`Blocking::Inline`] and a seed, the same
//!   seed gives the same story.
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
mod answer;
mod blocking;
mod boundary;
mod child;
mod context;
mod driver;
mod exit;
mod incarnation;
mod letter;
mod linked;
mod mailbox;
mod nursery;
mod observer;
mod panic_hook;
mod port;
mod registry;
mod restart;
mod root;
mod shell;
mod slot;
mod supervisor;
mod surroundings;
mod timers;
mod watchdog;

#[cfg(test)]
mod tests;

pub use actor::{Actor, Handles, Message};
pub use answer::Answer;
pub use blocking::Blocking;
pub use boundary::{Boundary, BoundaryHook, Verdict, When, set_boundary_hook};
pub use child::{Child, Place, Spec};
pub use context::{Context, TimerKey};
pub use exit::{Exit, Name};
pub use impresario_policies::restart::{BackoffSettings, RestartKind as Restart};
pub use nursery::{ChildExited, Nursery, NurseryActor, StartError, StopError, nursery};
pub use observer::{Event, Observer};
pub use panic_hook::install_panic_hook;
pub use port::{AskError, Port, TellError};
pub use registry::{KnownBoundary, Registry};
pub use root::{Root, RootSettings};
pub use supervisor::{Strategy, Supervisor, SupervisorSettings, supervisor};
pub use watchdog::{Stall, Watchdog, WatchdogSettings};

pub use crate::message;
