//! A nested Pi as the sub-agent.

pub mod command;
mod environment;
pub mod installation;
pub mod lines;
pub mod reader;
mod summary;
pub mod wire;
