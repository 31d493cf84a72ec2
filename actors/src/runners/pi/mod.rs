//! A nested Pi as the sub-agent.

pub mod lines;
pub mod reader;
mod summary;
pub mod wire;
