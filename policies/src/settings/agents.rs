//! What is set for single agents, by name.

use super::keys::{AGENT_KEYS, Key};
use super::resolve::{Origin, ResolvedValue};
use crate::agents::AgentDefinition;
use crate::domain::{ExecutionMode, PromptMode, ReasoningEffort};
use serde_json::Value;
use std::time::Duration;

/// What files say of one agent; later ones win, field by field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentSettings {
    /// What is said, in the order of the table.
    pub values: Vec<ResolvedValue>,
}

impl AgentSettings {
    /// What is said of a field, and where.
    pub fn get(&self, field: &str) -> Option<&ResolvedValue> {
        self.values.iter().find(|value| value.key.path == field)
    }

    /// Takes a value for a field in place of an earlier one.
    pub(super) fn set(&mut self, key: &'static Key, value: Value, origin: Origin) {
        self.values.retain(|known| known.key != key);
        self.values.push(ResolvedValue { key, value, origin });
        let place = |value: &ResolvedValue| AGENT_KEYS.iter().position(|key| key == value.key);
        self.values.sort_by_key(place);
    }

    /// Nobody said that the agent is not to be asked.
    pub fn enabled(&self) -> bool {
        self.get("enabled").is_none_or(|value| value.value != false)
    }

    /// Lays what is said over what the agent says of itself.
    pub fn apply(&self, agent: &mut AgentDefinition) {
        for ResolvedValue { key, value, .. } in &self.values {
            let word = value.as_str().unwrap_or_default();
            let time = || Duration::from_millis(value.as_u64().unwrap_or_default());
            match key.path {
                "model" => {
                    let behind = agent.models.iter().skip(1).cloned();
                    agent.models = [word.to_string()].into_iter().chain(behind).collect();
                }
                "fallbackModels" => {
                    agent.models.truncate(1);
                    agent.fallback_models = Some(texts(value));
                }
                "reasoningEffort" => agent.reasoning_effort = ReasoningEffort::read(word),
                "temperature" => agent.temperature = value.as_f64(),
                "timeoutMs" => {
                    agent.total_timeout = Some(time());
                    agent.total_set = true;
                }
                "inactivityTimeoutMs" => agent.inactivity_timeout = Some(time()),
                "allowedTools" => agent.tools = Some(texts(value)),
                "deniedTools" => {
                    let denied = texts(value);
                    if let Some(tools) = &mut agent.tools {
                        tools.retain(|tool| !denied.contains(tool));
                    }
                }
                "loadout" => agent.loadout = Some(word.to_string()),
                "promptMode" => agent.prompt_mode = PromptMode::read(word).unwrap_or_default(),
                "executionMode" => agent.execution_mode = ExecutionMode::read(word).unwrap_or_default(),
                _ => {}
            }
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Place, SettingsFile, resolve_settings};
    use super::*;
    use crate::agents::built_in_agents;

    fn oracle_with(text: &str) -> AgentDefinition {
        let text = format!("{{\"impresario\":{{\"agents\":{{\"oracle\":{text}}}}}}}");
        let file = SettingsFile {
            place: Place::Home,
            trusted: true,
            text: Some(&text),
        };
        let resolved = resolve_settings(&[file]);
        assert_eq!(resolved.notices, [], "{text}");
        let mut oracle = built_in_agents().swap_remove(1);
        resolved.agents["oracle"].apply(&mut oracle);
        oracle
    }

    /// A value of this field that no built-in agent has.
    fn another(field: &str) -> &'static str {
        match field {
            "enabled" => "false",
            "model" => "\"house/model\"",
            "fallbackModels" => "[\"house/other\"]",
            "reasoningEffort" => "\"low\"",
            "temperature" => "0.5",
            "timeoutMs" => "7000",
            "inactivityTimeoutMs" => "8000",
            "allowedTools" => "[\"read\"]",
            "deniedTools" => "[\"grep\"]",
            "promptMode" => "\"append\"",
            "executionMode" => "\"sequential\"",
            "loadout" => "\"bath\"",
            other => panic!("{other} has no value here"),
        }
    }

    #[test]
    fn every_field_changes_the_agent() {
        let plain = built_in_agents().swap_remove(1);
        for key in AGENT_KEYS.iter().filter(|key| key.path != "enabled") {
            let set = oracle_with(&format!("{{\"{}\":{}}}", key.path, another(key.path)));
            assert_ne!(set, plain, "{}", key.path);
        }
    }

    #[test]
    fn an_empty_chain_replaces_that_of_the_agent() {
        let mut agent = AgentDefinition::new("a", "i").models(["m/1", "m/2"]);
        let settings = AgentSettings {
            values: vec![ResolvedValue {
                key: AGENT_KEYS
                    .iter()
                    .find(|key| key.path == "fallbackModels")
                    .expect("a key"),
                value: serde_json::json!([]),
                origin: Origin::Default,
            }],
        };
        settings.apply(&mut agent);
        assert_eq!(
            (agent.models, agent.fallback_models),
            (vec!["m/1".to_string()], Some(vec![]))
        );
    }
}
