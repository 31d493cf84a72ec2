//! Impresario: a supervised runtime for sub-agents.

pub mod bridge;
pub mod chaos;
pub mod cli;
mod contained_file;
#[cfg(target_os = "linux")]
pub mod keeper;
pub mod memory;
mod models;
mod pi_results;
pub mod pi_sessions;
mod preflight;
mod project_files;
pub mod runtime;
pub mod settings;
mod skill_files;
pub mod skills;
pub mod traces;
mod trust;
pub mod wiring;

#[cfg(target_os = "linux")]
pub use keeper::keeper_main;
#[cfg(target_os = "linux")]
pub(crate) use keeper::own_keeper;
pub use runtime::{
    Group, GroupOutcome, Outcome, Run, Runtime, RuntimeBuilder, RuntimeError, SubAgent, SubAgentGroup,
    Subtask,
};

/// Plays the keeper if this process was started as one. There is none on this system, and this returns at once.
#[cfg(not(target_os = "linux"))]
pub fn keeper_main() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_keeper() -> Option<std::path::PathBuf> {
    None
}
