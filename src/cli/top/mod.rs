//! `top`: everything that runs now, in all sessions of this user, from the journal; on a terminal with keys.
//!
//! What is shown and what a key does to it is in `state`, how it looks in `draw`, what is typed in `keys`, and what is done
//! beside the screen in `outside`. The loop here waits for the last two and never for the journal.

mod draw;
mod keys;
mod onlooker;
mod outside;
mod state;

use self::draw::{draw, page_rows};
use self::keys::typed;
pub(super) use self::onlooker::Onlooker;
use self::outside::{Book, Outside, Report};
use self::state::{Input, TopState, Wanted};
use super::arguments::TopArguments;
use super::exit::Failure;
use super::output::{print, print_json, prints_to_terminal, say, tell_pastes_apart};
use super::runs::open_for;
use super::wire::{SeenRunLine, json_line};
use crate::runtime::Runtime;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_policies::overview::overview;
use ratatui::Terminal;
use ratatui::backend::Backend;
use std::io;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

pub(super) async fn execute(arguments: TopArguments) -> Result<ExitCode, Failure> {
    let is_terminal = prints_to_terminal();
    let wants_once = arguments.once || arguments.json;
    if !is_terminal && !wants_once {
        say("this is no terminal: what runs now is printed once");
    }
    let runtime = open_for(&arguments.state, Onlooker).await?;
    let told = if wants_once || !is_terminal {
        print_once(&runtime, arguments.json).await
    } else {
        watch(&runtime).await
    };
    runtime.shutdown().await?;
    told
}

async fn print_once(runtime: &Runtime, json: bool) -> Result<ExitCode, Failure> {
    let runs = Book::default().look(runtime).await?;
    let printed = match json {
        true => runs
            .iter()
            .try_for_each(|run| print_json(&json_line(&SeenRunLine::of(run)))),
        false if runs.is_empty() => print("Nothing runs."),
        false => {
            let lines = overview(&runs, SystemWallClock.now().0);
            let lines = lines.iter().map(|line| line.indented()).collect::<Vec<_>>();
            print(&lines.join("\n"))
        }
    };
    // A reader that went away is no failure.
    let _ = printed;
    Ok(ExitCode::SUCCESS)
}

/// Until somebody quits or ends us. The terminal is given back whatever happens.
async fn watch(runtime: &Runtime) -> Result<ExitCode, Failure> {
    let ends = async {
        match (signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
            (Ok(mut terminate), Ok(mut hangup)) => {
                tokio::select! { biased; _ = terminate.recv() => {}, _ = hangup.recv() => {} }
            }
            _ => std::future::pending().await,
        }
    };
    let mut terminal = ratatui::try_init().map_err(not_drawn)?;
    tell_pastes_apart(true);
    let (outside, reports) = Outside::begin(runtime);
    let begin = |wanted| outside.start(wanted);
    let watched = tokio::select! {
        biased;
        watched = show(&mut terminal, typed(), reports, begin) => watched,
        () = ends => Ok(()),
    };
    tell_pastes_apart(false);
    ratatui::restore();
    watched?;
    Ok(ExitCode::SUCCESS)
}

/// Draws what is so after every key and every report. It waits for nothing else: what a key wants is begun, not done.
async fn show<B: Backend<Error: std::fmt::Display>>(
    terminal: &mut Terminal<B>,
    mut typed: mpsc::Receiver<io::Result<Input>>,
    mut reports: mpsc::Receiver<Report>,
    mut begin: impl FnMut(Wanted),
) -> Result<(), Failure> {
    let mut state = TopState::default();
    loop {
        let drawn = terminal.draw(|frame| draw(frame, &state)).map_err(not_drawn)?;
        let rows = page_rows(drawn.area.height);
        let wanted = tokio::select! {
            biased;
            input = typed.recv() => match input {
                Some(Ok(input)) => state.take(input, rows),
                Some(Err(error)) => return Err(Failure::failed(format!("failed to read keys: {error}"))),
                None => Wanted::Quit,
            },
            Some(report) = reports.recv() => state.learn(report),
        };
        match wanted {
            Wanted::Nothing => {}
            Wanted::Quit => return Ok(()),
            wanted => begin(wanted),
        }
    }
}

fn not_drawn(error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("failed to draw on this terminal: {error}"))
}

#[cfg(test)]
mod tests;
