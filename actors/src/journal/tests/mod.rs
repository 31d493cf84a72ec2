//! What every journal must do, in a file or in memory, and what only the one or the other does.

mod actor;
mod conformance;
mod crash;
mod layout;
mod ownership;
pub(crate) mod samples;
mod writer;
