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

/// The settings that something acts on.
const USED: [(&str, Use); 25] = [
    (
        "routingModel",
        Use::UsedWith("in Pi; until it is set, the model of the session"),
    ),
    (
        "maxJudgeIterations",
        Use::UsedWith("0 takes the task as it stands"),
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
        Use::UsedWith("by the embedded runner; until it is set, what the provider does"),
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
        "executionRouting.skillModelPolicy",
        Use::UsedWith("where the runner is pi"),
    ),
    (
        "defaultProvider",
        Use::UsedWith("for a skill's model without one; until it is set, that of the session's model"),
    ),
    (
        "runner",
        Use::UsedWith("until it is set, pi in Pi and embedded on the command line"),
    ),
    (
        "fallbackModels",
        Use::UsedWith("in Pi; on the command line with the runner pi and without --model"),
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
            assert!(KEYS.iter().any(|key| key.path == path), "{path}");
        }
    }
}
