//! What it costs that Impresario is there: the start, the memory of a bridge with nothing to do, and of a run that waits.
//!
//! A start is the time from before a program is spawned until its first answer is read. The bridge is asked which runs
//! it cancelled, which it cannot say without its journal. The baseline is this program, started again: it opens the
//! same file with the journal's mode and syncing, counts the runs in it, and echoes a line. Rounds alternate, and every
//! answer is looked at.
//!
//! The run that waits is one of many behind a run whose model never answers, in a process of their own.

use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, RunFilter, SubAgent, async_trait,
};
use impresario::{Run, Runtime};
use impresario_policies::domain::RunState;
use rusqlite::Connection;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const IMPRESARIO: &str = env!("CARGO_BIN_EXE_impresario");
const ROUNDS: usize = 41;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol_oldest":1,"protocol_newest":1,"host":"bench","extension_version":"0"}}"#;
const REQUEST: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"skill.cancel","params":{"session":"s","run":null,"by":"bench"}}"#;

const WAITING_RUNS: usize = 200;
const START_RATIO_MAX: f64 = 3.0;
const BRIDGE_KB_MAX: u64 = 20_000;
const WAITING_RUN_KB_MAX: f64 = 100.0;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("be-bare"), Some(directory)) => be_bare(Path::new(&directory)),
        (Some("be-runtime"), Some(directory)) => be_runtime(Path::new(&directory)),
        _ => return compare(),
    }
    ExitCode::SUCCESS
}

fn compare() -> ExitCode {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let state = place.path().join("state");
    let first = start_bridge(&state);
    let (mut bare, mut bridge, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(start_bare(&state));
        let (took, kilobytes) = start_bridge(&state);
        bridge.push(took);
        memory.push(kilobytes);
    }
    let (bare, bridge, memory) = (median(bare), median(bridge), median(memory));
    let ratio = bridge.as_secs_f64() / bare.as_secs_f64();
    println!("start to first answer, p50 of {ROUNDS}");
    println!("  bare program           {bare:>8.1?}");
    println!(
        "  bridge                 {bridge:>8.1?}  (where it had to make its journal: {:.1?})",
        first.0
    );
    let mut is_kept = verdict("ratio", ratio, "", START_RATIO_MAX);
    println!("resident memory");
    let megabytes = memory as f64 / 1000.0;
    is_kept &= verdict("idle bridge", megabytes, " MB", BRIDGE_KB_MAX as f64 / 1000.0);
    let run = ask_runtime(&place.path().join("runs"));
    is_kept &= verdict("a waiting run", run, " kB", WAITING_RUN_KB_MAX);
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn verdict(name: &str, measured: f64, unit: &str, most: f64) -> bool {
    let is_kept = measured <= most;
    let word = if is_kept { "kept" } else { "MISSED" };
    println!("  {name:<22} {measured:>8.2}{unit}  target: at most {most}{unit}: {word}");
    is_kept
}

fn median<T: Ord + Copy>(mut all: Vec<T>) -> T {
    all.sort_unstable();
    all[all.len() / 2]
}

/// How long until it answered, and what it occupies once it has nothing to do.
fn start_bridge(state: &Path) -> (Duration, u64) {
    let began = Instant::now();
    let mut other = Other::start(IMPRESARIO, &["bridge", "--state-directory"], state);
    other.write(&format!("{HELLO}\n{REQUEST}\n"));
    let welcome = other.read();
    let answer = other.read();
    let took = began.elapsed();
    assert!(welcome.contains(r#""protocol":1"#), "{welcome}");
    assert!(answer.contains(r#""id":2,"result":{"runs":[]}"#), "{answer}");
    std::thread::sleep(Duration::from_millis(20));
    let kilobytes = resident_kilobytes(&other.child.id().to_string());
    other.end();
    (took, kilobytes)
}

fn start_bare(state: &Path) -> Duration {
    let began = Instant::now();
    let mut other = Other::start(&own_path(), &["be-bare"], state);
    other.write(&format!("{REQUEST}\n"));
    let echo = other.read();
    let took = began.elapsed();
    assert_eq!(echo.trim_end(), format!("0 {REQUEST}"));
    other.end();
    took
}

/// The memory that one waiting run added, in kB.
fn ask_runtime(state: &Path) -> f64 {
    let mut other = Other::start(&own_path(), &["be-runtime"], state);
    let answer = other.read();
    other.end();
    answer.trim_end().parse().expect("a number")
}

fn own_path() -> String {
    let path = std::env::current_exe().expect("this program has a path");
    path.to_str().expect("a path in UTF-8").to_string()
}

/// As `/proc` counts it.
fn resident_kilobytes(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = resident.and_then(|text| text.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}

/// The program at the other end of two pipes.
struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(program: &str, arguments: &[&str], directory: &Path) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("it has an input");
        let output = BufReader::new(child.stdout.take().expect("it has an output"));
        Self { child, input, output }
    }

    fn write(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).expect("it reads");
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        line
    }

    /// Its input ends, so it does; it is waited for, since the next one opens the same file.
    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

fn be_bare(state: &Path) {
    let connection = Connection::open(state.join("journal.sqlite")).expect("the journal");
    connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
        .expect("the journal's mode");
    connection
        .pragma_update(None, "synchronous", "FULL")
        .expect("the journal's care");
    let runs: u64 = connection
        .query_row("SELECT count(*) FROM runs", [], |row| row.get(0))
        .expect("the runs");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a line");
    print!("{runs} {line}");
    std::io::stdout().flush().expect("a reader");
}

/// Prints what a waiting run adds, and lets all of them be parked when it ends.
fn be_runtime(directory: &Path) {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.expect("a tokio runtime").block_on(async {
        let runtime = Runtime::builder()
            .state_directory(directory)
            .workspace("/")
            .width(1)
            .model(Silent)
            .start()
            .await
            .expect("started");
        let mut runs = vec![spawn(&runtime).await];
        wait_until(&runtime, RunState::Running, 1).await;
        let before = resident_kilobytes("self");
        for _ in 0..WAITING_RUNS {
            runs.push(spawn(&runtime).await);
        }
        wait_until(&runtime, RunState::Briefed, WAITING_RUNS).await;
        let after = resident_kilobytes("self");
        println!("{}", after.saturating_sub(before) as f64 / WAITING_RUNS as f64);
        runtime.shutdown().await.expect("stopped");
    });
}

async fn spawn(runtime: &Runtime) -> Run {
    let silent = SubAgent::explore("What is the last digit of pi?")
        .unjudged()
        .chain(["silent"]);
    runtime.spawn(silent).await.expect("accepted")
}

async fn wait_until(runtime: &Runtime, state: RunState, count: usize) {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let runs = runtime.runs(RunFilter::unfinished()).await.expect("a list");
        if runs.iter().filter(|run| run.state == state).count() == count {
            return;
        }
        assert!(Instant::now() < patience, "{count} runs never were {state:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A model that never answers.
struct Silent;

#[async_trait(?Send)]
impl ModelClient for Silent {
    async fn complete(&self, _: ModelRequest) -> Result<ModelReply, ModelError> {
        std::future::pending().await
    }
}
