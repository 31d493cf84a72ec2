//! Every key, with its default and its bounds. The order is the order of warnings and of `config show`.

use crate::added_tools::SessionTools;
use crate::capability::slim::PolicyForm;
use crate::display::{AgentDisplay, ReadDisplay};
use crate::domain::{ExecutionMode, PromptMode, ReasoningEffort};
use crate::network::services::SearchProvider;

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A text that is not blank.
    Text,
    /// The name of a program, or the absolute path of one.
    Program,
    /// A whole number.
    Int {
        min: u32,
        max: u32,
        /// 0 means no limit.
        zero_is_off: bool,
    },
    Number {
        min: f64,
        max: f64,
        /// 0 means no limit.
        zero_is_off: bool,
    },
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts that are not blank.
    Texts,
    /// A list of so many texts at most, each once and none blank.
    TextsOnce {
        max: usize,
    },
    /// A key of a service. It is never shown: where values stand, it is `set`.
    Secret,
    /// The address of a service.
    ServiceUrl,
    /// A path below the workspace.
    PathInside,
    /// A text for each tier, merged over the defaults; `null` takes a tier out.
    TierTexts,
    /// A whole number for each tier, replacing all of them.
    TierInts {
        min: u32,
        max: u32,
    },
    /// MCP servers by name: each with `command`, a list of texts, and `environment`, names of variables.
    Servers,
    /// Some of these words, each once.
    Words(&'static [&'static str]),
    /// A whole number for each tool.
    ToolInts {
        min: u32,
        max: u32,
    },
}

/// What a workspace that is not trusted may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Free,
    /// Only what is no more than before.
    Limit,
    /// Nothing: it names something outside, or spends.
    Outside,
    /// Nothing, and a trusted one neither: it is the user's own to say.
    User,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// With dots between sections.
    pub path: &'static str,
    /// What its value must be.
    pub kind: Kind,
    /// The default, as JSON.
    pub default: &'static str,
    /// What an untrusted workspace may say.
    pub trust: Trust,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Where and until when it holds; empty for everywhere.
    pub note: &'static str,
}

impl Key {
    const fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }
}

const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    trust: Trust,
    about: &'static str,
) -> Key {
    Key {
        path,
        kind,
        default,
        trust,
        about,
        note: "",
    }
}

const fn int(min: u32, max: u32) -> Kind {
    Kind::Int {
        min,
        max,
        zero_is_off: false,
    }
}

const fn number(min: f64, max: f64) -> Kind {
    Kind::Number {
        min,
        max,
        zero_is_off: false,
    }
}

/// Dollars; 0 for no limit.
const DOLLARS: Kind = Kind::Number {
    min: 0.0,
    max: 1_000_000.0,
    zero_is_off: true,
};
const TOKENS: Kind = cap(4_000_000_000);

const fn cap(max: u32) -> Kind {
    Kind::Int {
        min: 0,
        max,
        zero_is_off: true,
    }
}

const MODELS: &str = r#"{"cheap":"anthropic/claude-3-5-haiku","balanced":"anthropic/claude-3-5-sonnet","frontier":"anthropic/claude-3-7-sonnet"}"#;
/// As [`PROJECT_FILE_NAMES`](crate::project_instructions::PROJECT_FILE_NAMES).
const RULE_FILES: &str = r#"["AGENTS.override.md","AGENTS.md","AGENTS.MD","CLAUDE.md","CLAUDE.MD"]"#;
const CEILINGS: &str = r#"{"cheap":15000,"balanced":25000,"frontier":50000}"#;
const CEILING: Kind = Kind::TierInts {
    min: 1_000,
    max: 10_000_000,
};

/// The sections, each an object.
pub const SECTIONS: [&str; 24] = [
    "admission",
    "agents",
    "budget",
    "capabilities",
    "coolDown",
    "executionRouting",
    "outputSanitizer",
    "contextBudgets",
    "historyAssembly",
    "contextMemory",
    "parallelSubagents",
    "executionTrace",
    "traceObservability",
    "promptInjection",
    "retrieval",
    "pool",
    "guidance",
    "promptCache",
    "context",
    "truncation",
    "tools",
    "web",
    "promptLog",
    "drawing",
];

use Kind::{
    Flag, PathInside, Program, Secret, Servers, ServiceUrl, Text, Texts, TextsOnce, TierTexts, ToolInts,
    Word, Words,
};
use Trust::{Free, Limit, Outside, User};

