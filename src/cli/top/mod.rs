//! `top`: everything that runs now, in all sessions of this user, from the journal; on a terminal with keys.

mod draw;
mod onlooker;
mod state;

use self::draw::{draw, page_rows};
use self::onlooker::Onlooker;
use self::state::{Key, Mode, TopState, Wanted};
use super::arguments::TopArguments;
use super::exit::Failure;
use super::output::{print, print_json, prints_to_terminal, say};
use super::runs::open_for;
use super::wire::{SeenRunLine, json_line};
use crate::runtime::Runtime;
use crate::status::below_home;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_policies::domain::{RunId, RunState};
use impresario_policies::overview::{InLine, SeenRun, before_in_line, overview};
use impresario_policies::projection::RunProjection;
use impresario_policies::sight::{LiveFacts, see_run};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the journal is looked at.
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// How long a key is waited for before it is looked whether something else is due.
const KEY_WITHIN: Duration = Duration::from_millis(100);
/// So many runs are shown, the newest.
const RUNS_MAX: usize = 200;

pub(super) async fn execute(arguments: TopArguments) -> Result<ExitCode, Failure> {
    let is_terminal = prints_to_terminal();
    let wants_once = arguments.once || arguments.json;
    if !is_terminal && !wants_once {
        say("this is no terminal: what runs now is printed once");
    }
    let runtime = open_for(&arguments.state, Onlooker).await?;
    let mut book = Book::default();
    let told = if wants_once || !is_terminal {
        print_once(&runtime, &mut book, arguments.json).await
    } else {
        watch(&runtime, &mut book).await
    };
    runtime.shutdown().await?;
    told
}

async fn print_once(runtime: &Runtime, book: &mut Book, json: bool) -> Result<ExitCode, Failure> {
    let runs = book.look(runtime).await?;
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

/// Until somebody quits. The terminal is given back whatever happens.
async fn watch(runtime: &Runtime, book: &mut Book) -> Result<ExitCode, Failure> {
    let terminal = ratatui::try_init();
    let mut terminal =
        terminal.map_err(|error| Failure::failed(format!("draw on this terminal: {error}")))?;
    let watched = watch_on(&mut terminal, runtime, book).await;
    ratatui::restore();
    watched?;
    Ok(ExitCode::SUCCESS)
}

async fn watch_on(terminal: &mut DefaultTerminal, runtime: &Runtime, book: &mut Book) -> Result<(), Failure> {
    let mut state = TopState::default();
    let mut wished = BTreeSet::new();
    let mut looked: Option<Instant> = None;
    loop {
        if looked.is_none_or(|looked| looked.elapsed() >= LOOKED_EVERY) {
            look(runtime, book, &mut state, &mut wished).await?;
            looked = Some(Instant::now());
        }
        let drawn = terminal.draw(|frame| draw(frame, &state));
        let rows = drawn
            .map_err(|error| Failure::failed(format!("draw on this terminal: {error}")))?
            .area
            .height;
        let Some(key) = next_key().await? else { continue };
        match state.press(key, page_rows(rows)) {
            Wanted::Nothing => {}
            Wanted::Quit => return Ok(()),
            Wanted::Cancel(run) => {
                state.note = cancel(runtime, &run).await;
                wished.insert(run);
                looked = None;
            }
            Wanted::Read(run) => {
                let page = runtime.transcript(&run, String::new()).await?;
                state.read(run, page);
            }
        }
    }
}

/// What runs now, and more of what is read.
async fn look(
    runtime: &Runtime,
    book: &mut Book,
    state: &mut TopState,
    wished: &mut BTreeSet<RunId>,
) -> Result<(), Failure> {
    let runs = book.look(runtime).await?;
    // A wish that came too late would be one for ever.
    wished.retain(|wish| {
        let runs_still = runs.iter().any(|run| run.run == *wish);
        if !runs_still {
            runtime.unwish(wish);
        }
        runs_still
    });
    state.show(overview(&runs, SystemWallClock.now().0));
    if let Mode::Transcript(reading) = &state.mode
        && !reading.page.is_over
    {
        let run = reading.run.clone();
        let page = runtime.transcript(&run, String::new()).await?;
        state.read(run, page);
    }
    Ok(())
}

/// By the process that drives it, wherever that is.
async fn cancel(runtime: &Runtime, run: &RunId) -> String {
    match runtime.run(run.clone()).cancel("`impresario top`").await {
        Ok(true) => format!("cancelling {run}"),
        Ok(false) => match runtime.wish_cancelled(run) {
            Ok(()) => format!("cancelling {run}: the process that drives it is told"),
            Err(error) => format!("the process that drives {run} could not be told: {error}"),
        },
        Err(error) => format!("{run} is not cancelled: failed to {error}"),
    }
}

/// The next key that means something, if one comes soon. The runtime lives on threads of its own meanwhile.
async fn next_key() -> Result<Option<Key>, Failure> {
    let read = tokio::task::spawn_blocking(|| match event::poll(KEY_WITHIN) {
        Ok(true) => event::read().map(Some),
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    });
    let read = read
        .await
        .map_err(|error| Failure::failed(format!("read keys: {error}")))?;
    let read = read.map_err(|error| Failure::failed(format!("read keys: {error}")))?;
    Ok(read.and_then(key_of))
}

fn key_of(event: Event) -> Option<Key> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Letter('q'),
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

/// What was read of each run, so that only what came since is read again.
#[derive(Default)]
struct Book(BTreeMap<RunId, RunProjection>);

impl Book {
    async fn look(&mut self, runtime: &Runtime) -> Result<Vec<SeenRun>, Failure> {
        let filter = RunFilter {
            newest: RUNS_MAX,
            ..RunFilter::unfinished()
        };
        let runs = runtime.runs(filter).await?;
        let cut_off = runtime.cut_off_runs().await?;
        let waiting = runs.iter().filter_map(in_line).collect::<Vec<_>>();
        let mut seen = Vec::with_capacity(runs.len());
        for run in &runs {
            let known = self.0.entry(run.run.clone()).or_default();
            for step in runtime.steps(&run.run, known.steps).await? {
                known.add(&step);
            }
            let facts = LiveFacts {
                before_it: in_line(run).map(|one| before_in_line(&one, &waiting)),
                ..LiveFacts::default()
            };
            seen.push(seen_run(run, known, &facts, cut_off.contains(&run.run)));
        }
        self.0
            .retain(|run, _| runs.iter().any(|listed| listed.run == *run));
        Ok(seen)
    }
}

/// Who has a brief has asked for room.
fn in_line(run: &RunSummary) -> Option<InLine> {
    (run.state == RunState::Briefed).then(|| InLine {
        runtime: run.owner.as_str().to_string(),
        since_ms: run.last_step_at.0,
        run: run.run.clone(),
    })
}

fn seen_run(run: &RunSummary, projection: &RunProjection, facts: &LiveFacts, cut_off: bool) -> SeenRun {
    SeenRun {
        run: run.run.clone(),
        host: run.host.clone(),
        session: run.session.clone(),
        workspace: run
            .workspace
            .as_deref()
            .map_or_else(|| "?".to_string(), below_home),
        group: run.group.clone(),
        cut_off,
        sight: see_run(projection, facts),
    }
}
