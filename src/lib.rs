//! Impresario: a supervised runtime for sub-agents.

pub mod bridge;
pub mod cli;
#[cfg(target_os = "linux")]
pub mod keeper;
mod models;
pub mod pi_sessions;
pub mod runtime;
pub mod skills;
mod wiring;

pub use runtime::{Outcome, Run, Runtime, RuntimeBuilder, RuntimeError, SubAgent};
