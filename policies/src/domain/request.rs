//! Everything that was asked for when a run was accepted. The journal keeps it, so that recovery needs no settings file.

use super::{GroupMember, Origin, Retrieval, RunTerms, WhatToRun};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A request for a run, complete: names are resolved, files are read, defaults are filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Agent or skill, by name.
    pub what: WhatToRun,
    /// What is wanted, in the user's words.
    pub task: String,
    /// Who asks.
    pub origin: Origin,
    /// What stands before the task for the sub-agent; from the agent or the skill.
    pub instructions: String,
    /// The tools the sub-agent may use, and nothing else.
    pub tools: Vec<String>,
    /// The models, in order of preference.
    pub chain: Vec<String>,
    /// The runner, by name.
    pub runner: String,
    /// The directory it works in.
    pub workspace: PathBuf,
    /// How the task becomes a brief.
    pub briefing: Briefing,
    /// The clocks.
    pub clocks: Clocks,
    /// How failures are met.
    pub persistence: Persistence,
    /// The nested session of an earlier run goes on, and is told this first.
    #[serde(default)]
    pub continues: Option<String>,
    /// Sampling temperature, where the runner supports it.
    pub temperature: Option<f64>,
    /// A result of a tool above so many bytes is kept aside.
    pub overflow_ceiling_bytes: u64,
    /// The answer has at most so many characters; 0 for no limit.
    pub answer_chars_max: usize,
    /// Where the trace goes, relative to the workspace; none for no trace file.
    pub trace_directory: Option<String>,
    /// The run is one of several side by side.
    #[serde(default)]
    pub group: Option<GroupMember>,
    /// Everything else that holds for it.
    #[serde(default)]
    pub terms: RunTerms,
    /// What answers the sub-agent's questions about the workspace.
    #[serde(default)]
    pub retrieval: Retrieval,
}

/// How a task becomes a brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum Briefing {
    /// An actor pass writes it and a judge passes it.
    Judged {
        /// At most so many passes for one version of the task.
        passes_max: u32,
        /// At most so many questions to the user.
        questions_max: u32,
        /// The model that writes and judges.
        model: String,
    },
    /// The task is the goal.
    Direct,
}

/// The limits in time. All on by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Until the first event of an attempt.
    pub start_up: Duration,
    /// Between two events; paused while a tool or an announced retry runs.
    pub inactivity: Duration,
    /// From admission to the end.
    pub total: Duration,
    /// One tool call.
    pub tool: Duration,
    /// One question to the user.
    pub question: Duration,
    /// One call of actor or judge.
    pub routing: Duration,
    /// Between being asked to stop and being killed.
    pub grace: Duration,
}

/// How failures are met; see [`crate::fallback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persistence {
    /// How often one model is tried when it is unavailable or asks to slow down.
    pub tries_per_model_max: u32,
    /// The same while no connection to its provider comes about and no other model is left to ask: a network that is
    /// gone for a minute or two does not end a run.
    #[serde(default = "unreached_tries_max")]
    pub unreached_tries_max: u32,
    /// The first wait before the same model is tried again.
    pub wait_first: Duration,
    /// The longest wait.
    pub wait_max: Duration,
    /// How many attempts in a row we may lose before a person must look.
    pub lost_in_a_row_max: u32,
    /// What happens when a tool that must not run twice was cut off.
    pub cut_tool: CutTool,
    /// When a model that failed others is passed over.
    #[serde(default)]
    pub cool_down: CoolDownSettings,
}

/// With waits of 2, 4, 8, 16, 32 and 60 s about two minutes.
fn unreached_tries_max() -> u32 {
    7
}

/// When a model that failed others is passed over, and for how long; see [`crate::cool_down`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoolDownSettings {
    /// After so many failures in a row, of all runs together; 0 for never.
    pub after_failures: u32,
    /// The first pause; doubled each time the model fails again after it.
    pub first: Duration,
    /// The longest pause.
    pub max: Duration,
}

impl Default for CoolDownSettings {
    fn default() -> Self {
        Self {
            after_failures: 3,
            first: Duration::from_secs(15),
            max: Duration::from_secs(300),
        }
    }
}

/// A model that was not asked, because others had failed on it a moment before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Which.
    pub model: String,
    /// What it said to them.
    pub why: String,
    /// For how long it was still left alone then; none while another run tried it.
    pub left: Option<Duration>,
}

impl Default for Persistence {
    fn default() -> Self {
        Self {
            tries_per_model_max: 3,
            unreached_tries_max: unreached_tries_max(),
            wait_first: Duration::from_secs(2),
            wait_max: Duration::from_secs(60),
            lost_in_a_row_max: 5,
            cut_tool: CutTool::Park,
            cool_down: CoolDownSettings::default(),
        }
    }
}

/// What happens when a tool that must not run twice was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutTool {
    /// The run is parked for a person to look.
    Park,
    /// The nested session goes on and is told that nobody knows whether the tool ran.
    TellSubAgent,
}
