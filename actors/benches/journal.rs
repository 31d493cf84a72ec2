//! What a durable step costs, against an append to a bare file that is synced as often, and what 32 writers gain.
//!
//! `cargo bench -p impresario-actors --bench journal`. Rounds of all ways take turns, so that a busy disk is busy for
//! all of them; what they wrote is read back and compared before anything is printed.

use impresario_actors::gateways::UnixMillis;
use impresario_actors::journal::{
    Journal, JournalAccess, Row, RuntimeId, RuntimeIdentity, SqliteStore, Store, Writer, WriterHandle,
};
use impresario_actors::messages::journal::Commit;
use impresario_actors::supervision::{Child, Port, Root, RootSettings, SupervisorSettings, supervisor};
use impresario_policies::domain::{
    AttemptNumber, Briefing, Clocks, Origin, Persistence, RunId, RunRequest, RunTerms, SessionId, Step,
    WhatToRun,
};
use impresario_policies::projection::RecordedStep;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 20;
const STEPS_A_ROUND: u64 = 40;
const WRITERS: u64 = 32;
const ROWS_A_ROUND: u64 = 512;

const ONE_STEP_RATIO_MAX: f64 = 2.0;
const GROUP_RATIO_MIN: f64 = 3.0;
const ASK: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let directory =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("journal-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, measure(&directory));
    std::fs::remove_dir_all(&directory)?;
    outcome
}

async fn measure(directory: &Path) -> Outcome<()> {
    let (bare, step) = measure_one_step(directory).await?;
    let (alone, together) = measure_writers(directory).await?;
    println!("one durable step, p50 of {} each", ROUNDS * STEPS_A_ROUND);
    println!("  append + fdatasync     {:>8.1} µs", micros(bare));
    println!("  through the journal    {:>8.1} µs", micros(step));
    verdict(
        "ratio",
        micros(step) / micros(bare),
        "at most",
        ONE_STEP_RATIO_MAX,
    );
    println!("rows a second, median of {ROUNDS} rounds");
    println!("  one writer             {alone:>8.0}");
    println!("  {WRITERS} writers             {together:>8.0}");
    verdict("ratio", together / alone, "at least", GROUP_RATIO_MIN);
    Ok(())
}

fn verdict(name: &str, measured: f64, bound: &str, limit: f64) {
    let holds = if bound == "at most" {
        measured <= limit
    } else {
        measured >= limit
    };
    let word = if holds { "holds" } else { "DOES NOT HOLD" };
    println!("  {name}                  {measured:>8.2}   {bound} {limit}: {word}");
}

// ---- one step

async fn measure_one_step(directory: &Path) -> Outcome<(Duration, Duration)> {
    let mut bare = BareFile::create(&directory.join("bare"))?;
    let (root, writer, commit) = start_journal(&directory.join("one")).await?;
    let run = run(1);
    commit_rows(&commit, vec![first_row(&run)]).await?;
    let (mut of_bare, mut of_journal) = (Vec::new(), Vec::new());
    let mut sequence = 1;
    for _ in 0..ROUNDS {
        let rows: Vec<Row> = (0..STEPS_A_ROUND)
            .map(|number| row(&run, sequence + 1 + number))
            .collect();
        sequence += STEPS_A_ROUND;
        for row in &rows {
            let began = Instant::now();
            bare.append(row)?;
            of_bare.push(began.elapsed());
        }
        for row in rows {
            let began = Instant::now();
            commit_rows(&commit, vec![row]).await?;
            of_journal.push(began.elapsed());
        }
    }
    let written = writer
        .handle()
        .with_store(move |store| store.steps(&run, 1))
        .await?;
    assert_eq!(written, bare.read()?, "both hold the same steps");
    drop(root);
    writer.close().await?;
    Ok((median(of_bare), median(of_journal)))
}

/// What a step costs at the least: the same bytes at the end of a file, synced.
struct BareFile {
    path: PathBuf,
    file: File,
}

impl BareFile {
    fn create(path: &Path) -> Outcome<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
        })
    }

    fn append(&mut self, row: &Row) -> Outcome<()> {
        let step = serde_json::to_string(&row.step)?;
        let line = format!(
            "{}\t{}\t{}\t{}\t{step}\n",
            row.run, row.sequence, row.generation, row.at.0
        );
        self.file.write_all(line.as_bytes())?;
        Ok(self.file.sync_data()?)
    }

    fn read(&self) -> Outcome<Vec<RecordedStep>> {
        let text = std::fs::read_to_string(&self.path)?;
        text.lines().map(read_line).collect()
    }
}

