//! Context engines: who finds the passages of a workspace that answer a question.

pub mod local;
pub mod mcp;
