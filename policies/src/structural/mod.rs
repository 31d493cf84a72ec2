//! Structural search and replace: what is told of what was found, what changes, and what becomes of a change that was
//! cut off. Finding is not here: syntax trees are no matter of two literals.

pub mod edits;
pub mod matches;
pub mod patch;
pub mod records;
pub mod replaced;
