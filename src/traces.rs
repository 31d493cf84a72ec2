//! Looking at traces: what a person asks for in Pi or on the command line.

use crate::settings::{Settings, SettingsPlaces};
use impresario_actors::event_log::log_event;
use impresario_actors::trace_files::{TraceFiles, TracesFound, Unreadable};
use impresario_policies::domain::TraceVerdict;
use impresario_policies::router_log;
use impresario_policies::settings::Configured;
use impresario_policies::skill_lookup::is_skill_name;
use impresario_policies::trace_classify::classify_trace;
use impresario_policies::trace_file::Trace;
use impresario_policies::trace_page::{LeftOut, report_page, run_page};
use impresario_policies::trace_report::{TraceReport, report_files};
use impresario_policies::trace_view::{ViewSettings, view_trace};
use impresario_policies::user_lines::{OBSERVABILITY_OFF, invalid_skill_name, trace_not_found};
use std::io;
use std::path::PathBuf;

/// So many traces are offered at most.
const LISTED_MAX: usize = 100;

/// The traces of a workspace, as its settings have them.
#[derive(Debug, Clone)]
pub struct Traces {
    workspace: PathBuf,
    settings: Configured,
}

/// What the traces of a skill say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// For the person.
    pub report: TraceReport,
    /// What it was made of, and what was left out.
    pub found: TracesFound,
}

/// Why nothing can be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotShown {
    /// A setting says so.
    #[error("{OBSERVABILITY_OFF}")]
    Off,
    /// No such trace.
    #[error("{}", trace_not_found(.0))]
    NotFound(String),
    /// No skill has such a name.
    #[error("{}", invalid_skill_name(.0))]
    NoName(String),
    /// The directory cannot be used.
    #[error("[System]: The trace directory cannot be read: {0}.")]
    Directory(String),
}

impl Traces {
    /// Reads the settings. Waits for files.
    pub fn of(places: &SettingsPlaces) -> Self {
        let settings = Settings::read(places);
        Self {
            workspace: places.workspace.clone(),
            settings: settings.configured(),
        }
    }

    /// Reports on a skill. Waits for files.
    pub fn report(&self, skill: &str) -> Result<Reported, NotShown> {
        if !self.settings.observed {
            return Err(NotShown::Off);
        }
        if !is_skill_name(skill) {
            return Err(NotShown::NoName(skill.chars().take(80).collect()));
        }
        let settings = &self.settings.report;
        // Those beyond the report are the history of its oldest ones.
        let wanted = settings.traces_max + settings.regression_window;
        let found = match self.files()? {
            Some(files) => files.of_skill(skill, wanted).map_err(unreadable)?,
            None => TracesFound::default(),
        };
        let (names, traces): (Vec<_>, Vec<_>) = found
            .traces
            .iter()
            .map(|found| (found.file.clone(), found.trace.clone()))
            .unzip();
        let report = report_files(skill, &traces, &names, settings);
        log_event(&router_log::trace_report(skill, report.verdicts.len()));
        Ok(Reported { report, found })
    }

    /// Shows one trace. Waits for files.
    pub fn view(&self, file: &str) -> Result<(Trace, TraceVerdict), NotShown> {
        if !self.settings.observed {
            return Err(NotShown::Off);
        }
        let not_found = || NotShown::NotFound(file.chars().take(120).collect());
        let trace = match self.files()? {
            Some(files) => files.one(file).map_err(|why| match why {
                Unreadable::Missing => not_found(),
                why => NotShown::NotFound(format!("{file}: {why}")),
            })?,
            None => return Err(not_found()),
        };
        let verdict = classify_trace(&trace);
        log_event(&router_log::trace_view(file, &trace, &verdict));
        Ok((trace, verdict))
    }

    /// The report as a page.
    pub fn report_page(&self, skill: &str, reported: &Reported) -> String {
        let traces = reported.found.traces.iter();
        let traces = traces.map(|found| (found.file.clone(), found.trace.clone()));
        let skipped = reported.found.skipped.iter().map(|(file, why)| LeftOut {
            file: file.clone(),
            why: why.to_string(),
        });
        let (traces, left_out) = (traces.collect::<Vec<_>>(), skipped.collect::<Vec<_>>());
        report_page(skill, &traces, &left_out, &self.settings.report)
    }

    /// One trace as a page.
    pub fn run_page(file: &str, trace: &Trace, verdict: &TraceVerdict) -> String {
        run_page(file, trace, verdict)
    }

    /// The newest traces of all skills. Waits for files.
    pub fn list(&self) -> Result<Vec<(String, String, u64)>, NotShown> {
        match self.files()? {
            Some(files) if self.settings.observed => files.newest(LISTED_MAX).map_err(unreadable),
            Some(_) | None => Ok(Vec::new()),
        }
    }

    fn files(&self) -> Result<Option<TraceFiles>, NotShown> {
        TraceFiles::open(&self.workspace, &self.settings.trace_directory).map_err(unreadable)
    }
}

impl Reported {
    /// The report, and below it what was left out.
    pub fn text(&self) -> String {
        let mut text = self.report.text.clone();
        if !self.found.skipped.is_empty() {
            text.push_str("\n\n  Left out:");
            for (file, why) in &self.found.skipped {
                text.push_str(&format!("\n    {file}: {why}"));
            }
        }
        text
    }
}

fn unreadable(error: io::Error) -> NotShown {
    match error.kind() {
        io::ErrorKind::Other => NotShown::Directory(error.to_string()),
        kind => NotShown::Directory(kind.to_string()),
    }
}

/// The view of a trace as text.
pub fn viewed(file: &str, trace: &Trace, verdict: &TraceVerdict) -> String {
    view_trace(file, trace, verdict, &ViewSettings::default())
}
