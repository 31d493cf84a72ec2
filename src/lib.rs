//! Impresario: a supervised runtime for sub-agents.
//!
//! A program starts a [`Runtime`] and spawns sub-agents. What it has to name to be a host of its own, with sessions, is
//! here too:
//!
//! ```
//! use impresario::runtime::{
//!     ChatMessage, Delivery, DeliveryReceipt, HostError, Progress, async_trait,
//! };
//! use impresario::{Host, RunId, SessionId};
//!
//! struct Shelf;
//!
//! #[async_trait(?Send)]
//! impl Host for Shelf {
//!     fn belongs(&self, run: &RunId, session: &SessionId) {
//!         println!("{run} was asked for in {session}");
//!     }
//!     fn show(&self, progress: Progress) {
//!         println!("{}", progress.line());
//!     }
//!     fn notice(&self, text: String) {
//!         println!("{text}");
//!     }
//!     async fn ask(&self, _run: &RunId, _question: String) -> Result<String, HostError> {
//!         Err(HostError::NobodyThere)
//!     }
//!     async fn history(&self, _messages_max: usize) -> Result<Vec<ChatMessage>, HostError> {
//!         Ok(Vec::new())
//!     }
//!     async fn deliver(&self, delivery: Delivery) -> Result<DeliveryReceipt, HostError> {
//!         println!("{} {:?}", delivery.run, delivery.answer);
//!         Ok(DeliveryReceipt::Kept)
//!     }
//!     async fn has(&self, _run: &RunId) -> Result<bool, HostError> {
//!         Ok(false)
//!     }
//! }
//!
//! let builder = impresario::Runtime::builder().host("shelf", Shelf);
//! # drop(builder);
//! ```

#![warn(missing_docs)]

mod agents;
pub mod bridge;
pub mod capabilities;
mod chain_files;
pub mod chaos;
pub mod cli;
mod contained_file;
#[cfg(target_os = "linux")]
pub mod keeper;
mod known_files;
pub mod mcp;
pub mod memory;
mod models;
mod pi_capabilities;
mod pi_context;
mod pi_prompts;
mod pi_results;
pub mod pi_sessions;
mod pi_setup;
mod pi_sights;
mod pi_tools;
mod preflight;
mod project_files;
pub mod rule_files;
pub mod runtime;
pub mod settings;
mod skill_files;
pub mod skills;
mod status;
pub mod traces;
mod trust;
pub mod wiring;

pub use agents::AgentFiles;
#[cfg(target_os = "linux")]
pub use keeper::keeper_main;
#[cfg(target_os = "linux")]
pub(crate) use keeper::own_keeper;
pub use runtime::{
    Acknowledgement, AgentDefinition, Chain, ChainStep, EarlierMessage, Gate, Group, GroupOutcome, Host,
    MessageFate, OnFailure, Outcome, Run, RunId, Runtime, RuntimeBuilder, RuntimeError, SentMessage,
    SessionId, SubAgent, SubAgentGroup, Subtask, Unread,
};

/// Plays the keeper if this process was started as one. There is none on this system, and this returns at once.
#[cfg(not(target_os = "linux"))]
pub fn keeper_main() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_keeper() -> Option<std::path::PathBuf> {
    None
}
