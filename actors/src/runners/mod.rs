//! Ways to run a sub-agent.

pub mod embedded;
mod overflow_tools;
pub mod pi;
mod retrieval_tool;
