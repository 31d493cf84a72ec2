//! What Impresario decides.
//!
//! Every policy is a pure, total function `Facts + Settings → Decision`: no I/O, no clock, no randomness.
//! One question a file. The words the policies share with the rest of the runtime are in [`domain`].

pub mod admission;
pub mod adoption;
pub mod agents;
pub mod attempt_ending;
pub mod cache_markers;
pub mod child_environment;
pub mod compat;
pub mod conduct;
pub mod context_budget;
pub mod context_memory_mcp;
pub mod degradation;
pub mod delegation_block;
pub mod domain;
pub mod execution_route;
pub mod fallback;
pub mod history;
pub mod interruption;
pub mod judge_loop;
pub mod judge_reply;
pub mod model_choice;
pub mod model_mapping;
pub mod offline;
pub mod output_sanitizer;
pub mod overflow_memory;
pub mod overflow_preview;
pub mod overflow_read;
pub mod overflow_review;
pub mod parallel;
pub mod preflight;
pub mod progress;
pub mod projection;
pub mod prompts;
pub mod redact;
pub mod render_brief;
pub mod restart;
pub mod retrieval;
pub mod router_log;
pub mod router_phase;
pub mod settings;
pub mod skill_command;
pub mod skill_completion;
pub mod skill_file;
pub mod skill_lookup;
pub mod sub_agent_prompt;
pub mod trace_classify;
pub mod trace_file;
pub mod trace_regression;
pub mod trace_report;
pub mod trace_retention;
pub mod trace_text;
pub mod trace_view;
pub mod user_lines;
pub mod utc_date;
