//! How did each agent do so far: how often it was asked, how often it succeeded, how long it took, what it cost, and what
//! failed?
//!
//! Added up from runs that are over, as the journal has them, so that it is the same after every restart.

use crate::agents::name_order;
use crate::domain::{ModelUsage, TerminalState, WhatToRun};
use crate::projection::RunProjection;
use crate::sight::line;
use std::collections::BTreeMap;

/// So many hints are shown of one kind of failure, the newest first.
const HINTS_MAX: usize = 3;
const HINT_CHARACTERS_MAX: usize = 200;

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOver {
    /// The agent, or `skill:` and the skill.
    pub name: String,
    /// From its acceptance to its end.
    pub took_ms: f64,
    /// Why it did not succeed: the kind, and a few words.
    pub failure: Option<(String, String)>,
    /// Its tool calls.
    pub calls: u64,
    /// What it used, as far as that is known.
    pub used: ModelUsage,
    /// Of a part of it nobody knows what it used.
    pub is_uncounted: bool,
}

/// What the runs of one agent come to.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTally {
    /// The agent or the skill.
    pub name: String,
    /// Runs that are over.
    pub runs: u64,
    /// Those that succeeded.
    pub succeeded: u64,
    /// All of their times together.
    pub took_ms: f64,
    /// All of their tool calls.
    pub calls: u64,
    /// Tokens of all of them, as far as they are known.
    pub tokens: u64,
    /// What they cost together, as far as that is known.
    pub cost_usd: f64,
    /// Runs of which the cost is not known, or not of all their parts.
    pub unpriced: u64,
}

/// Failures of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureTally {
    /// The kind: a reason's code.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// The newest ones in a few words each, the newest first.
    pub hints: Vec<String>,
}

/// What runs come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// By name.
    pub agents: Vec<AgentTally>,
    /// The most frequent first; of those that are as frequent, the one that happened last.
    pub failures: Vec<FailureTally>,
    /// All runs.
    pub total: u64,
    /// Which part of them succeeded; all of none.
    pub success_rate: f64,
}

impl RunOver {
    /// What counts of a run; none while it is not over.
    pub fn of(run: &RunProjection) -> Option<Self> {
        let (accepted, ended) = (run.accepted.as_ref()?, run.ended.as_ref()?);
        let failure = || {
            let reason = ended.reason.as_ref();
            let kind = reason.map_or_else(|| ended.state.word().into(), |reason| reason.code.word());
            (
                kind,
                reason.map_or_else(String::new, |reason| reason.message.clone()),
            )
        };
        let used = run.used();
        Some(Self {
            name: match &accepted.request.what {
                WhatToRun::Agent(name) => name.clone(),
                WhatToRun::Skill(name) => format!("skill:{name}"),
            },
            took_ms: run.took_ms().unwrap_or_default() as f64,
            failure: (ended.state != TerminalState::Succeeded).then(failure),
            calls: run
                .attempts
                .iter()
                .map(|attempt| attempt.tools.len() as u64)
                .sum(),
            used: used.counted,
            is_uncounted: !used.is_whole(),
        })
    }
}

/// Adds up runs, the oldest first.
pub fn add_up<'a>(runs: impl IntoIterator<Item = &'a RunOver>) -> Statistics {
    let mut agents: BTreeMap<&str, AgentTally> = BTreeMap::new();
    let mut failures: Vec<FailureTally> = Vec::new();
    let (mut total, mut succeeded) = (0, 0);
    for run in runs {
        total += 1;
        succeeded += u64::from(run.failure.is_none());
        agents
            .entry(&run.name)
            .or_insert_with(|| AgentTally::none(&run.name))
            .add(run);
        if let Some((kind, hint)) = &run.failure {
            add_failure(&mut failures, kind, hint);
        }
    }
    let mut agents = agents.into_values().collect::<Vec<_>>();
    agents.sort_by_cached_key(|agent| name_order(&agent.name));
    // The one that happened last stands last, and a stable sort leaves it before those that are as frequent.
    failures.reverse();
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    Statistics {
        agents,
        failures,
        total,
        success_rate: match total {
            0 => 1.0,
            _ => succeeded as f64 / total as f64,
        },
    }
}

fn add_failure(failures: &mut Vec<FailureTally>, kind: &str, hint: &str) {
    let known = failures.iter().position(|failure| failure.kind == kind);
    let mut failure = known.map_or_else(
        || FailureTally {
            kind: kind.to_string(),
            count: 0,
            hints: Vec::new(),
        },
        |place| failures.remove(place),
    );
    failure.count += 1;
    if !hint.is_empty() {
        failure.hints.insert(0, line(hint, HINT_CHARACTERS_MAX));
        failure.hints.truncate(HINTS_MAX);
    }
    failures.push(failure);
}

