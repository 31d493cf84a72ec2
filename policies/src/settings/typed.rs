//! The same values as the runtime takes them. Their defaults are those of the table, and stand nowhere else.

use super::agents::AgentSettings;
use super::resolve::{Origin, Resolved, resolve_settings};
use crate::added_tools::{AddedTool, SessionTools};
use crate::domain::{
    AdmissionTerms, AnswerTerms, Budget, CacheTerms, Cap, Clocks, CoolDownSettings, DegradationSettings,
    GuidanceTerms, HistorySettings, HistoryStrategy, HistoryTerms, MiddleMode, ModelNaming, ModelPool,
    ObservationSettings, OverflowSettings, Persistence, ResultTerms, Retrieval, RetrievalEngine,
    RoutePreference, RouteSettings, RunTerms, ShortNewest, SkillModelPolicy, TierCeilings, TraceTerms,
};

use crate::capability::servers::McpServer;
use crate::capability::slim::PolicyForm;
use crate::display::{AgentDisplay, BashDisplay, DisplaySettings, ReadDisplay};
use crate::model_mapping::map_model;
use crate::network::services::{NetworkSettings, SearchProvider, Service};
use crate::network::urls::OpenedHosts;
use crate::parallel::ParallelSettings;
use crate::prompt_log::PromptLogSettings;
use crate::trace_report::ReportSettings;
use crate::truncation::TruncationTerms;
use crate::worker_pool::PoolSettings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

/// Whether what can be used is found when it is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilitySettings {
    pub enabled: bool,
    /// So many of the tools used last stay active.
    pub promotion_ceiling: usize,
    /// Tools are offered when they were found.
    pub defer_tools: bool,
    /// The servers whose tools are found.
    pub servers: Vec<McpServer>,
    /// How much the prompt says of it.
    pub policy: PolicyForm,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Configured {
    /// What runs are made with.
    pub run: RunSettings,
    /// Sub-tasks side by side.
    pub parallel: ParallelSettings,
    pub parallel_total_timeout: Duration,
    /// Nested Pis that are kept warm.
    pub pool: PoolSettings,
    /// What can be used is found when it is wanted.
    pub capabilities: CapabilitySettings,
    /// The main agent has a tool for its session's context.
    pub context_enabled: bool,
    /// The tools that are added to those of the main agent.
    pub session_tools: Vec<AddedTool>,
    /// What an anchor makes stale is left out.
    pub truncation: TruncationTerms,
    /// The main agent is told how full its context is.
    pub context_status: bool,
    /// Where traces are looked for.
    pub trace_directory: String,
    /// Traces are classified and reported.
    pub observed: bool,
    /// How much a report shows.
    pub report: ReportSettings,
    /// Teach the main agent when to delegate.
    pub teach_delegation: bool,
    /// Tell the main agent how to work here.
    pub overlay: bool,
    /// The main agent has a tool for each agent.
    pub agents_offered: bool,
    /// The agents that nobody may ask.
    pub agents_disabled: Vec<String>,
    /// What is set for single agents.
    pub agents: BTreeMap<String, AgentSettings>,
    /// A new line of `hashline_edit` that has an anchor before it is refused.
    pub strict_patch: bool,
    /// Services on the web. Keys of the environment are not among it.
    pub network: NetworkSettings,
    /// Which system prompts are logged, and where.
    pub prompt_log: PromptLogSettings,
    /// How Pi's own tools are drawn.
    pub display: DisplaySettings,
}

