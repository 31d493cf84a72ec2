//! Ways to run a sub-agent.

pub mod pi;
