//! The runtime in a Rust program of somebody else: its public API, and what becomes of a run in it.

#[path = "../audit/mod.rs"]
mod audit;

mod admission;
mod chains;
mod context_memory;
mod cool_downs;
mod given;
mod guidance;
mod long_answers;
mod messages;
mod money;
mod parallel;
mod playing;
mod program;
mod receipts;
mod routing;
mod siblings;
mod trace_file;
