//! The scripted model server, seen from outside.

mod answers;
mod client;
mod ledger;
mod program;