fn read_line(line: &str) -> Outcome<RecordedStep> {
    let fields: Vec<&str> = line.splitn(5, '\t').collect();
    let [_, sequence, generation, at_ms, step] = fields[..] else {
        return Err("a line has five fields".into());
    };
    Ok(RecordedStep {
        sequence: sequence.parse()?,
        generation: generation.parse()?,
        at_ms: at_ms.parse()?,
        step: serde_json::from_str(step)?,
    })
}

// ---- many writers

async fn measure_writers(directory: &Path) -> Outcome<(f64, f64)> {
    let (_root_of_one, one, to_one) = start_journal(&directory.join("alone")).await?;
    let (_root_of_many, many, to_many) = start_journal(&directory.join("together")).await?;
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        alone.push(rows_a_second(&to_one, 1, round).await?);
        together.push(rows_a_second(&to_many, WRITERS, round).await?);
    }
    let count = |handle: WriterHandle| async move {
        let all = |store: &mut dyn Store| store.runs(&Default::default());
        let runs = handle.with_store(all).await?;
        Ok::<u64, Box<dyn std::error::Error>>(runs.iter().map(|run| run.steps - 1).sum())
    };
    assert_eq!(count(one.handle()).await?, ROUNDS * ROWS_A_ROUND);
    assert_eq!(count(many.handle()).await?, ROUNDS * ROWS_A_ROUND);
    one.close().await?;
    many.close().await?;
    Ok((median(alone), median(together)))
}

/// Has `writers` write the rows of one round among them, each one row after the other, each in a run of its own.
async fn rows_a_second(commit: &Port<Commit>, writers: u64, round: u64) -> Outcome<f64> {
    let runs: Vec<RunId> = (0..writers).map(|number| run(1000 * round + number)).collect();
    commit_rows(commit, runs.iter().map(first_row).collect()).await?;
    let began = Instant::now();
    let working = runs.iter().map(|run| async move {
        for number in 0..ROWS_A_ROUND / writers {
            commit_rows(commit, vec![row(run, 2 + number)]).await?;
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    });
    futures_util::future::try_join_all(working).await?;
    Ok(ROWS_A_ROUND as f64 / began.elapsed().as_secs_f64())
}

// ---- the journal

async fn start_journal(directory: &Path) -> Outcome<(Root, Writer, Port<Commit>)> {
    let identity = RuntimeIdentity {
        id: RuntimeId::new(UnixMillis(1), 1),
        host: "bench".to_string(),
        session: None,
        started_at: UnixMillis(1),
        process: std::process::id(),
    };
    let writer = Writer::start(SqliteStore::open(directory, &identity)?.store)?;
    let access = JournalAccess::thread(writer.handle());
    let child = Child::new("journal", move |_| Journal::new(access.clone()));
    let commit = child.port::<Commit>();
    let root = supervisor("root", SupervisorSettings::default(), vec![child.spec()]);
    Ok((
        Root::start_local(root, RootSettings::default()).await,
        writer,
        commit,
    ))
}

async fn commit_rows(commit: &Port<Commit>, rows: Vec<Row>) -> Outcome<()> {
    commit
        .ask(Commit { rows: rows.into() }, ASK)
        .await
        .map_err(|error| error.to_string())??;
    Ok(())
}

// ---- what is written

fn run(number: u64) -> RunId {
    RunId::new(1_795_000_000_000 + number, number)
}

fn first_row(run: &RunId) -> Row {
    let request = RunRequest {
        what: WhatToRun::Agent("explore".into()),
        task: "how does a crashed actor come back?".into(),
        origin: Origin {
            host: "bench".into(),
            session: Some(SessionId("s".into())),
            resumes: None,
        },
        instructions: String::new(),
        tools: vec!["read".into()],
        chain: vec!["offline".into()],
        runner: "embedded".into(),
        workspace: "/w".into(),
        briefing: Briefing::Direct,
        clocks: Clocks::default(),
        persistence: Persistence::default(),
        temperature: None,
        overflow_ceiling_bytes: 1000,
        answer_chars_max: 0,
        trace_directory: None,
        group: None,
        terms: RunTerms::default(),
        retrieval: Default::default(),
        continues: None,
    };
    let step = Step::Accepted {
        request: Box::new(request),
    };
    Row {
        run: run.clone(),
        sequence: 1,
        generation: 1,
        at: UnixMillis(1),
        step,
    }
}

/// A step of about 440 bytes, as a run writes most of.
fn row(run: &RunId, sequence: u64) -> Row {
    let step = Step::ToolEnded {
        attempt: AttemptNumber(1),
        call: format!("call_{sequence:08}"),
        is_error: false,
        bytes: 10_000 + sequence,
        preview: "pub fn decide_restart(facts: &RestartFacts) -> RestartDecision { ".repeat(5),
        overflow: None,
        evidence: None,
    };
    Row {
        run: run.clone(),
        sequence,
        generation: 1,
        at: UnixMillis(sequence),
        step,
    }
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
