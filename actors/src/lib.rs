//! What happens in Impresario: the supervision layer, the actors, the journal and the gateways to the outside.
//!
//! An actor owns state and effects and never imports another actor: they meet in `messages` and hold ports.
//! The outside is reached through the traits in [`gateways`] only.

#[cfg(panic = "abort")]
compile_error!("impresario restarts actors that panic: build with panic = \"unwind\"");

// What tests share with those of the program names this crate as they do.
#[cfg(test)]
extern crate self as impresario_actors;

pub mod answer_files;
pub mod attempt;
pub mod cache_markers;
pub mod capability_index;
pub mod context;
pub mod cool_downs;
pub mod derived;
pub mod event_feed;
pub mod event_log;
pub mod file_looks;
pub mod gates;
pub mod gateways;
pub mod guidance;
pub mod host_port;
mod http_clients;
pub mod journal;
pub mod judge;
pub mod ledger;
pub mod messages;
pub mod models;
pub mod overflow;
pub mod processes;
pub mod program;
pub mod prompt_log;
pub mod purse;
pub mod router;
pub mod run;
pub mod runners;
pub mod runs;
pub mod session_index;
mod shared_work;
pub mod supervision;
pub mod tools;
pub mod trace_files;
pub mod trace_recorder;
pub mod transcripts;
pub mod truncation;
pub mod whole_file;
pub mod worktrees;
