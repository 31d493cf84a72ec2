//! Real Pi of both versions, in every part it has: the host of a person, a sub-agent, and what the command line runs.
//!
//! One program, so that it is linked once. What storms do to real Pi has a program of its own (`pi_storm`), for it plays
//! several at a time.
#![cfg(target_os = "linux")]

#[path = "../audit/mod.rs"]
mod audit;
mod below;
mod host;
mod runner;

mod agents;
mod anchors;
mod as_host;
mod as_sub_agent;
mod before_the_run;
mod cache_markers;
mod capabilities;
mod chains;
mod context;
mod control;
mod day;
mod first_skill;
mod from_the_command_line;
mod guidance;
mod left_results;
mod many;
mod misbehaving;
mod prompts;
mod receipts;
mod resume;
mod siblings;
mod skills;
mod system_prompt;
mod tool_calls;
mod tools;
mod truncation;
mod typed_input;
mod warm;
mod what_is_said;
mod what_people_see;
mod worktrees;
