//! A person in Pi chooses models for the agents: what is asked next, and what is written in the end.

use crate::bridge::wire::{SetupAsk, SetupNext};
use crate::settings::{SettingsPlaces, read_agent_models, write_agent_models};
use impresario_policies::setup_models::{SetupDecision, SetupFacts, decide_setup};

/// Reads and writes the user's settings file. `agents` are those that can be chosen for.
pub(crate) fn next_of_setup(places: &SettingsPlaces, mut agents: Vec<String>, asked: SetupAsk) -> SetupNext {
    agents.sort_unstable();
    let shown = &places.home_file_shown;
    let Some(file) = &places.home_file else {
        return told("There is no home directory, so there is no settings file to write to.".into());
    };
    let found = match read_agent_models(file, &agents) {
        Ok(found) => found,
        Err(why) => return told(format!("{shown}: {why}. Nothing was changed.")),
    };
    let facts = SetupFacts {
        agents: found.agents,
        has_settings: found.has_settings,
        models: asked.models,
        current: asked.current,
    };
    let step = decide_setup(&facts, &asked.answers);
    let (question, words) = match step.decision {
        SetupDecision::Ask(question) => (Some(question), None),
        SetupDecision::Leave => (None, Some("Nothing was changed.".to_string())),
        SetupDecision::Write { choices, clears_all } => {
            let words = match write_agent_models(file, &choices, clears_all) {
                Ok(()) => format!("Written to {shown}: holds for sub-agents that begin from now on."),
                Err(why) => format!("{shown}: {why}. Nothing was changed."),
            };
            (None, Some(words))
        }
    };
    SetupNext {
        question,
        warnings: step.warnings,
        told: words,
    }
}

fn told(words: String) -> SetupNext {
    SetupNext {
        question: None,
        warnings: Vec::new(),
        told: Some(words),
    }
}
