//! What the journal must do, on its thread and in a simulation.

mod actor;
mod conformance;
mod crash;
pub(crate) mod disk;
mod layout;
mod ownership;
pub(crate) mod samples;
mod writer;
