//! Patterns and rules over syntax trees: which places of a text match, and what each becomes.
//!
//! ast-grep does the matching, tree-sitter the parsing. What is here besides: a query is compiled once and used for every
//! file (a pattern given as text is compiled again at each node, which is 400 times slower), parsing and matching look
//! again and again whether they are to end, and neither a text nor a query can fill the stack.

#![warn(missing_docs)]

mod language;
mod query;
mod rule;
mod search;
mod watch;

#[cfg(test)]
mod tests;

pub use language::Language;
pub use query::{Query, QueryError, Wanted};
pub use search::{Hit, Hits, Replaced};
pub use watch::{Ended, Watch};
