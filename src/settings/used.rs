//! Which settings does the runtime act on today?

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It holds.
    Used,
    /// It holds, with this to know.
    UsedWith(&'static str),
    /// It is read and checked, and nothing acts on it.
    NotYet,
}

/// What holds for the choice of a model.
const CHOSEN: Use =
    Use::UsedWith("for skills in Pi; on the command line with the runner pi and without --model");

/// The settings that something acts on.
const USED: &[(&str, Use)] = &[
    (
        "routingModel",
        Use::UsedWith("in Pi; until it is set, the model of the session"),
    ),
    (
        "maxJudgeIterations",
        Use::UsedWith("0 skips the judge; an unusable brief leaves the task as the goal"),
    ),
    ("routingTimeoutMs", Use::Used),
    ("qaTimeoutMs", Use::Used),
    ("totalTimeoutMs", Use::Used),
    ("inactivityTimeoutMs", Use::Used),
    ("startUpTimeoutMs", Use::Used),
    ("toolTimeoutMs", Use::Used),
    ("graceMs", Use::Used),
    ("maxQuestions", Use::Used),
    (
        "subAgentTemperature",
        Use::UsedWith(
            "in nested Pi over the APIs openai-completions and anthropic-messages, while the model does not think; \
             until it is set, what the provider does",
        ),
    ),
    ("overflowCeilingBytes", Use::Used),
    ("toolCeilingBytes", Use::Used),
    ("contextMemory.enabled", Use::Used),
    ("contextMemory.maxEntries", Use::Used),
    ("contextMemory.maxBytesPerRun", Use::Used),
    ("contextMemory.previewHeadChars", Use::Used),
    ("contextMemory.previewTailChars", Use::Used),
    ("outputSanitizer.finalOutputMaxChars", Use::Used),
    ("executionTrace.enabled", Use::UsedWith("for skills")),
    ("executionTrace.traceDirectory", Use::UsedWith("for skills")),
    (
        "executionTrace.maxResultPreviewChars",
        Use::UsedWith("for skills"),
    ),
    ("traceObservability.enabled", Use::Used),
    ("traceObservability.showReportAfterExecution", Use::Used),
    ("traceObservability.degradationAlertEnabled", Use::Used),
    ("traceObservability.degradationConsecutiveFailures", Use::Used),
    ("traceObservability.degradationAlertCooldownHours", Use::Used),
    ("traceObservability.reportMaxTraces", Use::Used),
    ("traceObservability.reportMaxInlineTraces", Use::Used),
    ("traceObservability.regressionWindowSize", Use::Used),
    ("traceObservability.maxTracesPerSkill", Use::Used),
    ("traceObservability.trendWindow", Use::Used),
    ("outputSanitizer.enabled", Use::Used),
    ("outputSanitizer.stripToolTraces", Use::Used),
    (
        "historyWindow",
        Use::UsedWith("in Pi; a command has no conversation"),
    ),
    ("historyAssembly.strategy", Use::Used),
    ("historyAssembly.headMessages", Use::Used),
    ("historyAssembly.tailMessages", Use::Used),
    ("historyAssembly.middleMode", Use::Used),
    ("historyAssembly.maxCharsPerMessage", Use::Used),
    ("historyAssembly.maxTotalChars", Use::Used),
    ("contextBudgets.enabled", Use::UsedWith("for skills")),
    ("contextBudgets.overflowCeilingBytes", Use::UsedWith("for skills")),
    ("debugPromptPrefixHash", Use::Used),
    ("allowedProviderPrefixes", Use::UsedWith("for skills")),
    ("executionRouting.enabled", CHOSEN),
    ("executionRouting.preference", CHOSEN),
    ("executionRouting.skillModelPolicy", CHOSEN),
    (
        "executionRouting.models",
        Use::UsedWith("as executionRouting.enabled; a default is OpenRouter's until defaultProvider is set"),
    ),
    ("executionRouting.surfaceDecision", Use::UsedWith("for skills")),
    (
        "defaultProvider",
        Use::UsedWith("until it is set, models are called as Pi calls them, provider/id"),
    ),
    (
        "runner",
        Use::UsedWith("until it is set, pi in Pi and embedded on the command line"),
    ),
    ("promptInjection.enabled", Use::UsedWith("in Pi")),
    (
        "fallbackModels",
        Use::UsedWith("in Pi; on the command line with the runner pi and without --model"),
    ),
    ("auggieBinPath", Use::UsedWith("with retrieval.engine auggie")),
    ("retrieval.engine", Use::Used),
    (
        "retrieval.command",
        Use::UsedWith("with retrieval.engine mcp; program and arguments, without a shell"),
    ),
    (
        "retrieval.environment",
        Use::UsedWith("with retrieval.engine mcp"),
    ),
    (
        "retrieval.timeoutMs",
        Use::UsedWith("for each answer; auggie and mcp have 15 s more to get ready"),
    ),
    (
        "parallelSubagents.enabled",
        Use::UsedWith("`impresario parallel` refuses only where a file says false"),
    ),
    (
        "parallelSubagents.maxSubagents",
        Use::UsedWith("by `impresario parallel`"),
    ),
    (
        "parallelSubagents.perWorkerOutputCharCap",
        Use::UsedWith("by `impresario parallel`"),
    ),
    (
        "parallelSubagents.totalTimeoutMs",
        Use::UsedWith("by `impresario parallel`"),
    ),
];

/// What becomes of the setting at `path`.
pub fn use_of(path: &str) -> Use {
    let known = USED.iter().find(|(used, _)| *used == path);
    known.map_or(Use::NotYet, |(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::settings::KEYS;

    #[test]
    fn what_is_used_can_be_set() {
        for (path, _) in USED {
            assert!(KEYS.iter().any(|key| key.path == *path), "{path}");
        }
    }
}
