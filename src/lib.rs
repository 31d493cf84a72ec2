//! Impresario: a supervised runtime for sub-agents.

pub mod bridge;
pub mod chaos;
pub mod cli;
#[cfg(target_os = "linux")]
pub mod keeper;
pub mod memory;
mod models;
pub mod pi_sessions;
mod preflight;
pub mod runtime;
pub mod settings;
pub mod skills;
pub mod traces;
pub mod wiring;

#[cfg(target_os = "linux")]
pub use keeper::keeper_main;
pub use runtime::{
    Group, GroupOutcome, Outcome, Run, Runtime, RuntimeBuilder, RuntimeError, SubAgent, SubAgentGroup,
    Subtask,
};

/// Plays the keeper if this process was started as one. There is none on this system, and this returns at once.
#[cfg(not(target_os = "linux"))]
pub fn keeper_main() {}
