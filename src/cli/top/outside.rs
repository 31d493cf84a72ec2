//! What `top` has done beside its screen: looking at the journal, reading a conversation, cancelling, telling. Each is a task
//! of its own that reports, so that no key waits for any of them.

use super::state::Wanted;
use crate::cli::runs::until_ended;
use crate::runtime::{MessageKind, Runtime, RuntimeError};
use crate::status::below_home;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::journal::{RunFilter, RunSummary};
use impresario_policies::domain::{RunId, RunState};
use impresario_policies::overview::{InLine, OverviewLine, SeenRun, before_in_line, overview};
use impresario_policies::projection::RunProjection;
use impresario_policies::sight::{LiveFacts, see_run};
use impresario_policies::transcript::Transcript;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the journal is looked at.
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// So many runs are shown, the newest.
pub(super) const RUNS_MAX: usize = 2_000;
/// Another process looks for the request, gives the sub-agent its grace and kills what is left.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);
/// A step that was written this long after another one has a later time.
const SAME_TIME_MS: u64 = 2_000;
/// So many reports may wait for the screen.
const REPORTS_MAX: usize = 64;
const BY: &str = "`impresario top`";

/// What was seen or done beside the screen.
#[derive(Debug)]
pub(super) enum Report {
    /// What runs now.
    Runs(Vec<OverviewLine>),
    /// The conversation of a run.
    Page(RunId, Transcript),
    /// What a person reads until the next key.
    Note(String),
    /// What became of the message of this number so far.
    Fate { number: u64, words: String },
}

/// Who does it.
pub(super) struct Outside {
    runtime: Runtime,
    reports: mpsc::Sender<Report>,
}

impl Outside {
    /// It looks from now on until nobody hears it.
    pub(super) fn begin(runtime: &Runtime) -> (Self, mpsc::Receiver<Report>) {
        let (reports, heard) = mpsc::channel(REPORTS_MAX);
        let runtime = runtime.clone();
        tokio::spawn(keep_looking(runtime.clone(), reports.clone()));
        (Self { runtime, reports }, heard)
    }

    pub(super) fn start(&self, wanted: Wanted) {
        let (runtime, reports) = (self.runtime.clone(), self.reports.clone());
        tokio::spawn(async move {
            let report = match wanted {
                Wanted::Nothing | Wanted::Quit => return,
                Wanted::Cancel(run) => Report::Note(cancel(&runtime, &run).await),
                Wanted::Read(run) => read(&runtime, run).await,
                Wanted::Tell {
                    number,
                    run,
                    kind,
                    text,
                } => {
                    let words = tell(&runtime, &reports, number, &run, kind, text).await;
                    let words = words.unwrap_or_else(|error| in_words(&error));
                    Report::Fate { number, words }
                }
            };
            // Whoever quit wants to know no more.
            let _ = reports.send(report).await;
        });
    }
}

async fn keep_looking(runtime: Runtime, reports: mpsc::Sender<Report>) {
    let mut book = Book::default();
    loop {
        let report = match book.look(&runtime).await {
            Ok(runs) => Report::Runs(overview(&runs, SystemWallClock.now().0)),
            Err(error) => Report::Note(format!(
                "what runs now is not known: failed to {}",
                in_words(&error)
            )),
        };
        if reports.send(report).await.is_err() {
            return;
        }
        tokio::time::sleep(LOOKED_EVERY).await;
    }
}

async fn read(runtime: &Runtime, run: RunId) -> Report {
    match runtime.transcript(&run, String::new()).await {
        Ok(page) => Report::Page(run, page),
        Err(error) => Report::Note(format!(
            "the conversation of {run} cannot be read: failed to {error}"
        )),
    }
}

/// By the process that drives it, wherever that is; returns when it is over.
async fn cancel(runtime: &Runtime, run: &RunId) -> String {
    match runtime.run(run.clone()).cancel(BY).await {
        Ok(true) => {}
        Ok(false) => {
            if let Err(error) = runtime.wish_cancelled(run) {
                return format!("the process that drives {run} could not be told: {error}");
            }
        }
        Err(error) => return format!("{run} is not cancelled: failed to {error}"),
    }
    let ended = tokio::time::timeout(CANCELLED_WITHIN, until_ended(runtime, run)).await;
    // A wish that came too late would be one for ever.
    runtime.unwish(run);
    match ended {
        Ok(Ok(state)) => format!("{} {run}", state.word()),
        Ok(Err(failure)) => failure.message().to_string(),
        Err(_) => format!("the process that drives {run} did not cancel it; stop it there"),
    }
}

/// Returns with what became of it in the end.
async fn tell(
    runtime: &Runtime,
    reports: &mpsc::Sender<Report>,
    number: u64,
    run: &RunId,
    kind: MessageKind,
    text: String,
) -> Result<String, RuntimeError> {
    let run = runtime.run(run.clone());
    let message = run.tell(kind, text, BY.to_string()).await?;
    let words = format!("{} ({})", message.fate().await?.word(), message.id());
    let _ = reports.send(Report::Fate { number, words }).await;
    let fate = message.delivered().await?;
    if kind == MessageKind::Ask {
        let words = format!("{} ({})", fate.word(), message.id());
        let _ = reports.send(Report::Fate { number, words }).await;
        return Ok(match message.answer().await? {
            Some(answer) => answer,
            None => "it ended without a word to the question".to_string(),
        });
    }
    Ok(format!("{} ({})", fate.word(), message.id()))
}

fn in_words(error: &RuntimeError) -> String {
    match error {
        RuntimeError::MessageRefused(reason) | RuntimeError::Refused(reason) => reason.message.clone(),
        error => format!("failed to {error}"),
    }
}

/// What was read of each run, so that only what came since is read again.
#[derive(Default)]
pub(super) struct Book(BTreeMap<RunId, RunProjection>);

impl Book {
    pub(super) async fn look(&mut self, runtime: &Runtime) -> Result<Vec<SeenRun>, RuntimeError> {
        let now = SystemWallClock.now().0;
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
            let unchanged = known.steps > 0
                && known.last_step_at_ms == run.last_step_at.0
                && now.saturating_sub(known.last_step_at_ms) > SAME_TIME_MS;
            if !unchanged {
                for step in runtime.steps(&run.run, known.steps).await? {
                    known.add(&step);
                }
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
