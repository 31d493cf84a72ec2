//! `trace report` and `trace view`: what the trace files of a workspace say, as text, as JSON, as a page.

use super::arguments::{ReportArguments, ViewArguments};
use super::exit::Failure;
use super::run::existing_workspace;
use super::wire::{TraceLine, TraceReportLine};
use crate::settings::SettingsPlaces;
use crate::traces::{NotShown, Traces, viewed};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Whoever types the command in a workspace trusts it as much as any program started there.
const TRUSTED: bool = true;

pub(super) fn report(arguments: ReportArguments) -> Result<ExitCode, Failure> {
    let traces = traces_of(arguments.workspace.as_deref())?;
    let reported = traces.report(&arguments.skill).map_err(failure)?;
    if let Some(file) = &arguments.html {
        return write_page(file, &traces.report_page(&arguments.skill, &reported));
    }
    print(&match arguments.json {
        true => TraceReportLine::of(&arguments.skill, &reported).to_json(),
        false => reported.text(),
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn view(arguments: ViewArguments) -> Result<ExitCode, Failure> {
    let traces = traces_of(arguments.workspace.as_deref())?;
    let (trace, verdict) = traces.view(&arguments.file).map_err(failure)?;
    if let Some(file) = &arguments.html {
        return write_page(file, &Traces::run_page(&arguments.file, &trace, &verdict));
    }
    print(&match arguments.json {
        true => TraceLine::of(&arguments.file, &trace, &verdict).to_json(),
        false => viewed(&arguments.file, &trace, &verdict),
    });
    Ok(ExitCode::SUCCESS)
}

fn traces_of(workspace: Option<&Path>) -> Result<Traces, Failure> {
    let workspace = existing_workspace(workspace)?;
    Ok(Traces::of(&SettingsPlaces::of(&workspace, TRUSTED)))
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
        print(page);
        return Ok(ExitCode::SUCCESS);
    }
    let written = std::fs::write(file, page);
    written.map_err(|error| Failure::failed(format!("failed to write {}: {error}", file.display())))?;
    let _ = writeln!(std::io::stderr(), "impresario: wrote {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// A reader that went away is no failure.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
}