impl AgentTally {
    fn none(name: &str) -> Self {
        Self {
            name: name.to_string(),
            runs: 0,
            succeeded: 0,
            took_ms: 0.0,
            calls: 0,
            tokens: 0,
            cost_usd: 0.0,
            unpriced: 0,
        }
    }

    fn add(&mut self, run: &RunOver) {
        let used = run.used;
        self.runs += 1;
        self.succeeded += u64::from(run.failure.is_none());
        self.took_ms += run.took_ms;
        self.calls += run.calls;
        self.tokens = self.tokens.saturating_add(used.tokens());
        self.cost_usd += used.cost_usd.unwrap_or_default();
        let is_priced = used.is_nothing() || used.cost_usd.is_some();
        self.unpriced += u64::from(!is_priced || run.is_uncounted);
    }

    /// How long one took on average, in milliseconds.
    pub fn average_ms(&self) -> f64 {
        match self.runs {
            0 => 0.0,
            runs => (self.took_ms / runs as f64 + 0.5).floor(),
        }
    }
}

/// One line an agent below a line for all of them. `scope` says which runs: `this session`.
pub fn statistics_words(statistics: &Statistics, scope: &str) -> String {
    if statistics.total == 0 {
        return format!("No delegations {scope}.");
    }
    let mut words = format!("Delegations {scope}: {} total", statistics.total);
    for agent in &statistics.agents {
        let cost = match agent.cost_usd > 0.0 {
            true => format!(", ${:.4}", agent.cost_usd),
            false => String::new(),
        };
        words.push_str(&format!(
            "\n  {}: {}x ({}/{} ok, avg {}ms{cost})",
            agent.name,
            agent.runs,
            agent.succeeded,
            agent.runs,
            agent.average_ms()
        ));
        if agent.unpriced > 0 {
            words.push_str(&format!(", cost of {} unknown", agent.unpriced));
        }
    }
    words
}

/// What failed, a line each kind and one below it for each hint; nothing where nothing did.
pub fn failure_words(statistics: &Statistics) -> String {
    let mut words = String::new();
    for failure in &statistics.failures {
        words.push_str(&format!("  {}: {}x\n", failure.kind, failure.count));
        for hint in &failure.hints {
            words.push_str(&format!("    {hint}\n"));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, took_ms: f64) -> RunOver {
        RunOver {
            name: name.into(),
            took_ms,
            failure: None,
            calls: 2,
            used: ModelUsage::default(),
            is_uncounted: false,
        }
    }

    fn failed(kind: &str, hint: &str) -> RunOver {
        RunOver {
            failure: Some((kind.into(), hint.into())),
            ..run("a", 1.0)
        }
    }

    fn costs(cost_usd: Option<f64>) -> RunOver {
        RunOver {
            used: ModelUsage {
                input: 100,
                output: 10,
                cache_read: 5,
                cache_write: 1,
                cost_usd,
            },
            ..run("explore", 1_200.0)
        }
    }

    #[test]
    fn each_agent_has_a_line_and_the_cost_is_said_where_there_is_one() {
        let statistics = add_up(&[run("b", 5.0), run("a", 100.0), run("C", 7.0), run("a", 201.0)]);
        let wanted = "Delegations this session: 4 total\n  a: 2x (2/2 ok, avg 151ms)\n  b: 1x (1/1 ok, avg 5ms)\n  \
                      C: 1x (1/1 ok, avg 7ms)";
        assert_eq!(statistics_words(&statistics, "this session"), wanted);
        let statistics = add_up(&[costs(Some(0.01)), costs(None)]);
        let wanted =
            "Delegations here: 2 total\n  explore: 2x (2/2 ok, avg 1200ms, $0.0100), cost of 1 unknown";
        assert_eq!(statistics_words(&statistics, "here"), wanted);
        assert_eq!(
            (statistics.agents[0].tokens, statistics.agents[0].calls),
            (232, 4)
        );
        assert_eq!(
            statistics_words(&add_up(&[]), "this session"),
            "No delegations this session."
        );
        assert!((add_up(&[]).success_rate - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn failures_are_grouped_the_most_frequent_and_the_newest_first() {
        let runs = [
            failed("failed", "h1"),
            failed("timed_out", "h2"),
            failed("failed", "h3"),
            failed("timed_out", "h4"),
            failed("failed", "h5"),
            failed("failed", "h6"),
        ];
        let statistics = add_up(&runs);
        let kinds = statistics
            .failures
            .iter()
            .map(|failure| (failure.kind.as_str(), failure.count));
        assert_eq!(kinds.collect::<Vec<_>>(), [("failed", 4), ("timed_out", 2)]);
        assert_eq!(statistics.failures[0].hints, ["h6", "h5", "h3"]);
        assert!(statistics.success_rate.abs() < f64::EPSILON);
        let newest = add_up(&[failed("x", ""), failed("y", "")]);
        assert_eq!(failure_words(&newest), "  y: 1x\n  x: 1x\n");
    }
}
