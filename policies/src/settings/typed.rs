//! The same values as the policies take them.

use super::resolve::Resolved;
use crate::compat::Json;
use crate::context_budget::ContextBudgetSettings;
use crate::degradation::DegradationSettings;
use crate::domain::{Retrieval, RetrievalEngine};
use crate::execution_route::{ModelPool, RoutePreference, RouteSettings, SkillModelPolicy};
use crate::history::{HistorySettings, HistoryStrategy, MiddleMode, ShortNewest};
use crate::model_mapping::ModelNaming;
use crate::output_sanitizer::SanitizerSettings;
use crate::overflow_memory::OverflowSettings;
use crate::parallel::ParallelSettings;
use crate::trace_report::ReportSettings;
use crate::trace_retention::RetentionSettings;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything the skill router is configured with.
#[derive(Debug, Clone, PartialEq)]
pub struct RouterSettings {
    /// The model that writes and judges briefs, as written.
    pub routing_model: String,
    /// How many messages of the conversation are asked for.
    pub history_window: usize,
    /// Passes of actor and judge; 0 skips the judge.
    pub judge_passes_max: u32,
    /// How often the user is asked.
    pub questions_max: u32,
    /// One call of actor or judge.
    pub routing_timeout: Duration,
    /// One question.
    pub question_timeout: Duration,
    /// A run.
    pub total_timeout: Duration,
    /// Without an event.
    pub inactivity_timeout: Duration,
    /// Until the first event.
    pub start_up_timeout: Duration,
    /// One call of a tool.
    pub tool_timeout: Duration,
    /// Between being asked to stop and being killed.
    pub grace: Duration,
    /// Sampling temperature of sub-agents.
    pub temperature: f64,
    /// What sub-agents run in.
    pub runner: String,
    /// Models to go on with.
    pub fallback_models: Vec<String>,
    /// How the model is chosen.
    pub route: RouteSettings,
    /// Say which model runs.
    pub surface_decision: bool,
    /// Log a hash of the system prompt.
    pub debug_prompt_hash: bool,
    /// What is done to answers.
    pub sanitizer: SanitizerSettings,
    /// How large results may be.
    pub budget: ContextBudgetSettings,
    /// Ceilings of single tools.
    pub tool_ceilings: BTreeMap<String, u64>,
    /// Which messages actor and judge see.
    pub history: HistorySettings,
    /// What is kept aside.
    pub overflow: OverflowSettings,
    /// Sub-tasks side by side.
    pub parallel: ParallelSettings,
    /// All sub-tasks together.
    pub parallel_total_timeout: Duration,
    /// Traces.
    pub trace: TraceSettings,
    /// What answers questions about the workspace.
    pub retrieval: Retrieval,
    /// The program of the auggie engine, whichever engine is chosen.
    pub auggie_program: String,
    /// Teach the main agent when to delegate.
    pub teach_delegation: bool,
}

/// Traces and what is made of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// Write them.
    pub enabled: bool,
    /// Where, below the workspace.
    pub directory: String,
    /// So much of a result.
    pub preview_units_max: usize,
    /// Classify, report and warn.
    pub observed: bool,
    /// A short report after every run.
    pub report_after_run: bool,
    /// When to warn.
    pub degradation: DegradationSettings,
    /// How much a report shows.
    pub report: ReportSettings,
    /// How many are kept.
    pub retention: RetentionSettings,
}

/// Traces kept when nothing is made of them.
const UNOBSERVED_TRACES: usize = 20;

impl From<&Resolved> for RouterSettings {
    fn from(resolved: &Resolved) -> Self {
        Reader(resolved).settings()
    }
}

struct Reader<'a>(&'a Resolved);

