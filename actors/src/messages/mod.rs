//! What actors say to each other. Commands are imperative, events are past, notes to self say what came due.

pub mod anchors;
pub mod capabilities;
pub mod cool_downs;
pub mod journal;
pub mod ledger;
pub mod prompts;
pub mod run;
pub mod session;
