//! The wizard that chooses models, played to its end: what is asked, and what stands in the file then.

use super::{object, only, text};
use crate::json::Json;
use crate::vectors::{Answer, Case};
use impresario::settings::{read_agent_models, write_agent_models};
use impresario_policies::setup_models::{
    ListedModel, SetupAnswer, SetupDecision, SetupFacts, SetupQuestion, decide_setup,
};
use std::path::Path;

pub fn setup_models(case: &Case) -> Answer {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("settings.json");
    if case.input.get("settings").is_some() {
        write(&file, case.get("settings"));
    }
    let mut prompts = Vec::new();
    play(case, &file, &mut prompts);
    let after = std::fs::read_to_string(&file).ok();
    let after = after.map(|text| match Json::parse(&text) {
        Ok(settings) => where_the_peer_writes(case, settings),
        Err(_) => object(vec![("$raw", Json::String(text))]),
    });
    // A file that nobody wrote to counts as none with the peer, whatever stands in it.
    let unchanged = after.as_ref() == Some(case.get("settings"));
    Answer::Value(object(vec![
        ("prompts", Json::Array(prompts)),
        (
            "settings_after",
            after
                .filter(|_| !unchanged || is_no_json(case))
                .unwrap_or(Json::Null),
        ),
    ]))
}

pub fn covered(recorded: &Json) -> Json {
    only(recorded, &["prompts", "settings_after"])
}

fn is_no_json(case: &Case) -> bool {
    case.get("settings").as_str().is_some()
}

fn write(file: &Path, settings: &Json) {
    let text = match settings {
        Json::String(raw) => raw.clone(),
        settings => settings.to_text(),
    };
    std::fs::write(file, text).expect("a file");
}

fn play(case: &Case, file: &Path, prompts: &mut Vec<Json>) {
    let agents = match case.texts("agents") {
        none if none.is_empty() => vec!["explore".to_string(), "oracle".to_string()],
        agents => agents,
    };
    let Ok(found) = read_agent_models(file, &agents) else {
        return;
    };
    let throws = case.flag("registry_throws");
    let facts = SetupFacts {
        agents: found.agents,
        has_settings: found.has_settings,
        models: case
            .list("models")
            .iter()
            .filter(|_| !throws)
            .filter_map(listed)
            .collect(),
        current: case.input.get("current").and_then(listed),
    };
    let mut answers = Vec::new();
    loop {
        match decide_setup(&facts, &answers).decision {
            SetupDecision::Ask(question) => {
                prompts.push(shown(&question));
                edit_meanwhile(case, prompts.len(), file);
                let said = case.list("answers").get(answers.len()).unwrap_or(&Json::Null);
                answers.push(answer(said, &question));
            }
            SetupDecision::Write { choices, clears_all } => {
                return write_agent_models(file, &choices, clears_all).expect("written");
            }
            SetupDecision::Leave => return,
        }
    }
}

fn edit_meanwhile(case: &Case, prompt: usize, file: &Path) {
    let edit = case.get("edit_during");
    if edit.get("at_prompt").and_then(Json::as_number) == Some(prompt as f64) {
        write(file, edit.get("settings").unwrap_or(&Json::Null));
    }
}

fn listed(model: &Json) -> Option<ListedModel> {
    Some(ListedModel {
        provider: model.get("provider")?.as_str()?.to_string(),
        id: model.get("id")?.as_str()?.to_string(),
        name: text(model, "name"),
        reasons: match model.get("reasoning") {
            Some(Json::Bool(reasons)) => Some(*reasons),
            _ => None,
        },
        sees: super::texts(model, "input").contains(&"image".to_string()),
    })
}

fn shown(question: &SetupQuestion) -> Json {
    let texts = |lines: &[String]| Json::Array(lines.iter().cloned().map(Json::String).collect());
    let kind = |kind: &str| ("kind", Json::String(kind.to_string()));
    match question {
        SetupQuestion::Select { options, .. } => object(vec![kind("select"), ("options", texts(options))]),
        SetupQuestion::Confirm { lines, .. } if lines.is_empty() => object(vec![kind("confirm")]),
        SetupQuestion::Confirm { lines, .. } => object(vec![kind("confirm"), ("summary", texts(lines))]),
    }
}

/// An option by its place or how it begins; a word that none begins with closes the list.
fn answer(said: &Json, question: &SetupQuestion) -> SetupAnswer {
    match (said, question) {
        (Json::Bool(yes), SetupQuestion::Confirm { .. }) => SetupAnswer::Said { yes: *yes },
        (Json::Number(place), SetupQuestion::Select { .. }) => SetupAnswer::Chose { place: *place as u32 },
        (Json::String(word), SetupQuestion::Select { options, .. }) => {
            let place = options
                .iter()
                .position(|option| option.starts_with(word.as_str()));
            place.map_or(SetupAnswer::Closed, |place| SetupAnswer::Chose {
                place: place as u32,
            })
        }
        _ => SetupAnswer::Closed,
    }
}

/// Where the file has no object of the peer's, ours is written to.
fn where_the_peer_writes(case: &Case, settings: Json) -> Json {
    let Json::Object(mut entries) = settings else {
        return settings;
    };
    let had_theirs = case.get("settings").get("blackbytes").is_some();
    let ours = entries.iter().position(|(key, _)| key == "impresario");
    if let (false, Some(place)) = (had_theirs, ours) {
        let (_, ours) = entries.remove(place);
        let agents = ours.get("agents").cloned().unwrap_or(Json::Null);
        entries.push(("blackbytes".to_string(), object(vec![("sub_agents", agents)])));
    }
    Json::Object(entries)
}
