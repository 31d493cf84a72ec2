//! What a run was accepted with beyond its task: how its model is chosen, what is looked at, what is kept and cut.
//!
//! Every group has the default that holds where nobody said anything, so that a request of an older journal is read.

use super::{
    Budget, Gate, Given, Inherited, Isolation, ModelFamily, PromptMode, ReasoningEffort, RouteDecision,
    RouteSettings, RunId, Tier,
};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The terms of a run, by what they are about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTerms {
    /// How the model is chosen once there is a brief; none keeps the chain of the request.
    pub routing: Option<RoutingTerms>,
    /// Ceilings by tier; none keeps the ceiling of the request.
    pub tier_ceilings: Option<TierCeilings>,
    /// What actor and judge see of the conversation.
    pub history: HistoryTerms,
    /// What is done to an answer.
    pub answer: AnswerTerms,
    /// How large results of tools may be, and what becomes of the larger ones.
    pub results: ResultTerms,
    /// What stands in the trace.
    pub trace: TraceTerms,
    /// What it may spend.
    pub budget: Budget,
    /// How many work beside it, and below it.
    pub admission: AdmissionTerms,
    /// How its requests use the provider's cache.
    #[serde(skip_serializing_if = "is_default")]
    pub cache: CacheTerms,
    /// Where it stands among those that sub-agents started; none for one that a person or a program did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreePlace>,
    /// A hash of the system prompt is logged.
    pub log_prompt_prefix: bool,
    /// What the run takes over from the one it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Box<Inherited>>,
    /// What is added to the instructions for models of one family.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub styles: BTreeMap<ModelFamily, String>,
    /// What the sub-agent is told of its surroundings.
    pub surroundings: Surroundings,
    /// How much the model thinks; none for what its provider does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The form of the answer, as a JSON Schema; none for words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<String>,
    /// What it has before its task; none for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Box<Given>>,
    /// Where the instructions stand.
    #[serde(skip_serializing_if = "is_default")]
    pub prompt_mode: PromptMode,
    /// Where the host keeps the session that asked. One that was never written cannot come back.
    pub session_file: Option<PathBuf>,
    /// Where it works: in the person's own files, or in a worktree of its own.
    #[serde(skip_serializing_if = "Isolation::is_none")]
    pub isolation: Isolation,
    /// What it answers is about the workspace: an answer without a look at it is not to be relied on.
    #[serde(skip_serializing_if = "is_default")]
    pub must_look: bool,
    /// What decides whether its answer counts; none: it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a sub-agent is told of the place it works in, besides its instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// Where its skill lies: what the instructions name relative to themselves is found there.
    pub skill_directory: Option<PathBuf>,
    /// What `AGENTS.md` and `CLAUDE.md` say, as it stands in the system prompt; empty for nothing.
    pub project_instructions: String,
    /// What it is given of the rules of directories as it comes to them.
    #[serde(skip_serializing_if = "GuidanceTerms::is_off")]
    pub guidance: GuidanceTerms,
    /// The day on which it was asked for (UTC), where its work depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
}

/// What an agent is given of the rules of nested directories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuidanceTerms {
    /// What the files are called; the first that is there is a directory's. None at all gives nothing.
    pub file_names: Vec<String>,
    /// Of one file, at most so many bytes.
    pub file_bytes_max: usize,
    /// With one result, at most so many.
    pub read_bytes_max: usize,
}

impl GuidanceTerms {
    /// Nothing is given.
    pub fn is_off(&self) -> bool {
        self.file_names.is_empty()
    }
}

/// How the model of a run is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoutingTerms {
    /// What is configured.
    pub settings: RouteSettings,
    /// The model that the skill's file asks for, as written.
    pub skill_model: Option<String>,
    /// The model where neither the skill nor the routing names one: in Pi that of the session.
    pub default_model: Option<String>,
    /// The models to go on with, in order.
    pub fallback: Vec<String>,
    /// The person is told which model was chosen and why.
    pub surface_decision: bool,
    /// What was chosen for the run that this one continues; it holds again.
    pub kept: Option<ModelChoice>,
}

/// What was chosen for a run, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The models, in order of preference; the chosen one first.
    pub chain: Vec<String>,
    /// What decided, and why.
    pub decision: RouteDecision,
    /// A result of a tool above so many bytes is kept aside.
    pub overflow_ceiling_bytes: u64,
}

/// How many runs work at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AdmissionTerms {
    /// All together, unless the program says otherwise; at least one always may.
    pub width: u32,
    /// Those that call one provider with one login; 0 for no limit.
    pub provider_width: u32,
    /// So many bytes of memory stay free when another one begins; 0 for not looking.
    pub memory_kept_free: u64,
    /// So deep sub-agents may start others; 0 for not at all.
    pub tree_depth: u32,
    /// So many they may start below one run, all together.
    pub tree_runs: u32,
}

/// Where a run stands that a sub-agent started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePlace {
    /// The run that a person or a program started.
    pub root: RunId,
    /// 1 for what that one's sub-agent started.
    pub depth: u32,
    /// The run whose sub-agent started it; none in a journal of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
}

impl Default for AdmissionTerms {
    fn default() -> Self {
        Self {
            width: 4,
            provider_width: 0,
            memory_kept_free: 128 << 20,
            tree_depth: 0,
            tree_runs: 16,
        }
    }
}

