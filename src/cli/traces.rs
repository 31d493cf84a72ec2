//! `trace report` and `trace view`: what the trace files of a workspace say, as text, as JSON, as a page.

use super::arguments::{ReportArguments, TracesArguments, ViewArguments};
use super::exit::Failure;
use super::output::{print, print_json, say};
use super::run::existing_workspace;
use super::trust::was_trusted;
use super::wire::{TraceLine, TraceReportLine, json_line};
use crate::settings::SettingsPlaces;
use crate::traces::{NotShown, Traces, viewed};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn report(arguments: ReportArguments) -> Result<ExitCode, Failure> {
    let traces = traces_of(&arguments.traces)?;
    let reported = traces.report(&arguments.skill).map_err(failure)?;
    if let Some(file) = &arguments.traces.html {
        return write_page(file, &traces.report_page(&arguments.skill, &reported));
    }
    // A reader that went away is no failure, here and below.
    let _ = match arguments.traces.json {
        true => print_json(&json_line(&TraceReportLine::of(&arguments.skill, &reported))),
        false => print(reported.text().trim_end()),
    };
    Ok(ExitCode::SUCCESS)
}

pub(super) fn view(arguments: ViewArguments) -> Result<ExitCode, Failure> {
    let traces = traces_of(&arguments.traces)?;
    let (trace, verdict) = traces.view(&arguments.file).map_err(failure)?;
    if let Some(file) = &arguments.traces.html {
        return write_page(file, &Traces::run_page(&arguments.file, &trace, &verdict));
    }
    let _ = match arguments.traces.json {
        true => print_json(&json_line(&TraceLine::of(&arguments.file, &trace, &verdict))),
        false => print(viewed(&arguments.file, &trace, &verdict).trim_end()),
    };
    Ok(ExitCode::SUCCESS)
}

fn traces_of(asked: &TracesArguments) -> Result<Traces, Failure> {
    let workspace = existing_workspace(asked.workspace.as_deref())?;
    let trusted = was_trusted(&workspace, asked.trust, &asked.state)?;
    Ok(Traces::of(&SettingsPlaces::of(&workspace, trusted)))
}

fn failure(why: NotShown) -> Failure {
    let said = why.to_string();
    let said = said.strip_prefix("[System]: ").unwrap_or(&said).to_string();
    match why {
        NotShown::NoName(_) => Failure::usage(said),
        NotShown::Off | NotShown::NotFound(_) | NotShown::Directory(_) => Failure::failed(said),
    }
}

/// A page for a person; `-` is stdout.
fn write_page(file: &Path, page: &str) -> Result<ExitCode, Failure> {
    if file == Path::new("-") {
        let _ = print(page.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let written = std::fs::write(file, page);
    written.map_err(|error| Failure::failed(format!("failed to write {}: {error}", file.display())))?;
    say(&format!("wrote {}", file.display()));
    Ok(ExitCode::SUCCESS)
}
