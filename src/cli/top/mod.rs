//! `top`: everything that runs now, in all sessions of this user, from the journal; on a terminal with keys.

mod draw;
mod state;

use self::draw::{draw, page_rows};
use self::state::{Key, TopState, Wanted};
use super::arguments::TopArguments;
use super::exit::Failure;
use super::output::{print, print_json, prints_to_terminal, say};
use super::runs::open;
use super::wire::{SeenRunLine, json_line};
use crate::runtime::{MessageKind, Runtime, RuntimeError};
use crate::status::below_home;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_policies::domain::{RunId, RunState};
use impresario_policies::overview::{InLine, SeenRun, before_in_line, overview};
use impresario_policies::projection::RunProjection;
use impresario_policies::sight::{LiveFacts, see_run};
use impresario_policies::transcript::Transcript;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often the journal is looked at.
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// How long a key is waited for before it is looked whether anybody wants one.
const KEY_WITHIN: Duration = Duration::from_millis(100);
/// So many keys may be pressed ahead of the screen.
const KEYS_AHEAD_MAX: usize = 64;
/// So many runs are shown, the newest.
const RUNS_MAX: usize = 200;

pub(super) async fn execute(arguments: TopArguments) -> Result<ExitCode, Failure> {
    let runtime = open(&arguments.state, arguments.json).await?;
    let mut book = Book::default();
    let is_terminal = prints_to_terminal();
    let told = if arguments.once || arguments.json || !is_terminal {
        if !(arguments.once || arguments.json) {
            say("this is no terminal: what runs now is printed once");
        }
        print_once(&runtime, &mut book, arguments.json).await
    } else {
        watch(&runtime).await
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
async fn watch(runtime: &Runtime) -> Result<ExitCode, Failure> {
    let terminal = ratatui::try_init();
    let mut terminal =
        terminal.map_err(|error| Failure::failed(format!("draw on this terminal: {error}")))?;
    let watched = watch_on(&mut terminal, runtime).await;
    ratatui::restore();
    watched?;
    Ok(ExitCode::SUCCESS)
}

/// What was done beside the screen: keys are answered at once, however long the journal takes.
enum Done {
    Looked(Book, Vec<SeenRun>),
    /// The conversation of a run; `opens` where somebody asked for it.
    Page {
        run: RunId,
        page: Transcript,
        opens: bool,
    },
    Note(String),
}

type Work<'a> = FuturesUnordered<LocalBoxFuture<'a, Result<Done, Failure>>>;

async fn watch_on(terminal: &mut DefaultTerminal, runtime: &Runtime) -> Result<(), Failure> {
    let mut state = TopState::default();
    let mut wished = BTreeSet::new();
    let mut keys = keys();
    let mut work = Work::new();
    work.push(look(runtime, Book::default(), Instant::now()).boxed_local());
    loop {
        let drawn = terminal.draw(|frame| draw(frame, &state));
        let rows = drawn
            .map_err(|error| Failure::failed(format!("draw on this terminal: {error}")))?
            .area
            .height;
        tokio::select! {
            biased;
            key = keys.recv() => {
                let Some(key) = key else { return Ok(()) };
                let key = key.map_err(|error| Failure::failed(format!("read keys: {error}")))?;
                // None where the terminal has another size.
                let Some(key) = key else { continue };
                match state.press(key, page_rows(rows)) {
                    Wanted::Nothing => {}
                    Wanted::Quit => return Ok(()),
                    Wanted::Cancel(run) => {
                        wished.insert(run.clone());
                        work.push(cancel(runtime, run).boxed_local());
                    }
                    Wanted::Tell { run, kind, text } => work.push(tell(runtime, run, kind, text).boxed_local()),
                    Wanted::Read(run) => work.push(read(runtime, run, true).boxed_local()),
                }
            }
            Some(done) = work.next() => match done? {
                Done::Looked(book, runs) => {
                    take_back(runtime, &mut wished, &runs);
                    state.show(overview(&runs, SystemWallClock.now().0));
                    if let Some(run) = state.reads_on() {
                        work.push(read(runtime, run, false).boxed_local());
                    }
                    work.push(look(runtime, book, Instant::now() + LOOKED_EVERY).boxed_local());
                }
                Done::Page { run, page, opens } => state.read(run, page, opens),
                Done::Note(note) => state.note = note,
            },
        }
    }
}

/// Looks what runs, when it is time.
async fn look(runtime: &Runtime, mut book: Book, at: Instant) -> Result<Done, Failure> {
    tokio::time::sleep_until(at.into()).await;
    let runs = book.look(runtime).await?;
    Ok(Done::Looked(book, runs))
}

async fn read(runtime: &Runtime, run: RunId, opens: bool) -> Result<Done, Failure> {
    let page = runtime.transcript(&run, String::new()).await?;
    Ok(Done::Page { run, page, opens })
}

/// A wish that came too late would be one for ever.
fn take_back(runtime: &Runtime, wished: &mut BTreeSet<RunId>, runs: &[SeenRun]) {
    wished.retain(|wish| {
        let runs_still = runs.iter().any(|run| run.run == *wish);
        if !runs_still {
            runtime.unwish(wish);
        }
        runs_still
    });
}

/// By the process that drives it, wherever that is.
async fn cancel(runtime: &Runtime, run: RunId) -> Result<Done, Failure> {
    let cancelled = runtime.run(run.clone()).cancel("`impresario top`").await;
    Ok(Done::Note(match cancelled {
        Ok(true) => format!("cancelling {run}"),
        Ok(false) => match runtime.wish_cancelled(&run) {
            Ok(()) => format!("cancelling {run}: the process that drives it is told"),
            Err(error) => format!("the process that drives {run} could not be told: {error}"),
        },
        Err(error) => format!("{run} is not cancelled: failed to {error}"),
    }))
}

/// The same; what it says to a question is shown when it comes.
async fn tell(runtime: &Runtime, run: RunId, kind: MessageKind, text: String) -> Result<Done, Failure> {
    let told = runtime
        .run(run.clone())
        .tell(kind, text, "`impresario top`".to_string());
    let said = match (told.await, kind) {
        (Ok(message), MessageKind::Steer) => format!("{run} is told ({})", message.id()),
        (Ok(message), MessageKind::Ask) => match message.answer().await {
            Ok(Some(answer)) => format!(
                "{run}: {}",
                answer.split_whitespace().collect::<Vec<_>>().join(" ")
            ),
            Ok(None) => format!("{run} ended without a word to your question"),
            Err(error) => format!("the answer of {run} is not heard: failed to {error}"),
        },
        (Err(RuntimeError::MessageRefused(reason)), _) => reason.message,
        (Err(error), _) => format!("{run} is not told: failed to {error}"),
    };
    Ok(Done::Note(said))
}

/// The keys that mean something, as they are pressed; none for what only wants the screen drawn again. Waiting for them is
/// a thread's work.
fn keys() -> mpsc::Receiver<std::io::Result<Option<Key>>> {
    let (pressed, keys) = mpsc::channel(KEYS_AHEAD_MAX);
    tokio::task::spawn_blocking(move || {
        while !pressed.is_closed() {
            let key = match event::poll(KEY_WITHIN) {
                Ok(true) => event::read().map(what_it_means),
                Ok(false) => continue,
                Err(error) => Err(error),
            };
            let broke = key.is_err();
            let unheard = key
                .transpose()
                .is_some_and(|key| pressed.blocking_send(key).is_err());
            if broke || unheard {
                return;
            }
        }
    });
    keys
}

/// None where it means nothing at all.
fn what_it_means(event: Event) -> Option<Option<Key>> {
    match event {
        Event::Resize(..) => Some(None),
        event => key_of(event).map(Some),
    }
}

fn key_of(event: Event) -> Option<Key> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
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