/// How requests use the provider's cache of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheTerms {
    /// Markers are planned.
    pub enabled: bool,
    /// So many a request may have.
    pub markers_max: usize,
    /// So many of them are left for whoever changes the request after us.
    pub spare: usize,
    /// A marker reads what an earlier one wrote within so many positions before it.
    pub lookback: usize,
    /// Shorter prefixes are not cached, in tokens; 0 for what is known of the model.
    pub tokens_min: u64,
    /// Sub-agents that share a prefix wait at most so long for the first of them to begin.
    pub sibling_wait_ms: u64,
}

impl Default for CacheTerms {
    fn default() -> Self {
        Self {
            enabled: true,
            markers_max: 4,
            spare: 0,
            lookback: 20,
            tokens_min: 0,
            sibling_wait_ms: 5_000,
        }
    }
}

/// The ceiling of each tier, in bytes; a tier without one has the request's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierCeilings {
    /// Of the cheap tier.
    pub cheap: Option<u64>,
    /// Of the balanced tier.
    pub balanced: Option<u64>,
    /// Of the frontier tier.
    pub frontier: Option<u64>,
}

impl TierCeilings {
    /// The ceiling of a tier.
    pub fn get(&self, tier: Tier) -> Option<u64> {
        match tier {
            Tier::Cheap => self.cheap,
            Tier::Balanced => self.balanced,
            Tier::Frontier => self.frontier,
        }
    }
}

/// What actor and judge see of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryTerms {
    /// So many messages are asked for.
    pub window: usize,
    /// Which of them, and how much of each.
    pub assembly: HistorySettings,
}

impl Default for HistoryTerms {
    /// As the peer has them (pi-auggie-router 1.4.1, settings table).
    fn default() -> Self {
        Self {
            window: 20,
            assembly: HistorySettings {
                strategy: HistoryStrategy::Recent,
                head_messages: 2,
                tail_messages: 12,
                middle_mode: MiddleMode::Marker,
                message_units_max: 10_000,
                total_units_max: 60_000,
                short_newest: ShortNewest::Kept,
            },
        }
    }
}

/// What is done to an answer before anybody sees it; its cap stands in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerTerms {
    /// It is cleaned and capped.
    pub sanitize: bool,
    /// Traces of tools are taken out.
    pub strip_tool_traces: bool,
}

impl Default for AnswerTerms {
    fn default() -> Self {
        Self {
            sanitize: true,
            strip_tool_traces: true,
        }
    }
}

/// How large results of tools may be; the ceiling of those that are not named stands in the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResultTerms {
    /// Of single tools by name, in bytes.
    pub ceilings: BTreeMap<String, u64>,
    /// What is kept aside, and how much of it is shown.
    pub memory: OverflowSettings,
}

/// What stands in the trace of a run, and what is made of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceTerms {
    /// So much of a tool's result, in UTF-16 units.
    pub preview_units_max: usize,
    /// What is made of the trace once the run is over; none: nothing, and no old trace is forgotten.
    pub observation: Option<ObservationSettings>,
}

impl Default for TraceTerms {
    fn default() -> Self {
        Self {
            preview_units_max: 2_000,
            observation: None,
        }
    }
}

/// How much of it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySettings {
    /// Which messages.
    pub strategy: HistoryStrategy,
    /// With `headTail`, so many from the start.
    pub head_messages: usize,
    /// With `headTail`, so many from the end.
    pub tail_messages: usize,
    /// With `headTail`, what stands for the rest.
    pub middle_mode: MiddleMode,
    /// A message is cut to so many units; 0 for no limit.
    pub message_units_max: usize,
    /// All of them together have at most so many; 0 for no limit.
    pub total_units_max: usize,
    /// What becomes of the newest message when there is no room for it.
    pub short_newest: ShortNewest,
}

/// What becomes of the newest message when there is no room for even the mark of a cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShortNewest {
    /// As much of it as fits is kept, and the oldest gives way. Nothing else is used in a run.
    #[default]
    Kept,
    /// The mark stands for it. Only to replay records of the peer, which do not count this as a fault.
    Marked,
}

/// Which messages are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HistoryStrategy {
    /// All that were given.
    Recent,
    /// The first and the last ones.
    HeadTail,
}

/// What stands for the messages between head and tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MiddleMode {
    /// A line that says how much is missing.
    Marker,
    /// Nothing.
    Omit,
}

/// What is made of traces.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ObservationSettings {
    /// Off: traces are only written and, when there are too many, forgotten.
    pub enabled: bool,
    /// A short report after every run.
    pub report_after_run: bool,
    /// When to warn.
    pub degradation: DegradationSettings,
    /// So far back a regression is looked for.
    pub regression_window: usize,
    /// So many traces of the skill are kept.
    pub traces_max: usize,
}

/// When to warn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DegradationSettings {
    /// Off: never.
    pub enabled: bool,
    /// After so many failures in a row.
    pub consecutive_failures: usize,
    /// Not again within so many hours.
    pub cooldown_hours: f64,
}

/// How much a run may keep aside, and how much of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowSettings {
    /// Off: results above the ceiling are refused.
    pub enabled: bool,
    /// So many results.
    pub entries_max: usize,
    /// So many bytes together.
    pub bytes_max: usize,
    /// So much of the start is shown.
    pub preview_head_units: usize,
    /// So much of the end is shown.
    pub preview_tail_units: usize,
}

impl Default for OverflowSettings {
    /// On, and for every tool: what a ceiling holds back can always be read.
    fn default() -> Self {
        Self {
            enabled: true,
            entries_max: 64,
            bytes_max: 64_000_000,
            preview_head_units: 4_000,
            preview_tail_units: 4_000,
        }
    }
}
