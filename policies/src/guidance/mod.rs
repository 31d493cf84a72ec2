//! Which rules of nested directories (`AGENTS.md` and the like) does an agent see that touches something there?
//!
//! The host reads the files of its working directory and of everything above by itself. What lies deeper, or beside it
//! in the same repository, is given with the first result of a tool that touches the place, once for as long as it
//! stands in the conversation.

#![warn(missing_docs)]

mod given;
mod paths;
mod text;
mod touched;

pub use given::{Given, GivenRules, RuleFile, RuleMark, rules_to_give};
pub use paths::{directories_with_rules, places_meant};
pub use text::{begins_block, cut_rules, rules_block};
pub use touched::{Touched, touched_by};
