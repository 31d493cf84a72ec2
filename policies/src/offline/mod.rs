//! What does a model made of rules say?
//!
//! The `offline` model needs no network, no key and no weights. It reads a brief out of a task, asks when a task says
//! nothing, and answers questions by pointing at the passages a search finds. It says in every answer what it is.

pub mod brief;
pub mod clarity;
pub mod judge;
pub mod turn;

/// The name by which it is asked for.
pub const OFFLINE_MODEL: &str = "offline";