/// Every key, in order. Up to `promptInjection.enabled` they are the peer's too.
#[rustfmt::skip]
pub const KEYS: [Key; 135] = [
    key("defaultProvider", Text, r#""openrouter""#, Outside, "whose models bare names are")
        .note("until it is set, models are called as Pi calls them, provider/id"),
    key("routingModel", Text, r#""anthropic/claude-3-5-haiku""#, Outside, "the model that writes and judges briefs")
        .note("in Pi; until it is set, the model of the session"),
    key("historyWindow", int(1, 500), "20", Limit, "how many messages of the conversation are looked at")
        .note("in Pi; a command has no conversation"),
    key("maxJudgeIterations", int(0, 10), "2", Limit, "passes of actor and judge; 0 skips the judge")
        .note("0 skips the judge; an unusable brief leaves the task as the goal"),
    key("routingTimeoutMs", int(10, 600_000), "60000", Limit, "time for one call of actor or judge"),
    key("qaTimeoutMs", int(10, 3_600_000), "300000", Limit, "time for the user to answer a question"),
    key("totalTimeoutMs", int(10_000, 3_600_000), "300000", Limit, "time for a run"),
    key("inactivityTimeoutMs", int(5_000, 600_000), "60000", Limit, "time without an event of the sub-agent"),
    key("subAgentTemperature", number(0.0, 2.0), "0", Free, "sampling temperature of sub-agents"),
    key("overflowCeilingBytes", int(1_000, 10_000_000), "25000", Limit, "larger results of tools are kept aside"),
    key("auggieBinPath", Program, r#""auggie""#, Outside, "the program of the auggie engine")
        .note("with retrieval.engine auggie"),
    key("allowedProviderPrefixes", Texts, "[]", Outside, "the providers that may be used; all when empty"),
    key("executionRouting.enabled", Flag, "false", Outside, "adapt the model to the work")
        .note("in Pi; on the command line with the runner pi and without --model"),
    key("executionRouting.preference", Word(&["preferCheap", "balanced", "preferBest"]), r#""balanced""#, Outside, "which way to lean")
        .note("in Pi; on the command line with the runner pi and without --model"),
    key("executionRouting.surfaceDecision", Flag, "false", Free, "say which model runs, and why"),
    key("executionRouting.skillModelPolicy", Word(&["pin", "ignore"]), r#""pin""#, Outside, "what a model in a skill's file means")
        .note("in Pi; on the command line with the runner pi and without --model"),
    key("executionRouting.models", TierTexts, MODELS, Outside, "the model of each tier; null takes a tier out")
        .note("as executionRouting.enabled; a default is OpenRouter's until defaultProvider is set"),
    key("debugPromptPrefixHash", Flag, "false", Free, "log a hash of the sub-agent's system prompt"),
    key("outputSanitizer.enabled", Flag, "true", Outside, "clean answers before they are shown"),
    key("outputSanitizer.finalOutputMaxChars", cap(10_000_000), "120000", Limit, "cut answers to so many characters; 0 for no limit"),
    key("outputSanitizer.stripToolTraces", Flag, "true", Free, "remove traces of tools from answers"),
    key("contextBudgets.enabled", Flag, "false", Outside, "a ceiling for each tier"),
    key("contextBudgets.overflowCeilingBytes", CEILING, CEILINGS, Limit, "the ceiling of each tier"),
    key("historyAssembly.strategy", Word(&["recent", "headTail"]), r#""recent""#, Free, "which messages actor and judge see"),
    key("historyAssembly.headMessages", int(0, 500), "2", Limit, "with headTail, so many from the start"),
    key("historyAssembly.tailMessages", int(0, 500), "12", Limit, "with headTail, so many from the end"),
    key("historyAssembly.middleMode", Word(&["marker", "omit"]), r#""marker""#, Free, "with headTail, what stands for the rest"),
    key("historyAssembly.maxCharsPerMessage", cap(1_000_000), "10000", Limit, "cut messages to so many characters; 0 for no limit"),
    key("historyAssembly.maxTotalChars", cap(10_000_000), "60000", Limit, "all messages together; 0 for no limit"),
    key("contextMemory.enabled", Flag, "true", Free, "keep large results for reading in parts"),
    key("contextMemory.maxEntries", int(1, 1_000), "64", Limit, "so many results of a run"),
    key("contextMemory.maxBytesPerRun", int(1_000, 100_000_000), "64000000", Limit, "so many bytes of a run"),
    key("contextMemory.previewHeadChars", int(0, 100_000), "4000", Limit, "so much of the start is shown"),
    key("contextMemory.previewTailChars", int(0, 100_000), "4000", Limit, "so much of the end is shown"),
    key("parallelSubagents.enabled", Flag, "false", Outside, "run sub-tasks side by side")
        .note("`impresario parallel` refuses only where a file says false"),
    key("parallelSubagents.maxSubagents", int(1, 16), "3", Limit, "so many at the same time")
        .note("by `impresario parallel`"),
    key("parallelSubagents.perWorkerOutputCharCap", cap(1_000_000), "8000", Limit, "cut answers of sub-tasks; 0 for no limit")
        .note("by `impresario parallel`"),
    key("executionTrace.enabled", Flag, "true", Free, "write a trace of every run"),
    key("executionTrace.maxResultPreviewChars", int(100, 100_000), "2000", Limit, "so much of a result stands in a trace"),
    key("executionTrace.traceDirectory", PathInside, r#"".pi/traces""#, Outside, "where traces are written, below the workspace"),
    key("traceObservability.enabled", Flag, "true", Free, "classify traces, report and warn"),
    key("traceObservability.showReportAfterExecution", Flag, "false", Free, "a short report after every run"),
    key("traceObservability.degradationAlertEnabled", Flag, "true", Free, "warn when a skill stops working"),
    key("traceObservability.degradationConsecutiveFailures", int(2, 20), "3", Free, "after so many failures in a row"),
    key("traceObservability.degradationAlertCooldownHours", int(1, 720), "24", Free, "not again within so many hours"),
    key("traceObservability.reportMaxTraces", int(1, 100), "10", Limit, "so many traces in a report"),
    key("traceObservability.reportMaxInlineTraces", int(1, 50), "5", Limit, "so many listed by name"),
    key("traceObservability.regressionWindowSize", int(3, 50), "10", Limit, "how far back a regression is looked for"),
    key("traceObservability.maxTracesPerSkill", int(5, 200), "20", Limit, "so many traces of a skill are kept"),
    key("agents.enabled", Flag, "true", Free, "give the main agent a tool for each agent"),
    key("agents.disabled", Texts, "[]", Limit, "agents that nobody may ask, by name"),
    key("agents.disabledTools", Texts, "[]", Limit, "tools that no sub-agent gets, Pi's own among them"),
    key("budget.callUsd", DOLLARS, "0", Limit, "dollars that one call of a model may cost; 0 for no limit"),
    key("budget.callTokens", TOKENS, "0", Limit, "tokens that one call may take; 0 for no limit"),
    key("budget.runUsd", DOLLARS, "0", Limit, "dollars that one sub-agent may cost; 0 for no limit"),
    key("budget.runTokens", TOKENS, "0", Limit, "tokens that one sub-agent may take; 0 for no limit"),
    key("budget.treeUsd", DOLLARS, "10", Limit, "dollars that everything asked for at once may cost; 0 for no limit"),
    key("budget.treeTokens", TOKENS, "0", Limit, "tokens that everything asked for at once may take; 0 for no limit"),
    key("budget.sessionUsd", DOLLARS, "0", Limit, "dollars that all sub-agents of a session may cost; 0 for no limit"),
    key("budget.sessionTokens", TOKENS, "0", Limit, "tokens that all sub-agents of a session may take; 0 for no limit"),
    key("budget.dayUsd", DOLLARS, "100", Limit, "dollars that all your sub-agents may cost on one day (UTC); 0 for no limit"),
    key("budget.dayTokens", TOKENS, "0", Limit, "tokens that all your sub-agents may take on one day (UTC); 0 for no limit"),
    key("budget.assumedUsdPerMillionTokens", number(0.0, 10_000.0), "1", Outside, "what a model without a known price counts as"),
    key("admission.width", int(1, 64), "4", Limit, "sub-agents that work at a time"),
    key("admission.perProvider", cap(64), "0", Limit, "of those, at most so many that call one provider with one login; 0 for no limit"),
    key("admission.keepFreeMb", cap(1_000_000), "128", Outside, "MiB of memory that stay free when another one begins; 0 for not looking"),
    key("admission.maxDepth", int(0, 8), "0", Limit, "how deep sub-agents may start others; 0 for not at all"),
    key("admission.maxTreeRuns", int(1, 1_000), "16", Limit, "how many they may start below one run, all together"),
    key("coolDown.afterFailures", cap(100), "3", Outside, "failures in a row after which a model is passed over for a while; 0 for never"),
    key("coolDown.firstMs", int(1_000, 3_600_000), "15000", Outside, "for how long at first; doubled each time it fails again"),
    key("coolDown.maxMs", int(1_000, 3_600_000), "300000", Outside, "for how long at most"),
    key("promptInjection.enabled", Flag, "true", Free, "teach the main agent when to delegate")
        .note("in Pi"),
    key("startUpTimeoutMs", int(1_000, 600_000), "60000", Limit, "time until the sub-agent's first event"),
    key("toolTimeoutMs", int(1_000, 3_600_000), "240000", Limit, "time for one call of a tool"),
    key("graceMs", int(100, 60_000), "2000", Limit, "between being asked to stop and being killed"),
    key("maxQuestions", int(0, 10), "3", Limit, "how often the user is asked for one skill"),
    key("runner", Word(&["embedded", "pi"]), r#""embedded""#, Outside, "what sub-agents run in")
        .note("until it is set, pi in Pi and embedded on the command line"),
    key("fallbackModels", Texts, "[]", Outside, "models to go on with when one cannot be had")
        .note("in Pi; on the command line with the runner pi and without --model"),
    key("toolCeilingBytes", ToolInts { min: 1_000, max: 10_000_000 }, "{}", Limit, "a ceiling for single tools, by name"),
    key("retrieval.engine", Word(&["local", "auggie", "mcp"]), r#""local""#, Outside, "what answers questions about the workspace"),
    key("retrieval.command", Texts, "[]", Outside, "with mcp, the program of the server and its arguments")
        .note("with retrieval.engine mcp; program and arguments, without a shell"),
    key("retrieval.environment", Texts, "[]", Outside, "with mcp, names of variables that the server gets besides the usual ones")
        .note("with retrieval.engine mcp"),
    key("retrieval.timeoutMs", int(100, 600_000), "30000", Limit, "time for one retrieval")
        .note("for each answer; auggie and mcp have 15 s more to get ready"),
    key("parallelSubagents.totalTimeoutMs", int(1_000, 3_600_000), "600000", Limit, "time for all sub-tasks together")
        .note("by `impresario parallel`"),
    key("traceObservability.trendWindow", int(2, 50), "5", Free, "so many runs make a trend"),
    key("capabilities.enabled", Flag, "false", Free, "give the main agent tools that find what can be used, and show fewer skills where a loadout says which")
        .note("in Pi"),
    key("capabilities.promotionCeiling", int(0, 200), "5", Free, "so many of the tools used last stay active")
        .note("in Pi, with capabilities.deferTools"),
    key("capabilities.deferTools", Flag, "false", Free, "offer tools when they were found instead of all the time")
        .note("in Pi, from the start of a session"),
    key("capabilities.mcpServers", Servers, "{}", Outside, "MCP servers whose tools are found, by name: each with command and, where it needs some, environment")
        .note("in Pi"),
    key("capabilities.policy", Word(&PolicyForm::WORDS), r#""full""#, Free, "how much the prompt says of finding what is not listed")
        .note("in Pi, from the start of a session"),
    key("pool.idleMax", int(0, 64), "4", Limit, "so many nested Pis are kept warm for later runs; 0 for none")
        .note("in Pi"),
    key("pool.idleMs", int(1_000, 3_600_000), "120000", Limit, "so long each waits for a run")
        .note("in Pi"),
    key("pool.maxRuns", int(1, 10_000), "50", Limit, "so many runs each serves")
        .note("in Pi"),
    key("pool.maxMegabytes", int(50, 64_000), "300", Limit, "a larger one is not kept")
        .note("in Pi"),
    key("guidance.enabled", Flag, "true", Free, "give agents the rules of the directories that they come to"),
    key("guidance.fileNames", Texts, RULE_FILES, Outside, "what the files with rules are called; the first that is there is a directory's"),
    key("guidance.maxBytesPerFile", int(0, 1_000_000), "32768", Limit, "so much of one file"),
    key("guidance.maxBytesPerRead", int(0, 4_000_000), "131072", Limit, "so much with one result, the innermost first"),
    key("promptCache.enabled", Flag, "true", Free, "place the cache markers of requests to Anthropic where they save most"),
    key("promptCache.maxMarkers", int(1, 64), "4", Free, "so many the provider takes in a request")
        .note("Anthropic's rule, as its page on prompt caching had it on 2026-11-22"),
    key("promptCache.spareMarkers", int(0, 3), "0", Free, "of those, so many are left for an extension that adds one later"),
    key("promptCache.lookback", int(1, 1_000), "20", Free, "within so many positions a marker finds what was cached before")
        .note("Anthropic's rule, as its page on prompt caching had it on 2026-11-22"),
    key("promptCache.minTokens", int(0, 1_000_000), "0", Free, "shorter prompts are not cached; 0 for what is known of the model")
        .note("the models are in policies/src/cache_markers/cache_rules.tsv, with date and source"),
    key("promptCache.siblingWaitMs", int(0, 60_000), "5000", Limit, "sub-agents with the same beginning wait so long at most for the first to fill the cache"),
    key("context.enabled", Flag, "true", Free, "give the main agent a tool that marks where it is in a session, goes back there and finds such marks of other sessions")
        .note("in Pi, from the start of a session"),
    key("truncation.enabled", Flag, "true", Free, "leave out results of tools that an anchor made stale; their texts stay in the session")
        .note("in Pi"),
    key("truncation.minCharacters", int(100, 1_000_000), "400", Free, "shorter results stay")
        .note("in Pi"),
    key("truncation.paysWithin", int(1, 10_000), "10", Free, "it must have paid for itself after so many requests, for the prompt's cache is filled anew from there on")
        .note("in Pi"),
    key("truncation.statusLine", Flag, "true", Free, "tell the main agent how full its context is, when that has changed by much")
        .note("in Pi"),
    key("tools.session", Words(&SessionTools::WORDS), "[]", Outside, "the tools that are added to Pi's in its own session, or all")
        .note("in Pi; agents.disabledTools takes away from here too"),
    key("tools.anchoredEditing", Flag, "true", Limit, "hashline_edit is there for who names it, and read shows it anchors"),
    key("tools.strictPatch", Flag, "true", Outside, "hashline_edit refuses a new line that has an anchor before it; otherwise the anchor is taken away")
        .note("from your own settings, when the runtime starts"),
    key("web.searchProvider", Word(&SearchProvider::WORDS), r#""exa""#, Outside, "who looks on the web, and reads pages first"),
    key("web.exaKey", Secret, r#""""#, Outside, "the key for Exa, which answers without one too")
        .note("else EXA_API_KEY"),
    key("web.tavilyKey", Secret, r#""""#, Outside, "the key for Tavily")
        .note("else TAVILY_API_KEY"),
    key("web.context7Key", Secret, r#""""#, Outside, "the key for Context7, which answers without one too")
        .note("else CONTEXT7_API_KEY"),
    key("web.exaUrl", ServiceUrl, r#""https://api.exa.ai""#, Outside, "where Exa is, or what stands in for it"),
    key("web.tavilyUrl", ServiceUrl, r#""https://api.tavily.com""#, Outside, "where Tavily is, or what stands in for it"),
    key("web.context7Url", ServiceUrl, r#""https://context7.com""#, Outside, "where documentation of libraries is asked for"),
    key("web.codeSearchUrl", ServiceUrl, r#""https://mcp.grep.app""#, Outside, "the MCP server that looks for code on GitHub"),
    key("promptLog.enabled", Flag, "false", User, "write system prompts to a file, without their secrets")
        .note("in Pi, from its start"),
    key("promptLog.path", Text, r#"".pi/prompts/system-prompts.jsonl""#, User, "that file; from the workspace on, unless it is absolute")
        .note("as promptLog.enabled"),
    key("promptLog.agentStart", Flag, "true", User, "the prompt that Pi made for a turn")
        .note("as promptLog.enabled"),
    key("promptLog.providerSystem", Flag, "false", User, "what stands in requests to the provider as a system prompt")
        .note("as promptLog.enabled"),
    key("promptLog.nested", Flag, "false", User, "the prompts of sub-agents too")
        .note("as promptLog.enabled"),
    key("promptLog.dedupe", Flag, "true", User, "the same prompt of a session only once")
        .note("as promptLog.enabled"),
    key("promptLog.maxFileBytes", int(10_000, 1_000_000_000), "10000000", User, "a larger file gives way to a new one, as it does each day (UTC)")
        .note("as promptLog.enabled"),
    key("promptLog.keptFiles", int(0, 100), "5", User, "so many of the files before it are kept")
        .note("as promptLog.enabled"),
    key("drawing.bash", Flag, "false", Outside, "draw Pi's bash as a line and the end of what it said")
        .note("on the terminal of Pi, from the start of a session"),
    key("drawing.bashPreviewLines", int(0, 1_000), "5", Free, "so many lines of it, folded")
        .note("as drawing.bash"),
    key("drawing.bashExpandedLines", int(0, 5_000), "200", Free, "so many, opened")
        .note("as drawing.bash"),
    key("drawing.bashDim", Flag, "false", Free, "in a fainter colour")
        .note("as drawing.bash"),
    key("drawing.read", Word(&ReadDisplay::WORDS), r#""host""#, Outside, "draw Pi's read as Pi does, as one line (compact), or with the first lines of the file (preview)")
        .note("on the terminal of Pi, from the start of a session"),
    key("drawing.agents", Word(&AgentDisplay::WORDS), r#""compact""#, Free, "draw a sub-agent's run folded with what it does now (compact), with its last calls too (full), or as one line (minimal)")
        .note("on the terminal of Pi, from the start of a session"),
    key("promptInjection.overlay", Flag, "false", Outside, "tell the main agent how to work here, in the form that its model follows best, with when to delegate in it")
        .note("in Pi, from the start of a session; some 1500 tokens in each request"),
];

/// The fields of `agents.<name>`, in order; most of them are the peer's too. Nothing is their default: what the agent
/// says of itself holds.
#[rustfmt::skip]
pub const AGENT_KEYS: [Key; 12] = [
    key("enabled", Flag, "true", Limit, "it can be asked"),
    key("model", Text, "", Outside, "the model it runs on")
        .note("in Pi; on the command line where no model is named"),
    key("fallbackModels", TextsOnce { max: 5 }, "", Outside, "the models to go on with, instead of those for all")
        .note("as model"),
    key("reasoningEffort", Word(&ReasoningEffort::WORDS), "", Outside, "how much its model thinks")
        .note("in nested Pi, and at providers of OpenAI's kind, Google and Ollama"),
    key("temperature", number(0.0, 2.0), "", Free, "its sampling temperature"),
    key("timeoutMs", int(1, 3_600_000), "", Limit, "time for a run of it, over totalTimeoutMs"),
    key("inactivityTimeoutMs", int(5_000, 600_000), "", Limit, "time without an event of it"),
    key("allowedTools", Texts, "", Outside, "its tools, and nothing else"),
    key("deniedTools", Texts, "", Limit, "tools that it does not get"),
    key("promptMode", Word(&PromptMode::WORDS), "", Free, "its instructions are the system prompt, or stand behind Pi's"),
    key("executionMode", Word(&ExecutionMode::WORDS), "", Free, "calls of one turn that ask it run at the same time, or not"),
    key("loadout", Text, "", Outside, "the loadout whose skills it is given and whose tools it keeps"),
];

/// What pi-blackbytes writes in objects of its section: the object, its key, and ours.
pub const PEER_KEYS: [(&str, &str, &str); 18] = [
    ("hashline_edit", "enabled", "tools.anchoredEditing"),
    ("hashline_edit", "strict_patch", "tools.strictPatch"),
    ("websearch", "provider", "web.searchProvider"),
    ("websearch", "exa_api_key", "web.exaKey"),
    ("websearch", "tavily_api_key", "web.tavilyKey"),
    ("context7", "api_key", "web.context7Key"),
    ("ui", "bash_wrapper_enabled", "drawing.bash"),
    ("ui", "bash_max_preview_lines", "drawing.bashPreviewLines"),
    ("ui", "bash_max_expanded_lines", "drawing.bashExpandedLines"),
    ("ui", "bash_dim_output", "drawing.bashDim"),
    ("ui", "read_tool_display", "drawing.read"),
    ("ui", "sub_agent_display", "drawing.agents"),
    ("system_prompt_log", "enabled", "promptLog.enabled"),
    ("system_prompt_log", "path", "promptLog.path"),
    ("system_prompt_log", "capture_agent_start", "promptLog.agentStart"),
    (
        "system_prompt_log",
        "capture_provider_system",
        "promptLog.providerSystem",
    ),
    ("system_prompt_log", "include_nested", "promptLog.nested"),
    ("system_prompt_log", "dedupe", "promptLog.dedupe"),
];

/// The field of `sub_agents.<name>` that is understood and changes nothing: an answer that was cut is always kept whole.
pub const KEPT_ANYWAY: Key = key("artifactCapture", Flag, "", Free, "");
