//! `config`: what is set, where it comes from, and what in the files cannot be meant.

use super::arguments::{ConfigAction, ConfigArguments};
use super::exit::Failure;
use super::output::{print, print_json, say};
use super::run::existing_workspace;
use super::wire::SettingLine;
use crate::settings::{Settings, SettingsPlaces, Use, origin_in_words, use_of, value_in_words};
use impresario_policies::settings::{ResolvedValue, settings_schema_text};
use std::process::ExitCode;

pub(super) fn execute(arguments: ConfigArguments) -> Result<ExitCode, Failure> {
    let read = || -> Result<Settings, Failure> {
        let workspace = existing_workspace(arguments.workspace.as_deref())?;
        Ok(Settings::read(&SettingsPlaces::of(
            &workspace,
            !arguments.untrusted,
        )))
    };
    match &arguments.action {
        ConfigAction::Show { json } => show(&read()?, *json),
        ConfigAction::Check => return Ok(check(&read()?)),
        // A reader that went away is no failure, here and below.
        ConfigAction::Schema => {
            let _ = print_json(settings_schema_text().trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(settings: &Settings, json: bool) {
    let printed = settings.resolved.values.iter().try_for_each(|value| match json {
        true => print_json(&SettingLine::of(value).to_json()),
        false => print(&in_words(value)),
    });
    let _ = printed;
    for problem in &settings.problems {
        say(&problem.to_string());
    }
}

fn in_words(value: &ResolvedValue) -> String {
    let note = match use_of(value.key.path) {
        Use::Used => String::new(),
        Use::UsedWith(note) => format!("; {note}"),
        Use::NotYet => "; not used yet".to_string(),
    };
    let (path, origin) = (value.key.path, origin_in_words(value.origin));
    format!("{path} = {}  ({origin}{note})", value_in_words(&value.value))
}

fn check(settings: &Settings) -> ExitCode {
    let _ = settings
        .problems
        .iter()
        .try_for_each(|problem| print(&problem.to_string()));
    match settings.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
