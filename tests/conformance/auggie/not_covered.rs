//! What records say and nothing here says; `docs/router-coverage.md` has the same list.

/// By function, with what holds the like of it.
pub const LIST: [(&str, &str); 11] = [
    ("actor_judge", "whether a call can be aborted"),
    ("compose_middleware", "whole: a result has one reviewer"),
    (
        "context_memory_mcp",
        "whole: the server is another protocol's, tests/command/memory_server.rs holds it",
    ),
    (
        "extension_commands",
        "whole: the extension completes and picks, tests/pi/typed_input.rs holds it",
    ),
    ("parallel_run", "the servers of a worker: ours have tools"),
    (
        "prompt_injection",
        "whole: the extension teaches, tests/pi/typed_input.rs holds it",
    ),
    ("router_scenario", "locks: nobody's typing is locked"),
    (
        "router_scenario",
        "logs that are no events: settings have notices, tests/command/settings.rs holds them",
    ),
    (
        "router_scenario",
        "the servers of a sub-agent, and an answer without a word",
    ),
    (
        "skill_suggest_side_branch",
        "whole: the extension completes, never part of a release",
    ),
    (
        "state_machine",
        "whole: where a run stands is read from its journal, there is no machine to move",
    ),
];

/// Whether no record of this function is replayed.
pub fn is_whole(function: &str) -> bool {
    let whole = |(name, what): &(&str, &str)| *name == function && what.starts_with("whole");
    LIST.iter().any(whole)
}