/// What a run is made with, whoever is asked for it: a built-in agent, a skill, an agent of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    /// What sub-agents run in; none where nobody says it.
    pub runner: Option<String>,
    /// The model that writes and judges briefs, as written; none where nobody says it.
    pub routing_model: Option<String>,
    /// The models to go on with.
    pub fallback: Vec<String>,
    /// How the model is chosen.
    pub route: RouteSettings,
    /// Say which model runs.
    pub surface_decision: bool,
    /// Passes of actor and judge; 0 skips the judge.
    pub judge_passes_max: u32,
    /// How often the user is asked.
    pub questions_max: u32,
    /// The limits in time.
    pub clocks: Clocks,
    /// Who set the total: somebody's holds for agents with a time of their own too.
    pub total_chosen: TotalChosen,
    /// The tools that no sub-agent gets.
    pub tools_disabled: Vec<String>,
    pub persistence: Persistence,
    /// Sampling temperature, where the runner supports it; none for what the provider does.
    pub temperature: Option<f64>,
    /// A result of a tool above so many bytes is kept aside.
    pub overflow_ceiling_bytes: u64,
    /// The cap of an answer in characters; 0 for no limit.
    pub answer_chars_max: usize,
    /// Where traces go, relative to the workspace; none for no trace files.
    pub trace_directory: Option<String>,
    /// What answers questions about the workspace.
    pub retrieval: Retrieval,
    /// What agents are given of the rules of directories, where the workspace is trusted.
    pub guidance: GuidanceTerms,
    pub terms: RunTerms,
}

/// Who said how long a run may take, the later before the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TotalChosen {
    /// Nobody: the agent's own time holds.
    ByNobody,
    /// A file, for all runs: it holds unless a file says more of the one agent.
    ForAll,
    /// The caller, for this run.
    ForThisRun,
}

/// Traces kept when nothing is made of them.
const UNOBSERVED_TRACES: usize = 20;

impl From<&Resolved> for Configured {
    fn from(resolved: &Resolved) -> Self {
        Reader(resolved).configured()
    }
}

impl Default for Configured {
    /// Where no file says anything.
    fn default() -> Self {
        static DEFAULTS: LazyLock<Configured> = LazyLock::new(|| Configured::from(&resolve_settings(&[])));
        DEFAULTS.clone()
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        Configured::default().run
    }
}

impl Default for Clocks {
    fn default() -> Self {
        RunSettings::default().clocks
    }
}

/// The models that nobody chose, as the table has them.
fn default_models() -> ModelPool {
    Reader(&resolve_settings(&[])).models()
}

struct Reader<'a>(&'a Resolved);

