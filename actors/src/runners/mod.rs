//! Ways to run a sub-agent.

pub mod embedded;
mod overflow_tools;
pub mod pi;
mod preview;
mod retrieval_tool;
