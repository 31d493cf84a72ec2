//! What the journal must do, on its thread and in a simulation.

mod actor;
mod conformance;
mod crash;
#[allow(dead_code, reason = "the simulations use the rest")]
pub(crate) mod disk;
mod layout;
mod ownership;
pub(crate) mod samples;
mod writer;
