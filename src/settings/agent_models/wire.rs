//! The models of agents as JSON.

use impresario_policies::setup_models::{AgentSetting, Change, SetupChoice};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

const MODEL: &str = "model";
const EFFORT: &str = "reasoningEffort";
/// Ours, and that of pi-blackbytes, which is understood as well.
const SECTIONS: [[&str; 2]; 2] = [["impresario", "agents"], ["blackbytes", "sub_agents"]];

pub(super) fn parse(text: &str) -> Result<Object, String> {
    if text.trim().is_empty() {
        return Ok(Object::new());
    }
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    match value.map_err(|error| format!("it is no JSON: {error}"))? {
        Value::Object(settings) => Ok(settings),
        _ => Err("it is no object".to_string()),
    }
}

pub(super) fn print(settings: &Object) -> String {
    format!("{:#}\n", Value::Object(settings.clone()))
}

fn section<'a>(settings: &'a Object, [outer, inner]: [&str; 2]) -> Option<&'a Object> {
    settings.get(outer)?.get(inner)?.as_object()
}

fn section_mut<'a>(settings: &'a mut Object, [outer, inner]: [&str; 2]) -> Option<&'a mut Object> {
    settings.get_mut(outer)?.get_mut(inner)?.as_object_mut()
}

/// What is set; ours comes before the other.
pub(super) fn setting(settings: &Object, agent: &str) -> AgentSetting {
    let found = |key: &str| {
        let mut sections = SECTIONS.iter().filter_map(|place| section(settings, *place));
        sections.find_map(|agents| Some(agents.get(agent)?.get(key)?.as_str()?.to_string()))
    };
    AgentSetting {
        agent: agent.to_string(),
        model: found(MODEL),
        effort: found(EFFORT),
    }
}

pub(super) fn has_settings(settings: &Object) -> bool {
    let mut sections = SECTIONS.iter().filter_map(|place| section(settings, *place));
    sections.any(|agents| agents.values().any(Value::is_object))
}

pub(super) fn apply(settings: &mut Object, choices: &[SetupChoice], clears_all: bool) {
    for place in SECTIONS {
        let Some(agents) = section_mut(settings, place) else {
            continue;
        };
        if clears_all {
            let every = agents.values_mut().filter_map(Value::as_object_mut);
            every.for_each(|agent| drop(agent.shift_remove(MODEL)));
        }
        for choice in choices {
            let Some(agent) = agents.get_mut(&choice.agent).and_then(Value::as_object_mut) else {
                continue;
            };
            for (key, change) in [(MODEL, &choice.model), (EFFORT, &choice.effort)] {
                if *change == Change::Clear {
                    agent.shift_remove(key);
                }
            }
        }
    }
    let place = target(settings);
    for choice in choices {
        for (key, change) in [(MODEL, &choice.model), (EFFORT, &choice.effort)] {
            if let Change::Set(value) = change {
                set(settings, place, &choice.agent, key, value);
            }
        }
    }
    for [outer, inner] in SECTIONS {
        tidy(settings, outer, inner);
    }
}

/// Where this user's agents stand already; ours where neither is there.
fn target(settings: &Object) -> [&'static str; 2] {
    let [ours, theirs] = SECTIONS;
    let uses_theirs =
        section(settings, ours).is_none() && settings.get(theirs[0]).is_some_and(Value::is_object);
    if uses_theirs { theirs } else { ours }
}

fn set(settings: &mut Object, [outer, inner]: [&str; 2], agent: &str, key: &str, value: &str) {
    let agents = object_in(object_in(settings, outer), inner);
    object_in(agents, agent).insert(key.to_string(), Value::from(value));
}

/// What is no object means nothing there, and makes room for one.
fn object_in<'a>(within: &'a mut Object, key: &str) -> &'a mut Object {
    let found = within.entry(key).or_insert_with(|| Value::Object(Object::new()));
    if !found.is_object() {
        *found = Value::Object(Object::new());
    }
    match found {
        Value::Object(object) => object,
        _ => unreachable!("it was made one"),
    }
}

/// Agents of which nothing is left go, and so does a place without agents.
fn tidy(settings: &mut Object, outer: &str, inner: &str) {
    let Some(outer) = settings.get_mut(outer).and_then(Value::as_object_mut) else {
        return;
    };
    let Some(agents) = outer.get_mut(inner).and_then(Value::as_object_mut) else {
        return;
    };
    agents.retain(|_, agent| agent.as_object().is_none_or(|agent| !agent.is_empty()));
    if agents.is_empty() {
        outer.shift_remove(inner);
    }
}
