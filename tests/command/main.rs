//! The program as a person or a script starts it, and what it reads, keeps and leaves.
#![cfg(target_os = "linux")]

#[path = "../audit/mod.rs"]
mod audit;
mod place;
mod victim;

mod agents;
mod capabilities;
mod chain_command;
mod command_line;
mod detached;
mod memory_server;
mod parallel_command;
mod providers;
mod recovery;
mod retrieval;
mod settings;
mod spawning;
mod tools;
mod tools_killed;
mod tools_server;
mod traces;
mod trust;
mod worktrees;
