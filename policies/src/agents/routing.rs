//! When is an agent worth asking? What models that delegate, and people, are told of it.

use super::AgentDefinition;
use crate::compat::units;
use serde::{Deserialize, Serialize};

/// Every turn of the main agent carries what is said of every agent.
const ENTRIES_MAX: usize = 6;
const ENTRY_UNITS_MAX: usize = 60;

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
    /// Nobody can do such work without a look at the workspace.
    pub fn is_about_workspace(self) -> bool {
        match self {
            Self::Exploration | Self::Implementation | Self::Review => true,
            Self::Reasoning | Self::Research => false,
        }
    }

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
        let first = || self.use_when.first().map(String::as_str);
        let trigger = self.key_trigger().or_else(first);
        trigger.unwrap_or_else(|| self.category.word()).to_string()
    }

    /// One that is blank is none.
    fn key_trigger(&self) -> Option<&str> {
        let trigger = self.key_trigger.as_deref();
        trigger.filter(|trigger| !trigger.trim().is_empty())
    }

    /// Why it is too long for the prompt of the main agent, if it is.
    pub(super) fn too_long(&self) -> Option<String> {
        for (name, entries) in [("use_when", &self.use_when), ("avoid_when", &self.avoid_when)] {
            if entries.len() > ENTRIES_MAX {
                return Some(format!(
                    "{name}: expected {ENTRIES_MAX} entries at most, got {}",
                    entries.len()
                ));
            }
            if entries.iter().any(|entry| units(entry) > ENTRY_UNITS_MAX) {
                return Some(format!(
                    "{name}: expected entries of {ENTRY_UNITS_MAX} characters at most"
                ));
            }
        }
        None
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
        let trigger = routing.key_trigger().map(|trigger| format!(" — {trigger}"));
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
    agents.sort_by_cached_key(|agent| name_order(agent.name()));
    agents
}

/// Sorts as the name does.
pub fn name_order(name: &str) -> String {
    let weight = |letter: char| match letter {
        '_' => '\0',
        '-' => '\u{1}',
        other => other,
    };
    name.to_lowercase().chars().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, key_trigger: Option<&str>, use_when: &[&str]) -> AgentDefinition {
        AgentDefinition::new(name, "i").routing(Routing {
            category: Category::Review,
            cost: RelativeCost::Low,
            use_when: use_when.iter().map(ToString::to_string).collect(),
            avoid_when: vec!["Not now".to_string()],
            key_trigger: key_trigger.map(str::to_string),
        })
    }

    #[test]
    fn a_person_reads_more_than_a_model() {
        let agents = [
            agent("b", Some(""), &["Now"]),
            agent("a", Some("Is it right"), &[]),
            AgentDefinition::new("c", "i"),
        ];
        assert_eq!(
            routing_matrix(&agents),
            ["`a` — Is it right", "`b` — Now", "`c` — custom agent"]
        );
        let summary = "- **a** [review, low cost] — Is it right\n  Avoid when:\n  - Not now\n\
                       - **b** [review, low cost]\n  Use when:\n  - Now\n  Avoid when:\n  - Not now\n- **c** — —";
        assert_eq!(routing_summary(&agents), summary);
    }
}
