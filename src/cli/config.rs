//! `config`: what is set, where it comes from, and what in the files cannot be meant.

use super::arguments::{ConfigAction, ConfigArguments};
use super::exit::Failure;
use super::output::{print, print_json, say};
use super::run::existing_workspace;
use super::wire::{SettingLine, json_line};
use crate::settings::{Problem, Settings, SettingsPlaces};
use impresario_actors::runners::pi::installation::find_pi;
use impresario_actors::runners::pi::models::models_of;
use impresario_policies::settings::{ResolvedValue, settings_schema_text};
use std::collections::BTreeMap;
use std::process::ExitCode;

pub(super) async fn execute(arguments: ConfigArguments) -> Result<ExitCode, Failure> {
    let places = || -> Result<SettingsPlaces, Failure> {
        let workspace = existing_workspace(arguments.workspace.as_deref())?;
        Ok(SettingsPlaces::of(&workspace, !arguments.untrusted))
    };
    match &arguments.action {
        ConfigAction::Show { json } => show(&Settings::read(&places()?), *json),
        ConfigAction::Check => return Ok(check(&places()?).await),
        // A reader that went away is no failure, here and below.
        ConfigAction::Schema => {
            let _ = print_json(settings_schema_text().trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(settings: &Settings, json: bool) {
    let for_all = settings.resolved.values.iter();
    let of_agents = settings.resolved.agents.iter().flat_map(|(agent, said)| {
        let values = said.values.iter();
        values.map(move |value| (format!("agents.{agent}.{}", value.key.path), value))
    });
    let values = for_all.map(|value| (value.key.path.to_string(), value));
    let printed = values.chain(of_agents).try_for_each(|(path, value)| match json {
        true => print_json(&json_line(&SettingLine::of(path, value))),
        false => print(&in_words(&path, value)),
    });
    let _ = printed;
    for problem in &settings.problems {
        say(&problem.to_string());
    }
}

fn in_words(path: &str, value: &ResolvedValue) -> String {
    let note = match value.key.note {
        "" => String::new(),
        note => format!("; {note}"),
    };
    let origin = value.origin.in_words();
    format!("{path} = {}  ({origin}{note})", value.value)
}

async fn check(places: &SettingsPlaces) -> ExitCode {
    let mut settings = Settings::read(places);
    check_models(&mut settings, places).await;
    let _ = settings
        .problems
        .iter()
        .map(Problem::to_string)
        .chain(settings.in_any_case.iter().cloned())
        .try_for_each(|line| print(&line));
    match settings.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Only Pi knows its models and who is logged in. Where there is no Pi, nothing can be said of them.
async fn check_models(settings: &mut Settings, places: &SettingsPlaces) {
    let named = settings.models_named();
    if named.is_empty() {
        return;
    }
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let Ok(pi) = find_pi(None, &environment) else {
        return;
    };
    let Some(models) = models_of(&pi, &environment).await else {
        say(
            "`pi --list-models` did not say which models there are, so those of the settings are not checked",
        );
        return;
    };
    for (path, model) in named.into_iter().filter(|(_, model)| !models.contains(model)) {
        let why = format!("Pi lists no model {model:?}: it is not known, or nobody is logged in for it");
        settings.object_to_model(places, path, why);
    }
}