impl Reader<'_> {
    fn number(&self, path: &str) -> f64 {
        self.0.get(path).as_number().unwrap_or(0.0)
    }

    fn count(&self, path: &str) -> usize {
        self.number(path) as usize
    }

    fn time(&self, path: &str) -> Duration {
        Duration::from_millis(self.number(path) as u64)
    }

    fn flag(&self, path: &str) -> bool {
        self.0.get(path) == &Json::Bool(true)
    }

    fn text(&self, path: &str) -> String {
        self.0.get(path).as_str().unwrap_or("").to_string()
    }

    fn is(&self, path: &str, word: &str) -> bool {
        self.0.get(path).as_str() == Some(word)
    }

    fn texts(&self, path: &str) -> Vec<String> {
        let items = self.0.get(path).as_array().unwrap_or_default();
        items
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect()
    }

    fn settings(&self) -> RouterSettings {
        RouterSettings {
            routing_model: self.text("routingModel"),
            history_window: self.count("historyWindow"),
            judge_passes_max: self.count("maxJudgeIterations") as u32,
            questions_max: self.count("maxQuestions") as u32,
            routing_timeout: self.time("routingTimeoutMs"),
            question_timeout: self.time("qaTimeoutMs"),
            total_timeout: self.time("totalTimeoutMs"),
            inactivity_timeout: self.time("inactivityTimeoutMs"),
            start_up_timeout: self.time("startUpTimeoutMs"),
            tool_timeout: self.time("toolTimeoutMs"),
            grace: self.time("graceMs"),
            temperature: self.number("subAgentTemperature"),
            runner: self.text("runner"),
            fallback_models: self.texts("fallbackModels"),
            route: self.route(),
            surface_decision: self.flag("executionRouting.surfaceDecision"),
            debug_prompt_hash: self.flag("debugPromptPrefixHash"),
            sanitizer: SanitizerSettings {
                enabled: self.flag("outputSanitizer.enabled"),
                strip_tool_traces: self.flag("outputSanitizer.stripToolTraces"),
                units_max: self.count("outputSanitizer.finalOutputMaxChars"),
            },
            budget: self.budget(),
            tool_ceilings: self.tool_ceilings(),
            history: self.history(),
            overflow: OverflowSettings {
                enabled: self.flag("contextMemory.enabled"),
                entries_max: self.count("contextMemory.maxEntries"),
                bytes_max: self.count("contextMemory.maxBytesPerRun"),
                preview_head_units: self.count("contextMemory.previewHeadChars"),
                preview_tail_units: self.count("contextMemory.previewTailChars"),
            },
            parallel: ParallelSettings {
                enabled: self.flag("parallelSubagents.enabled"),
                workers_max: self.count("parallelSubagents.maxSubagents"),
                concurrency_wanted: 0,
                output_units_max: self.number("parallelSubagents.perWorkerOutputCharCap") as i64,
                call_output_units_max: None,
            },
            parallel_total_timeout: self.time("parallelSubagents.totalTimeoutMs"),
            trace: self.trace(),
            retrieval: self.retrieval(),
            auggie_program: self.text("auggieBinPath"),
            teach_delegation: self.flag("promptInjection.enabled"),
        }
    }

    fn route(&self) -> RouteSettings {
        let models = self.0.get("executionRouting.models");
        let model = |tier: &str| models.get(tier).and_then(Json::as_str).map(str::to_string);
        RouteSettings {
            enabled: self.flag("executionRouting.enabled"),
            preference: match self.text("executionRouting.preference").as_str() {
                "preferCheap" => RoutePreference::PreferCheap,
                "preferBest" => RoutePreference::PreferBest,
                _ => RoutePreference::Balanced,
            },
            skill_model_policy: if self.is("executionRouting.skillModelPolicy", "ignore") {
                SkillModelPolicy::Ignore
            } else {
                SkillModelPolicy::Pin
            },
            models: ModelPool {
                cheap: model("cheap"),
                balanced: model("balanced"),
                frontier: model("frontier"),
            },
            default_provider: self.text("defaultProvider"),
            naming: ModelNaming::Mapped,
            allowed_providers: self.texts("allowedProviderPrefixes"),
        }
    }

    fn budget(&self) -> ContextBudgetSettings {
        let ceilings = self.0.get("contextBudgets.overflowCeilingBytes");
        let ceiling = |tier: &str| ceilings.get(tier).and_then(Json::as_number);
        ContextBudgetSettings {
            enabled: self.flag("contextBudgets.enabled"),
            ceiling_bytes: self.number("overflowCeilingBytes"),
            cheap: ceiling("cheap"),
            balanced: ceiling("balanced"),
            frontier: ceiling("frontier"),
        }
    }

    fn tool_ceilings(&self) -> BTreeMap<String, u64> {
        let entries = self.0.get("toolCeilingBytes").as_object().unwrap_or_default();
        let ceiling = |(tool, bytes): &(String, Json)| Some((tool.clone(), bytes.as_number()? as u64));
        entries.iter().filter_map(ceiling).collect()
    }

    fn history(&self) -> HistorySettings {
        HistorySettings {
            strategy: if self.is("historyAssembly.strategy", "headTail") {
                HistoryStrategy::HeadTail
            } else {
                HistoryStrategy::Recent
            },
            head_messages: self.count("historyAssembly.headMessages"),
            tail_messages: self.count("historyAssembly.tailMessages"),
            middle_mode: if self.is("historyAssembly.middleMode", "omit") {
                MiddleMode::Omit
            } else {
                MiddleMode::Marker
            },
            message_units_max: self.count("historyAssembly.maxCharsPerMessage"),
            total_units_max: self.count("historyAssembly.maxTotalChars"),
            short_newest: ShortNewest::Kept,
        }
    }

    fn trace(&self) -> TraceSettings {
        let observed = self.flag("traceObservability.enabled");
        let kept = if observed {
            self.count("traceObservability.maxTracesPerSkill")
        } else {
            UNOBSERVED_TRACES
        };
        TraceSettings {
            enabled: self.flag("executionTrace.enabled"),
            directory: self.text("executionTrace.traceDirectory"),
            preview_units_max: self.count("executionTrace.maxResultPreviewChars"),
            observed,
            report_after_run: self.flag("traceObservability.showReportAfterExecution"),
            degradation: DegradationSettings {
                enabled: self.flag("traceObservability.degradationAlertEnabled"),
                consecutive_failures: self.count("traceObservability.degradationConsecutiveFailures"),
                cooldown_hours: self.number("traceObservability.degradationAlertCooldownHours"),
            },
            report: ReportSettings {
                traces_max: self.count("traceObservability.reportMaxTraces"),
                inline_max: self.count("traceObservability.reportMaxInlineTraces"),
                trend_window: self.count("traceObservability.trendWindow"),
                regression_window: self.count("traceObservability.regressionWindowSize"),
            },
            retention: RetentionSettings {
                traces_per_skill_max: kept,
                age_ms_max: None,
            },
        }
    }

    fn retrieval(&self) -> Retrieval {
        let engine = match self.text("retrieval.engine").as_str() {
            "auggie" => RetrievalEngine::Auggie {
                program: self.text("auggieBinPath"),
            },
            "mcp" => RetrievalEngine::Mcp {
                command: self.texts("retrieval.command"),
                environment: self.texts("retrieval.environment"),
            },
            _ => RetrievalEngine::Local,
        };
        Retrieval {
            engine,
            timeout: self.time("retrieval.timeoutMs"),
        }
    }
}
