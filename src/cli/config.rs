//! `config`: what is set, where it comes from, and what in the files cannot be meant.

use super::arguments::{ConfigAction, ConfigArguments};
use super::exit::Failure;
use super::run::existing_workspace;
use super::wire::SettingLine;
use crate::settings::{Settings, SettingsPlaces, Use, origin_in_words, use_of, value_in_words};
use impresario_policies::settings::{ResolvedValue, settings_schema_text};
use std::io::Write;
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
        ConfigAction::Schema => print(&settings_schema_text()),
    }
    Ok(ExitCode::SUCCESS)
}

/// A reader that went away is no failure.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn show(settings: &Settings, json: bool) {
    let line = match json {
        true => |value: &ResolvedValue| SettingLine::of(value).to_json(),
        false => in_words,
    };
    let lines = settings.resolved.values.iter().map(|value| line(value) + "\n");
    print(&lines.collect::<String>());
    for problem in &settings.problems {
        let _ = writeln!(std::io::stderr(), "impresario: {problem}");
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
    let lines = settings.problems.iter().map(|problem| format!("{problem}\n"));
    print(&lines.collect::<String>());
    match settings.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
