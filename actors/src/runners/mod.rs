//! Ways to run a sub-agent.

pub mod embedded;
pub mod pi;
