//! `costs`: what was spent on models.

use super::arguments::{CostsArguments, CostsBy};
use super::exit::Failure;
use super::output::{print, print_json};
use super::wire::{CostLine, json_line};
use crate::runtime::state_directory;
use impresario_actors::gateways::{SystemWallClock, UnixMillis, WallClock};
use impresario_actors::journal::JournalReader;
use impresario_policies::costs::{Cost, CostBy, add_up};
use impresario_policies::domain::WhatToRun;
use impresario_policies::figures::count_words;
use impresario_policies::utc_date::{DAY_MS, utc_day};
use std::process::ExitCode;

pub(super) fn show(arguments: &CostsArguments) -> Result<ExitCode, Failure> {
    let costs = read(arguments)?;
    let sums = add_up(&costs, wanted(arguments.by));
    // A reader that went away is no failure.
    let _ = match arguments.json {
        true => sums
            .iter()
            .try_for_each(|sum| print_json(&json_line(&CostLine::of(sum)))),
        false => print(&in_words(&sums, &costs, arguments.days)),
    };
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &CostsArguments) -> Result<Vec<Cost>, Failure> {
    let directory = match &arguments.state.state_directory {
        Some(directory) => directory.clone(),
        None => state_directory().map_err(|error| Failure::failed(error.to_string()))?,
    };
    let journal = JournalReader::open(&directory).map_err(|error| Failure::failed(error.to_string()))?;
    let Some(journal) = journal else {
        return Ok(Vec::new());
    };
    let today = SystemWallClock.now().0 / DAY_MS;
    let first = (today + 1).saturating_sub(arguments.days);
    journal
        .costs(UnixMillis(first * DAY_MS))
        .map_err(|error| Failure::failed(format!("failed to read the journal: {error}")))
}

fn wanted(by: CostsBy) -> CostBy {
    let all = by == CostsBy::All;
    CostBy {
        day: all || by == CostsBy::Day,
        what: all || by == CostsBy::Agent,
        model: all || by == CostsBy::Model,
    }
}

fn in_words(sums: &[Cost], costs: &[Cost], days: u64) -> String {
    let nothing = CostBy {
        day: false,
        what: false,
        model: false,
    };
    let Some(total) = add_up(costs, nothing).pop() else {
        return format!("no model was called in the last {days} days");
    };
    let names = sums.iter().map(name).collect::<Vec<_>>();
    let width = names
        .iter()
        .map(String::len)
        .chain(["in all".len()])
        .max()
        .unwrap_or(0);
    let lines = names.iter().zip(sums).map(|(name, sum)| line(name, sum, width));
    let all = line("in all", &total, width);
    lines.chain([all]).collect::<Vec<_>>().join("\n")
}

fn name(sum: &Cost) -> String {
    let what = sum.what.as_ref().map(|what| match what {
        WhatToRun::Agent(name) => name.clone(),
        WhatToRun::Skill(name) => format!("/skill:{name}"),
    });
    let parts = [sum.day.map(utc_day), what, sum.model.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

fn line(name: &str, sum: &Cost, width: usize) -> String {
    let calls = count_words(sum.calls as usize, "call");
    let lost = count_words(sum.attempts_lost as usize, "attempt");
    let noted = [
        (sum.unpriced, format!("{} without a known price", sum.unpriced)),
        (sum.estimated, format!("{} cut off, reckoned", sum.estimated)),
        (
            sum.attempts_lost,
            format!("{lost} lost under way, which may have cost more"),
        ),
    ];
    let noted = noted.iter().filter(|(count, _)| *count > 0);
    let notes = noted.map(|(_, words)| format!("; {words}")).collect::<String>();
    format!("{name:<width$}  {calls}: {}{notes}", sum.used.words())
}