impl Reader<'_> {
    fn number(&self, path: &str) -> f64 {
        self.0.get(path).as_f64().unwrap_or(0.0)
    }

    fn count(&self, path: &str) -> usize {
        self.number(path) as usize
    }

    fn time(&self, path: &str) -> Duration {
        Duration::from_millis(self.number(path) as u64)
    }

    fn flag(&self, path: &str) -> bool {
        *self.0.get(path) == true
    }

    fn text(&self, path: &str) -> String {
        self.0.get(path).as_str().unwrap_or("").to_string()
    }

    fn servers(&self, path: &str) -> Vec<McpServer> {
        let list = |server: &Value, field: &str| {
            let items = server[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_string).collect()
        };
        let servers = self.0.get(path).as_object().into_iter().flatten();
        servers
            .map(|(name, server)| McpServer {
                name: name.clone(),
                command: list(server, "command"),
                environment: list(server, "environment"),
            })
            .collect()
    }

    fn is(&self, path: &str, word: &str) -> bool {
        self.0.get(path).as_str() == Some(word)
    }

    fn texts(&self, path: &str) -> Vec<String> {
        let items = self.0.get(path).as_array().into_iter().flatten();
        items
            .filter_map(|text| Some(text.as_str()?.to_string()))
            .collect()
    }

    /// The tools that nobody gets.
    fn tools_disabled(&self) -> Vec<String> {
        let mut names = self.texts("agents.disabledTools");
        let edit = AddedTool::HashlineEdit.name().to_string();
        if !self.flag("tools.anchoredEditing") && !names.contains(&edit) {
            names.push(edit);
        }
        names
    }

    /// A file says it.
    fn is_set(&self, path: &str) -> bool {
        let value = self.0.values.iter().find(|value| value.key.path == path);
        value.is_some_and(|value| value.origin != Origin::Default)
    }

    fn configured(&self) -> Configured {
        Configured {
            run: self.run(),
            parallel: ParallelSettings {
                enabled: self.flag("parallelSubagents.enabled"),
                workers_max: self.count("parallelSubagents.maxSubagents"),
                concurrency_wanted: 0,
                output_units_max: self.number("parallelSubagents.perWorkerOutputCharCap") as i64,
                call_output_units_max: None,
            },
            parallel_total_timeout: self.time("parallelSubagents.totalTimeoutMs"),
            pool: PoolSettings {
                idle_max: self.count("pool.idleMax"),
                idle: self.time("pool.idleMs"),
                runs_max: self.count("pool.maxRuns") as u32,
                resident_bytes_max: self.number("pool.maxMegabytes") as u64 * 1_000_000,
            },
            context_enabled: self.flag("context.enabled"),
            session_tools: SessionTools::of(&self.texts("tools.session"), &self.tools_disabled()),
            capabilities: CapabilitySettings {
                enabled: self.flag("capabilities.enabled"),
                promotion_ceiling: self.count("capabilities.promotionCeiling"),
                defer_tools: self.flag("capabilities.deferTools"),
                servers: self.servers("capabilities.mcpServers"),
                policy: PolicyForm::read(&self.text("capabilities.policy")).unwrap_or_default(),
            },
            truncation: TruncationTerms {
                enabled: self.flag("truncation.enabled"),
                characters_min: self.count("truncation.minCharacters") as u64,
                pays_within: self.count("truncation.paysWithin") as u32,
            },
            context_status: self.flag("truncation.statusLine"),
            trace_directory: self.text("executionTrace.traceDirectory"),
            observed: self.flag("traceObservability.enabled"),
            report: ReportSettings {
                traces_max: self.count("traceObservability.reportMaxTraces"),
                inline_max: self.count("traceObservability.reportMaxInlineTraces"),
                trend_window: self.count("traceObservability.trendWindow"),
                regression_window: self.count("traceObservability.regressionWindowSize"),
            },
            teach_delegation: self.flag("promptInjection.enabled"),
            overlay: self.flag("promptInjection.overlay"),
            agents_offered: self.flag("agents.enabled"),
            agents_disabled: self.texts("agents.disabled"),
            agents: self.0.agents.clone(),
            strict_patch: self.flag("tools.strictPatch"),
            network: self.network(),
            prompt_log: PromptLogSettings {
                enabled: self.flag("promptLog.enabled"),
                path: self.text("promptLog.path"),
                agent_start: self.flag("promptLog.agentStart"),
                provider_system: self.flag("promptLog.providerSystem"),
                nested: self.flag("promptLog.nested"),
                dedupe: self.flag("promptLog.dedupe"),
                file_bytes_max: self.number("promptLog.maxFileBytes") as u64,
                files_kept: self.count("promptLog.keptFiles") as u32,
            },
            display: DisplaySettings {
                bash: self.flag("drawing.bash").then(|| BashDisplay {
                    preview_lines: self.count("drawing.bashPreviewLines") as u32,
                    expanded_lines: self.count("drawing.bashExpandedLines") as u32,
                    dim: self.flag("drawing.bashDim"),
                }),
                read: ReadDisplay::of(&self.text("drawing.read")),
                agents: AgentDisplay::of(&self.text("drawing.agents")),
            },
        }
    }

    fn network(&self) -> NetworkSettings {
        let service = |url: &str, key: &str| Service {
            base_url: self.text(url),
            key: self.0.secrets.get(key).cloned(),
        };
        NetworkSettings {
            provider: SearchProvider::of(&self.text("web.searchProvider")),
            exa: service("web.exaUrl", "web.exaKey"),
            tavily: service("web.tavilyUrl", "web.tavilyKey"),
            context7: service("web.context7Url", "web.context7Key"),
            code_search: service("web.codeSearchUrl", ""),
            opened: OpenedHosts::default(),
        }
    }

    fn run(&self) -> RunSettings {
        let set = |path| self.is_set(path).then_some(path);
        RunSettings {
            runner: set("runner").map(|path| self.text(path)),
            routing_model: set("routingModel").map(|path| self.text(path)),
            fallback: self.texts("fallbackModels"),
            route: self.route(),
            surface_decision: self.flag("executionRouting.surfaceDecision"),
            judge_passes_max: self.count("maxJudgeIterations") as u32,
            questions_max: self.count("maxQuestions") as u32,
            clocks: Clocks {
                start_up: self.time("startUpTimeoutMs"),
                inactivity: self.time("inactivityTimeoutMs"),
                total: self.time("totalTimeoutMs"),
                tool: self.time("toolTimeoutMs"),
                question: self.time("qaTimeoutMs"),
                routing: self.time("routingTimeoutMs"),
                grace: self.time("graceMs"),
            },
            total_chosen: match self.is_set("totalTimeoutMs") {
                true => TotalChosen::ForAll,
                false => TotalChosen::ByNobody,
            },
            tools_disabled: self.tools_disabled(),
            persistence: Persistence {
                cool_down: CoolDownSettings {
                    after_failures: self.count("coolDown.afterFailures") as u32,
                    first: self.time("coolDown.firstMs"),
                    max: self.time("coolDown.maxMs"),
                },
                ..Persistence::default()
            },
            temperature: set("subAgentTemperature").map(|path| self.number(path)),
            overflow_ceiling_bytes: self.number("overflowCeilingBytes") as u64,
            answer_chars_max: self.count("outputSanitizer.finalOutputMaxChars"),
            trace_directory: self
                .flag("executionTrace.enabled")
                .then(|| self.text("executionTrace.traceDirectory")),
            retrieval: self.retrieval(),
            guidance: self.guidance(),
            terms: self.terms(),
        }
    }

    fn terms(&self) -> RunTerms {
        RunTerms {
            admission: AdmissionTerms {
                width: self.count("admission.width") as u32,
                provider_width: self.count("admission.perProvider") as u32,
                memory_kept_free: (self.count("admission.keepFreeMb") as u64) << 20,
                tree_depth: self.count("admission.maxDepth") as u32,
                tree_runs: self.count("admission.maxTreeRuns") as u32,
            },
            tier_ceilings: self.tier_ceilings(),
            history: HistoryTerms {
                window: self.count("historyWindow"),
                assembly: self.history(),
            },
            answer: AnswerTerms {
                sanitize: self.flag("outputSanitizer.enabled"),
                strip_tool_traces: self.flag("outputSanitizer.stripToolTraces"),
            },
            results: ResultTerms {
                ceilings: self.tool_ceilings(),
                memory: OverflowSettings {
                    enabled: self.flag("contextMemory.enabled"),
                    entries_max: self.count("contextMemory.maxEntries"),
                    bytes_max: self.count("contextMemory.maxBytesPerRun"),
                    preview_head_units: self.count("contextMemory.previewHeadChars"),
                    preview_tail_units: self.count("contextMemory.previewTailChars"),
                },
            },
            trace: TraceTerms {
                preview_units_max: self.count("executionTrace.maxResultPreviewChars"),
                observation: Some(self.observation()),
            },
            budget: self.budget(),
            cache: CacheTerms {
                enabled: self.flag("promptCache.enabled"),
                markers_max: self.count("promptCache.maxMarkers"),
                spare: self.count("promptCache.spareMarkers"),
                lookback: self.count("promptCache.lookback"),
                tokens_min: self.count("promptCache.minTokens") as u64,
                sibling_wait_ms: self.count("promptCache.siblingWaitMs") as u64,
            },
            log_prompt_prefix: self.flag("debugPromptPrefixHash"),
            ..RunTerms::default()
        }
    }

    fn guidance(&self) -> GuidanceTerms {
        match self.flag("guidance.enabled") {
            true => GuidanceTerms {
                file_names: self.texts("guidance.fileNames"),
                file_bytes_max: self.count("guidance.maxBytesPerFile"),
                read_bytes_max: self.count("guidance.maxBytesPerRead"),
            },
            false => GuidanceTerms::default(),
        }
    }

    fn budget(&self) -> Budget {
        let cap = |whose: &str| {
            let limit =
                |unit: &str| Some(self.number(&format!("budget.{whose}{unit}"))).filter(|max| *max > 0.0);
            Cap {
                usd: limit("Usd"),
                tokens: limit("Tokens").map(|max| max as u64),
            }
        };
        Budget {
            call: cap("call"),
            run: cap("run"),
            tree: cap("tree"),
            session: cap("session"),
            day: cap("day"),
            assumed_usd_per_million: self.number("budget.assumedUsdPerMillionTokens"),
        }
    }

    fn models(&self) -> ModelPool {
        let models = self.0.get("executionRouting.models");
        let model = |tier: &str| models[tier].as_str().map(str::to_string);
        ModelPool {
            cheap: model("cheap"),
            balanced: model("balanced"),
            frontier: model("frontier"),
        }
    }

    fn route(&self) -> RouteSettings {
        let provider = self.text("defaultProvider");
        let named = self.is_set("defaultProvider");
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
            models: match named {
                true => self.models(),
                false => as_the_host_calls_them(self.models(), &provider),
            },
            default_provider: provider,
            naming: match named {
                true => ModelNaming::Mapped,
                false => ModelNaming::OfHost,
            },
            allowed_providers: self.texts("allowedProviderPrefixes"),
        }
    }

    fn tier_ceilings(&self) -> Option<TierCeilings> {
        let ceilings = self.0.get("contextBudgets.overflowCeilingBytes");
        let ceiling = |tier: &str| ceilings[tier].as_u64();
        let enabled = self.flag("contextBudgets.enabled");
        enabled.then(|| TierCeilings {
            cheap: ceiling("cheap"),
            balanced: ceiling("balanced"),
            frontier: ceiling("frontier"),
        })
    }

    fn tool_ceilings(&self) -> BTreeMap<String, u64> {
        let entries = self.0.get("toolCeilingBytes").as_object().into_iter().flatten();
        let ceiling = |(tool, bytes): (&String, &Value)| Some((tool.clone(), bytes.as_u64()?));
        entries.filter_map(ceiling).collect()
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

    fn observation(&self) -> ObservationSettings {
        let enabled = self.flag("traceObservability.enabled");
        ObservationSettings {
            enabled,
            report_after_run: self.flag("traceObservability.showReportAfterExecution"),
            degradation: DegradationSettings {
                enabled: self.flag("traceObservability.degradationAlertEnabled"),
                consecutive_failures: self.count("traceObservability.degradationConsecutiveFailures"),
                cooldown_hours: self.number("traceObservability.degradationAlertCooldownHours"),
            },
            regression_window: self.count("traceObservability.regressionWindowSize"),
            traces_max: match enabled {
                true => self.count("traceObservability.maxTracesPerSkill"),
                false => UNOBSERVED_TRACES,
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

/// Where nobody named a default provider, models are called as the host calls them; the models that nobody chose keep
/// the provider they come with.
fn as_the_host_calls_them(mut models: ModelPool, provider: &str) -> ModelPool {
    let by_default = default_models();
    let tiers = [
        (&mut models.cheap, &by_default.cheap),
        (&mut models.balanced, &by_default.balanced),
        (&mut models.frontier, &by_default.frontier),
    ];
    for (model, by_default) in tiers {
        if model == by_default {
            *model = map_model(model.as_deref(), provider, &[]).ok();
        }
    }
    models
}
