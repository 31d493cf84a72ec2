//! When is an agent worth asking? What models that delegate, and people, are told of it.

use super::AgentDefinition;
use serde::{Deserialize, Serialize};

/// What kind of work it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Finding places.
    Exploration,
    /// Thinking something through.
    Reasoning,
    /// Finding out what the workspace does not tell.
    Research,
    /// Changing something.
    Implementation,
    /// Judging a change.
    Review,
}

impl Category {
    /// As it stands in files and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exploration => "exploration",
            Self::Reasoning => "reasoning",
            Self::Research => "research",
            Self::Implementation => "implementation",
            Self::Review => "review",
        }
    }
}

/// How dear it is, compared with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelativeCost {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl RelativeCost {
    /// As it stands in files and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// When to ask it, and when not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// What kind of work it does.
    pub category: Category,
    /// How dear it is.
    pub cost: RelativeCost,
    /// Each in a few words.
    pub use_when: Vec<String>,
    /// Each in a few words.
    pub avoid_when: Vec<String>,
    /// The one sign that it is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_trigger: Option<String>,
}

impl Routing {
    /// The sign that it is wanted, in a few words.
    fn trigger(&self) -> String {
        let first = || self.use_when.first().cloned();
        let trigger = self.key_trigger.clone().or_else(first);
        trigger.unwrap_or_else(|| self.category.word().to_string())
    }
}

/// One line an agent, for a model that chooses between them.
pub fn routing_matrix<'a>(agents: impl IntoIterator<Item = &'a AgentDefinition>) -> Vec<String> {
    let lines = in_order(agents).into_iter().map(|agent| {
        let trigger = agent.routing.as_ref().map(Routing::trigger);
        format!(
            "`{}` — {}",
            agent.name(),
            trigger.as_deref().unwrap_or("custom agent")
        )
    });
    lines.collect()
}

/// When to ask whom, for a person: a line an agent, and below it when it is worth asking and when not.
pub fn routing_summary<'a>(agents: impl IntoIterator<Item = &'a AgentDefinition>) -> String {
    let mut lines = Vec::new();
    for agent in in_order(agents) {
        let Some(routing) = &agent.routing else {
            lines.push(format!("- **{}** — —", agent.name()));
            continue;
        };
        let trigger = routing
            .key_trigger
            .as_ref()
            .map(|trigger| format!(" — {trigger}"));
        lines.push(format!(
            "- **{}** [{}, {} cost]{}",
            agent.name(),
            routing.category.word(),
            routing.cost.word(),
            trigger.unwrap_or_default()
        ));
        for (heading, entries) in [
            ("Use when", &routing.use_when),
            ("Avoid when", &routing.avoid_when),
        ] {
            if !entries.is_empty() {
                lines.push(format!("  {heading}:"));
                lines.extend(entries.iter().map(|entry| format!("  - {entry}")));
            }
        }
    }
    lines.join("\n")
}

/// By name, as people sort names: `_` before `-` before digits before letters.
fn in_order<'a>(agents: impl IntoIterator<Item = &'a AgentDefinition>) -> Vec<&'a AgentDefinition> {
    let mut agents = agents.into_iter().collect::<Vec<_>>();
    agents.sort_by_cached_key(|agent| {
        let weight = |letter: char| match letter {
            '_' => '\0',
            '-' => '\u{1}',
            other => other,
        };
        agent.name().chars().map(weight).collect::<String>()
    });
    agents
}
